//! Review of actions: planned actions of waiting runs, and decisions about them.

use std::collections::{BTreeMap, BTreeSet};

use probity_account::connections::BrakeReason;
use probity_account::id::{ConnId, JobId};
use probity_mail::time::Millis;

use super::{ActionState, RowAction, columns, counting, undo_of};
use crate::connections::runs::{self, RunState};
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::{self, JobNo};
use crate::number::OrgNo;
use crate::privacy::sealing::unseal;
use crate::records::{TypedStatements as _, listed, records};

/// Planned action that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedReview {
    pub run: JobId,
    pub job: JobNo,
    /// Why the run waits; `None` if some of its actions failed.
    pub brake: Option<BrakeReason>,
    pub action: RowAction,
}

/// User's decision about a planned action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Perform the action.
    Act,
    /// Ignore the action.
    Ignore,
}

/// Reason why a decision has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undecidable {
    /// The row has no action.
    NoAction,
    /// A user, or a later change, has already decided.
    DecidedBefore,
    /// The run does not wait for decisions.
    NotWaiting,
}

statements! {
    // Waiting runs only: in other runs, actions are incomplete or already decided about.
    PAGE = "SELECT r.id, r.job_no, r.brake, a.idx, a.kind, a.reason, a.state, a.verified_at, a.checked_at, a.attempts, a.message, a.doubt, a.settled_at \
            FROM contact_action a JOIN connection_run r ON r.org_no = a.org_no AND r.job_no = a.job_no \
            WHERE a.org_no = $1 AND a.connection_id = $2 AND a.state = 'planned' AND r.state = 'needs_confirmation' \
            AND (a.job_no > $3 OR (a.job_no = $3 AND a.idx > $4)) ORDER BY a.job_no, a.idx LIMIT $5";
    PLANNED = concat!("SELECT ", columns!(), " FROM contact_action WHERE org_no = $1 AND job_no = $2 AND idx >= $3 \
              AND state = 'planned' ORDER BY idx LIMIT $4");
    EXAMPLES = concat!("SELECT ", columns!(), " FROM contact_action WHERE org_no = $1 AND job_no = $2 ORDER BY idx LIMIT $3");
    BEFORE = "SELECT idx, undo FROM contact_action WHERE org_no = $1 AND job_no = $2 AND undo IS NOT NULL \
              AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    WAITING = "SELECT a.idx FROM contact_action a JOIN connection_run r ON r.org_no = a.org_no AND r.job_no = a.job_no \
               WHERE a.org_no = $1 AND a.job_no = $2 AND a.state = 'planned' AND r.state = 'needs_confirmation' \
               AND a.idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    // Actions performed in some lists are recorded.
    DECIDE = "UPDATE contact_action SET state = $4, settled_at = $5, message = COALESCE(message, $6) WHERE org_no = $1 AND job_no = $2 AND state = 'planned' \
              AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3}) RETURNING idx, kind, reason";
    KNOWN = "SELECT idx FROM contact_action WHERE org_no = $1 AND job_no = $2 \
             AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
}

/// Returns planned actions of a connection's waiting runs, after the last one of a page, at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    connection: ConnId,
    after: Option<(JobNo, i64)>,
    at_most: i64,
) -> Result<Vec<PlannedReview>> {
    let (job, idx) = after.unwrap_or((JobNo(i64::MIN), i64::MIN));
    conn.all(&PAGE, args![org, connection, job, idx, at_most]).await
}

records!(row => PlannedReview { run = "id", job = "job_no", brake; action: row.record()? });

/// Returns planned actions of a run from a row on, in row order.
pub async fn planned(conn: &mut Conn, org: OrgNo, job: JobNo, from: i64, at_most: i64) -> Result<Vec<RowAction>> {
    conn.all(&PLANNED, args![org, job, from, at_most]).await
}

/// Returns those of a run's rows whose actions wait for a decision.
pub async fn waiting(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<i64>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    conn.all(&WAITING, args![org, job, listed(rows)]).await
}

/// Returns the first actions of a run, in any state.
pub async fn examples(conn: &mut Conn, org: OrgNo, job: JobNo, at_most: i64) -> Result<Vec<RowAction>> {
    conn.all(&EXAMPLES, args![org, job, at_most]).await
}

/// Returns the values (JSON) that contacts of these rows had before their actions, if stored.
pub async fn values_before(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<BTreeMap<i64, Vec<u8>>> {
    let mut values = BTreeMap::new();
    let found: Vec<(i64, Vec<u8>)> = conn.all(&BEFORE, args![org, job, listed(rows)]).await?;
    for (idx, undo) in found {
        values.insert(idx, unseal(conn, org, undo_of(job, idx), undo).await?);
    }
    Ok(values)
}

/// Decides about planned actions of a waiting run, given by rows. Returns the rows whose decisions had no effect. The run acts
/// immediately if any action is due. Fails with [`StoreError::Conflict`](crate::StoreError::Conflict) if another run of its
/// connection is active.
pub async fn decide(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    decisions: &BTreeMap<i64, ReviewDecision>,
    message: Option<&str>,
    now: Millis,
) -> Result<BTreeMap<i64, Undecidable>> {
    let not_waiting = || Ok(decisions.keys().map(|idx| (*idx, Undecidable::NotWaiting)).collect());
    // The job of a run that ended early is deleted.
    if runs::by_job(tx, org, job).await?.is_none_or(|run| run.state != RunState::NeedsConfirmation) {
        return not_waiting();
    }
    jobs::lock(tx, org, job).await?;
    let run = runs::lock(tx, org, job).await?;
    if run.state != RunState::NeedsConfirmation {
        return not_waiting();
    }
    let mut left: BTreeSet<i64> = decisions.keys().copied().collect();
    let mut acts = false;
    for (decision, state) in [(ReviewDecision::Act, ActionState::Due), (ReviewDecision::Ignore, ActionState::Ignored)] {
        let rows = decisions.iter().filter(|(_, one)| **one == decision).map(|(idx, _)| *idx);
        let is_over = (state == ActionState::Ignored).then_some(now);
        let text = message.filter(|_| state == ActionState::Ignored);
        let decided: Vec<(i64, _, _)> = tx.all(&DECIDE, args![org, job, listed(rows), state, is_over, text]).await?;
        acts |= state == ActionState::Due && !decided.is_empty();
        for (idx, ..) in &decided {
            left.remove(idx);
        }
        let deltas = |(_, kind, reason)| [(kind, reason, ActionState::Planned, -1), (kind, reason, state, 1)];
        counting::add(tx, org, job, decided.into_iter().flat_map(deltas)).await?;
    }
    if acts {
        runs::act(tx, &run, now).await?;
    } else if left.len() < decisions.len() {
        runs::finish_if_decided(tx, &run, now).await?;
    }
    undecidable(tx, (org, job), left).await
}

/// Returns why decisions about these rows of a waiting run have no effect.
async fn undecidable(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    rows: BTreeSet<i64>,
) -> Result<BTreeMap<i64, Undecidable>> {
    let mut why: BTreeMap<_, _> = rows.iter().map(|idx| (*idx, Undecidable::NoAction)).collect();
    let known: Vec<i64> = tx.all(&KNOWN, args![org, job, listed(rows)]).await?;
    why.extend(known.into_iter().map(|idx| (idx, Undecidable::DecidedBefore)));
    Ok(why)
}
