//! Counters of a run's actions, changed together with the actions.

use std::collections::BTreeMap;

use probity_account::connections::ContactAction;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use serde_json::json;

use super::ActionState;
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Number of a run's actions of one kind, with one reason, in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionCount {
    pub kind: ContactAction,
    pub reason: Reason,
    pub state: ActionState,
    /// Number of actions; never 0.
    pub actions: i64,
}

statements! {
    ADD = "INSERT INTO contact_action_count (org_no, job_no, kind, reason, state, actions) SELECT CAST($2 AS BIGINT), \
           CAST($3 AS BIGINT), each.value ->> 0, each.value ->> 1, each.value ->> 2, CAST(each.value ->> 3 AS BIGINT) \
           FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, job_no, kind, reason, state) \
           DO UPDATE SET actions = contact_action_count.actions + excluded.actions";
    MOVE = "INSERT INTO contact_action_count (org_no, job_no, kind, reason, state, actions) SELECT org_no, job_no, kind, reason, \
            CAST($4 AS TEXT), actions FROM contact_action_count WHERE org_no = $1 AND job_no = $2 AND state = $3 \
            ON CONFLICT (org_no, job_no, kind, reason, state) \
            DO UPDATE SET actions = contact_action_count.actions + excluded.actions";
    EMPTY = "UPDATE contact_action_count SET actions = 0 WHERE org_no = $1 AND job_no = $2 AND state = $3";
    COUNTS = "SELECT kind, reason, state, actions FROM contact_action_count WHERE org_no = $1 AND job_no = $2 AND actions <> 0";
    ADD_DONE = "INSERT INTO contact_action_day (org_no, day, kind, actions) SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), \
                each.value ->> 0, CAST(each.value ->> 1 AS BIGINT) FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, day, kind) \
                DO UPDATE SET actions = contact_action_day.actions + excluded.actions";
    FORGET = "DELETE FROM contact_action_count WHERE org_no = $1 AND job_no = $2";
}

/// Returns the actions of a run by kind, reason and state, in the contract's order.
pub async fn counts(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Vec<ActionCount>> {
    let mut counted: Vec<ActionCount> = conn.all(&COUNTS, args![org, job]).await?;
    let place = |reason: Reason| Reason::ALL.iter().position(|known| *known == reason);
    counted.sort_by_key(|count| (count.kind, place(count.reason), count.state));
    Ok(counted)
}

records!(row => ActionCount { kind, reason, state, actions });

/// Adds the actions among deltas that were done to those of a day. Reports read them after the run may have been removed.
pub(super) async fn add_done(
    tx: &mut Tx,
    org: OrgNo,
    deltas: &[(ContactAction, Reason, ActionState, i64)],
    now: Millis,
) -> Result<()> {
    let mut done: BTreeMap<&str, i64> = BTreeMap::new();
    for (kind, _, _, actions) in deltas.iter().filter(|(_, _, state, _)| *state == ActionState::Done) {
        *done.entry(kind.as_str()).or_default() += actions;
    }
    if done.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = done.into_iter().collect();
    tx.execute(&ADD_DONE, args![json!(rows).to_string(), org, now.utc_day()]).await.map(drop)
}

/// Adds deltas to counters. Deltas of the same counter are summed.
pub(super) async fn add(
    tx: &mut Tx,
    org: OrgNo,
    job: JobNo,
    deltas: impl IntoIterator<Item = (ContactAction, Reason, ActionState, i64)>,
) -> Result<()> {
    // PostgreSQL refuses to update a row twice in one statement.
    let mut summed: BTreeMap<_, i64> = BTreeMap::new();
    for (kind, reason, state, actions) in deltas {
        *summed.entry((kind.as_str(), Reason::as_str(reason), state.as_str())).or_default() += actions;
    }
    let rows: Vec<_> = summed.into_iter().filter(|(_, actions)| *actions != 0).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = rows.iter().map(|((kind, reason, state), n)| json!([kind, reason, state, n])).collect();
    tx.execute(&ADD, args![json!(rows).to_string(), org, job]).await.map(drop)
}

/// Moves whole counters to another state.
pub(super) async fn move_all(tx: &mut Tx, org: OrgNo, job: JobNo, from: ActionState, to: ActionState) -> Result<()> {
    tx.execute(&MOVE, args![org, job, from, to]).await?;
    tx.execute(&EMPTY, args![org, job, from]).await.map(drop)
}

/// Removes the counters of a run.
pub(crate) async fn forget(tx: &mut Tx, org: OrgNo, job: JobNo) -> Result<()> {
    tx.execute(&FORGET, args![org, job]).await.map(drop)
}
