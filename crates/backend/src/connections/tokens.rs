//! Access tokens of accounts whose credentials a platform exchanges for one: OAuth 2.0 refresh tokens, and logins.
//!
//! One process exchanges at a time, over all nodes, because a platform may refuse a refresh token that it has replaced. The
//! replaced one is stored, encrypted, before the token is used. An exchange goes on if its caller is dropped, and a node that stops
//! waits for it. If the process dies between the answer and the store, the next exchange repeats the earlier refresh token, which
//! platforms accept for some seconds; a platform without such a grace then refuses it, and the customer reconnects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::Secrets;
use probity_account::connections::{StoredToken, TokenTurn};
use probity_connectors::{ConnectorFile, Credentials, ErrorClass, Fault, PlatformTokenGrant};
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::connections::connection::AccountTag;
use probity_store::connections::tokens::{self, EXCHANGE_MS};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;

use super::access::ConnectionAccess;
use super::{AccountBudget, NoGrant, Platforms};

/// Maximum time for which a stopping node waits for exchanges.
const ENDING: Duration = Duration::from_millis(EXCHANGE_MS.unsigned_abs());
/// Interval at which others look for the result of an exchange.
const LOOK: Duration = Duration::from_millis(100);
/// Interval of attempts to store a result.
const AGAIN: Duration = Duration::from_millis(200);

/// Reason why there is no token.
#[derive(Debug)]
pub enum NoToken {
    /// What the platform said. Of class `credential` if it refuses the credentials.
    Platform(Fault),
    /// The host was not reached, so its URL may be wrong.
    Unreached(Fault),
    Store(StoreError),
}

impl NoToken {
    /// Returns the platform's fault, or the error of the database.
    pub fn into_fault(self) -> Result<Fault, StoreError> {
        match self {
            Self::Platform(fault) | Self::Unreached(fault) => Ok(fault),
            Self::Store(error) => Err(error),
        }
    }
}

impl From<StoreError> for NoToken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<NoGrant> for NoToken {
    fn from(why: NoGrant) -> Self {
        match why {
            NoGrant::Fault(fault) => Self::Platform(fault),
            NoGrant::Unreached(fault) => Self::Unreached(fault),
        }
    }
}

/// Tokens, as encrypted. Without `Debug`, because they give access to the account.
#[derive(Serialize, Deserialize)]
struct KeptTokens {
    access: String,
    /// Credentials that the platform has replaced.
    replaced: BTreeMap<String, String>,
}

/// Token that somebody needs.
#[derive(Clone, Copy)]
struct WantedToken<'a> {
    org: OrgNo,
    tag: &'a AccountTag,
    access: &'a ConnectionAccess<'a>,
    /// Version of a token that the platform has refused.
    refused: Option<i64>,
}

/// Gives tokens to those who call platforms. Cheap to clone; clones share their exchanges.
#[derive(Clone)]
pub struct TokenDesk {
    store: Store,
    platforms: Platforms,
    secrets: Arc<Secrets>,
    clock: EngineClock,
    /// Exchanges in progress.
    exchanges: TaskTracker,
}

impl TokenDesk {
    pub fn new(store: &Store, platforms: &Platforms, secrets: &Arc<Secrets>, clock: EngineClock) -> Self {
        Self {
            store: store.clone(),
            platforms: platforms.clone(),
            secrets: Arc::clone(secrets),
            clock,
            exchanges: TaskTracker::new(),
        }
    }

    /// Waits for the exchanges in progress, so that what platforms replace is stored. Call it once nobody needs a token any more.
    pub async fn finish(&self) {
        self.exchanges.close();
        if tokio::time::timeout(ENDING, self.exchanges.wait()).await.is_err() {
            tracing::warn!("an exchange for an access token did not finish in time");
        }
    }

    /// Adds a valid access token to the credentials of an account, if its platform wants one. `refused` is the version of a token
    /// that the platform has refused.
    pub async fn authorize(
        &self,
        org: OrgNo,
        tag: &AccountTag,
        access: &mut ConnectionAccess<'_>,
        refused: Option<i64>,
    ) -> Result<(), NoToken> {
        if access.file.token.is_none() {
            return Ok(());
        }
        let stored = self.valid(WantedToken { org, tag, access, refused }).await?;
        let kept = self.open(tag, &stored)?.ok_or_else(|| unavailable(access.file))?;
        let credentials = with_replaced(access.credentials.clone(), &kept);
        let with_token = credentials.with_token(access.file, kept.access.into());
        access.credentials = with_token.map_err(|fault| NoToken::Platform(refusal(fault.to_string())))?;
        access.token_version = Some(stored.version);
        Ok(())
    }

    /// Returns a token that is fresh, or lasts while the platform gives no other one.
    async fn valid(&self, wanted: WantedToken<'_>) -> Result<StoredToken, NoToken> {
        let before = tokens::of_account(&mut self.store.read().await?, wanted.org, wanted.tag).await?;
        let fresh = self.fresh(wanted, before.clone()).await;
        let may_last = match &fresh {
            Err(NoToken::Platform(fault) | NoToken::Unreached(fault)) => fault.class != ErrorClass::Credential,
            _ => false,
        };
        let is_lasting = |known: &StoredToken| may_last && wanted.refused.is_none() && known.is_valid(self.clock.now());
        before.filter(is_lasting).map_or(fresh, Ok)
    }

    /// Returns a fresh token, once somebody has exchanged the credentials. `known` is what was stored before.
    async fn fresh(&self, wanted: WantedToken<'_>, mut known: Option<StoredToken>) -> Result<StoredToken, NoToken> {
        let WantedToken { org, tag, access, refused } = wanted;
        let begun = self.clock.now();
        loop {
            let now = self.clock.now();
            match known {
                Some(known) if known.is_fresh(now) && refused != Some(known.version) => return Ok(known),
                // Those who wait write nothing.
                Some(known) if known.is_claimed(now) => {}
                _ => {
                    let turn = self.store.write(|tx| tokens::claim(tx, (org, tag), refused, now).scope_boxed());
                    match turn.await? {
                        TokenTurn::Valid(stored) => return Ok(stored),
                        TokenTurn::Yours(claimed) => return self.exchange(wanted, claimed).await,
                        TokenTurn::Busy => {}
                    }
                }
            }
            if now.since(begun) > EXCHANGE_MS {
                return Err(unavailable(access.file));
            }
            tokio::time::sleep(LOOK).await;
            known = tokens::of_account(&mut self.store.read().await?, org, tag).await?;
        }
    }

    /// Exchanges the credentials in a task of its own, which the caller's end does not end.
    async fn exchange(&self, wanted: WantedToken<'_>, claimed: StoredToken) -> Result<StoredToken, NoToken> {
        let (org, tag, access) = (wanted.org, *wanted.tag, wanted.access);
        let mut credentials = access.credentials.clone();
        if let Some(kept) = self.open(&tag, &claimed)? {
            credentials = with_replaced(credentials, &kept);
        }
        let (desk, slug, budget) = (self.clone(), access.file.provider.slug.clone(), access.budget.clone());
        let work = async move { desk.exchanged((org, tag), &slug, (&credentials, &budget), claimed).await };
        self.exchanges.spawn(work).await.unwrap_or_else(|_| Err(unavailable(access.file)))
    }

    async fn exchanged(
        &self,
        (org, tag): (OrgNo, AccountTag),
        slug: &str,
        (credentials, budget): (&Credentials, &AccountBudget),
        claimed: StoredToken,
    ) -> Result<StoredToken, NoToken> {
        let version = claimed.version;
        let file = self.platforms.catalog().get(slug).ok_or(NoToken::Store(StoreError::NotFound))?;
        match self.platforms.authorize(file, credentials, budget).await {
            Ok(grant) => match self.keep((org, tag), claimed, &grant).await {
                // Another process took over. The lease of a run, which has the same error, is not lost.
                Err(NoToken::Store(StoreError::LeaseLost)) => Err(unavailable(file)),
                kept => kept,
            },
            Err(why) => {
                self.store.write(|tx| tokens::release(tx, (org, &tag), version).scope_boxed()).await?;
                Err(why.into())
            }
        }
    }

    /// Stores a token. While the database is away, it is tried again until the lease ends: the platform may have replaced a
    /// credential.
    async fn keep(
        &self,
        (org, tag): (OrgNo, AccountTag),
        claimed: StoredToken,
        grant: &PlatformTokenGrant,
    ) -> Result<StoredToken, NoToken> {
        let mut replaced = self.open(&tag, &claimed)?.map(|kept| kept.replaced).unwrap_or_default();
        if let Some((name, value)) = &grant.replaced {
            replaced.insert(name.clone(), value.expose_secret().to_owned());
        }
        let kept = KeptTokens { access: grant.access.expose_secret().to_owned(), replaced };
        let plain = serde_json::to_vec(&kept).map_err(|error| StoreError::Corrupt(error.into()))?;
        let sealed = self.secrets.seal_account_tokens(&tag, &plain);
        let end = claimed.claimed_until.unwrap_or(Millis(0));
        loop {
            let now = self.clock.now();
            let what = (sealed.as_slice(), grant.expires_at);
            let stored =
                self.store.write(|tx| tokens::store(tx, (org, &tag), claimed.version, what, now).scope_boxed());
            match stored.await {
                Ok(()) => break,
                Err(StoreError::Unavailable { .. }) if self.clock.now() < end => tokio::time::sleep(AGAIN).await,
                Err(error) => return Err(error.into()),
            }
        }
        let (tokens, expires_at) = (Some(sealed), Some(grant.expires_at));
        Ok(StoredToken { tokens, expires_at, claimed_until: None, exchanged_at: self.clock.now(), ..claimed })
    }

    fn open(&self, tag: &AccountTag, stored: &StoredToken) -> Result<Option<KeptTokens>, NoToken> {
        let Some(sealed) = &stored.tokens else { return Ok(None) };
        let corrupt = || NoToken::Store(StoreError::Corrupt("the tokens of an account".into()));
        let plain = self.secrets.open_account_tokens(tag, sealed).map_err(|_| corrupt())?;
        serde_json::from_slice(&plain).map(Some).map_err(|_| corrupt())
    }
}

fn with_replaced(credentials: Credentials, kept: &KeptTokens) -> Credentials {
    let replace = |credentials: Credentials, (name, value): (&String, &String)| {
        credentials.with_replaced(name, SecretString::from(value.as_str()))
    };
    kept.replaced.iter().fold(credentials, replace)
}

fn unavailable(file: &ConnectorFile) -> NoToken {
    let message = format!("no access token of {} at the moment", file.provider.name);
    NoToken::Platform(Fault { class: ErrorClass::Transient, status: 0, wait_ms: None, message })
}

fn refusal(message: String) -> Fault {
    Fault { class: ErrorClass::Credential, status: 0, wait_ms: None, message }
}
