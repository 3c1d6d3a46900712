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

probity_mail::named! {
    /// Part of a node's work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum NodeRole {
        Api = "api",
        Worker = "worker",
        Delivery = "delivery",
        Schedule = "schedule",
    }
}

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
            assert_eq!(wrong.parse::<NodeRole>(), Err(()), "{wrong}");
        }
        assert_eq!(Roles::default().to_string(), "api,worker,delivery,schedule");
        let some: Roles = [NodeRole::Schedule, NodeRole::Delivery, NodeRole::Schedule].into_iter().collect();
        assert_eq!(some.to_string(), "delivery,schedule");
        assert!(some.has(NodeRole::Delivery) && !some.has(NodeRole::Api) && !some.asks() && Roles::default().asks());
    }
}
