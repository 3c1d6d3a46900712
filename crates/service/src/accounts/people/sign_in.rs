//! Signs users in with a password.
//!
//! A wrong address, a wrong password and a wrong code give the same response, after the same work. An address can have an
//! account in several organizations, each with its own password. If the password fits more than one, the response lists the
//! organizations and the page asks the user to choose.

use probity_access::people::attempts::{self, AttemptSubject, SignInAttempt};
use probity_access::people::passwords::check_given;
use probity_account::id::UserId;
use probity_contract::error::{ApiError, Code};
use probity_contract::published::accounts::people::{OrgShown, SessionShown, SignIn, SignedInShown};
use probity_mail::address::trimmed;
use probity_mail::time::Millis;
use probity_store::accounts::people::passwords::{self, Password, PasswordCandidate, SecretHash};
use probity_store::accounts::people::sessions::{self, StoredSession};
use probity_store::accounts::users;
use probity_store::activity::events::AccountEventKind;
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, Tx, work};

use crate::accounts::people::browser_mark::{make_mark, read_mark};
use crate::accounts::people::second_factor::{CodeUse, use_code_of};
use crate::accounts::people::sessions::{codes_left, page_token};
use crate::accounts::people::sso::requires_sso;
use crate::accounts::people::{SessionToken, Visitor, WithToken, note_event, sign_in_failed};
use crate::app::App;

/// Maximum organizations of one address that are tried.
const ORGS_MAX: i64 = 100;
/// Maximum sessions per user. A new session ends the least recently used one.
const SESSIONS_MAX: i64 = 50;

/// Result of a correct password.
pub enum SignInOutcome {
    /// Session started. The browser stores the token, and the mark that identifies the browser later.
    Begun { session: WithToken<SignedInShown>, mark: Vec<u8> },
    /// The password fits several organizations, and the user has to choose one.
    Ambiguous(SignedInShown),
}

/// Signs a user in, from a browser that may have a mark of an earlier session.
pub async fn sign_in(
    app: &App,
    visitor: &Visitor,
    mark: Option<&[u8]>,
    given: SignIn,
) -> Result<SignInOutcome, ApiError> {
    check_given("password", &given.password)?;
    let who = who(app, &given.email);
    let candidates = passwords::candidates(&mut app.store.read().await?, &who, ORGS_MAX).await?;
    let whose = match &*candidates {
        [] => AttemptSubject::Address(&who, None),
        [PasswordCandidate { password: alone, .. }] => {
            let nonce = mark.and_then(|mark| read_mark(&app.secrets, (alone.org, alone.user), mark));
            AttemptSubject::Address(&who, nonce)
        }
        _ => AttemptSubject::Shared(&who),
    };
    let attempt = attempts::begin(app.attempts(), whose, visitor.network).await?;
    let fitting = attempt.judged(&app.store, fitting(app, &who, &given, candidates).await).await?;
    let password = match &*fitting {
        [] => return Err(sign_in_failed(app)),
        [one] => &one.password,
        several => {
            app.store.write(|tx| attempt.take_back_correct(tx).scope_boxed()).await?;
            let organizations = several.iter().map(OrgShown::from).collect();
            return Ok(SignInOutcome::Ambiguous(SignedInShown { session: None, organizations }));
        }
    };
    let mut conn = app.store.read().await?;
    let member = users::by_id(&mut conn, password.org, password.user).await.map_err(|error| match error {
        StoreError::NotFound => sign_in_failed(app),
        other => other.into(),
    })?;
    let is_elsewhere = requires_sso(app, &mut conn, &member).await?;
    drop(conn);
    if is_elsewhere {
        app.store.write(|tx| attempt.take_back_correct(tx).scope_boxed()).await?;
        return Err(ApiError::of(Code::SsoRequired));
    }
    let fresh = FreshSession::of(app, password.org, password.user, visitor);
    admit(app, &fresh, password, given.code.as_deref(), attempt).await?;
    upgrade(app, password, &given.password).await;
    let mark = make_mark(&app.secrets, (password.org, password.user));
    Ok(SignInOutcome::Begun { session: fresh.shown(app, visitor).await?, mark })
}

/// Returns the hash under which an address's accounts are found. An invalid address has no accounts, and costs the same
/// work.
pub(super) fn who(app: &App, email: &str) -> SecretHash {
    let compared = users::email_key(trimmed(email)).unwrap_or_else(|| email.as_bytes().to_vec());
    app.secrets.who(&compared)
}

/// Returns the accounts that the password matches, limited to the chosen organization if there is one.
async fn fitting(
    app: &App,
    who: &SecretHash,
    given: &SignIn,
    candidates: Vec<PasswordCandidate>,
) -> Result<Vec<PasswordCandidate>, ApiError> {
    let mut fitting = app.people.passwords.matching(&app.secrets, who, &given.password, candidates).await?;
    if let Some(chosen) = &given.organization {
        fitting.retain(|candidate| candidate.org_id.to_string() == *chosen);
    }
    Ok(fitting)
}

/// Starts the session of a user whose password and code are correct. Hashing takes time: if the password has changed or the
/// member was paused since, the sign-in fails, so no session survives an act that ended all others.
async fn admit(
    app: &App,
    fresh: &FreshSession,
    password: &Password,
    code: Option<&str>,
    attempt: SignInAttempt,
) -> Result<(), ApiError> {
    let now = app.now();
    let used = app.store.write(work!(|tx| {
        users::lock_team(tx, password.org).await?;
        if !passwords::stands(tx, password).await? {
            return Ok(CodeUse::Wrong);
        }
        let used = use_code_of(tx, &app.secrets, fresh.owner(), code, now).await?;
        match used {
            CodeUse::Right | CodeUse::NotAsked => {
                attempt.succeeded(tx).await?;
                fresh.begin(tx, now).await?;
            }
            CodeUse::Missing => attempt.take_back_correct(tx).await?,
            CodeUse::Wrong => {}
        }
        Ok(used)
    }));
    used.await?.allowed(app)
}

/// Rehashes a password if its hash has another cost than configured. If that fails, the next sign-in retries.
async fn upgrade(app: &App, password: &Password, text: &str) {
    let upgraded = async {
        if let Some(dearer) = app.people.passwords.upgraded(&app.secrets, password, text).await? {
            let kept = app.store.write(|tx| passwords::upgrade(tx, password, &dearer.hash, dearer.cost).scope_boxed());
            kept.await?;
        }
        Ok::<(), ApiError>(())
    };
    if let Err(error) = upgraded.await {
        tracing::warn!(%error, "cannot rehash a password at the configured cost");
    }
}

/// New session with a new random token.
pub(super) struct FreshSession {
    session: StoredSession,
    token: SessionToken,
    hash: SecretHash,
}

impl FreshSession {
    pub(super) fn of(app: &App, org: OrgNo, user: UserId, visitor: &Visitor) -> Self {
        let now = app.now();
        let token = probity_access::secrets::random::bytes();
        let id = probity_access::secrets::random::id(now);
        let session = StoredSession { org, id, user, client: visitor.client.clone(), created_at: now, seen_at: now };
        Self { session, token, hash: app.secrets.session(&token) }
    }

    pub(super) fn owner(&self) -> (OrgNo, UserId) {
        (self.session.org, self.session.user)
    }

    /// Stores the session, in the transaction of the act that starts it.
    pub(super) async fn begin(&self, tx: &mut Tx, now: Millis) -> Result<(), StoreError> {
        sessions::begin(tx, &self.session, &self.hash, SESSIONS_MAX).await?;
        note_event(tx, self.owner(), AccountEventKind::Login, now).await
    }

    /// Reads the session back for its page, because it may have ended since.
    pub(super) async fn shown(&self, app: &App, visitor: &Visitor) -> Result<WithToken<SignedInShown>, ApiError> {
        let mut conn = app.store.read().await?;
        let found = sessions::by_token(&mut conn, &self.hash).await?;
        let signed_in = found.ok_or_else(|| ApiError::of(Code::NotSignedIn))?;
        let codes = codes_left(&mut conn, &signed_in).await?;
        let csrf = page_token(&app.secrets, &self.token);
        let session = Some(SessionShown::of(&signed_in, csrf, codes, (visitor.secure, app.sends_mail)));
        Ok(WithToken { shown: SignedInShown { session, organizations: Vec::new() }, token: self.token })
    }
}
