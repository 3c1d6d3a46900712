//! What a node does. By default everything; several nodes on one PostgreSQL may share the work.
//!
//! | Role | Its work |
//! |---|---|
//! | `api` | answers requests under `/v1`, live verifications among them, and serves the documentation |
//! | `worker` | sorts the lists of jobs and verifies them |
//! | `delivery` | sends callbacks |
//! | `schedule` | does what must be done from time to time; of several nodes with this role one does it |
//!
//! Every node answers `/healthz`, `/readyz` and `/metrics`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Answers requests.
    Api,
    /// Sorts and verifies the lists of jobs.
    Worker,
    /// Sends callbacks.
    Delivery,
    /// Does what must be done from time to time.
    Schedule,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Api, Self::Worker, Self::Delivery, Self::Schedule];

    /// The role's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Worker => "worker",
            Self::Delivery => "delivery",
            Self::Schedule => "schedule",
        }
    }
}

/// A text that is no role's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of api, worker, delivery, schedule")]
pub struct UnknownRole;

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == name).ok_or(UnknownRole)
    }
}

/// What one node does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(BTreeSet<Role>);

impl Roles {
    /// Whether a part of the work is among it.
    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }

    /// Whether mail servers are asked.
    pub fn asks(&self) -> bool {
        self.has(Role::Api) || self.has(Role::Worker)
    }
}

impl Default for Roles {
    /// Everything.
    fn default() -> Self {
        Role::ALL.into_iter().collect()
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Self(roles.into_iter().collect())
    }
}

impl fmt::Display for Roles {
    /// The names, parted by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|role| role.as_str()).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        for wrong in ["", "API", "workers", "all"] {
            assert_eq!(wrong.parse::<Role>(), Err(UnknownRole), "{wrong}");
        }
        assert_eq!(Roles::default().to_string(), "api,worker,delivery,schedule");
        let some: Roles = [Role::Schedule, Role::Delivery, Role::Schedule].into_iter().collect();
        assert_eq!(some.to_string(), "delivery,schedule");
        assert!(some.has(Role::Delivery) && !some.has(Role::Api) && !some.asks() && Roles::default().asks());
    }
}
