//! Admission of callers: recognizes the key, then checks rate limits, restrictions and scopes.

use std::net::IpAddr;
use std::sync::Arc;

use probity_access::limits::{LimitBucket, LimitState, RequestLimit};
use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_contract::error::ApiError;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::accounts::keys::KnownKey;
use probity_store::accounts::organization::OrgState;
use probity_telemetry::metrics::{AuthFailure, LimitedBy};

use crate::app::App;
use crate::callers::caller::Caller;

/// Permission that a route requires of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Scope, in an organization without a restriction.
    Scope(Scope),
    AnyKey,
}

/// Refusal of a key, with the rate limit that caused it if there is one.
pub type KeyRefusal = (ApiError, Option<LimitState>);

/// Finds the API key of a secret. Each refused key counts against its IP address, which then has to wait.
pub async fn recognize_key(
    app: &App,
    text: &str,
    from: Option<IpAddr>,
    now: Millis,
) -> Result<Arc<KnownKey>, KeyRefusal> {
    let hash = app.secrets.api_key(text);
    let why = match app.keyring.open(&app.store, text, &hash, now).await {
        Ok(Ok(known)) => return Ok(known),
        Ok(Err(why)) => why,
        Err(error) => return Err((error.into(), None)),
    };
    app.metrics.accounts().auth_failed(why);
    // Looked up even if the address has to wait: others may share the address, and keys are too long to guess.
    let state = from.map(|ip| app.limits.take_here(LimitBucket::Failures(ip), app.config.failures_per_minute, now));
    match state.and_then(|state| state.retry_after_s(now)) {
        Some(retry_after_s) => {
            app.metrics.accounts().limited(LimitedBy::Address);
            Err((ApiError::rate_limited(retry_after_s), state))
        }
        None => Err((ApiError::invalid_api_key(), None)),
    }
}

/// Counts a request against the limits of its caller and of the organization.
pub async fn count_request(app: &App, caller: &Caller, pace: LimitChoice, now: Millis) -> LimitState {
    app.limits.take(&limits_of(app, caller, pace), now).await
}

/// Refuses a caller whose limits are used up, whose organization is restricted, or who lacks the scope.
pub fn admit(app: &App, caller: &Caller, need: Need, state: &LimitState, now: Millis) -> Result<(), ApiError> {
    let counts = app.metrics.accounts();
    if let Some(retry_after_s) = state.retry_after_s(now) {
        if let Some(by) = state.bucket.limited_by() {
            counts.limited(by);
        }
        return Err(ApiError::rate_limited(retry_after_s));
    }
    let Need::Scope(scope) = need else { return Ok(()) };
    running(app, caller)?;
    if !caller.scopes().contains(scope) {
        counts.auth_failed(AuthFailure::Scope);
        return Err(ApiError::forbidden_scope(caller.lacks(scope)));
    }
    Ok(())
}

/// Choice of the organization's limit that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitChoice {
    /// Limit that the organization has set for its keys, at most the operator's.
    AsWished,
    /// Limit of the operator only: for users, and for the route that changes the organization's limit, which could
    /// otherwise lock itself.
    AsAllowed,
}

/// Returns the limits against which a request counts: the caller's own, and the organization's.
pub fn limits_of(app: &App, caller: &Caller, pace: LimitChoice) -> [RequestLimit; 2] {
    [own_limit(app, caller), org_limit(app, caller, pace)]
}

/// Returns the requests per minute of a caller: the key's own limit, or the installation's.
pub fn own_limit(app: &App, caller: &Caller) -> RequestLimit {
    let (bucket, own) = match caller {
        Caller::Key(known) => (LimitBucket::Key(known.key.org, known.key.id), known.key.rate_limit_per_minute),
        Caller::Person { user, .. } => (LimitBucket::Session(user.session.org, user.session.id), None),
        // Never counted separately, because the operator's guard does not check limits.
        Caller::Staff { org, .. } => (LimitBucket::Org(org.no), None),
    };
    let own = own.and_then(|limit| u32::try_from(limit).ok());
    let widget = caller.key().is_some_and(|key| key.kind == KeyKind::Pub);
    let usual = if widget { app.config.widget.key_per_minute } else { app.config.key_per_minute };
    RequestLimit { bucket, per_minute: own.unwrap_or(usual).max(1) }
}

/// Returns the operator's limit or, if it applies and is lower, the limit that the organization has set for its keys.
fn org_limit(app: &App, caller: &Caller, pace: LimitChoice) -> RequestLimit {
    let (allowed, wished) = caller.org_rates();
    let allowed = operators_limit(app, allowed, caller.org_plan());
    let wished = wished.and_then(|limit| u32::try_from(limit).ok()).filter(|wished| *wished < allowed);
    let org = caller.org();
    match (wished, pace) {
        (None, _) => RequestLimit { bucket: LimitBucket::Org(org), per_minute: allowed },
        (Some(wished), LimitChoice::AsWished) => {
            RequestLimit { bucket: LimitBucket::Org(org), per_minute: wished.max(1) }
        }
        // A separate bucket, because the other one has another size and may be empty.
        (Some(_), LimitChoice::AsAllowed) => {
            RequestLimit { bucket: LimitBucket::OperatorOnly(org), per_minute: allowed }
        }
    }
}

/// Returns the requests per minute that the operator allows an organization, which may have its own value.
pub fn operators_limit(app: &App, own: Option<i64>, plan: &str) -> u32 {
    let said = own.or(app.config.plans.of(plan).rate_limit_per_minute);
    said.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(app.config.org_per_minute).max(1)
}

/// Refuses callers of a restricted organization.
pub fn running(app: &App, caller: &Caller) -> Result<(), ApiError> {
    refuse_stopped(caller.org_status()).inspect_err(|_| app.metrics.accounts().auth_failed(AuthFailure::Account))
}

/// Refuses what a restricted organization may not do.
pub(crate) fn refuse_stopped(status: OrgState) -> Result<(), ApiError> {
    if status.is_stopped() {
        return Err(ApiError::forbidden_scope("the organization is suspended, paused or banned; ask the operator"));
    }
    Ok(())
}

/// Counts an act against limits of the organization, and refuses it if they are used up.
pub(crate) async fn count_act<const N: usize>(app: &App, limits: &[RequestLimit; N]) -> Result<(), ApiError> {
    let now = app.now();
    match app.limits.take(limits, now).await.retry_after_s(now) {
        Some(retry_after_s) => {
            app.metrics.accounts().limited(LimitedBy::Organization);
            Err(ApiError::rate_limited(retry_after_s))
        }
        None => Ok(()),
    }
}

/// Refuses API keys and users. `message` says what only the operator can do.
pub(crate) fn require_operator(caller: &Caller, message: &'static str) -> Result<OrgNo, ApiError> {
    if caller.is_staff() { Ok(caller.org()) } else { Err(ApiError::forbidden_scope(message)) }
}

/// Refuses callers who are not administrators.
pub fn require_administrator(caller: &Caller) -> Result<(), ApiError> {
    if caller.is_administrator() {
        Ok(())
    } else {
        Err(ApiError::forbidden_scope("only administrators can do this; ask one of your organization"))
    }
}
