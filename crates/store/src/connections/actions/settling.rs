//! Outcomes of actions: stored once, together with the marks of their contacts.
//!
//! Platforms with batches respond about hundreds of contacts at once, so equal outcomes are stored together.

use std::collections::BTreeMap;

use probity_account::connections::ContactAction;
use probity_account::id::ConnId;
use probity_mail::time::Millis;
use serde_json::{Value, json};

use super::{ActionState, RowAction, SettledAction, counting, undo_of};
use crate::connections::runs::{self, RunFence, RunState, held};
use crate::db::error::{Result, StoreError};
use crate::db::hex::hex;
use crate::db::{Tx, args, statements};
use crate::jobs::{self, JobNo};
use crate::number::OrgNo;
use crate::privacy::sealing::seal;
use crate::records::{TypedStatements as _, listed};

/// Mark of a contact that could not be fixed, because another contact had the suggested address.
pub(crate) const TAKEN: &str = "taken";

/// Beginning of the message of an action that was performed in some of the contact's lists, but not in all.
pub const PARTLY: &str = "done in some of the contact's lists, but not in all";

statements! {
    SETTLE = "UPDATE contact_action SET state = $4, message = $5, undo = NULL, settled_at = $6, attempts = attempts + 1 \
              WHERE org_no = $1 AND job_no = $2 AND state = 'due' \
              AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3}) RETURNING idx, kind, reason";
    KEEP_UNDO = "UPDATE contact_action SET undo = $4 WHERE org_no = $1 AND job_no = $2 AND idx = $3";
    // The list comes first, and each mark is found by key. On SQLite, an update joined with the list would read every mark of the
    // connection for each row of it. Nothing is inserted: missing marks have no row to join.
    MARK = "INSERT INTO contact_mark (org_no, connection_id, contact, address, job_no, idx, seen_at, acted, acted_at, effect) \
            SELECT m.org_no, m.connection_id, m.contact, m.address, m.job_no, m.idx, m.seen_at, each.value ->> 1, \
            CAST($4 AS BIGINT), {unhex:each.value ->> 2} FROM {each:$3} CROSS JOIN contact_mark m \
            WHERE m.org_no = $1 AND m.connection_id = $2 AND m.contact = {unhex:each.value ->> 0} \
            ON CONFLICT (org_no, connection_id, contact) \
            DO UPDATE SET acted = excluded.acted, acted_at = excluded.acted_at, effect = excluded.effect";
    OPEN = "SELECT kind, reason, state FROM contact_action WHERE org_no = $1 AND job_no = $2 AND idx = $3 \
            AND state IN ('planned', 'due', 'ignored')";
    BEGIN = "UPDATE contact_action SET message = $4 WHERE org_no = $1 AND job_no = $2 AND state IN ('planned', 'due', 'ignored') \
             AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    RECORD = "UPDATE contact_action SET state = $4, message = NULL, settled_at = $5, attempts = attempts + 1 \
              WHERE org_no = $1 AND job_no = $2 AND idx = $3";
}

/// Settles due actions of a held run. Returns those that were due, in the order of rows, with their kinds and whether the
/// contacts are now in the requested state. Marks record what was done to the contacts.
pub async fn settle(
    tx: &mut Tx,
    fence: &RunFence,
    settled: &[SettledAction],
    now: Millis,
) -> Result<Vec<(i64, ContactAction, bool)>> {
    let run = held(tx, fence, RunState::Acting).await?;
    let RunFence { org, job, .. } = *fence;
    let mut alike: BTreeMap<(ActionState, Option<&str>), BTreeMap<i64, &SettledAction>> = BTreeMap::new();
    for action in settled {
        alike.entry((action.state, action.message.as_deref())).or_default().entry(action.idx).or_insert(action);
    }
    let (mut changed, mut counted, mut notes) = (Vec::new(), Vec::new(), MarkNotes::default());
    for ((state, message), actions) in alike {
        let settled: Vec<_> = tx.all(&SETTLE, args![org, job, listed(actions.keys()), state, message, now]).await?;
        for (idx, kind, reason) in settled {
            counted.push((kind, reason, ActionState::Due, -1));
            counted.push((kind, reason, state, 1));
            changed.push((idx, kind, RowAction::leaves_as_wanted(kind, state)));
            let Some(action) = actions.get(&idx) else { continue };
            notes.take(kind, action);
            keep_undo(tx, (org, job), action).await?;
        }
    }
    notes.write(tx, (org, run.connection), now).await?;
    counting::add_done(tx, org, &counted, now).await?;
    counting::add(tx, org, job, counted).await?;
    changed.sort_unstable_by_key(|(idx, ..)| *idx);
    Ok(changed)
}

/// Records what a platform has done, even if the run was canceled, put back or taken over during the call; otherwise the action
/// would be repeated. Returns the same as [`settle`].
pub async fn record(
    tx: &mut Tx,
    (org, job): (OrgNo, JobNo),
    facts: &[SettledAction],
    now: Millis,
) -> Result<Vec<(i64, ContactAction, bool)>> {
    match jobs::lock(tx, org, job).await {
        // The run is no longer shown.
        Err(StoreError::NotFound) => return Ok(Vec::new()),
        locked => locked?,
    };
    let run = runs::lock(tx, org, job).await?;
    let (mut changed, mut counted, mut notes) = (Vec::new(), Vec::new(), MarkNotes::default());
    for fact in facts {
        let open = tx.find(&OPEN, args![org, job, fact.idx]).await?;
        let Some((kind, reason, before)) = open else { continue };
        tx.execute(&RECORD, args![org, job, fact.idx, fact.state, now]).await?;
        // The values of an erased contact are not kept.
        if before != ActionState::Ignored {
            keep_undo(tx, (org, job), fact).await?;
        }
        counted.push((kind, reason, before, -1));
        counted.push((kind, reason, fact.state, 1));
        changed.push((fact.idx, kind, RowAction::leaves_as_wanted(kind, fact.state)));
        notes.take(kind, fact);
    }
    notes.write(tx, (org, run.connection), now).await?;
    counting::add_done(tx, org, &counted, now).await?;
    counting::add(tx, org, job, counted).await?;
    Ok(changed)
}

/// Records that open actions were performed in some of their contacts' lists, regardless of the others.
pub async fn begin(tx: &mut Tx, (org, job): (OrgNo, JobNo), rows: impl Iterator<Item = i64>) -> Result<()> {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    tx.execute(&BEGIN, args![org, job, listed(rows), PARTLY]).await.map(drop)
}

async fn keep_undo(tx: &mut Tx, (org, job): (OrgNo, JobNo), action: &SettledAction) -> Result<()> {
    let Some(undo) = &action.undo else { return Ok(()) };
    let undo = seal(tx, org, undo_of(job, action.idx), undo).await?;
    tx.execute(&KEEP_UNDO, args![org, job, action.idx, undo]).await.map(drop)
}

/// Marks to write: the last action on each contact, or that its right address was taken, with the effect.
#[derive(Default)]
struct MarkNotes(BTreeMap<[u8; 16], (&'static str, Option<[u8; 16]>)>);

impl MarkNotes {
    /// Adds an action on a contact, or that its right address was taken.
    fn take(&mut self, kind: ContactAction, action: &SettledAction) {
        let (acted, effect) = match action.state {
            ActionState::Done => (kind.as_str(), action.effect),
            // The contact no longer exists, or another run has recorded its own action.
            ActionState::Gone if action.message.is_none() => (kind.as_str(), None),
            ActionState::Taken => (TAKEN, action.effect),
            _ => return,
        };
        self.0.insert(action.mark, (acted, effect));
    }

    async fn write(self, tx: &mut Tx, (org, connection): (OrgNo, ConnId), now: Millis) -> Result<()> {
        let mut notes: Vec<Value> = Vec::with_capacity(self.0.len());
        for (mark, (acted, effect)) in self.0 {
            notes.push(json!([hex(&mark), acted, effect.map(|effect| hex(&effect))]));
        }
        if !notes.is_empty() {
            tx.execute(&MARK, args![org, connection, json!(notes).to_string(), now]).await?;
        }
        Ok(())
    }
}
