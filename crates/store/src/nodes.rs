//! The nodes on one database, and leases: what belongs to one of them at a time.
//!
//! A node writes its row with each sign of life and takes its leases in the same transaction ([`beat`], [`take`]). A lease has
//! an end, so that one whose holder died comes free without anybody's doing. Nodes go by the database's clock here
//! ([`crate::clock`]), and whoever relies on a lease stops a while before its end. A holder that was cut off for longer than its
//! lease finds out by its next [`take`].

use probity_account::id::NodeId;
use probity_mail::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::Result;

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
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, made at its start.
    pub id: NodeId,
    /// Where it runs, for people.
    pub hostname: String,
    /// Which process it is, in words that another process on the same machine understands; empty where that is not known.
    pub process: String,
    /// What it does, parted by commas.
    pub roles: String,
    /// Its version of the program.
    pub version: String,
    /// The public addresses from which it asks, parted by commas.
    pub sources: String,
    /// Chunks that it works on.
    pub chunks: i64,
    /// Lists that it sorts.
    pub imports: i64,
    /// When it was started.
    pub started_at: Millis,
    /// When it last showed that it lives.
    pub seen_at: Millis,
    /// What it has seen of its way to mail servers, in words that other nodes understand; empty where it asks none.
    pub egress: String,
    /// By how much its clock was ahead of the database's at least when it was last seen, in milliseconds; below zero: behind.
    pub ahead_ms: i64,
}

/// What belongs to one node until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What it is about.
    pub name: String,
    /// Whose it is.
    pub holder: NodeId,
    /// Which holder this is: one more each time that another node gets it.
    pub epoch: i64,
    /// Until when.
    pub until: Millis,
}

impl Lease {
    fn read(row: &Row) -> Result<Self> {
        let until = Millis(row.get("held_until")?);
        Ok(Self { name: row.get("name")?, holder: row.parse("holder")?, epoch: row.get("epoch")?, until })
    }
}

/// Writes that a node lives and what it holds.
pub async fn beat(tx: &mut Tx, node: &Node) -> Result<()> {
    let Node { hostname, process, roles, version, sources, egress, .. } = node;
    let texts = [hostname, process, roles, version, sources, egress].map(String::as_str);
    let [hostname, process, roles, version, sources, egress] = texts;
    let id = node.id.to_string();
    let (chunks, imports, started, seen) = (node.chunks, node.imports, node.started_at, node.seen_at);
    let ahead = node.ahead_ms;
    let values = args![id, hostname, process, roles, version, sources, chunks, imports, started, seen, egress, ahead];
    tx.execute(&BEAT, values).await?;
    Ok(())
}

/// All nodes that are remembered, the oldest first; those that died are among them for a while.
pub async fn all(conn: &mut Conn) -> Result<Vec<Node>> {
    let read = |row: &Row| {
        Ok(Node {
            id: row.parse("id")?,
            hostname: row.get("hostname")?,
            process: row.get("process")?,
            roles: row.get("roles")?,
            version: row.get("version")?,
            sources: row.get("sources")?,
            chunks: row.get("chunks")?,
            imports: row.get("imports")?,
            started_at: Millis(row.get("started_at")?),
            seen_at: Millis(row.get("seen_at")?),
            egress: row.get("egress")?,
            ahead_ms: row.get("ahead_ms")?,
        })
    };
    conn.rows(&ALL, args![]).await?.iter().map(read).collect()
}

/// All leases, those that have ended included.
pub async fn leases(conn: &mut Conn) -> Result<Vec<Lease>> {
    conn.rows(&LEASES, args![]).await?.iter().map(Lease::read).collect()
}

/// Takes a lease that nobody holds, or holds one's own for longer. Gives it as it stands then, in another's name where
/// another has it. Take several in the order of their names: two nodes that want the same ones must not wait for each other.
pub async fn take(tx: &mut Tx, name: &str, holder: NodeId, now: Millis, until: Millis) -> Result<Lease> {
    tx.execute(&TAKE, args![name, holder.to_string(), now, until]).await?;
    let standing = tx.first(&STANDING, args![name]).await?;
    // Its holder has let it go between the two statements: it is taken with the next sign of life.
    let free = Lease { name: name.to_owned(), holder: NodeId::from_bits(0), epoch: 0, until: now };
    standing.map_or(Ok(free), |row| Lease::read(&row))
}

/// Removes a node and lets go what it holds.
pub async fn leave(tx: &mut Tx, id: NodeId) -> Result<()> {
    tx.execute(&LEAVE, args![id.to_string()]).await?;
    tx.execute(&LET_GO, args![id.to_string()]).await?;
    Ok(())
}

/// Forgets nodes that were last seen before a time, and leases that ended before it.
pub async fn forget(tx: &mut Tx, before: Millis) -> Result<u64> {
    let forgotten = tx.execute(&FORGET_NODES, args![before]).await?;
    tx.execute(&FORGET_LEASES, args![before]).await?;
    Ok(forgotten)
}
