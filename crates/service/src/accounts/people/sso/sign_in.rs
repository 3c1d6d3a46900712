//! Sign-in at an organization's provider: the redirect there and back.
//!
//! The browser keeps state, nonce and verifier, encrypted and for a short time: a response in another browser is refused, and
//! starting a sign-in stores no row. A response is used up before the provider is called.

use probity_access::people::attempts::{self, AttemptSubject};
use probity_contract::error::{ApiError, Code};
use probity_contract::published::accounts::people::SignedInShown;
use probity_contract::published::accounts::sso::{BeginSso, BegunSso};
use probity_mail::address::trimmed;
use probity_mail::time::Millis;
use probity_sso::{CodeExchange, FLOW_RANDOM_BYTES, SsoFault, SsoFlow, TokenCheck, is_same_issuer};
use probity_store::accounts::organization;
use probity_store::accounts::sso::{self, StoredSso};
use probity_store::accounts::users::email_domain;
use probity_store::{OrgNo, ScopedFutureExt as _, work};
use probity_telemetry::metrics::AuthFailure;
use serde::{Deserialize, Serialize};

use super::admission::Arrived;
use super::provider::ProviderLink;
use super::{SSO_FLOW_MS, SsoRefusal, obstacle, redirect_uri};
use crate::accounts::people::browser_mark::make_mark;
use crate::accounts::people::{Visitor, WithToken};
use crate::app::App;

/// State that the browser keeps during a sign-in at the provider.
#[derive(Serialize, Deserialize)]
struct KeptFlow {
    org: i64,
    /// Version of the organization's settings, with their time, because versions restart after a deletion.
    version: i64,
    changed_at: i64,
    ends_at: i64,
    flow: SsoFlow,
}

/// Response of a provider, as sent by the browser.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SsoAnswer {
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// Session started by a sign-in at a provider, and the mark for its browser.
pub struct SsoSession {
    pub session: WithToken<SignedInShown>,
    pub mark: Vec<u8>,
}

/// Redirects a browser to the provider of an address's domain. Returns the URL, and the state for the browser to keep. The
/// response depends on the domain only, never on whether the address has an account. Unknown domains count against the network;
/// failures of a provider do not.
pub async fn begin_sso(app: &App, visitor: &Visitor, given: BeginSso) -> Result<(BegunSso, Vec<u8>), ApiError> {
    let email = trimmed(&given.email);
    let domain = email_domain(email).ok_or_else(|| ApiError::invalid("email", "must be an email address"))?;
    let attempt = attempts::begin(app.attempts(), AttemptSubject::Link, visitor.network).await?;
    let known = sso::by_domain(&mut app.store.read().await?, &domain).await?;
    let (sso, redirect_uri) = ready(app, known).await?.ok_or_else(ApiError::not_found)?;
    app.store.write(|tx| attempt.take_back_correct(tx).scope_boxed()).await?;
    let started = async {
        let document = ProviderLink::of(app, &sso.issuer)?.document().await?;
        let random = probity_access::secrets::random::bytes::<FLOW_RANDOM_BYTES>();
        let flow = SsoFlow::of(&random);
        let location = flow.authorization_url(&document, (&sso.client_id, &redirect_uri), email);
        Ok::<_, SsoFault>((location, flow))
    };
    let (location, flow) = started.await.map_err(|fault| {
        tracing::warn!(org = sso.org.0, %fault, "cannot begin a sign-in at a provider");
        ApiError::new(Code::ServiceUnavailable, format!("single sign-on is unavailable: {fault}"))
    })?;
    let kept = KeptFlow {
        org: sso.org.0,
        version: sso.version,
        changed_at: sso.changed_at.0,
        ends_at: (app.now() + SSO_FLOW_MS).0,
        flow,
    };
    let kept = serde_json::to_vec(&kept).expect("numbers and texts");
    Ok((BegunSso { location }, app.secrets.seal_sso_flow(&kept)))
}

/// Returns the usable provider of an organization, with the redirect URI.
async fn ready(app: &App, sso: Option<StoredSso>) -> Result<Option<(StoredSso, String)>, probity_store::StoreError> {
    let Some(sso) = sso else { return Ok(None) };
    let org = organization::by_no(&mut app.store.read().await?, sso.org).await?;
    let usable = obstacle(app, &org).is_none();
    Ok(redirect_uri(app).filter(|_| usable).map(|uri| (sso, uri)))
}

/// Starts the session of a user who returns from the provider, in the same browser.
pub async fn finish_sso(
    app: &App,
    visitor: &Visitor,
    kept: Option<&[u8]>,
    answer: SsoAnswer,
) -> Result<SsoSession, SsoRefusal> {
    let finished = finish(app, visitor, kept, &answer).await;
    if let Err(refusal) = &finished {
        app.metrics.accounts().auth_failed(AuthFailure::SignIn);
        // Without the address or any text of the provider.
        tracing::info!(?refusal, "a sign-in at a provider led to no session");
    }
    finished
}

async fn finish(
    app: &App,
    visitor: &Visitor,
    kept: Option<&[u8]>,
    answer: &SsoAnswer,
) -> Result<SsoSession, SsoRefusal> {
    let kept = open(app, kept, answer).ok_or(SsoRefusal::Stale)?;
    let attempt = attempts::begin(app.attempts(), AttemptSubject::Link, visitor.network)
        .await
        .map_err(|error| if error.code() == Code::RateLimited { SsoRefusal::Wait } else { SsoRefusal::Unavailable })?;
    // A client with the cookie and the state has guessed nothing, whatever the provider returns.
    app.store.write(|tx| attempt.take_back_correct(tx).scope_boxed()).await?;
    let known = sso::of(&mut app.store.read().await?, OrgNo(kept.org)).await?;
    let (sso, redirect_uri) = ready(app, known).await?.ok_or(SsoRefusal::Off)?;
    let used = app.secrets.sso_flow(kept.flow.nonce());
    let now = app.now();
    let is_first = app.store.write(|tx| sso::use_up(tx, sso.org, &used, now).scope_boxed()).await?;
    if !is_first || (sso.version, sso.changed_at.0) != (kept.version, kept.changed_at) {
        return Err(SsoRefusal::Stale);
    }
    if answer.error.is_some() {
        return Err(SsoRefusal::Declined);
    }
    let arrived = arrive(app, sso, &redirect_uri, &kept.flow, answer).await?;
    begin_session(app, visitor, arrived).await
}

/// Decrypts the state that the browser kept, if the response matches it.
fn open(app: &App, kept: Option<&[u8]>, answer: &SsoAnswer) -> Option<KeptFlow> {
    let plain = app.secrets.open_sso_flow(kept?).ok()?;
    let kept: KeptFlow = serde_json::from_slice(&plain).ok()?;
    (kept.flow.has_state(&answer.state) && app.now() < Millis(kept.ends_at)).then_some(kept)
}

/// Asks the provider for the identity of the user.
async fn arrive(
    app: &App,
    sso: StoredSso,
    redirect_uri: &str,
    flow: &SsoFlow,
    answer: &SsoAnswer,
) -> Result<Arrived, SsoRefusal> {
    let code = answer.code.as_deref().ok_or(SsoRefusal::Stale)?;
    let link = ProviderLink::of(app, &sso.issuer)?;
    let document = link.document().await?;
    // RFC 9207: a response of another provider is not exchanged here.
    let names_other =
        answer.iss.as_ref().map_or(document.names_itself, |issuer| !is_same_issuer(issuer, &document.issuer));
    if names_other {
        return Err(SsoFault::TokenIssuer.into());
    }
    let secret = app.secrets.open_sso_secret(sso.org, &sso.client_secret).ok();
    let secret = secret.and_then(|secret| String::from_utf8(secret).ok()).ok_or_else(|| {
        tracing::error!("cannot decrypt a provider's client secret; was the pepper replaced?");
        SsoRefusal::Unavailable
    })?;
    let exchange = CodeExchange { code, flow, redirect_uri, client_id: &sso.client_id, client_secret: &secret };
    let token = link.exchange(&document, &exchange).await?;
    let check = TokenCheck { issuer: &document.issuer, client_id: &sso.client_id, nonce: flow.nonce(), now: app.now() };
    let claims = link.check(&document, check, &token).await?;
    let email = claims.email(sso.believed)?.to_owned();
    let mut domains = vec![email_domain(&email).ok_or(SsoRefusal::Domain)?];
    if let Some(domain) = claims.managed_by()? {
        domains.push(email_domain(&format!("account@{domain}")).ok_or(SsoRefusal::Domain)?);
    }
    let subject = app.secrets.sso_subject(sso.org, &sso.issuer, &claims.subject);
    Ok(Arrived { sso, email, domains, name: claims.name, subject })
}

async fn begin_session(app: &App, visitor: &Visitor, arrived: Arrived) -> Result<SsoSession, SsoRefusal> {
    let now = app.now();
    let begun = app.store.write(work!(|tx| {
        let fresh = match arrived.admit(app, tx, visitor, now).await? {
            Ok(fresh) => fresh,
            Err(refusal) => return Ok(Err(refusal)),
        };
        fresh.begin(tx, now).await?;
        Ok::<_, probity_store::StoreError>(Ok(fresh))
    }));
    let fresh = begun.await??;
    let session = fresh.shown(app, visitor).await.map_err(|_| SsoRefusal::Unavailable)?;
    Ok(SsoSession { session, mark: make_mark(&app.secrets, fresh.owner()) })
}
