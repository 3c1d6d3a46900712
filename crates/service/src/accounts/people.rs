//! Sign-in of users.
//!
//! Acts without a session take a [`Visitor`]; all others take an [`OpenSession`](sessions::OpenSession).

mod browser_mark;
pub mod forgotten_password;
pub mod link_use;
pub mod member_sessions;
pub mod password_change;
mod qr;
mod recovery;
pub mod second_factor;
pub mod sessions;
pub mod sign_in;
pub mod sso;

use probity_access::people::attempts::Network;
use probity_account::id::UserId;
use probity_contract::error::{ApiError, Code};
use probity_mail::time::Millis;
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor};
use probity_store::{OrgNo, StoreError, Tx};
use probity_telemetry::metrics::AuthFailure;

use crate::app::App;

/// Client of a dashboard request, with or without a session.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Network of the client's IP address.
    pub network: Network,
    /// Browser and system, which name a new session.
    pub client: String,
    /// Whether the connection is encrypted.
    pub secure: bool,
}

/// Secret token of a session, stored only in its browser.
pub type SessionToken = [u8; 32];

/// Response of a page, with the new token for its browser.
pub struct WithToken<T> {
    pub shown: T,
    pub token: SessionToken,
}

/// Returns the error for wrong credentials, and counts it.
fn sign_in_failed(app: &App) -> ApiError {
    app.metrics.accounts().auth_failed(AuthFailure::SignIn);
    ApiError::of(Code::SignInFailed)
}

/// Refuses credentials that turned out to be wrong.
fn must_succeed(app: &App, is_right: bool) -> Result<(), ApiError> {
    if is_right { Ok(()) } else { Err(sign_in_failed(app)) }
}

/// Records a user's action in the transaction that performs it.
async fn note_event(
    tx: &mut Tx,
    (org, user): (OrgNo, UserId),
    event: AccountEventKind,
    now: Millis,
) -> Result<(), StoreError> {
    events::add(tx, org, now, Some(EventActor::User(user)), &[AccountChange::Account(event, None)]).await
}
