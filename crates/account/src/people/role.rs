//! What the members of an organization may do: the one table of permissions of people.
//!
//! A person acts through the same routes as a key, so what a role may do is a set of scopes, and the guard that checks a key's
//! scopes checks a person's. A contributor works with addresses and sees how the account stands; money, keys, people, settings
//! and erasures are an administrator's.

use crate::scope::{Scope, Scopes};

probity_mail::named! {
    /// What a person is in an organization.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MemberRole {
        /// May do everything.
        Administrator = "administrator",
        /// Verifies, and sees the rest.
        Contributor = "contributor",
    }
}

/// What a contributor may do.
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
    /// What a person with this role may do.
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

    /// Every scope with who may do it: a new scope has to be decided about here.
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
