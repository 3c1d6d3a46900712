//! Checks jobs as a whole, without their rows: credits, work, counters, deliveries.

use probity_mail::time::Millis;

use super::{AuditDiscrepancy, Invariant, differing};
use crate::db::error::Result;
use crate::db::{Conn, Statement, args, statements};

/// A job's part of the ledger, by the references that jobs use: `id`, `duplicates:id`, `closed:id`, `id:chunk:epoch:part`. Captures
/// and releases are later folded into daily sums. In an organization with folded rows, a job's sum may be less than before, but
/// never more.
macro_rules! by_job {
    ($said:literal, $found:literal, $of:literal) => {
        concat!(
            "SELECT j.org_no AS org, j.id AS subject, ",
            $said,
            " AS said, ",
            $found,
            " AS found FROM (SELECT org_no, job_id, \
             CAST(SUM(CASE WHEN kind = 'hold' THEN amount ELSE 0 END) AS BIGINT) AS held, \
             CAST(SUM(CASE WHEN kind = 'capture' THEN amount ELSE 0 END) AS BIGINT) AS captured, \
             CAST(SUM(CASE WHEN kind = 'release' THEN amount ELSE 0 END) AS BIGINT) AS released \
             FROM (SELECT org_no, kind, subscription + prepaid AS amount, \
             CASE WHEN SUBSTR(ref, 1, 7) = 'closed:' THEN SUBSTR(ref, 8) \
             WHEN SUBSTR(ref, 1, 11) = 'duplicates:' THEN SUBSTR(ref, 12) ELSE SUBSTR(ref, 1, 30) END AS job_id \
             FROM ledger WHERE kind IN ('hold', 'capture', 'release')) AS entry GROUP BY org_no, job_id) AS l \
             JOIN job j ON j.org_no = l.org_no AND j.id = l.job_id WHERE ",
            $of,
            " AND (",
            $found,
            " > ",
            $said,
            " OR (",
            $found,
            " < ",
            $said,
            " AND j.org_no NOT IN (SELECT f.org_no FROM ledger f \
             WHERE f.kind IN ('capture', 'release') AND SUBSTR(f.ref, 1, 4) = 'day:')))"
        )
    };
}

statements! {
    // Widget jobs sum up what single calls held.
    HELD = "SELECT j.org_no AS org, j.id AS subject, j.rows_total AS said, COALESCE(l.subscription + l.prepaid, 0) AS found \
            FROM job j LEFT JOIN ledger l ON l.org_no = j.org_no AND l.kind = 'hold' AND l.ref = j.id \
            WHERE j.test = 0 AND j.state <> 'unborn' AND j.source <> 'widget' AND COALESCE(l.subscription + l.prepaid, 0) <> j.rows_total";
    SETTLED = by_job!("l.held", "l.captured + l.released", "j.is_open = 0");
    CAPTURED = by_job!("j.charged", "l.captured", "j.test = 0");
    HOLD_OF_CLOSED = "SELECT h.org_no AS org, h.id AS subject, CAST(0 AS BIGINT) AS said, h.subscription + h.prepaid AS found \
                      FROM hold h LEFT JOIN job j ON j.org_no = h.org_no AND j.id = h.id \
                      WHERE h.expires_at IS NULL AND (j.is_open IS NULL OR j.is_open = 0)";
    CHUNK_OF_CLOSED = "SELECT c.org_no AS org, COALESCE(j.id, '') AS subject, CAST(0 AS BIGINT) AS said, c.chunks AS found \
                       FROM (SELECT org_no, job_no, CAST(SUM(1) AS BIGINT) AS chunks FROM chunk GROUP BY org_no, job_no) AS c \
                       LEFT JOIN job j ON j.org_no = c.org_no AND j.job_no = c.job_no \
                       WHERE j.is_open IS NULL OR j.state = 'completed' OR j.packed > 1";
    OPEN_WITHOUT_WORK = "SELECT j.org_no AS org, j.id AS subject, j.rows_total - j.processed AS said, CAST(-1 AS BIGINT) AS found FROM job j \
                         WHERE j.is_open = 1 AND j.state IN ('ready', 'processing') AND NOT EXISTS \
                         (SELECT 1 FROM chunk c WHERE c.org_no = j.org_no AND c.job_no = j.job_no)";
    OPEN_BY_STATE = "SELECT org_no AS org, id AS subject, is_open AS said, 1 - is_open AS found FROM job WHERE is_open <> \
                     CASE WHEN state IN ('queued', 'importing', 'ready', 'processing') THEN 1 ELSE 0 END";
    COMPLETED = "SELECT org_no AS org, id AS subject, rows_total AS said, processed AS found FROM job \
                 WHERE state = 'completed' AND processed <> rows_total";
    REASONS = "SELECT j.org_no AS org, j.id AS subject, j.processed AS said, COALESCE(r.n, 0) AS found FROM job j LEFT JOIN \
               (SELECT org_no, job_no, CAST(SUM(n) AS BIGINT) AS n FROM job_reason GROUP BY org_no, job_no) AS r \
               ON r.org_no = j.org_no AND r.job_no = j.job_no WHERE j.processed <> COALESCE(r.n, 0)";
    // A completion delivery is created at the job's closing time, so rows of one organization and moment are compared. A delivery
    // with another signer reports the same event to another endpoint. Deliveries that an organization may have chosen to purge
    // earlier are left out.
    EVENTS = "SELECT j.org_no AS org, j.id AS subject, j.closed AS said, COALESCE((SELECT CAST(SUM(1) AS BIGINT) \
              FROM outbox o WHERE o.org_no = j.org_no AND o.created_at = j.finished_at AND o.kind = 'job.finished' \
              AND o.signer = ''), 0) AS found FROM (SELECT org_no, finished_at, MIN(id) AS id, \
              CAST(SUM(1) AS BIGINT) AS closed FROM job WHERE is_open = 0 AND finished_at >= $1 AND webhook_url IS NOT NULL \
              AND NOT EXISTS (SELECT 1 FROM org_settings s WHERE s.org_no = job.org_no \
              AND (s.delivery_retention_days IS NOT NULL OR s.changed_at > job.finished_at)) \
              GROUP BY org_no, finished_at) AS j";
    EVENTS_OF_NONE = "SELECT o.org_no AS org, o.event_id AS subject, CAST(0 AS BIGINT) AS said, CAST(1 AS BIGINT) AS found FROM outbox o \
                      WHERE o.kind = 'job.finished' AND o.signer = '' AND o.created_at >= $1 AND NOT EXISTS \
                      (SELECT 1 FROM job j WHERE j.org_no = o.org_no AND j.finished_at = o.created_at AND j.webhook_url IS NOT NULL)";
}

/// Checks jobs as a whole.
pub(super) async fn sums(conn: &mut Conn, messages_since: Millis) -> Result<Vec<AuditDiscrepancy>> {
    let rules: [(Invariant, &'static Statement); 9] = [
        (Invariant::JobHeld, &HELD),
        (Invariant::JobSettled, &SETTLED),
        (Invariant::JobCaptured, &CAPTURED),
        (Invariant::HoldOfClosed, &HOLD_OF_CLOSED),
        (Invariant::ChunkOfClosed, &CHUNK_OF_CLOSED),
        (Invariant::OpenWithoutWork, &OPEN_WITHOUT_WORK),
        (Invariant::OpenByState, &OPEN_BY_STATE),
        (Invariant::CompletedCounts, &COMPLETED),
        (Invariant::ReasonCounts, &REASONS),
    ];
    let mut found = Vec::new();
    for (invariant, statement) in rules {
        found.extend(differing(conn, invariant, statement, args![]).await?);
    }
    for statement in [&EVENTS, &EVENTS_OF_NONE] {
        found.extend(differing(conn, Invariant::EventOnce, statement, args![messages_since]).await?);
    }
    Ok(found)
}
