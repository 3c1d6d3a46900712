//! `/app/link`: one-time links, with which a person sets a password and signs in.
//!
//! The token comes in a header: proxies write paths into their logs, and whoever reads a log in time could use the link first.
//!
//! An owner's first password, an invitation and an operator's help all come as links. Using one sets the password of its person
//! in its organization alone, ends their sessions and begins one. It does not take a second factor's place: where there is one,
//! its code is asked for too, so that who can make links cannot become somebody else.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use axum::{Extension, Json};
use probity_account::name;
use probity_service::app::App;
use probity_service::error::{ApiError, Code};
use probity_service::people::attempts;
use probity_service::people::attempts::{Attempt, From, Whose};
use probity_service::people::passwords::check_new;
use probity_service::timestamp::Timestamp;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::users::invitations::{self, Found};
use probity_store::users::{self, User, UserStatus};
use probity_store::{ScopedFutureExt as _, StoreError, Tx, passwords, sessions};
use serde::{Deserialize, Serialize};

use crate::body::JsonBody;
use crate::error::Refusal;
use crate::person::guard::Visitor;
use crate::person::second_factor;
use crate::person::second_factor::Spent;
use crate::person::sign_in::{Fresh, happened, refused, who};

static TOKEN: HeaderName = HeaderName::from_static("x-link-token");

/// What a link is for.
#[derive(Serialize)]
pub(crate) struct LinkShown {
    kind: &'static str,
    organization: Option<String>,
    /// None where the person has yet to say it.
    email: Option<String>,
    name: Option<String>,
    expires_at: Timestamp,
}

/// What a person says with a link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UseLink {
    password: String,
    name: Option<String>,
    /// For a person without an address: the owner of a new installation.
    email: Option<String>,
    /// Of the second factor, where the person has one.
    code: Option<String>,
}

/// Says what a link is for, without using it.
pub(crate) async fn look(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Result<Json<LinkShown>, Refusal> {
    let token = token(&headers);
    let (found, attempt) = found(&app, &visitor, token).await?;
    app.store.write(|tx| attempt.succeeded(tx).scope_boxed()).await?;
    Ok(Json(LinkShown {
        kind: if found.user.status == UserStatus::Invited { "invitation" } else { "password" },
        organization: found.org_name,
        email: found.user.email,
        name: found.user.name,
        expires_at: found.expires_at.into(),
    }))
}

/// The token that a request says; one without any is an attempt like any other.
fn token(headers: &HeaderMap) -> &str {
    headers.get(&TOKEN).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The link; an attempt that finds none is counted.
async fn found(app: &App, visitor: &Visitor, token: &str) -> Result<(Found, Attempt), Refusal> {
    let attempt = attempts::begin(app.attempts(), Whose::Link, visitor.from).await?;
    let hash = app.secrets.link(token);
    let found = invitations::look(&mut app.store.read().await?, &hash, app.now()).await?;
    Ok(found.map(|found| (found, attempt)).ok_or_else(ApiError::not_found)?)
}

/// Uses a link: the person has this password from now on, and is signed in.
pub(crate) async fn redeem(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    JsonBody(given): JsonBody<UseLink>,
) -> Result<Response, Refusal> {
    let token = token(&headers);
    let (found, by_network) = found(&app, &visitor, token).await?;
    let wish = wish(&found.user, &given)?;
    check_new("password", &given.password, &wish.email)?;
    let whose = (found.user.org, found.user.id);
    // Whoever has a link may guess codes with it, from as many networks as they like.
    let by_person = attempts::begin(app.attempts(), Whose::Person(whose.0, whose.1), From::NOWHERE).await?;
    let who = who(&app, &wish.email);
    let password = app.people.passwords.new_password(&app.secrets, whose, who, &given.password).await?;
    let (hash, attempts) = (app.secrets.link(token), [by_network, by_person]);
    let using = Using { app: &app, hash, wish, password, code: given.code, attempts };
    let fresh = Fresh::of(&app, found.user.org, found.user.id, &visitor);
    match app.store.write(|tx| using.run(tx, &fresh).scope_boxed()).await? {
        Spent::Right | Spent::NotAsked => fresh.shown(&app, visitor.transport).await,
        Spent::Missing => Err(ApiError::of(Code::SecondFactorRequired).into()),
        Spent::Wrong => Err(refused(&app, Code::SignInFailed).into()),
    }
}

/// The person as they want to be.
struct Wish {
    email: String,
    /// Whether the address is new.
    sets_email: bool,
    name: Option<String>,
}

fn wish(user: &User, given: &UseLink) -> Result<Wish, Refusal> {
    let name = given.name.as_deref().map(|name| name::name(name).map_err(|fault| ApiError::invalid("name", fault)));
    let name = name.transpose()?.map(str::to_owned);
    match (&user.email, &given.email) {
        (Some(email), None) => Ok(Wish { email: email.clone(), sets_email: false, name }),
        (Some(_), Some(_)) => Err(ApiError::invalid("email", "is only for a member without an email address").into()),
        (None, None) => Err(ApiError::invalid("email", "is required: the address to sign in with").into()),
        (None, Some(email)) => {
            let email = email.trim().to_owned();
            if users::email_key(&email).is_none() {
                return Err(ApiError::invalid("email", "must be an email address").into());
            }
            Ok(Wish { email, sets_email: true, name })
        }
    }
}

/// All that one use of a link does, in one transaction.
struct Using<'a> {
    app: &'a App,
    hash: [u8; 32],
    wish: Wish,
    password: passwords::Password,
    code: Option<String>,
    /// Of the network, and of the person.
    attempts: [Attempt; 2],
}

impl Using<'_> {
    /// Where the second factor is not shown, nothing is done and the link stays.
    async fn run(&self, tx: &mut Tx, fresh: &Fresh) -> Result<Spent, StoreError> {
        let (app, now) = (self.app, self.app.now());
        let (org, id) = (self.password.org, self.password.user);
        users::lock_team(tx, org).await?;
        let spent = second_factor::spend(tx, &app.secrets, (org, id), self.code.as_deref(), now).await?;
        match spent {
            Spent::Right | Spent::NotAsked => {}
            Spent::Missing => {
                for attempt in self.attempts {
                    attempt.went_on(tx).await?;
                }
                return Ok(spent);
            }
            Spent::Wrong => return Ok(spent),
        }
        let user = invitations::redeem(tx, &self.hash, now).await?;
        self.describe(tx, user).await?;
        for attempt in self.attempts {
            attempt.succeeded(tx).await?;
        }
        passwords::set(tx, &self.password, now).await?;
        sessions::revoke_all(tx, org, id, None).await?;
        happened(tx, org, id, AccountEvent::PasswordChanged, now).await?;
        fresh.begin(tx, now).await?;
        Ok(spent)
    }

    /// Writes down what the person says of themselves.
    async fn describe(&self, tx: &mut Tx, user: User) -> Result<(), StoreError> {
        let mut said = Vec::new();
        if self.wish.sets_email {
            users::set_email(tx, user.org, user.id, &self.wish.email).await?;
            said.push(What::of_person("email"));
        }
        let (org, id) = (user.org, user.id);
        if let Some(name) = self.wish.name.clone().filter(|name| user.name.as_ref() != Some(name)) {
            users::write(tx, &User { name: Some(name), ..user }).await?;
            said.push(What::of_person("name"));
        }
        events::add(tx, org, self.app.now(), Some(Actor::User(id)), &said).await
    }
}
