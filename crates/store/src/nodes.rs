//! Nodes that share a database, and leases, each held by one node at a time.
//!
//! A node writes its row with each heartbeat, and takes its leases in the same transaction ([`beat`], [`take`]). A lease has an
//! end, so that it becomes free by itself if its holder dies. Nodes use the database's clock here ([`crate::nodes::clock`]), and
//! a holder must stop work some time before the lease ends. A holder that was cut off for longer than its lease finds out at its
//! next [`take`].

pub mod ahead;
pub mod clock;
pub mod facts;
pub mod instance;
pub mod wake;

use probity_account::id::NodeId;
use probity_mail::time::Millis;

use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::records::{TypedStatements as _, records};

statements! {
    BEAT = "INSERT INTO node (id, hostname, process, roles, version, sources, chunks, imports, started_at, seen_at, egress, \
        ahead_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (id) DO UPDATE SET chunks = excluded.chunks, imports = excluded.imports, seen_at = excluded.seen_at,
            egress = excluded.egress, ahead_ms = excluded.ahead_ms";
    ALL = "SELECT id, hostname, process, roles, version, sources, chunks, imports, started_at, seen_at, egress, ahead_ms FROM node
        ORDER BY started_at, id";
    LEASES = "SELECT name, holder, epoch, held_until FROM lease ORDER BY held_until";
    TAKE = "INSERT INTO lease (name, holder, epoch, held_until) VALUES ($1, $2, 1, $4)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until,
            epoch = lease.epoch + CASE WHEN lease.holder = excluded.holder THEN 0 ELSE 1 END
        WHERE lease.holder = excluded.holder OR lease.held_until <= $3";
    STANDING = "SELECT name, holder, epoch, held_until FROM lease WHERE name = $1";
    LEAVE = "DELETE FROM node WHERE id = $1";
    LET_GO = "DELETE FROM lease WHERE holder = $1";
    FORGET_NODES = "DELETE FROM node WHERE seen_at < $1";
    FORGET_LEASES = "DELETE FROM lease WHERE held_until < $1";
    [ahead, clock, facts, instance, wake]
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNode {
    /// Name, created at start.
    pub id: NodeId,
    /// Host that it runs on, for display.
    pub hostname: String,
    /// Process identity, comparable by other processes on the same machine; empty if unknown.
    pub process: String,
    /// Roles, comma-separated.
    pub roles: String,
    /// Program version.
    pub version: String,
    /// Public source IPs, comma-separated.
    pub sources: String,
    /// Chunks in progress.
    pub chunks: i64,
    /// Imports in progress.
    pub imports: i64,
    /// Start time.
    pub started_at: Millis,
    /// Last heartbeat.
    pub seen_at: Millis,
    /// Health of its outbound SMTP, in a format for other nodes; empty if it sends no probes.
    pub egress: String,
    /// Minimum lead of its clock over the database's at the last heartbeat, in milliseconds; negative if behind.
    pub ahead_ms: i64,
}

/// A lease: exclusive ownership by one node until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLease {
    /// Subject of the lease.
    pub name: String,
    pub holder: NodeId,
    /// Number of the holder: incremented when another node takes the lease.
    pub epoch: i64,
    /// End of the lease.
    pub until: Millis,
}

records!(row => NodeLease { name, holder, epoch, until = "held_until" });

/// Records a heartbeat of a node, with its current work, and its time.
pub async fn beat(tx: &mut Tx, node: &StoredNode) -> Result<()> {
    let values = args!(node => id, hostname, process, roles, version, sources, chunks, imports, started_at, seen_at,
        egress, ahead_ms);
    tx.execute(&BEAT, values).await?;
    clock::record(tx, node.seen_at).await
}

/// All known nodes, oldest first, including those that died lately.
pub async fn all(conn: &mut Conn) -> Result<Vec<StoredNode>> {
    conn.all(&ALL, args![]).await
}

records!(row => StoredNode {
    id, hostname, process, roles, version, sources, chunks, imports, started_at, seen_at, egress, ahead_ms
});

/// All leases, including expired ones.
pub async fn leases(conn: &mut Conn) -> Result<Vec<NodeLease>> {
    conn.all(&LEASES, args![]).await
}

/// Takes a free lease, or extends one's own. Returns the lease as stored, under another name if another node has it. Take several
/// in the order of their names, to prevent deadlocks between nodes.
pub async fn take(tx: &mut Tx, name: &str, holder: NodeId, now: Millis, until: Millis) -> Result<NodeLease> {
    tx.execute(&TAKE, args![name, holder, now, until]).await?;
    // Its holder released it between the two statements; the next heartbeat takes it.
    let free = || NodeLease { name: name.to_owned(), holder: NodeId::from_bits(0), epoch: 0, until: now };
    Ok(tx.find(&STANDING, args![name]).await?.unwrap_or_else(free))
}

/// Removes a node and releases its leases.
pub async fn leave(tx: &mut Tx, id: NodeId) -> Result<()> {
    tx.execute(&LEAVE, args![id]).await?;
    tx.execute(&LET_GO, args![id]).await.map(drop)
}

/// Removes nodes last seen before a time, and leases that ended before it.
pub async fn forget(tx: &mut Tx, before: Millis) -> Result<u64> {
    let forgotten = tx.execute(&FORGET_NODES, args![before]).await?;
    tx.execute(&FORGET_LEASES, args![before]).await?;
    Ok(forgotten)
}
