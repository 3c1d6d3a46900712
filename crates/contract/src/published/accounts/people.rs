//! Types of the dashboard's routes for members: sign-in, sessions, passwords, two-factor authentication and one-time links.

use probity_account::id::{OrgId, SessionId, UserId};
use probity_account::language::PageLanguage;
use probity_account::role::MemberRole;
use probity_store::accounts::people::passwords::PasswordCandidate;
use probity_store::accounts::people::sessions::{SignedInUser, StoredSession};
use probity_store::accounts::users::UserStatus;
use probity_store::accounts::users::invitations::LinkTarget;
use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// Body of `POST /app/sign-in`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub email: String,
    pub password: String,
    /// Two-factor or recovery code.
    pub code: Option<String>,
    /// ID of the organization to sign in to, if the address belongs to several.
    pub organization: Option<String>,
}

/// Ways to sign in that the page offers.
#[derive(Serialize)]
pub struct SignInOptions {
    /// Whether a link for a new password can be mailed.
    pub sends_mail: bool,
    /// Whether any organization has single sign-on.
    pub sso: bool,
    /// URL of the dashboard, if browsers keep its cookies over https only.
    pub https_url: Option<String>,
}

/// Body of `POST /app/forgotten-password`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskForLink {
    pub email: String,
    /// Language of the page, in which the mail is written.
    pub language: Option<PageLanguage>,
}

/// Response to a request for a link: the same for every address.
#[derive(Serialize)]
pub struct AskedForLink {
    pub asked: bool,
    /// Minutes for which a link works.
    pub works_minutes: i64,
}

/// Response to a correct password.
#[derive(Serialize)]
pub struct SignedInShown {
    /// Session; `None` if the member must choose an organization first.
    pub session: Option<SessionShown>,
    /// Organizations to choose from.
    pub organizations: Vec<OrgShown>,
}

/// Session as its own page sees it.
#[derive(Serialize)]
pub struct SessionShown {
    user: UserShown,
    organization: OrgShown,
    /// Token that the page sends as `X-CSRF-Token` with every change.
    csrf: String,
    two_factor: bool,
    /// Number of unused recovery codes; `None` without two-factor authentication.
    recovery_codes_left: Option<i64>,
    /// Whether the page's connection is encrypted.
    secure: bool,
    /// Whether the installation can send email.
    sends_mail: bool,
}

#[derive(Serialize)]
struct UserShown {
    id: UserId,
    email: Option<String>,
    name: Option<String>,
    /// Language of the member's pages and mail; `None` until a page has sent it.
    language: Option<PageLanguage>,
    role: &'static str,
    is_primary: bool,
}

/// ID and name of an organization.
#[derive(Serialize)]
pub struct OrgShown {
    id: OrgId,
    name: Option<String>,
}

impl SessionShown {
    /// Builds the response for a session with this CSRF token. `codes` is the number of unused recovery codes; the
    /// last pair says whether the connection is encrypted and whether the installation can send email.
    pub fn of(signed_in: &SignedInUser, csrf: String, codes: i64, (secure, sends_mail): (bool, bool)) -> Self {
        Self {
            user: UserShown {
                id: signed_in.session.user,
                email: signed_in.email.clone(),
                name: signed_in.name.clone(),
                language: signed_in.language,
                role: MemberRole::as_str(signed_in.role),
                is_primary: signed_in.is_primary,
            },
            organization: OrgShown { id: signed_in.org_id, name: signed_in.org_name.clone() },
            csrf,
            two_factor: signed_in.second_factor,
            recovery_codes_left: signed_in.second_factor.then_some(codes),
            secure,
            sends_mail,
        }
    }
}

impl From<&PasswordCandidate> for OrgShown {
    fn from(candidate: &PasswordCandidate) -> Self {
        Self { id: candidate.org_id, name: candidate.org_name.clone() }
    }
}

/// Response to a sign-out.
#[derive(Serialize)]
pub struct SignedOut {
    /// Always true.
    pub signed_out: bool,
}

/// Session in a list.
#[derive(Serialize)]
pub struct SessionListed {
    pub id: SessionId,
    /// Browser and operating system.
    pub client: String,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// Whether this session made the request.
    pub current: bool,
}

impl SessionListed {
    /// Builds the list entry. `current` is the session that made the request, if there is one.
    pub fn of(session: StoredSession, current: Option<SessionId>) -> Self {
        let (created_at, last_seen_at) = (session.created_at.into(), session.seen_at.into());
        Self { id: session.id, client: session.client, created_at, last_seen_at, current: Some(session.id) == current }
    }
}

/// Response to ending another session.
#[derive(Serialize)]
pub struct DeletedSession {
    /// Always true.
    pub deleted: bool,
    pub id: SessionId,
}

/// Response to ending all other sessions.
#[derive(Serialize)]
pub struct DeletedSessions {
    /// Number of ended sessions.
    pub deleted: u64,
}

/// Body of `POST /app/password`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    pub current: String,
    pub new: String,
}

/// Response with the session's new CSRF token.
#[derive(Serialize)]
pub struct RenewedSession {
    pub session: SessionShown,
}

/// Body of `POST /app/second-factor` and of `DELETE /app/sso`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenPassword {
    pub current: String,
}

/// Body with a two-factor code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenCode {
    pub code: String,
}

/// Second factor that a code has not confirmed yet.
#[derive(Serialize)]
pub struct BegunSecondFactor {
    /// URI for the QR code that authenticator apps scan.
    pub otpauth_uri: String,
    /// The URI as a QR code; `None` if it is too long for one.
    pub otpauth_qr: Option<QrShown>,
    /// Secret for manual entry.
    pub secret: String,
}

/// QR code that a page draws.
#[derive(Serialize)]
pub struct QrShown {
    /// Modules of a side, without the quiet zone.
    pub size: usize,
    /// SVG path of the dark modules, in units of a module.
    pub path: String,
}

/// Response that enables two-factor authentication.
#[derive(Serialize)]
pub struct ConfirmedSecondFactor {
    /// Recovery codes, shown only here.
    pub recovery_codes: Vec<String>,
    pub session: SessionShown,
}

/// Purpose of a one-time link.
#[derive(Serialize)]
pub struct LinkShown {
    kind: &'static str,
    organization: Option<String>,
    /// Email address; `None` if the member has none yet.
    email: Option<String>,
    name: Option<String>,
    expires_at: Timestamp,
}

impl From<LinkTarget> for LinkShown {
    fn from(found: LinkTarget) -> Self {
        Self {
            kind: if found.user.status == UserStatus::Invited { "invitation" } else { "password" },
            organization: found.org_name,
            email: found.user.email,
            name: found.user.name,
            expires_at: found.expires_at.into(),
        }
    }
}

/// Body with which a member uses a one-time link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseLink {
    pub password: String,
    pub name: Option<String>,
    /// Email address, for a member without one: the owner of a new installation.
    pub email: Option<String>,
    /// Two-factor code, if the member has a second factor.
    pub code: Option<String>,
}
