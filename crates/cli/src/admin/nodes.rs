use probity_mail::time::Millis;
use serde::Serialize;

use super::{moment_text, table};

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Node {
    /// Name, generated at the start.
    pub id: String,
    /// Host name of the machine.
    pub hostname: String,
    pub roles: Vec<String>,
    pub version: String,
    /// Public source IPs of probes; `unknown` for an undetected one.
    pub sources: Vec<String>,
    #[serde(serialize_with = "super::time")]
    pub started_at: Millis,
    /// Last heartbeat.
    #[serde(serialize_with = "super::time")]
    pub seen_at: Millis,
    /// The last heartbeat is recent.
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

/// Formats the lead in seconds, with a sign unless it is 0.
fn ahead_text(ms: i64) -> String {
    let sign = match ms.signum() {
        1 => "+",
        -1 => "-",
        _ => "",
    };
    let tenths = ms.unsigned_abs() / 100;
    format!("{sign}{}.{}s", tenths / 10, tenths % 10)
}

pub(super) fn table(nodes: &[Node]) -> String {
    let row = |node: &Node| {
        vec![
            node.id.clone(),
            node.hostname.clone(),
            node.roles.join(","),
            node.version.clone(),
            moment_text(node.started_at),
            moment_text(node.seen_at),
            if node.alive { "yes" } else { "no" }.to_owned(),
            node.chunks.to_string(),
            node.imports.to_string(),
            ahead_text(node.clock_ahead_ms),
            if node.leases.is_empty() { "none".to_owned() } else { node.leases.join(",") },
        ]
    };
    let head = ["NODE", "HOST", "ROLES", "VERSION", "SINCE", "SEEN", "ALIVE", "CHUNKS", "IMPORTS", "CLOCK", "LEASES"];
    table::lines(&head, nodes.iter().map(row))
}
