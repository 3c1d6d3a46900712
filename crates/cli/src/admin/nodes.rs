//! The nodes on the database.

use probity_mail::time::Millis;
use serde::Serialize;

use super::{moment_text, table};

/// A node as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Node {
    /// Its name, made at its start.
    pub id: String,
    /// The machine on which it runs.
    pub hostname: String,
    /// What it does.
    pub roles: Vec<String>,
    /// Its version of the program.
    pub version: String,
    /// The public addresses from which it asks mail servers; `unknown` for one that it does not know.
    pub sources: Vec<String>,
    /// When it was started.
    #[serde(serialize_with = "super::time")]
    pub started_at: Millis,
    /// When it last showed that it lives.
    #[serde(serialize_with = "super::time")]
    pub seen_at: Millis,
    /// Whether that was lately.
    pub alive: bool,
    /// What belongs to it alone now.
    pub leases: Vec<String>,
    /// Chunks of jobs that it worked on when it was last seen.
    pub chunks: i64,
    /// Lists that it sorted when it was last seen.
    pub imports: i64,
    /// By how much its clock was ahead of the database's at least, in milliseconds; below zero: behind.
    pub clock_ahead_ms: i64,
}

/// In seconds, with a sign where there is a difference.
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
