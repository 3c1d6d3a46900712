//! How much waits, for the metrics: counted up to a limit, by what the indexes hold.

use probity_mail::time::Millis;

use crate::db::{Conn, args, statements};
use crate::error::Result;

/// Up to how many of each are counted.
const COUNTED_MAX: i64 = 10_000;

statements! {
    OPEN_JOBS = "SELECT
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'queued' LIMIT $1) AS part) AS queued,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'importing' LIMIT $1) AS part) AS importing,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'ready' LIMIT $1) AS part) AS ready,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'processing' LIMIT $1) AS part) AS processing";
    FIRST_QUEUED = "SELECT created_at FROM job WHERE is_open = 1 AND state = 'queued' ORDER BY created_at LIMIT 1";
    // By the keys of an index: whether a chunk is leased stands behind its body, which is not to be read for this.
    READY_CHUNKS = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job j JOIN chunk c ON c.org_no = j.org_no AND c.job_no = j.job_no
        WHERE j.is_open = 1 AND c.ready_at <= $2 LIMIT $1) AS part) AS ready";
}

/// How much waits. Numbers of 10,000 mean that or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Jobs whose lists nobody has looked at.
    pub queued: i64,
    /// Jobs whose lists are being sorted.
    pub importing: i64,
    /// Jobs of which no address has been taken up.
    pub ready: i64,
    /// Jobs that are worked on.
    pub processing: i64,
    /// When the oldest of the queued ones was accepted.
    pub first_queued_at: Option<Millis>,
    /// Chunks that need not wait for their time any more, those that are worked on included.
    pub chunks: i64,
}

/// How much waits now.
pub async fn depth(conn: &mut Conn, now: Millis) -> Result<Depth> {
    let mut depth = Depth::default();
    if let Some(row) = conn.first(&OPEN_JOBS, args![COUNTED_MAX]).await? {
        (depth.queued, depth.importing) = (row.get("queued")?, row.get("importing")?);
        (depth.ready, depth.processing) = (row.get("ready")?, row.get("processing")?);
    }
    if let Some(row) = conn.first(&READY_CHUNKS, args![COUNTED_MAX, now]).await? {
        depth.chunks = row.get("ready")?;
    }
    if let Some(row) = conn.first(&FIRST_QUEUED, args![]).await? {
        depth.first_queued_at = Some(Millis(row.get("created_at")?));
    }
    Ok(depth)
}
