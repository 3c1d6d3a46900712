//! Two-factor authentication: codes of an authenticator app, required beside the password.
//!
//! A secret is shown once, and becomes active when a code proves that the app has it; ten recovery codes are then shown,
//! once. A code works once: it uses up its time step and all earlier ones.

use super::qr::{self, QrPath};
use probity_access::people::attempts::{self, AttemptSubject};
use probity_access::people::totp;
use probity_access::secrets::Secrets;
use probity_account::id::UserId;
use probity_contract::error::{ApiError, Code};
use probity_contract::published::accounts::people::{
    BegunSecondFactor, ConfirmedSecondFactor, GivenCode, GivenPassword, QrShown, RenewedSession, SessionShown,
};
use probity_mail::time::Millis;
use probity_store::accounts::people::passwords::SecretHash;
use probity_store::accounts::people::second_factor;
use probity_store::accounts::people::sessions::SignedInUser;
use probity_store::activity::events::AccountEventKind;
use probity_store::{OrgNo, StoreError, Tx, work};

use crate::accounts::people::password_change::prove_password;
use crate::accounts::people::sessions::{OpenSession, RenewedToken};
use crate::accounts::people::{Visitor, WithToken, must_succeed, note_event, recovery, sign_in_failed};
use crate::app::App;
use crate::callers::given::in_conflict;

/// Name that authenticator apps display.
const ISSUER: &str = "Probity";

/// Result of checking a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeUse {
    /// Two-factor authentication is off.
    NotAsked,
    /// Valid code, now used up.
    Right,
    /// Invalid or used code.
    Wrong,
    /// No code was given.
    Missing,
}

impl CodeUse {
    /// Refuses a missing or wrong code.
    pub(super) fn allowed(self, app: &App) -> Result<(), ApiError> {
        match self {
            Self::Right | Self::NotAsked => Ok(()),
            Self::Missing => Err(ApiError::of(Code::SecondFactorRequired)),
            Self::Wrong => Err(sign_in_failed(app)),
        }
    }
}

/// Uses up the given code if the user has two-factor authentication.
pub(super) async fn use_code_of(
    tx: &mut Tx,
    secrets: &Secrets,
    (org, user): (OrgNo, UserId),
    code: Option<&str>,
    now: Millis,
) -> Result<CodeUse, StoreError> {
    let factor = second_factor::of(tx, org, user).await?.filter(|factor| factor.confirmed_at.is_some());
    let Some(factor) = factor else { return Ok(CodeUse::NotAsked) };
    let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else { return Ok(CodeUse::Missing) };
    let right = if totp::is_code(code) {
        use_code(tx, secrets, (org, user), &factor.secret, code, now).await?
    } else {
        let hash = secrets.recovery_code(org, user, &recovery::plain(code));
        second_factor::use_recovery_code(tx, org, user, &hash).await?
    };
    Ok(if right { CodeUse::Right } else { CodeUse::Wrong })
}

/// Uses up a code and returns whether it was valid. A secret that cannot be decrypted accepts no code.
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

/// Creates a secret for two-factor authentication. Requires the password, so a session left open cannot be used to lock its
/// owner out.
pub async fn begin_second_factor(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    given: GivenPassword,
) -> Result<BegunSecondFactor, ApiError> {
    let proven = prove_password(app, visitor, session, &given.current).await?;
    let (org, user) = session.owner();
    let secret = probity_access::secrets::random::bytes::<{ totp::SECRET_BYTES }>();
    let sealed = app.secrets.seal_second_factor(org, user, &secret);
    let begun = app.store.write(work!(|tx| {
        if !proven.stands(tx).await? {
            return Ok(false);
        }
        second_factor::begin(tx, org, user, &sealed).await?;
        Ok(true)
    }));
    must_succeed(app, begun.await.map_err(already_on)?)?;
    let account = session.signed_in.email.clone().unwrap_or_else(|| user.to_string());
    let otpauth_uri = totp::uri(&secret, ISSUER, &account);
    let otpauth_qr = qr::path(&otpauth_uri).map(|QrPath { size, path }| QrShown { size, path });
    Ok(BegunSecondFactor { otpauth_uri, otpauth_qr, secret: totp::base32(&secret) })
}

fn already_on(error: StoreError) -> ApiError {
    in_conflict(error, "two-factor authentication is already on, or another setup was started; reload")
}

/// Turns two-factor authentication on and returns the recovery codes.
pub async fn confirm_second_factor(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    given: GivenCode,
) -> Result<WithToken<ConfirmedSecondFactor>, ApiError> {
    let (whose, now) = (session.owner(), app.now());
    let (org, user) = whose;
    let attempt = attempts::begin(app.attempts(), AttemptSubject::Person(org, user), visitor.network).await?;
    let recovery_codes: Vec<String> = (0..recovery::CODES).map(|_| recovery::new_code()).collect();
    let hash = |code: &String| app.secrets.recovery_code(org, user, &recovery::plain(code));
    let hashes: Vec<SecretHash> = recovery_codes.iter().map(hash).collect();
    let renewed = RenewedToken::of(&app.secrets);
    let confirmed = app.store.write(work!(|tx| {
        let begun = second_factor::of(tx, org, user).await?.ok_or(StoreError::NotFound)?;
        if begun.confirmed_at.is_some() {
            return Err(StoreError::Conflict);
        }
        if !use_code(tx, &app.secrets, whose, &begun.secret, given.code.trim(), now).await? {
            return Ok(false);
        }
        attempt.succeeded(tx).await?;
        second_factor::confirm(tx, whose, &begun.secret, &hashes, now).await?;
        renewed.put(tx, session).await?;
        note_event(tx, whose, AccountEventKind::SecondFactorEnabled, now).await?;
        Ok(true)
    }));
    must_succeed(app, confirmed.await.map_err(already_on)?)?;
    let left = i64::try_from(recovery_codes.len()).expect("ten codes");
    let session = session_with(app, visitor, session, &renewed, Some(left));
    Ok(WithToken { shown: ConfirmedSecondFactor { recovery_codes, session }, token: renewed.token })
}

/// Turns two-factor authentication off.
pub async fn remove_second_factor(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    given: GivenCode,
) -> Result<WithToken<RenewedSession>, ApiError> {
    let (whose, now) = (session.owner(), app.now());
    let (org, user) = whose;
    let attempt = attempts::begin(app.attempts(), AttemptSubject::Person(org, user), visitor.network).await?;
    let renewed = RenewedToken::of(&app.secrets);
    let removed = app.store.write(work!(|tx| {
        match use_code_of(tx, &app.secrets, whose, Some(&given.code), now).await? {
            CodeUse::NotAsked => return Err(StoreError::NotFound),
            CodeUse::Wrong | CodeUse::Missing => return Ok(false),
            CodeUse::Right => {}
        }
        attempt.succeeded(tx).await?;
        second_factor::forget(tx, org, user).await?;
        renewed.put(tx, session).await?;
        note_event(tx, whose, AccountEventKind::SecondFactorDisabled, now).await?;
        Ok(true)
    }));
    must_succeed(app, removed.await?)?;
    let shown = RenewedSession { session: session_with(app, visitor, session, &renewed, None) };
    Ok(WithToken { shown, token: renewed.token })
}

/// Returns the current session, with two-factor authentication and the number of recovery codes, or without.
fn session_with(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    renewed: &RenewedToken,
    codes: Option<i64>,
) -> SessionShown {
    let signed_in = SignedInUser { second_factor: codes.is_some(), ..(*session.signed_in).clone() };
    renewed.shown(app, visitor, &signed_in, codes.unwrap_or_default())
}
