//! Members in the operator's API, and links for members who cannot sign in.

use probity_store::accounts::users::TeamMember;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::timestamp::Timestamp;

/// A member of an organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Person)]
pub struct CustomerMember {
    /// Member ID.
    #[schema(examples("usr_01h455vb4pex5vsknk084sn02q"))]
    pub id: String,
    /// Email address; null while the member has none.
    #[schema(required)]
    pub email: Option<String>,
    /// Display name.
    #[schema(required)]
    pub name: Option<String>,
    /// Role: `administrator` or `contributor`.
    pub role: &'static str,
    /// Whether the member is the owner.
    pub is_primary: bool,
    /// Status: `active`, `invited` or `paused`.
    pub status: &'static str,
    /// Time at which the member was added.
    pub created_at: Timestamp,
}

impl From<TeamMember> for CustomerMember {
    fn from(user: TeamMember) -> Self {
        Self {
            id: user.id.to_string(),
            email: user.email,
            name: user.name,
            role: user.role.as_str(),
            is_primary: user.is_primary,
            status: user.status.as_str(),
            created_at: user.created_at.into(),
        }
    }
}

/// A member with the result of the identity check.
#[derive(Clone, Debug, Serialize)]
pub struct IdentifiedMember {
    /// The member, as listed.
    #[serde(flatten)]
    pub member: CustomerMember,
    /// Result of the check; null if there was none.
    pub identity_verified: Option<&'static str>,
}

/// Options of the link.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ResetWish)]
pub struct CreateResetLink {
    /// Whether to disable the member's two-factor authentication at once, for a lost device.
    #[serde(default)]
    pub without_second_factor: bool,
}
