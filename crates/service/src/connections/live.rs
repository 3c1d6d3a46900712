//! Calls to a platform during a request: trying credentials, and reading lists.
//!
//! If the platform refuses the entered credentials, the error is a 400 that names the field. If the platform is busy or
//! unreachable, the error is a 503, because the same request may succeed later.

use std::time::Duration;

use probity_access::limits::{LimitBucket, RequestLimit};
use probity_account::id::ConnId;
use probity_backend::connections::access::{self, ConnectionAccess, NoAccess, SealedCredentials};
use probity_backend::connections::tokens::NoToken;
use probity_backend::connections::{CallCause, CallFault, TEST_MAX_MS};
use probity_connectors::{
    ConnectorFile, CredentialAge, Credentials, ErrorClass, Fault, ListRecord, TestOutcome, Testing,
};
use probity_contract::error::{ApiError, Code};
use probity_contract::published::connections::EnteredCredentials;
use probity_store::OrgNo;
use probity_store::connections::connection::{AccountTag, StoredConnection};

use crate::app::App;
use crate::callers::admission;
use crate::callers::caller::Caller;

/// Delay before a retry if the platform sends none, in seconds.
const RETRY_S: u32 = 30;
/// Maximum delay that is passed on to the client, in seconds.
const RETRY_MAX_S: u32 = 3_600;

/// Divisor of an organization's rate limit for calls to platforms: each call takes a socket for up to 30 s, and load at a
/// third party.
const LIVE_SHARE: u32 = 100;
/// Minimum calls per minute, regardless of the organization's limit.
const LIVE_MIN: u32 = 10;

/// Counts a call to a platform that a request makes.
pub(super) async fn count(app: &App, caller: &Caller) -> Result<(), ApiError> {
    let (allowed, _) = caller.org_rates();
    let requests = admission::operators_limit(app, allowed, caller.org_plan());
    let bucket = LimitBucket::LiveCalls(caller.org());
    let limit = RequestLimit { bucket, per_minute: (requests / LIVE_SHARE).max(LIVE_MIN) };
    admission::count_act(app, &[limit]).await
}

/// Credentials that the platform has accepted.
pub(super) struct AcceptedCredentials {
    pub(super) stored: SealedCredentials,
    /// Name of the account at the platform.
    pub(super) account: Option<String>,
}

/// Tries entered credentials, and prepares them for storage.
pub(super) async fn accept(
    app: &App,
    caller: &Caller,
    file: &ConnectorFile,
    id: ConnId,
    EnteredCredentials(entered): &EnteredCredentials,
) -> Result<AcceptedCredentials, ApiError> {
    let credentials = Credentials::new(file, entered, app.platforms.hosts())
        .map_err(|fault| ApiError::invalid(&field(&fault.field), fault.what))?;
    count(app, caller).await?;
    let tag = access::tag(&app.secrets, file, entered);
    // Without accepted credentials, the account that they name is unproven, so its limits are not used.
    let budget = app.platforms.budget(file, &tag, &tag);
    let mut access = ConnectionAccess { file, credentials, budget, token_version: None };
    match tried(app, (caller.org(), &tag), &mut access, CredentialAge::Entered).await? {
        TestOutcome::Valid { account } => {
            Ok(AcceptedCredentials { stored: access::seal(&app.secrets, file, id, entered), account })
        }
        TestOutcome::Wrong { fields, message } => Err(refused(&fields, &message)),
        TestOutcome::Failed(fault) => Err(unavailable(fault)),
    }
}

/// Tries a connection's stored credentials. Returns `None` if they are valid, otherwise the reason.
pub(super) async fn try_stored(
    app: &App,
    of: &StoredConnection,
    mut access: ConnectionAccess<'_>,
) -> Result<Option<String>, ApiError> {
    match tried(app, (of.org, &of.account_tag), &mut access, CredentialAge::Stored).await? {
        TestOutcome::Valid { .. } => Ok(None),
        TestOutcome::Wrong { message, .. } => Ok(Some(message)),
        TestOutcome::Failed(fault) => Err(unavailable(fault)),
    }
}

/// Tries credentials, within 15 s in total. An exchange for an access token continues after that.
async fn tried(
    app: &App,
    account: (OrgNo, &AccountTag),
    access: &mut ConnectionAccess<'_>,
    age: CredentialAge,
) -> Result<TestOutcome, ApiError> {
    let name = &access.file.provider.name;
    let limit = Duration::from_millis(TEST_MAX_MS.unsigned_abs());
    tokio::time::timeout(limit, tried_at_length(app, account, access, age)).await.unwrap_or_else(|_| {
        let late = CallFault { cause: CallCause::Timeout, may_have_acted: false, wait_ms: None };
        Ok(TestOutcome::Failed(late.fault(name)))
    })
}

/// Tries credentials. If the platform refuses an access token, which can be revoked at any time, tries another one.
async fn tried_at_length(
    app: &App,
    (org, tag): (OrgNo, &AccountTag),
    access: &mut ConnectionAccess<'_>,
    age: CredentialAge,
) -> Result<TestOutcome, ApiError> {
    let mut refused = None;
    loop {
        let authorized = app.tokens.authorize(org, tag, access, refused).await;
        let testing = Testing::of(access.file, &access.credentials, age);
        match authorized {
            Ok(()) => {}
            Err(NoToken::Platform(fault)) => return Ok(testing.refused(fault)),
            Err(NoToken::Unreached(fault)) => return Ok(testing.unreached(fault)),
            Err(NoToken::Store(error)) => return Err(error.into()),
        }
        let outcome = app.platforms.test(testing, &access.budget).await.unwrap_or_else(TestOutcome::Failed);
        if refused.is_some() || access.token_version.is_none() || !matches!(outcome, TestOutcome::Wrong { .. }) {
            return Ok(outcome);
        }
        refused = access.token_version;
    }
}

/// Opens the account of a connection for an act that needs it. Returns the reason if a customer has to reconnect it.
pub(super) async fn opened<'a>(
    app: &'a App,
    connection: &StoredConnection,
) -> Result<Result<ConnectionAccess<'a>, String>, ApiError> {
    let mut access = match opened_to_try(app, connection).await? {
        Ok(access) => access,
        why => return Ok(why),
    };
    match app.tokens.authorize(connection.org, &connection.account_tag, &mut access, None).await {
        Ok(()) => Ok(Ok(access)),
        Err(NoToken::Platform(fault)) if fault.class == ErrorClass::Credential => Ok(Err(fault.message)),
        Err(why) => Err(no_token(why)),
    }
}

/// Opens the account of a connection without calling the platform.
pub(super) async fn opened_to_try<'a>(
    app: &'a App,
    connection: &StoredConnection,
) -> Result<Result<ConnectionAccess<'a>, String>, ApiError> {
    let mut conn = app.store.read().await?;
    match access::open(&mut conn, &app.platforms, &app.secrets, connection).await {
        Ok(access) => Ok(Ok(access)),
        Err(NoAccess::Store(error)) => Err(error.into()),
        Err(error @ NoAccess::Sealed) => Err(ApiError::server_error(error)),
        Err(error @ (NoAccess::Platform | NoAccess::Credentials | NoAccess::Unfit(_))) => Ok(Err(error.to_string())),
    }
}

/// Reads the lists of a connection's account. If the platform refuses an access token, which can be revoked at any time, tries
/// another one.
pub(super) async fn lists(
    app: &App,
    of: &StoredConnection,
    mut access: ConnectionAccess<'_>,
) -> Result<Vec<ListRecord>, ApiError> {
    let first = app.platforms.lists(access.file, &access.credentials, &access.budget).await;
    let is_refused = matches!(&first, Err(fault) if fault.class == ErrorClass::Credential);
    let lists = match access.token_version.filter(|_| is_refused) {
        None => first,
        refused => {
            app.tokens.authorize(of.org, &of.account_tag, &mut access, refused).await.map_err(no_token)?;
            app.platforms.lists(access.file, &access.credentials, &access.budget).await
        }
    };
    lists.map_err(unavailable)
}

fn no_token(why: NoToken) -> ApiError {
    why.into_fault().map_or_else(ApiError::from, unavailable)
}

/// Maps a fault of the platform to the error of an act that needs it.
fn unavailable(fault: Fault) -> ApiError {
    if fault.class == ErrorClass::Credential {
        let why = fault.message;
        return ApiError::conflict(format!(
            "{why}; reconnect the connection with credentials that the platform accepts"
        ));
    }
    let wait_s = fault.wait_ms.map(|ms| u32::try_from(ms.div_euclid(1_000) + 1).unwrap_or(RETRY_MAX_S));
    ApiError::new(Code::ServiceUnavailable, fault.message).retry_after(wait_s.unwrap_or(RETRY_S).clamp(1, RETRY_MAX_S))
}

fn refused(fields: &[String], message: &str) -> ApiError {
    match fields {
        [] => ApiError::invalid("credentials", message),
        [only] => ApiError::invalid(&field(only), message),
        several => {
            let names = several.join(", ");
            ApiError::invalid("credentials", format_args!("check {names}: {message}"))
        }
    }
}

fn field(name: &str) -> String {
    if name == "credentials" { name.to_owned() } else { format!("credentials.{name}") }
}
