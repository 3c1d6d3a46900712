//! Nodes as the operator sees them.

use probity_account::id::NodeId;
use probity_store::nodes::StoredNode;
use serde::Serialize;

use crate::timestamp::Timestamp;

/// A node on the database.
#[derive(Clone, Debug, Serialize)]
pub struct ListedNode {
    /// Name, generated at the start.
    pub id: NodeId,
    /// Host name of the machine.
    pub hostname: String,
    pub roles: Vec<String>,
    pub version: String,
    /// Public source IPs of probes; `unknown` for an undetected one.
    pub sources: Vec<String>,
    pub started_at: Timestamp,
    /// Last heartbeat.
    pub seen_at: Timestamp,
    /// Whether the last heartbeat is recent.
    pub alive: bool,
    /// Names of the leases that the node holds.
    pub leases: Vec<String>,
    /// Chunks of jobs in progress at the last heartbeat.
    pub chunks: i64,
    /// Imports in progress at the last heartbeat.
    pub imports: i64,
    /// Minimum lead of the node's clock over the database's, in milliseconds; negative if behind.
    pub clock_ahead_ms: i64,
}

impl ListedNode {
    /// Builds the entry of a node, with its current state.
    pub fn of(node: StoredNode, alive: bool, leases: Vec<String>) -> Self {
        let parts = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Self {
            id: node.id,
            roles: parts(&node.roles),
            sources: parts(&node.sources),
            hostname: node.hostname,
            version: node.version,
            started_at: node.started_at.into(),
            seen_at: node.seen_at.into(),
            alive,
            leases,
            chunks: node.chunks,
            imports: node.imports,
            clock_ahead_ms: node.ahead_ms,
        }
    }
}
