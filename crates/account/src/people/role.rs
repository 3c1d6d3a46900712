//! Permissions of an organization's members.
//!
//! Members use the same routes as keys, so the permissions of a role are a set of scopes, and one guard checks both. A
//! contributor works with addresses and sees the state of the account; credits, keys, members, settings and erasures need an
//! administrator.

use crate::scope::{Scope, Scopes};

probity_mail::named! {
    /// Role of a member.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MemberRole {
        /// All permissions.
        Administrator = "administrator",
        /// Verifies addresses; read-only access to the rest.
        Contributor = "contributor",
    }
}

/// Permissions of a contributor.
const CONTRIBUTOR: [Scope; 8] = [
    Scope::Verify,
    Scope::ReadJobs,
    Scope::WriteJobs,
    Scope::ReadAccount,
    Scope::ReadTeam,
    Scope::ReadReports,
    Scope::ReadIntegrations,
    Scope::ReadWebhooks,
];

impl MemberRole {
    /// Returns the permissions of this role.
    pub fn scopes(self) -> Scopes {
        match self {
            Self::Administrator => Scopes::all(),
            Self::Contributor => CONTRIBUTOR.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MemberRole, Scope};

    /// Every scope with its roles: a new scope must be decided on here.
    #[test]
    fn the_table_of_permissions() {
        for scope in Scope::ALL {
            let contributor = match scope {
                Scope::Verify
                | Scope::ReadJobs
                | Scope::WriteJobs
                | Scope::ReadAccount
                | Scope::ReadTeam
                | Scope::ReadReports
                | Scope::ReadIntegrations
                | Scope::ReadWebhooks => true,
                Scope::WriteAccount
                | Scope::WriteTeam
                | Scope::WriteIntegrations
                | Scope::WriteWebhooks
                | Scope::WriteErasures
                | Scope::WriteKeys => false,
            };
            assert!(MemberRole::Administrator.scopes().contains(scope), "{scope}");
            assert_eq!(MemberRole::Contributor.scopes().contains(scope), contributor, "{scope}");
        }
    }

    #[test]
    fn names_are_those_of_the_contract() {
        assert_eq!(MemberRole::ALL.map(MemberRole::as_str), ["administrator", "contributor"]);
        for role in MemberRole::ALL {
            assert_eq!(MemberRole::from_name(role.as_str()), Some(role));
        }
        for other in ["", "Administrator", "owner", "admin"] {
            assert_eq!(MemberRole::from_name(other), None, "{other:?}");
        }
    }
}
