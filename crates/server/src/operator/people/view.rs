//! How people are shown, and what a new link for them does.

use probity_store::users::User;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::timestamp::Timestamp;

/// Somebody in an organization.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Person {
    /// Their id.
    #[schema(examples("usr_01h455vb4pex5vsknk084sn02q"))]
    id: String,
    /// Their address; null where they have yet to say it.
    #[schema(required)]
    email: Option<String>,
    /// What they are called.
    #[schema(required)]
    name: Option<String>,
    /// `administrator` or `contributor`.
    role: &'static str,
    /// Whether the organization is theirs.
    is_primary: bool,
    /// `active`, `invited` or `paused`.
    status: &'static str,
    /// When they were added.
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

/// What the link is to do.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct ResetWish {
    /// Takes their second factor away too, at once: they have lost it.
    #[serde(default)]
    pub(in crate::operator) without_second_factor: bool,
}
