//! `/app/session`, `/app/sessions` and `/app/password`: where somebody is signed in, and what they sign in with.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use probity_account::id::SessionId;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::page::List;
use probity_service::people::attempts;
use probity_service::people::attempts::{Attempt, Whose};
use probity_service::people::passwords::{check_given, check_new};
use probity_service::secrets::Secrets;
use probity_store::events::AccountEvent;
use probity_store::passwords::{self, Password};
use probity_store::sessions::{self, SignedIn};
use probity_store::{Conn, ScopedFutureExt as _, StoreError, Tx, second_factor, users};
use serde_json::json;

use crate::body::JsonBody;
use crate::error::Refusal;
use crate::path::PathId;
use crate::person::cookie;
use crate::person::guard::{Person, Visitor};
use crate::person::sign_in::{happened, refused};
use crate::person::view::{ChangePassword, SessionListed, SessionShown};

/// The session that asks.
pub(crate) async fn get_session(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    person: Person,
) -> Result<Json<SessionShown>, Refusal> {
    let codes = codes_left(&mut app.store.read().await?, &person.signed_in).await?;
    Ok(Json(SessionShown::of(&app, visitor.transport, &person.signed_in, &person.token, codes)))
}

/// How many codes of recovery somebody has.
pub(crate) async fn codes_left(conn: &mut Conn, signed_in: &SignedIn) -> Result<i64, StoreError> {
    second_factor::recovery_codes_left(conn, signed_in.session.org, signed_in.session.user).await
}

/// Where the person is signed in.
pub(crate) async fn list_sessions(
    State(app): State<Arc<App>>,
    person: Person,
) -> Result<Json<List<SessionListed>>, Refusal> {
    let own = &person.signed_in.session;
    let mut conn = app.store.read().await?;
    let all = sessions::of_user(&mut conn, own.org, own.user, app.people.config.lifetimes, app.now()).await?;
    Ok(Json(List::whole(all.into_iter().map(|session| SessionListed::of(session, own.id)).collect())))
}

/// Ends one session of the person.
pub(crate) async fn delete_session(
    State(app): State<Arc<App>>,
    person: Person,
    PathId(id): PathId<SessionId>,
) -> Result<Json<serde_json::Value>, Refusal> {
    let (own, now) = (&person.signed_in.session, app.now());
    let ended = app.store.write(|tx| {
        async {
            sessions::revoke(tx, own.org, own.user, id).await?;
            happened(tx, own.org, own.user, AccountEvent::SessionsRevoked, now).await
        }
        .scope_boxed()
    });
    ended.await?;
    Ok(Json(json!({ "id": id, "deleted": true })))
}

/// Ends every other session of the person.
pub(crate) async fn delete_other_sessions(
    State(app): State<Arc<App>>,
    person: Person,
) -> Result<Json<serde_json::Value>, Refusal> {
    let (own, now) = (&person.signed_in.session, app.now());
    let ended = app.store.write(|tx| {
        async {
            let ended = sessions::revoke_all(tx, own.org, own.user, Some(own.id)).await?;
            if ended > 0 {
                happened(tx, own.org, own.user, AccountEvent::SessionsRevoked, now).await?;
            }
            Ok(ended)
        }
        .scope_boxed()
    });
    Ok(Json(json!({ "deleted": ended.await? })))
}

/// Changes the password. The other sessions end, and this one goes on with another token.
pub(crate) async fn change_password(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    person: Person,
    JsonBody(given): JsonBody<ChangePassword>,
) -> Result<Response, Refusal> {
    let (own, now) = (&person.signed_in.session, app.now());
    check_new("new", &given.new, person.signed_in.email.as_deref().unwrap_or_default())?;
    let shown = shown_again(&app, &visitor, &person, &given.current).await?;
    let whose = (own.org, own.user);
    let new = app.people.passwords.new_password(&app.secrets, whose, shown.password.who, &given.new).await?;
    let renewed = Renewed::of(&app.secrets);
    // Before the password is another: nothing may come between that and its answer.
    let codes = codes_left(&mut app.store.read().await?, &person.signed_in).await?;
    let changed = app.store.write(|tx| {
        async {
            if !shown.stands(tx).await? {
                return Ok(false);
            }
            passwords::set(tx, &new, now).await?;
            sessions::revoke_all(tx, own.org, own.user, Some(own.id)).await?;
            renewed.put(tx, &person.signed_in).await?;
            happened(tx, own.org, own.user, AccountEvent::PasswordChanged, now).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    if !changed.await? {
        return Err(refused(&app, Code::SignInFailed).into());
    }
    let shown = SessionShown::of(&app, visitor.transport, &person.signed_in, &renewed.token, codes);
    Ok(renewed.answer(&visitor, json!({ "session": shown })))
}

/// A password that was right when a person within a session gave it once more.
pub(crate) struct ShownAgain {
    password: Password,
    attempt: Attempt,
}

/// Has a person show that they are not somebody who found their browser open.
pub(crate) async fn shown_again(
    app: &App,
    visitor: &Visitor,
    person: &Person,
    current: &str,
) -> Result<ShownAgain, Refusal> {
    let own = &person.signed_in.session;
    check_given("current", current)?;
    let attempt = attempts::begin(app.attempts(), Whose::Person(own.org, own.user), visitor.from).await?;
    let standing = passwords::of(&mut app.store.read().await?, own.org, own.user).await?;
    let password = standing.ok_or_else(|| ApiError::conflict("you don't have a password yet"))?;
    if app.people.passwords.is(&app.secrets, &password, current).await? {
        Ok(ShownAgain { password, attempt })
    } else {
        Err(refused(app, Code::SignInFailed).into())
    }
}

impl ShownAgain {
    /// Whether it still is the password, in the transaction of what it is shown for. It forgives no guesses: codes of the second
    /// factor are counted with it.
    pub(crate) async fn stands(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        users::lock_team(tx, self.password.org).await?;
        let stands = passwords::stands(tx, &self.password).await?;
        if stands {
            self.attempt.went_on(tx).await?;
        }
        Ok(stands)
    }
}

/// Another token for a session whose rights have changed: whoever knew the one before knows nothing.
pub(crate) struct Renewed {
    pub(crate) token: [u8; 32],
    hash: [u8; 32],
}

impl Renewed {
    pub(crate) fn of(secrets: &Secrets) -> Self {
        let token = probity_service::random::bytes();
        Self { token, hash: secrets.session(&token) }
    }

    /// Gives it to the session, in the transaction of the change.
    pub(crate) async fn put(&self, tx: &mut Tx, signed_in: &SignedIn) -> Result<(), StoreError> {
        sessions::renew(tx, signed_in.session.org, signed_in.session.id, &self.hash).await
    }

    /// An answer that brings it to the page.
    pub(crate) fn answer(&self, visitor: &Visitor, body: serde_json::Value) -> Response {
        let cookie = cookie::set_session(visitor.transport, &self.token);
        ([(header::SET_COOKIE, cookie)], Json(body)).into_response()
    }
}
