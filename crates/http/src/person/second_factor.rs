//! `/app/second-factor`: codes of an authenticator, asked for beside the password.
//!
//! A secret is shown once and asked for only when a code has shown that it arrived; then ten codes of recovery are shown, once.
//! A code counts once: the step of time that it belongs to is used up with it, and every one before.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::{Extension, Json};
use probity_account::id::UserId;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::people::attempts;
use probity_service::people::attempts::Whose;
use probity_service::people::totp;
use probity_service::secrets::Secrets;
use probity_store::events::AccountEvent;
use probity_store::passwords::Hash;
use probity_store::second_factor;
use probity_store::sessions::SignedIn;
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx};
use serde_json::json;

use crate::body::JsonBody;
use crate::error::Refusal;
use crate::person::guard::{Person, Visitor};
use crate::person::recovery;
use crate::person::sessions::{Renewed, shown_again};
use crate::person::sign_in::{happened, refused};
use crate::person::view::{GivenCode, GivenPassword, SessionShown};

/// The name that authenticators show.
const ISSUER: &str = "Probity";

/// What came of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// There is no second factor.
    NotAsked,
    /// It was one, and is used up.
    Right,
    /// It is none, or was used.
    Wrong,
    /// None was given.
    Missing,
}

/// Uses up the code that a person gives, where they have a second factor.
pub(crate) async fn spend(
    tx: &mut Tx,
    secrets: &Secrets,
    (org, user): (OrgNo, UserId),
    code: Option<&str>,
    now: Millis,
) -> Result<Spent, StoreError> {
    let factor = second_factor::of(tx, org, user).await?.filter(|factor| factor.confirmed_at.is_some());
    let Some(factor) = factor else { return Ok(Spent::NotAsked) };
    let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else { return Ok(Spent::Missing) };
    let right = if totp::is_code(code) {
        use_code(tx, secrets, (org, user), &factor.secret, code, now).await?
    } else {
        let hash = secrets.recovery_code(org, user, &recovery::plain(code));
        second_factor::use_recovery_code(tx, org, user, &hash).await?
    };
    Ok(if right { Spent::Right } else { Spent::Wrong })
}

/// Uses a code up; says whether it was one. A secret that does not open fits no code.
async fn use_code(
    tx: &mut Tx,
    secrets: &Secrets,
    (org, user): (OrgNo, UserId),
    sealed: &[u8],
    code: &str,
    now: Millis,
) -> Result<bool, StoreError> {
    let Ok(secret) = secrets.open_second_factor(org, user, sealed) else {
        tracing::error!("cannot decrypt a two-factor secret; was the pepper replaced?");
        return Ok(false);
    };
    match totp::step_of(&secret, code, now) {
        Some(step) => second_factor::use_step(tx, org, user, step).await,
        None => Ok(false),
    }
}

/// Shows a new secret, to whoever shows the password: a session that was left open is not enough to shut its owner out.
pub(crate) async fn begin(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    person: Person,
    JsonBody(given): JsonBody<GivenPassword>,
) -> Result<Json<serde_json::Value>, Refusal> {
    let shown = shown_again(&app, &visitor, &person, &given.current).await?;
    let own = &person.signed_in.session;
    let secret = probity_service::random::bytes::<{ totp::SECRET_BYTES }>();
    let sealed = app.secrets.seal_second_factor(own.org, own.user, &secret);
    let begun = app.store.write(|tx| {
        async {
            if !shown.stands(tx).await? {
                return Ok(false);
            }
            second_factor::begin(tx, own.org, own.user, &sealed).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    if !begun.await.map_err(standing)? {
        return Err(refused(&app, Code::SignInFailed).into());
    }
    let account = person.signed_in.email.clone().unwrap_or_else(|| own.user.to_string());
    Ok(Json(json!({ "secret": totp::base32(&secret), "otpauth_uri": totp::uri(&secret, ISSUER, &account) })))
}

fn standing(error: StoreError) -> ApiError {
    match error {
        StoreError::Conflict => {
            ApiError::conflict("two-factor authentication is already on, or another setup was started; reload")
        }
        other => other.into(),
    }
}

/// Asks for the second factor from now on, and shows the codes of recovery.
pub(crate) async fn confirm(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    person: Person,
    JsonBody(given): JsonBody<GivenCode>,
) -> Result<Response, Refusal> {
    let (own, now) = (&person.signed_in.session, app.now());
    let whose = (own.org, own.user);
    let attempt = attempts::begin(app.attempts(), Whose::Person(own.org, own.user), visitor.from).await?;
    let codes: Vec<String> = (0..recovery::CODES).map(|_| recovery::new_code()).collect();
    let hash = |code: &String| app.secrets.recovery_code(own.org, own.user, &recovery::plain(code));
    let hashes: Vec<Hash> = codes.iter().map(hash).collect();
    let renewed = Renewed::of(&app.secrets);
    let confirmed = app.store.write(|tx| {
        async {
            let begun = second_factor::of(tx, own.org, own.user).await?.ok_or(StoreError::NotFound)?;
            if begun.confirmed_at.is_some() {
                return Err(StoreError::Conflict);
            }
            if !use_code(tx, &app.secrets, whose, &begun.secret, given.code.trim(), now).await? {
                return Ok(false);
            }
            attempt.succeeded(tx).await?;
            second_factor::confirm(tx, whose, &begun.secret, &hashes, now).await?;
            renewed.put(tx, &person.signed_in).await?;
            happened(tx, own.org, own.user, AccountEvent::SecondFactorEnabled, now).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    if !confirmed.await.map_err(standing)? {
        return Err(refused(&app, Code::SignInFailed).into());
    }
    let left = i64::try_from(codes.len()).expect("ten codes");
    let shown = shown(&app, &visitor, &person, &renewed, Some(left));
    Ok(renewed.answer(&visitor, json!({ "recovery_codes": codes, "session": shown })))
}

/// Does not ask for it any more.
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    person: Person,
    JsonBody(given): JsonBody<GivenCode>,
) -> Result<Response, Refusal> {
    let (own, now) = (&person.signed_in.session, app.now());
    let attempt = attempts::begin(app.attempts(), Whose::Person(own.org, own.user), visitor.from).await?;
    let renewed = Renewed::of(&app.secrets);
    let removed = app.store.write(|tx| {
        async {
            match spend(tx, &app.secrets, (own.org, own.user), Some(&given.code), now).await? {
                Spent::NotAsked => return Err(StoreError::NotFound),
                Spent::Wrong | Spent::Missing => return Ok(false),
                Spent::Right => {}
            }
            attempt.succeeded(tx).await?;
            second_factor::forget(tx, own.org, own.user).await?;
            renewed.put(tx, &person.signed_in).await?;
            happened(tx, own.org, own.user, AccountEvent::SecondFactorDisabled, now).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    if !removed.await? {
        return Err(refused(&app, Code::SignInFailed).into());
    }
    Ok(renewed.answer(&visitor, json!({ "session": shown(&app, &visitor, &person, &renewed, None) })))
}

/// The session as it goes on: with a second factor and so many codes of recovery, or without.
fn shown(app: &App, visitor: &Visitor, person: &Person, renewed: &Renewed, codes: Option<i64>) -> SessionShown {
    let signed_in = SignedIn { second_factor: codes.is_some(), ..(*person.signed_in).clone() };
    SessionShown::of(app, visitor.transport, &signed_in, &renewed.token, codes.unwrap_or_default())
}
