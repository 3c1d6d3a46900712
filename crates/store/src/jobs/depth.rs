//! Queue depths for the metrics, counted up to a limit from the indexes.

use probity_mail::time::Millis;

use crate::db::error::Result;
use crate::db::{Conn, args, statements};
use crate::records::TypedStatements as _;

/// Maximum counted of each kind.
const COUNTED_MAX: i64 = 10_000;

statements! {
    OPEN_JOBS = "SELECT
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'queued' LIMIT $1) AS part) AS queued,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'importing' LIMIT $1) AS part) AS importing,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'ready' LIMIT $1) AS part) AS ready,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job WHERE is_open = 1 AND state = 'processing' LIMIT $1) AS part) AS processing";
    FIRST_QUEUED = "SELECT created_at FROM job WHERE is_open = 1 AND state = 'queued' ORDER BY created_at LIMIT 1";
    // Counts from an index: a chunk's lease is stored after its body, which must not be read for this.
    READY_CHUNKS = "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM job j JOIN chunk c ON c.org_no = j.org_no AND c.job_no = j.job_no
        WHERE j.is_open = 1 AND c.ready_at <= $2 LIMIT $1) AS part) AS ready";
}

/// Queue depths. A value of 10,000 means at least that many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobQueueDepth {
    /// Jobs whose import has not started.
    pub queued: i64,
    /// Jobs whose lists are being sorted.
    pub importing: i64,
    /// Jobs without a claimed chunk.
    pub ready: i64,
    /// Jobs in progress.
    pub processing: i64,
    /// Acceptance time of the oldest queued job.
    pub first_queued_at: Option<Millis>,
    /// Chunks whose start time has passed, including those in progress.
    pub chunks: i64,
}

pub async fn depth(conn: &mut Conn, now: Millis) -> Result<JobQueueDepth> {
    let (queued, importing, ready, processing) = conn.one(&OPEN_JOBS, args![COUNTED_MAX]).await?;
    let chunks = conn.one(&READY_CHUNKS, args![COUNTED_MAX, now]).await?;
    let first_queued_at = conn.find(&FIRST_QUEUED, args![]).await?;
    Ok(JobQueueDepth { queued, importing, ready, processing, first_queued_at, chunks })
}
