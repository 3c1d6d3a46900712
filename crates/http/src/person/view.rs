//! What the routes of the dashboard show and take.

use probity_account::id::{OrgId, SessionId, UserId};
use probity_account::role::Role;
use probity_service::app::App;
use probity_service::timestamp::Timestamp;
use probity_store::passwords::Candidate;
use probity_store::sessions::{Session, SignedIn};
use serde::{Deserialize, Serialize};

use crate::person::cookie::Transport;
use crate::person::guard::page_token;

/// A session as its own page sees it.
#[derive(Serialize)]
pub(crate) struct SessionShown {
    user: UserShown,
    organization: OrgShown,
    /// What the page says in `X-CSRF-Token` to change anything.
    csrf: String,
    two_factor: bool,
    /// How many codes of recovery are left; none where no second factor is asked for.
    recovery_codes_left: Option<i64>,
    /// Whether what the page says travels encrypted.
    secure: bool,
}

#[derive(Serialize)]
struct UserShown {
    id: UserId,
    email: Option<String>,
    name: Option<String>,
    role: &'static str,
    is_primary: bool,
}

/// An organization by its name.
#[derive(Serialize)]
pub(crate) struct OrgShown {
    id: OrgId,
    name: Option<String>,
}

impl SessionShown {
    /// The session with a token, of somebody who has so many codes of recovery.
    pub(crate) fn of(app: &App, transport: Transport, signed_in: &SignedIn, token: &[u8; 32], codes: i64) -> Self {
        Self {
            user: UserShown {
                id: signed_in.session.user,
                email: signed_in.email.clone(),
                name: signed_in.name.clone(),
                role: Role::as_str(signed_in.role),
                is_primary: signed_in.is_primary,
            },
            organization: OrgShown { id: signed_in.org_id, name: signed_in.org_name.clone() },
            csrf: page_token(&app.secrets, token),
            two_factor: signed_in.second_factor,
            recovery_codes_left: signed_in.second_factor.then_some(codes),
            secure: transport == Transport::Secure,
        }
    }
}

impl From<&Candidate> for OrgShown {
    fn from(candidate: &Candidate) -> Self {
        Self { id: candidate.org_id, name: candidate.org_name.clone() }
    }
}

/// What came of a password that was right.
#[derive(Serialize)]
pub(crate) struct SignedInShown {
    /// None where an organization has to be chosen.
    pub(crate) session: Option<SessionShown>,
    /// Those to choose from.
    pub(crate) organizations: Vec<OrgShown>,
}

/// A session in the list of them.
#[derive(Serialize)]
pub(crate) struct SessionListed {
    id: SessionId,
    client: String,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    current: bool,
}

impl SessionListed {
    pub(crate) fn of(session: Session, current: SessionId) -> Self {
        let (created_at, last_seen_at) = (session.created_at.into(), session.seen_at.into());
        Self { id: session.id, client: session.client, created_at, last_seen_at, current: session.id == current }
    }
}

/// `POST /app/sign-in`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    pub(crate) email: String,
    pub(crate) password: String,
    /// Of the second factor, or of recovery.
    pub(crate) code: Option<String>,
    /// The id of one of the address's organizations.
    pub(crate) organization: Option<String>,
}

/// `POST /app/password`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangePassword {
    pub(crate) current: String,
    pub(crate) new: String,
}

/// `POST /app/second-factor`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenPassword {
    pub(crate) current: String,
}

/// A code of the second factor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenCode {
    pub(crate) code: String,
}
