//! Work of a node: everything by default. Several nodes on one PostgreSQL may share it.
//!
//! | Role | Work |
//! |---|---|
//! | `api` | answers requests under `/v1`, including live verifications, and serves the documentation |
//! | `worker` | imports and verifies jobs, and carries out erasures |
//! | `delivery` | sends webhook deliveries and email |
//! | `schedule` | runs maintenance; of several nodes with this role, one does it |
//!
//! Every node answers `/healthz`, `/readyz` and `/metrics`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Part of a node's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRole {
    Api,
    Worker,
    Delivery,
    Schedule,
}

impl NodeRole {
    pub const ALL: [Self; 4] = [Self::Api, Self::Worker, Self::Delivery, Self::Schedule];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Worker => "worker",
            Self::Delivery => "delivery",
            Self::Schedule => "schedule",
        }
    }
}

/// Text that is not the name of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of api, worker, delivery, schedule")]
pub struct UnknownRole;

impl FromStr for NodeRole {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == name).ok_or(UnknownRole)
    }
}

/// Roles of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(BTreeSet<NodeRole>);

impl Roles {
    pub fn has(&self, role: NodeRole) -> bool {
        self.0.contains(&role)
    }

    /// Whether the node probes.
    pub fn asks(&self) -> bool {
        self.has(NodeRole::Api) || self.has(NodeRole::Worker)
    }
}

impl Default for Roles {
    /// All roles.
    fn default() -> Self {
        NodeRole::ALL.into_iter().collect()
    }
}

impl FromIterator<NodeRole> for Roles {
    fn from_iter<I: IntoIterator<Item = NodeRole>>(roles: I) -> Self {
        Self(roles.into_iter().collect())
    }
}

impl fmt::Display for Roles {
    /// Writes the names, separated by commas.
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
        for role in NodeRole::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        for wrong in ["", "API", "workers", "all"] {
            assert_eq!(wrong.parse::<NodeRole>(), Err(UnknownRole), "{wrong}");
        }
        assert_eq!(Roles::default().to_string(), "api,worker,delivery,schedule");
        let some: Roles = [NodeRole::Schedule, NodeRole::Delivery, NodeRole::Schedule].into_iter().collect();
        assert_eq!(some.to_string(), "delivery,schedule");
        assert!(some.has(NodeRole::Delivery) && !some.has(NodeRole::Api) && !some.asks() && Roles::default().asks());
    }
}
