//! How people are shown, and what a new link for them does.

use probity_service::timestamp::Timestamp;
use probity_store::users::User;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A member of an organization.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Person {
    /// Member ID.
    #[schema(examples("usr_01h455vb4pex5vsknk084sn02q"))]
    id: String,
    /// Email address; null while the member has none.
    #[schema(required)]
    email: Option<String>,
    /// Display name.
    #[schema(required)]
    name: Option<String>,
    /// Role: `administrator` or `contributor`.
    role: &'static str,
    /// Whether the member is the owner.
    is_primary: bool,
    /// Status: `active`, `invited` or `paused`.
    status: &'static str,
    /// Time at which the member was added.
    created_at: Timestamp,
}

impl From<User> for Person {
    fn from(user: User) -> Self {
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

/// Options of the link.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct ResetWish {
    /// Whether to disable the member's two-factor authentication at once, for a lost device.
    #[serde(default)]
    pub(in crate::operator) without_second_factor: bool,
}
