//! Single sign-on by OpenID Connect, for each organization with its own provider.
//!
//! The owner sets the provider and claims domains ([`setup`]); a domain counts once it is proven ([`domains`]), and as long as
//! its record exists ([`records`]). A sign-in redirects to the provider and back ([`sign_in`]), and starts a session of that
//! organization only ([`admission`]). The protocol is in `probity-sso`; requests pass the egress guard ([`provider`]).

mod admission;
pub mod domains;
mod provider;
pub(crate) mod records;
pub mod setup;
pub mod sign_in;

use probity_account::plans::Entitlement;
use probity_contract::error::ApiError;
use probity_sso::SsoFault;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::sso;
use probity_store::accounts::users::{TeamMember, email_domain};
use probity_store::{Conn, OrgNo, StoreError};

use crate::app::App;
use crate::callers::admission::require_operator;
use crate::callers::caller::Caller;

pub use provider::SsoProviders;

/// Maximum duration of a sign-in at a provider, in milliseconds.
pub const SSO_FLOW_MS: i64 = 10 * 60_000;
/// Path to which providers redirect browsers.
const CALLBACK: &str = "/app/sso/callback";

/// Reason why a sign-in at a provider starts no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SsoRefusal {
    /// The organization has no single sign-on, or its plan lacks it.
    Off,
    /// The response matches no open sign-in of this browser.
    Stale,
    /// The provider or the user declined.
    Declined,
    Fault(SsoFault),
    /// The domain of the address is not a proven one of the organization.
    Domain,
    /// No member has the address, and new members are not admitted.
    NoMember,
    Seats,
    Paused,
    /// The member with the address is bound to another account of the provider.
    OtherAccount,
    /// Too many attempts.
    Wait,
    /// The service failed.
    Unavailable,
}

impl SsoRefusal {
    /// Returns the code for the sign-in page.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Stale => "stale",
            Self::Declined => "declined",
            Self::Fault(fault) => fault.word(),
            Self::Domain => "domain",
            Self::NoMember => "no_member",
            Self::Seats => "seats",
            Self::Paused => "paused",
            Self::OtherAccount => "other_account",
            Self::Wait => "wait",
            Self::Unavailable => "unavailable",
        }
    }
}

impl From<SsoFault> for SsoRefusal {
    fn from(fault: SsoFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for SsoRefusal {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "a sign-in at a provider failed here");
        Self::Unavailable
    }
}

/// Returns the URL to which providers redirect browsers; `None` unless the operator has set the service's URL.
fn redirect_uri(app: &App) -> Option<String> {
    app.config.hooks_url.as_ref().map(|url| format!("{}{CALLBACK}", url.trim_end_matches('/')))
}

/// Returns why an organization cannot use single sign-on.
fn obstacle(app: &App, org: &OrgRecord) -> Option<&'static str> {
    if !org.entitlements(app.config.plans.of(&org.plan)).contains(Entitlement::Sso) {
        return Some("plan");
    }
    app.config.hooks_url.is_none().then_some("public_url")
}

/// Returns whether a member can sign in only at the provider. The owner can always use the password, so that a broken provider
/// cannot lock out the organization.
pub(super) async fn requires_sso(app: &App, conn: &mut Conn, user: &TeamMember) -> Result<bool, StoreError> {
    let Some(domain) = user.email.as_deref().and_then(email_domain).filter(|_| !user.is_primary) else {
        return Ok(false);
    };
    let is_required = sso::of(conn, user.org).await?.is_some_and(|sso| sso.required);
    if !is_required || !sso::is_proven(conn, user.org, &domain).await? {
        return Ok(false);
    }
    Ok(obstacle(app, &organization::by_no(conn, user.org).await?).is_none())
}

/// Refuses all callers but the operator.
fn operator_only(caller: &Caller) -> Result<OrgNo, ApiError> {
    require_operator(caller, "only the operator can do this")
}

/// Refuses all callers but the owner and the operator.
fn owner_only(caller: &Caller) -> Result<OrgNo, ApiError> {
    match caller {
        Caller::Staff { .. } => Ok(caller.org()),
        Caller::Person { user, .. } if user.is_primary => Ok(caller.org()),
        Caller::Person { .. } | Caller::Key(_) => {
            Err(ApiError::forbidden_scope("your role cannot change single sign-on; ask the owner of the organization"))
        }
    }
}
