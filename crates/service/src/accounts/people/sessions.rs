//! Sessions of users: opened for each request, listed and ended.
//!
//! Each request reads its session from the database, so a revoked session ends on all nodes. Its token is stored only as a
//! keyed hash, and is replaced when the session's rights change.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_access::secrets::Secrets;
use probity_account::id::{SessionId, UserId};
use probity_account::scope::Scope;
use probity_contract::error::{ApiError, Code};
use probity_contract::page::List;
use probity_contract::published::accounts::people::{
    DeletedSession, DeletedSessions, SessionListed, SessionShown, SignedOut,
};
use probity_mail::time::Millis;
use probity_store::accounts::people::passwords::SecretHash;
use probity_store::accounts::people::second_factor;
use probity_store::accounts::people::sessions::{self, SignedInUser};
use probity_store::activity::events::AccountEventKind;
use probity_store::{Conn, OrgNo, ScopedFutureExt as _, StoreError, Tx, work};

use crate::accounts::people::{SessionToken, Visitor, note_event};
use crate::app::App;
use crate::callers::caller::Caller;

/// Resolution of a session's last use, in milliseconds.
const SEEN_STEP_MS: i64 = 60_000;

/// Session of a request.
#[derive(Clone, Debug)]
pub struct OpenSession {
    pub signed_in: Arc<SignedInUser>,
    pub token: SessionToken,
}

impl OpenSession {
    /// Returns the user as a caller of acts that API keys can call too, on live or on test data.
    pub fn caller(&self, test: bool) -> Caller {
        Caller::Person { user: self.signed_in.clone(), test }
    }

    /// Returns the page token, which requests that change something must send.
    pub fn page_token(&self, app: &App) -> String {
        page_token(&app.secrets, &self.token)
    }

    /// Returns the organization and the user of the session.
    pub(super) fn owner(&self) -> (OrgNo, UserId) {
        (self.signed_in.session.org, self.signed_in.session.user)
    }
}

/// Returns a session's page token as text.
pub(super) fn page_token(secrets: &Secrets, token: &SessionToken) -> String {
    URL_SAFE_NO_PAD.encode(secrets.page_token(token))
}

/// Returns the error for a request without a session.
pub fn not_signed_in() -> ApiError {
    ApiError::of(Code::NotSignedIn)
}

/// Returns the session of a token, unless it has expired.
pub async fn open_session(app: &App, token: SessionToken) -> Result<OpenSession, ApiError> {
    let signed_in = Arc::new(signed_in(app, &token, app.now()).await?);
    Ok(OpenSession { signed_in, token })
}

async fn signed_in(app: &App, token: &SessionToken, now: Millis) -> Result<SignedInUser, ApiError> {
    let hash = app.secrets.session(token);
    let found = sessions::by_token(&mut app.store.read().await?, &hash).await?;
    let lifetimes = app.people.config.lifetimes;
    found.filter(|found| !found.session.is_over(lifetimes, now)).ok_or_else(not_signed_in)
}

/// Returns whether a session is still valid and its user still has these scopes. Returns true if the database is unavailable,
/// because the next check decides.
pub async fn still_signed_in(app: &App, session: &OpenSession, scopes: &[Scope]) -> bool {
    match signed_in(app, &session.token, app.now()).await {
        Ok(now) => !now.org_status.is_stopped() && scopes.iter().all(|scope| now.role.scopes().contains(*scope)),
        Err(error) => error.code() != Code::NotSignedIn,
    }
}

/// Records that a session was used. A failure is logged only: the session then expires sooner.
pub async fn note_use(app: &App, session: &OpenSession, now: Millis) {
    let session = &session.signed_in.session;
    if now.since(session.seen_at) < SEEN_STEP_MS {
        return;
    }
    let noted: Result<(), StoreError> =
        app.store.write(|tx| sessions::touch(tx, session.org, session.id, now).scope_boxed()).await;
    if let Err(error) = noted {
        tracing::warn!(%error, "cannot record the use of a session");
    }
}

/// Returns the current session.
pub async fn get_session(app: &App, visitor: &Visitor, session: &OpenSession) -> Result<SessionShown, ApiError> {
    let codes = codes_left(&mut app.store.read().await?, &session.signed_in).await?;
    Ok(SessionShown::of(&session.signed_in, session.page_token(app), codes, (visitor.secure, app.sends_mail)))
}

/// Returns the number of unused recovery codes.
pub(super) async fn codes_left(conn: &mut Conn, signed_in: &SignedInUser) -> Result<i64, StoreError> {
    second_factor::recovery_codes_left(conn, signed_in.session.org, signed_in.session.user).await
}

/// Lists the user's sessions.
pub async fn list_sessions(app: &App, session: &OpenSession) -> Result<List<SessionListed>, ApiError> {
    let own = &session.signed_in.session;
    let mut conn = app.store.read().await?;
    let all = sessions::of_user(&mut conn, own.org, own.user, app.people.config.lifetimes, app.now()).await?;
    Ok(List::whole(all.into_iter().map(|session| SessionListed::of(session, Some(own.id))).collect()))
}

/// Ends one session of the user.
pub async fn delete_session(app: &App, session: &OpenSession, id: SessionId) -> Result<DeletedSession, ApiError> {
    let ((org, user), now) = (session.owner(), app.now());
    let ended = app.store.write(work!(|tx| {
        sessions::revoke(tx, org, user, id).await?;
        note_event(tx, (org, user), AccountEventKind::SessionsRevoked, now).await
    }));
    ended.await?;
    Ok(DeletedSession { deleted: true, id })
}

/// Ends all other sessions of the user.
pub async fn delete_other_sessions(app: &App, session: &OpenSession) -> Result<DeletedSessions, ApiError> {
    let (own, now) = (&session.signed_in.session, app.now());
    let ended = app.store.write(work!(|tx| {
        let ended = sessions::revoke_all(tx, own.org, own.user, Some(own.id)).await?;
        if ended > 0 {
            note_event(tx, (own.org, own.user), AccountEventKind::SessionsRevoked, now).await?;
        }
        Ok(ended)
    }));
    Ok(DeletedSessions { deleted: ended.await? })
}

/// Ends the current session.
pub async fn sign_out(app: &App, session: &OpenSession) -> Result<SignedOut, ApiError> {
    let own = &session.signed_in.session;
    let ended = app.store.write(|tx| sessions::revoke(tx, own.org, own.user, own.id).scope_boxed()).await;
    match ended {
        // Revoked concurrently, which is the requested result.
        Ok(()) | Err(StoreError::NotFound) => Ok(SignedOut { signed_out: true }),
        Err(error) => Err(error.into()),
    }
}

/// New token for a session whose rights have changed; it invalidates the previous token.
pub(super) struct RenewedToken {
    pub(super) token: SessionToken,
    hash: SecretHash,
}

impl RenewedToken {
    pub(super) fn of(secrets: &Secrets) -> Self {
        let token = probity_access::secrets::random::bytes();
        Self { token, hash: secrets.session(&token) }
    }

    /// Replaces the session's token, in the transaction of the change.
    pub(super) async fn put(&self, tx: &mut Tx, session: &OpenSession) -> Result<(), StoreError> {
        let own = &session.signed_in.session;
        sessions::renew(tx, own.org, own.id, &self.hash).await
    }

    /// Returns the session under its new token.
    pub(super) fn shown(&self, app: &App, visitor: &Visitor, signed_in: &SignedInUser, codes: i64) -> SessionShown {
        SessionShown::of(signed_in, page_token(&app.secrets, &self.token), codes, (visitor.secure, app.sends_mail))
    }
}
