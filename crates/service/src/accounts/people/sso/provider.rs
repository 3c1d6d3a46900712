//! Requests to providers through the egress guard, and this node's cache of their responses.
//!
//! One request at a time fetches a provider's document or keys, so many sign-ins cost one. Failures are cached too, so that a
//! slow provider delays few.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use probity_backend::connections::{CallCause, CallFault};
use probity_connectors::{Method, Request};
use probity_mail::time::Millis;
use probity_sso::{
    ANSWER_MAX, CodeExchange, DOCUMENT_MAX, IdClaims, IssuerUrl, KEYS_MAX, ProviderDocument, SigningKeys, SsoFault,
    TokenCheck, named_issuer, read_answer,
};
use tokio::sync::Mutex as AsyncMutex;

use crate::app::App;

/// Maximum duration of a request, in milliseconds. A sign-in makes up to four.
const CALL_MS: i64 = 5_000;
/// Lifetime of cached documents and keys, in milliseconds.
const KNOWN_MS: i64 = 10 * 60_000;
/// Lifetime of cached failures, in milliseconds.
const FAILED_MS: i64 = 30_000;
/// Minimum time between two requests for keys because of an unknown one, in milliseconds.
const AGAIN_MS: i64 = 60_000;
/// Maximum number of cached providers.
const PROVIDERS_MAX: usize = 1_000;

/// Cache of providers on this node.
pub struct SsoProviders(Mutex<LruCache<String, Arc<AsyncMutex<KnownProvider>>>>);

impl Default for SsoProviders {
    fn default() -> Self {
        Self(Mutex::new(LruCache::sparse(NonZeroUsize::new(PROVIDERS_MAX).expect("not zero"))))
    }
}

/// Cached response with its time.
type KeptAnswer<T> = (Millis, Arc<T>);

#[derive(Default)]
struct KnownProvider {
    document: Option<KeptAnswer<ProviderDocument>>,
    keys: Option<KeptAnswer<SigningKeys>>,
    failed: Option<(Millis, SsoFault)>,
}

impl KnownProvider {
    /// Returns a failure that is too recent for a retry.
    fn check(&self, now: Millis) -> Result<(), SsoFault> {
        match self.failed {
            Some((at, fault)) if now.since(at) < FAILED_MS => Err(fault),
            _ => Ok(()),
        }
    }
}

/// Link to a provider from this node.
pub(super) struct ProviderLink<'a> {
    app: &'a App,
    issuer: IssuerUrl,
    known: Arc<AsyncMutex<KnownProvider>>,
}

impl<'a> ProviderLink<'a> {
    pub(super) fn of(app: &'a App, issuer: &str) -> Result<Self, SsoFault> {
        let issuer = IssuerUrl::parse(issuer, |host| app.platforms.hosts().has(host))?;
        let mut all = app.sso.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get_or_insert(issuer.as_str().to_owned(), Arc::default).clone();
        drop(all);
        Ok(Self { app, issuer, known })
    }

    /// Clears the cache, so that a test sees the provider's current state.
    pub(super) async fn forget(&self) {
        *self.known.lock().await = KnownProvider::default();
    }

    /// Returns the provider's document.
    pub(super) async fn document(&self) -> Result<Arc<ProviderDocument>, SsoFault> {
        let read =
            |body: &[u8]| ProviderDocument::read(&self.issuer, body, |host| self.app.platforms.hosts().has(host));
        let keep = |known: &mut KnownProvider, fresh| {
            *known = KnownProvider { document: Some(fresh), ..KnownProvider::default() };
        };
        let url = self.issuer.document_url();
        self.fresh(|known| known.document.as_ref(), KNOWN_MS, (url, DOCUMENT_MAX), read, keep).await
    }

    /// Returns the issuer that the provider's document names.
    pub(super) async fn named_issuer(&self) -> Option<String> {
        named_issuer(&self.fetch(self.issuer.document_url(), DOCUMENT_MAX).await.ok()?)
    }

    /// Returns the provider's keys. If one `is_missing`, fetches them again, at most once per minute.
    pub(super) async fn keys(
        &self,
        document: &ProviderDocument,
        is_missing: bool,
    ) -> Result<Arc<SigningKeys>, SsoFault> {
        let life = if is_missing { AGAIN_MS } else { KNOWN_MS };
        let keep = |known: &mut KnownProvider, fresh| known.keys = Some(fresh);
        let url = document.jwks_uri.clone();
        self.fresh(|known| known.keys.as_ref(), life, (url, KEYS_MAX), SigningKeys::read, keep).await
    }

    /// Returns a cached value younger than `life`, or fetches and caches it.
    async fn fresh<T>(
        &self,
        of: impl FnOnce(&KnownProvider) -> Option<&KeptAnswer<T>>,
        life: i64,
        (url, body_max): (String, u64),
        read: impl FnOnce(&[u8]) -> Result<T, SsoFault>,
        keep: impl FnOnce(&mut KnownProvider, KeptAnswer<T>),
    ) -> Result<Arc<T>, SsoFault> {
        let now = self.app.now();
        let mut known = self.known.lock().await;
        if let Some((at, value)) = of(&known)
            && now.since(*at) < life
        {
            return Ok(value.clone());
        }
        known.check(now)?;
        let fetched = self.fetch(url, body_max).await.and_then(|body| read(&body).map(Arc::new));
        match &fetched {
            Ok(value) => keep(&mut known, (now, value.clone())),
            Err(fault) => known.failed = Some((self.app.now(), *fault)),
        }
        fetched
    }

    /// Exchanges a code for an ID token.
    pub(super) async fn exchange(
        &self,
        document: &ProviderDocument,
        exchange: &CodeExchange<'_>,
    ) -> Result<String, SsoFault> {
        let request = exchange.request(document);
        let request = Request {
            method: Method::Post,
            url: request.url,
            path: String::new(),
            headers: request.headers,
            body: Some(request.body),
            timeout_ms: CALL_MS,
            body_max: ANSWER_MAX,
        };
        let response = self.app.platforms.call(&request).await.map_err(|fault| fault_of(&fault))?;
        if response.is_cut {
            return Err(SsoFault::TooLarge);
        }
        read_answer(response.status, &response.body)
    }

    /// Verifies an ID token. If its key is unknown, fetches the keys once more, because the provider may have replaced them, even
    /// under the same name.
    pub(super) async fn check(
        &self,
        document: &ProviderDocument,
        check: TokenCheck<'_>,
        token: &str,
    ) -> Result<IdClaims, SsoFault> {
        match check.check(token, &*self.keys(document, false).await?) {
            Err(SsoFault::KeyUnknown | SsoFault::Signature) => check.check(token, &*self.keys(document, true).await?),
            checked => checked,
        }
    }

    async fn fetch(&self, url: String, body_max: u64) -> Result<Vec<u8>, SsoFault> {
        let request = Request {
            method: Method::Get,
            url,
            path: String::new(),
            headers: vec![("accept".to_owned(), "application/json".to_owned())],
            body: None,
            timeout_ms: CALL_MS,
            body_max,
        };
        let response = self.app.platforms.call(&request).await.map_err(|fault| fault_of(&fault))?;
        match (response.status, response.is_cut) {
            (200, false) => Ok(response.body),
            (200, true) => Err(SsoFault::TooLarge),
            _ => Err(SsoFault::Status),
        }
    }
}

fn fault_of(fault: &CallFault) -> SsoFault {
    match fault.cause {
        CallCause::Blocked | CallCause::Unfit => SsoFault::Blocked,
        CallCause::Timeout => SsoFault::TimedOut,
        CallCause::Unresolved
        | CallCause::Unreachable
        | CallCause::Tls
        | CallCause::Broken
        | CallCause::Later
        | CallCause::Local => SsoFault::Unreachable,
    }
}
