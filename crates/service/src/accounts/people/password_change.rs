//! Changes passwords, and requires the current password for acts that a stolen session must not be able to perform.

use probity_access::people::attempts::{self, AttemptSubject, SignInAttempt};
use probity_access::people::passwords::{check_given, check_new};
use probity_contract::error::ApiError;
use probity_contract::published::accounts::people::{ChangePassword, RenewedSession};
use probity_store::accounts::people::passwords::{self, Password};
use probity_store::accounts::people::sessions;
use probity_store::accounts::users::{self, invitations};
use probity_store::activity::events::AccountEventKind;
use probity_store::{StoreError, Tx, work};

use crate::accounts::people::sessions::{OpenSession, RenewedToken, codes_left};
use crate::accounts::people::{Visitor, WithToken, must_succeed, note_event};
use crate::app::App;

/// Changes the password. Other sessions and the links for a new password end, and this session gets a new token.
pub async fn change_password(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    given: ChangePassword,
) -> Result<WithToken<RenewedSession>, ApiError> {
    let (own, now) = (&session.signed_in.session, app.now());
    check_new("new", &given.new, session.signed_in.email.as_deref().unwrap_or_default())?;
    let proven = prove_password(app, visitor, session, &given.current).await?;
    let whose = session.owner();
    let new = app.people.passwords.new_password(&app.secrets, whose, proven.password.who, &given.new).await;
    let new = proven.attempt.judged(&app.store, new).await?;
    let renewed = RenewedToken::of(&app.secrets);
    // Read before the change: once the password has changed, the response must not fail.
    let codes = codes_left(&mut app.store.read().await?, &session.signed_in).await?;
    let changed = app.store.write(work!(|tx| {
        if !proven.stands(tx).await? {
            return Ok(false);
        }
        passwords::set(tx, &new, now).await?;
        sessions::revoke_all(tx, own.org, own.user, Some(own.id)).await?;
        invitations::withdraw(tx, own.org, own.user).await?;
        renewed.put(tx, session).await?;
        note_event(tx, whose, AccountEventKind::PasswordChanged, now).await?;
        Ok(true)
    }));
    must_succeed(app, changed.await?)?;
    let shown = RenewedSession { session: renewed.shown(app, visitor, &session.signed_in, codes) };
    Ok(WithToken { shown, token: renewed.token })
}

/// Password that a signed-in user has entered again, correctly.
pub(super) struct ProvenPassword {
    password: Password,
    attempt: SignInAttempt,
}

/// Checks the password that a signed-in user enters again, which protects a browser left open.
pub(super) async fn prove_password(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    current: &str,
) -> Result<ProvenPassword, ApiError> {
    let (org, user) = session.owner();
    check_given("current", current)?;
    let attempt = attempts::begin(app.attempts(), AttemptSubject::Person(org, user), visitor.network).await?;
    let standing = passwords::of(&mut app.store.read().await?, org, user).await?;
    let password =
        standing.ok_or_else(|| ApiError::conflict("you don't have a password yet; ask the operator for a link"))?;
    let is_right = app.people.passwords.is(&app.secrets, &password, current).await;
    must_succeed(app, attempt.judged(&app.store, is_right).await?)?;
    Ok(ProvenPassword { password, attempt })
}

impl ProvenPassword {
    /// Returns whether the password is still current, in the transaction of the act. Attempts stay counted, because codes
    /// for two-factor authentication share the counter.
    pub(super) async fn stands(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        users::lock_team(tx, self.password.org).await?;
        let stands = passwords::stands(tx, &self.password).await?;
        if stands {
            self.attempt.take_back_correct(tx).await?;
        }
        Ok(stands)
    }
}
