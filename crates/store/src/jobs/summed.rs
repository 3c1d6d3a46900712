//! Jobs that sum up verifications made without a job: they are created completed, hold no credits, and have no readable rows.

use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;

use super::{ClosedJob, JobCounts, JobNo, JobState};
use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::number::OrgNo;

/// Verifications to sum up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationSum {
    pub org: OrgNo,
    /// Its id: the same sum must have the same id, so that it is recorded once.
    pub id: JobId,
    /// Source of the addresses.
    pub source: &'static str,
    /// Initiator, in the timeline's terms.
    pub started_by: &'static str,
    /// Action that started it.
    pub source_action: String,
    /// Originator, as the timeline shows it (JSON).
    pub actor: String,
    pub at: Millis,
    /// Number of addresses by reason; each reason once.
    pub reasons: Vec<(Reason, i64)>,
}

statements! {
    // The summed calls captured its credits, so it charges nothing itself, and its rows count as removed.
    RECORD = "INSERT INTO job (org_no, id, source, started_by, source_action, actor, created_at, started_at, finished_at, \
              progress_at, purged_at, job_no, rows_total, processed, passed, undeliverable, risky, unknown, test, state, \
              is_open, charged, epoch, next_chunk, packed) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7, $7, $7, $8, $9, $9, \
              $10, $11, $12, $13, 0, 'completed', 0, 0, 0, 0, 3) ON CONFLICT DO NOTHING";
    REASON = "INSERT INTO job_reason (org_no, job_no, reason, n) VALUES ($1, $2, $3, $4)";
}

/// Records a sum; `None` if it was recorded before.
pub async fn record(tx: &mut Tx, summed: &VerificationSum) -> Result<Option<ClosedJob>> {
    let mut counts = JobCounts::default();
    for (reason, rows) in &summed.reasons {
        counts.add(*reason, *rows);
    }
    let job = JobNo::of_id(summed.id);
    let JobCounts { processed, passed, undeliverable, risky, unknown } = counts;
    let values = args!(summed => org, id, source, started_by, source_action, actor, at; job, processed, passed, undeliverable,
        risky, unknown);
    if tx.execute(&RECORD, values).await? == 0 {
        return Ok(None);
    }
    for (reason, rows) in &summed.reasons {
        tx.execute(&REASON, args![summed.org, job, reason.as_str(), *rows]).await?;
    }
    Ok(Some(ClosedJob { org: summed.org, job, state: JobState::Completed, released: 0 }))
}
