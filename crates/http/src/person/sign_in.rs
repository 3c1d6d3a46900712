//! `POST /app/sign-in` and `POST /app/sign-out`.
//!
//! A wrong address, a wrong password and a wrong code get one answer, after the same work. An address may have a person in
//! several organizations, each with a password of its own: where more than one of them fits, the answer names the organizations,
//! and the page asks again with one. A session begins with a fresh token, whatever cookie came along.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use probity_account::id::UserId;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::people::attempts;
use probity_service::people::attempts::{Attempt, Whose};
use probity_service::people::passwords::check_given;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::passwords::{self, Candidate, Hash, Password};
use probity_store::sessions::{self, Session};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx, users};

use crate::body::JsonBody;
use crate::error::Refusal;
use crate::person::cookie;
use crate::person::cookie::Transport;
use crate::person::guard::{Person, Visitor};
use crate::person::second_factor;
use crate::person::second_factor::Spent;
use crate::person::sessions::codes_left;
use crate::person::view::{OrgShown, SessionShown, SignIn, SignedInShown};

/// Organizations of one address that are looked at.
const ORGS_MAX: i64 = 100;
/// Sessions of one person; the one that was not used for longest makes room.
const SESSIONS_MAX: i64 = 50;

/// Signs a person in.
pub(crate) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    JsonBody(given): JsonBody<SignIn>,
) -> Result<Response, Refusal> {
    check_given("password", &given.password)?;
    let who = who(&app, &given.email);
    let candidates = passwords::candidates(&mut app.store.read().await?, &who, ORGS_MAX).await?;
    let whose = match &*candidates {
        [] => Whose::Address(&who, None),
        [Candidate { password: alone, .. }] => {
            let person = (alone.org, alone.user);
            Whose::Address(&who, cookie::device(visitor.transport, &headers, &app.secrets, person))
        }
        _ => Whose::Shared(&who),
    };
    let attempt = attempts::begin(app.attempts(), whose, visitor.from).await?;
    let fitting = fitting(&app, &who, &given, candidates).await?;
    let password = match &*fitting {
        [] => return Err(refused(&app, Code::SignInFailed).into()),
        [one] => &one.password,
        several => {
            app.store.write(|tx| attempt.went_on(tx).scope_boxed()).await?;
            let organizations = several.iter().map(OrgShown::from).collect();
            return Ok(Json(SignedInShown { session: None, organizations }).into_response());
        }
    };
    let fresh = Fresh::of(&app, password.org, password.user, &visitor);
    admit(&app, &fresh, password, given.code.as_deref(), attempt).await?;
    upgrade(&app, password, &given.password).await;
    let mut response = fresh.shown(&app, visitor.transport).await?;
    let mark = cookie::set_device(visitor.transport, &app.secrets, (password.org, password.user));
    response.headers_mut().append(header::SET_COOKIE, mark);
    Ok(response)
}

/// Under what an address's people are found. What is no address has nobody, and costs the same.
pub(crate) fn who(app: &App, email: &str) -> Hash {
    let compared = users::email_key(email.trim()).unwrap_or_else(|| email.as_bytes().to_vec());
    app.secrets.who(&compared)
}

/// The address's people whose password this is, of the chosen organization where one was chosen.
async fn fitting(app: &App, who: &Hash, given: &SignIn, candidates: Vec<Candidate>) -> Result<Vec<Candidate>, Refusal> {
    let mut fitting = app.people.passwords.matching(&app.secrets, who, &given.password, candidates).await?;
    if let Some(chosen) = &given.organization {
        fitting.retain(|candidate| candidate.org_id.to_string() == *chosen);
    }
    Ok(fitting)
}

/// Begins the session of somebody whose password was right, once the second factor is too. Hashing takes its time: a password
/// that was changed meanwhile, or whose person was paused, is wrong, and no session outlives what ended all others.
async fn admit(
    app: &App,
    fresh: &Fresh,
    password: &Password,
    code: Option<&str>,
    attempt: Attempt,
) -> Result<(), Refusal> {
    let now = app.now();
    let spent = app.store.write(|tx| {
        async {
            users::lock_team(tx, password.org).await?;
            if !passwords::stands(tx, password).await? {
                return Ok(Spent::Wrong);
            }
            let spent =
                second_factor::spend(tx, &app.secrets, (fresh.session.org, fresh.session.user), code, now).await?;
            match spent {
                Spent::Right | Spent::NotAsked => {
                    attempt.succeeded(tx).await?;
                    fresh.begin(tx, now).await?;
                }
                Spent::Missing => attempt.went_on(tx).await?,
                Spent::Wrong => {}
            }
            Ok(spent)
        }
        .scope_boxed()
    });
    match spent.await? {
        Spent::Right | Spent::NotAsked => Ok(()),
        Spent::Missing => Err(ApiError::of(Code::SecondFactorRequired).into()),
        Spent::Wrong => Err(refused(app, Code::SignInFailed).into()),
    }
}

/// A refusal that is counted.
pub(crate) fn refused(app: &App, code: Code) -> ApiError {
    app.metrics.accounts().auth_failed(probity_service::ops::metrics::AuthFailure::SignIn);
    ApiError::of(code)
}

/// Has a password that was hashed at another cost hashed at the usual one. Where that fails it is done another time.
async fn upgrade(app: &App, password: &Password, text: &str) {
    let upgraded = async {
        if let Some(dearer) = app.people.passwords.upgraded(&app.secrets, password, text).await? {
            let kept = app.store.write(|tx| passwords::upgrade(tx, password, &dearer.hash, dearer.cost).scope_boxed());
            kept.await?;
        }
        Ok::<(), Refusal>(())
    };
    if let Err(error) = upgraded.await {
        tracing::warn!(error = %*error, "cannot rehash a password at the configured cost");
    }
}

/// A session that begins.
pub(crate) struct Fresh {
    pub(crate) session: Session,
    token: [u8; 32],
    hash: Hash,
}

impl Fresh {
    pub(crate) fn of(app: &App, org: OrgNo, user: UserId, visitor: &Visitor) -> Self {
        let now = app.now();
        let token = probity_service::random::bytes();
        let id = probity_service::random::id(now);
        let session = Session { org, id, user, client: visitor.client.clone(), created_at: now, seen_at: now };
        Self { session, token, hash: app.secrets.session(&token) }
    }

    /// Begins it, in the transaction of what it follows from.
    pub(crate) async fn begin(&self, tx: &mut Tx, now: Millis) -> Result<(), StoreError> {
        sessions::begin(tx, &self.session, &self.hash, SESSIONS_MAX).await?;
        happened(tx, self.session.org, self.session.user, AccountEvent::Login, now).await
    }

    /// The answer that brings the session to its page.
    pub(crate) async fn shown(&self, app: &App, transport: Transport) -> Result<Response, Refusal> {
        let mut conn = app.store.read().await?;
        let found = sessions::by_token(&mut conn, &self.hash).await?;
        let signed_in = found.ok_or_else(|| ApiError::of(Code::NotSignedIn))?;
        let codes = codes_left(&mut conn, &signed_in).await?;
        let session = Some(SessionShown::of(app, transport, &signed_in, &self.token, codes));
        let body = Json(SignedInShown { session, organizations: Vec::new() });
        Ok(([(header::SET_COOKIE, cookie::set_session(transport, &self.token))], body).into_response())
    }
}

/// Writes down what a person did, in the transaction that does it.
pub(crate) async fn happened(
    tx: &mut Tx,
    org: OrgNo,
    user: UserId,
    event: AccountEvent,
    now: Millis,
) -> Result<(), StoreError> {
    events::add(tx, org, now, Some(Actor::User(user)), &[What::Account(event)]).await
}

/// Ends the session.
pub(crate) async fn sign_out(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    person: Person,
) -> Result<Response, Refusal> {
    let session = &person.signed_in.session;
    let ended = app.store.write(|tx| sessions::revoke(tx, session.org, session.user, session.id).scope_boxed()).await;
    match ended {
        // Revoked at the same moment: it is what was wanted.
        Ok(()) | Err(StoreError::NotFound) => {}
        Err(error) => return Err(error.into()),
    }
    let body = Json(serde_json::json!({ "signed_out": true }));
    Ok(([(header::SET_COOKIE, cookie::clear_session(visitor.transport))], body).into_response())
}
