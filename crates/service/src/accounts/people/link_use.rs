//! Redeems a one-time link: sets the user's password and signs the user in.
//!
//! First passwords of owners, invitations and password resets by the operator are all links. Redeeming a link sets the
//! password in one organization only, ends the user's sessions and starts a new one. If two-factor authentication is on,
//! its code is required too, so creating a link is not enough to impersonate a user.

use probity_access::people::attempts::{self, AttemptSubject, Network, SignInAttempt};
use probity_access::people::passwords::check_new;
use probity_contract::error::{ApiError, Code};
use probity_contract::published::accounts::people::{LinkShown, SignedInShown, UseLink};
use probity_mail::address::trimmed;
use probity_store::accounts::people::{passwords, sessions};
use probity_store::accounts::users::invitations::{self, LinkTarget};
use probity_store::accounts::users::{self, TeamMember};
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor};
use probity_store::{ScopedFutureExt as _, StoreError, Tx};

use crate::accounts::people::second_factor::{CodeUse, use_code_of};
use crate::accounts::people::sign_in::{FreshSession, who};
use crate::accounts::people::sso::requires_sso;
use crate::accounts::people::{Visitor, WithToken, note_event};
use crate::app::App;
use crate::callers::given::checked_name;

/// Returns the purpose of a link without redeeming it.
pub async fn get_link(app: &App, visitor: &Visitor, token: &str) -> Result<LinkShown, ApiError> {
    let (found, attempt) = found(app, visitor, token).await?;
    app.store.write(|tx| attempt.succeeded(tx).scope_boxed()).await?;
    Ok(found.into())
}

/// Finds a link. A failed lookup counts as a sign-in attempt.
async fn found(app: &App, visitor: &Visitor, token: &str) -> Result<(LinkTarget, SignInAttempt), ApiError> {
    let attempt = attempts::begin(app.attempts(), AttemptSubject::Link, visitor.network).await?;
    let hash = app.secrets.link(token);
    let found = invitations::look(&mut app.store.read().await?, &hash, app.now()).await?;
    found.map(|found| (found, attempt)).ok_or_else(ApiError::not_found)
}

/// Redeems a link: sets the user's password and signs the user in.
pub async fn redeem_link(
    app: &App,
    visitor: &Visitor,
    token: &str,
    given: UseLink,
) -> Result<WithToken<SignedInShown>, ApiError> {
    let (found, by_network) = found(app, visitor, token).await?;
    // The link is valid, so other errors do not count against the network.
    let profile = by_network.judged(&app.store, profile(&found.user, &given)).await?;
    if requires_sso(app, &mut app.store.read().await?, &found.user).await? {
        app.store.write(|tx| by_network.take_back_correct(tx).scope_boxed()).await?;
        return Err(ApiError::of(Code::SsoRequired));
    }
    let whose = (found.user.org, found.user.id);
    // The holder of a link could guess codes from many networks.
    let person = AttemptSubject::Person(whose.0, whose.1);
    let by_person = attempts::begin(app.attempts(), person, Network::NOWHERE).await;
    let by_person = by_network.judged(&app.store, by_person).await?;
    let who = who(app, &profile.email);
    let password = app.people.passwords.new_password(&app.secrets, whose, who, &given.password).await;
    let password = by_person.judged(&app.store, by_network.judged(&app.store, password).await).await?;
    let (hash, attempts) = (app.secrets.link(token), [by_network, by_person]);
    let using = LinkUse { app, hash, profile, password, code: given.code, attempts };
    let fresh = FreshSession::of(app, found.user.org, found.user.id, visitor);
    app.store.write(|tx| using.run(tx, &fresh).scope_boxed()).await?.allowed(app)?;
    fresh.shown(app, visitor).await
}

/// Name and email address that the user enters.
struct ClaimedProfile {
    email: String,
    /// Whether the email address changes.
    sets_email: bool,
    name: Option<String>,
}

fn profile(user: &TeamMember, given: &UseLink) -> Result<ClaimedProfile, ApiError> {
    let name = given.name.as_deref().map(checked_name).transpose()?;
    let profile = match (&user.email, &given.email) {
        (Some(email), None) => ClaimedProfile { email: email.clone(), sets_email: false, name },
        (Some(_), Some(_)) => return Err(ApiError::invalid("email", "is only for a member without an email address")),
        (None, None) => return Err(ApiError::invalid("email", "is required; send the address to sign in with")),
        (None, Some(email)) => {
            let email = trimmed(email).to_owned();
            if users::email_key(&email).is_none() {
                return Err(ApiError::invalid("email", "must be an email address"));
            }
            ClaimedProfile { email, sets_email: true, name }
        }
    };
    check_new("password", &given.password, &profile.email)?;
    Ok(profile)
}

/// Everything that redeeming a link does, in one transaction.
struct LinkUse<'a> {
    app: &'a App,
    hash: [u8; 32],
    profile: ClaimedProfile,
    password: passwords::Password,
    code: Option<String>,
    /// Attempts counted for the network and for the user.
    attempts: [SignInAttempt; 2],
}

impl LinkUse<'_> {
    /// Redeems the link. Without a valid code for two-factor authentication, nothing changes and the link stays valid.
    async fn run(&self, tx: &mut Tx, fresh: &FreshSession) -> Result<CodeUse, StoreError> {
        let (app, now) = (self.app, self.app.now());
        let (org, id) = (self.password.org, self.password.user);
        users::lock_team(tx, org).await?;
        let code_use = use_code_of(tx, &app.secrets, (org, id), self.code.as_deref(), now).await?;
        match code_use {
            CodeUse::Right | CodeUse::NotAsked => {}
            CodeUse::Missing => {
                for attempt in self.attempts {
                    attempt.take_back_correct(tx).await?;
                }
                return Ok(code_use);
            }
            CodeUse::Wrong => return Ok(code_use),
        }
        let user = invitations::redeem(tx, &self.hash, now).await?;
        self.describe(tx, user).await?;
        for attempt in self.attempts {
            attempt.succeeded(tx).await?;
        }
        passwords::set(tx, &self.password, now).await?;
        sessions::revoke_all(tx, org, id, None).await?;
        note_event(tx, (org, id), AccountEventKind::PasswordChanged, now).await?;
        fresh.begin(tx, now).await?;
        Ok(code_use)
    }

    /// Stores the name and email address that the user entered.
    async fn describe(&self, tx: &mut Tx, user: TeamMember) -> Result<(), StoreError> {
        let mut said = Vec::new();
        if self.profile.sets_email {
            users::set_email(tx, user.org, user.id, &self.profile.email).await?;
            said.push(AccountChange::of_person("email"));
        }
        let (org, id) = (user.org, user.id);
        if let Some(name) = self.profile.name.clone().filter(|name| user.name.as_ref() != Some(name)) {
            users::write(tx, &TeamMember { name: Some(name), ..user }).await?;
            said.push(AccountChange::of_person("name"));
        }
        events::add(tx, org, self.app.now(), Some(EventActor::User(id)), &said).await
    }
}
