//! Compares one job with its rows.

use std::collections::BTreeMap;

use probity_mail::verdict::Reason;

use super::{AuditDiscrepancy, Invariant};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, args, statements};
use crate::jobs::{self, Job, JobCounts, JobNo, JobState, SettledResult};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

/// Rows read at a time.
const SLICE: i64 = 10_000;

statements! {
    JOBS_AFTER = "SELECT org_no, job_no FROM job WHERE (org_no, job_no) > ($1, $2) AND state <> 'unborn' \
                  ORDER BY org_no, job_no LIMIT $3";
    HOLD = "SELECT subscription + prepaid AS amount FROM hold WHERE org_no = $1 AND id = $2";
    IN_CHUNKS = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS addresses FROM chunk WHERE org_no = $1 AND job_no = $2";
    REPEATED = "SELECT CAST(COALESCE(SUM(1), 0) AS BIGINT) AS repeated FROM job_duplicate WHERE org_no = $1 AND job_no = $2";
}

/// Jobs in the order of their numbers, after a given one.
pub(super) async fn jobs_after(
    conn: &mut Conn,
    last: Option<(OrgNo, JobNo)>,
    at_most: i64,
) -> Result<Vec<(OrgNo, JobNo)>> {
    let (org, job) = last.unwrap_or((OrgNo(i64::MIN), JobNo(i64::MIN)));
    conn.all(&JOBS_AFTER, args![org, job, at_most]).await
}

/// Returns the discrepancies of a job's rows, within one snapshot; none if the job no longer exists.
pub(super) async fn of_job(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<AuditDiscrepancy>> {
    let job = match jobs::by_no(conn, org, job).await {
        Err(StoreError::NotFound) => return Ok(Vec::new()),
        job => job?,
    };
    // Its rows were purged; only its counters remain.
    if job.purged_at.is_some() {
        return Ok(Vec::new());
    }
    let mut seen = RowTotals::default();
    let mut from = 0;
    while from < job.rows {
        let to = job.rows.min(from + SLICE);
        seen.add(&jobs::outcomes(conn, org, job.no, from, to).await?);
        from = to;
    }
    let beyond = jobs::outcomes(conn, org, job.no, job.rows, i64::MAX).await?.len();
    let mut found = FoundRows { job: &job, list: Vec::new() };
    found.compare(Invariant::RowBeyond, "", 0, number(beyond));
    found.rows(&seen);
    let reasons = jobs::reasons(conn, org, job.no).await?.into_iter().collect();
    found.reasons(&reasons, &seen.reasons);
    if !job.state.is_closed() {
        open(conn, &mut found, &seen).await?;
    }
    Ok(found.list)
}

/// Checks an open job's credits and work.
async fn open(conn: &mut Conn, found: &mut FoundRows<'_>, seen: &RowTotals) -> Result<()> {
    let job = found.job;
    let imported = matches!(job.state, JobState::Ready | JobState::Processing);
    let repeated = if imported { conn.one::<i64>(&REPEATED, args![job.org, job.no]).await? } else { 0 };
    let left = job.rows - repeated - seen.first_rows;
    if !job.test {
        let amount = conn.find(&HOLD, args![job.org, job.id]).await?;
        found.compare(Invariant::HoldOfOpen, "", left, amount.unwrap_or(0));
    }
    if imported {
        let addresses = conn.one(&IN_CHUNKS, args![job.org, job.no]).await?;
        // A chunk keeps its size while parts of it are settled.
        found.compare(Invariant::WorkLost, "", left, left.min(addresses));
    }
    Ok(())
}

/// Totals over a job's rows.
#[derive(Default)]
struct RowTotals {
    /// Rows with a result, their own or another row's, and the last index.
    rows: i64,
    last: Option<i64>,
    /// Rows with more than one result.
    doubled: i64,
    /// Rows with a result of their own, and their counts.
    first_rows: i64,
    charged: i64,
    /// Rows that those results claim to cover.
    copies: i64,
    counts: JobCounts,
    reasons: BTreeMap<Reason, i64>,
}

impl RowTotals {
    fn add(&mut self, outcomes: &[(i64, SettledResult)]) {
        for (idx, SettledResult { result, .. }) in outcomes {
            if self.last.replace(*idx) == Some(*idx) {
                self.doubled += 1;
            }
            self.rows += 1;
            self.counts.add(result.kind.reason, 1);
            *self.reasons.entry(result.kind.reason).or_default() += 1;
            if result.idx == *idx {
                self.first_rows += 1;
                self.copies += result.copies;
                self.charged += i64::from(result.kind.charged);
            }
        }
    }
}

struct FoundRows<'a> {
    job: &'a Job,
    list: Vec<AuditDiscrepancy>,
}

impl FoundRows<'_> {
    fn compare(&mut self, invariant: Invariant, of: &str, said: i64, found: i64) {
        if said != found {
            let id = self.job.id.to_string();
            let subject = if of.is_empty() { id } else { format!("{id} {of}") };
            self.list.push(AuditDiscrepancy { invariant, org: self.job.org, subject, said, found });
        }
    }

    fn rows(&mut self, seen: &RowTotals) {
        let job = self.job;
        if job.state == JobState::Completed {
            self.compare(Invariant::RowOnce, "", job.rows, seen.rows - seen.doubled);
        }
        self.compare(Invariant::RowOnce, "twice", 0, seen.doubled);
        let counters = [
            ("processed", job.counts.processed, seen.counts.processed),
            ("passed", job.counts.passed, seen.counts.passed),
            ("undeliverable", job.counts.undeliverable, seen.counts.undeliverable),
            ("risky", job.counts.risky, seen.counts.risky),
            ("unknown", job.counts.unknown, seen.counts.unknown),
            ("charged", job.charged, seen.charged),
            ("copies", seen.copies, seen.rows),
        ];
        for (counter, said, counted) in counters {
            self.compare(Invariant::RowCounts, counter, said, counted);
        }
    }

    fn reasons(&mut self, said: &BTreeMap<Reason, i64>, seen: &BTreeMap<Reason, i64>) {
        for reason in Reason::ALL {
            let [said, seen] = [said, seen].map(|counters| counters.get(reason).copied().unwrap_or(0));
            self.compare(Invariant::RowReasons, reason.as_str(), said, seen);
        }
    }
}

fn number(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
