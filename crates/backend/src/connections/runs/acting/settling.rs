//! Settles actions with their outcomes, and notifies webhooks of the changed contacts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use probity_account::connections::ContactAction;
use probity_account::webhook::ContactChange;
use probity_connectors::ActionOutcome;
use probity_mail::time::Millis;
use probity_store::connections::actions::{self, ActionState, PARTLY, SettledAction};
use probity_store::{StoreError, work};

use super::doing::state_of;
use super::slice::DueContact;
use crate::connections::runs::held::{HeldRun, RunStop};
use crate::webhooks::tell;

/// Attempts to settle while the database is unavailable. Actions that were not settled are repeated if the run continues.
const WRITES_MAX: u32 = 5;

/// Maximum time for which outcomes wait to be settled, in milliseconds. Nobody learns the ones of a killed process if a user ends
/// the run before another takes it up.
const WAIT_MAX_MS: i64 = 200;

/// Outcomes to be written together.
#[derive(Default)]
struct UnwrittenActions {
    settled: Vec<SettledAction>,
    /// Fixes that are replaced by other actions.
    replaced: Vec<(i64, ContactAction)>,
    /// Rows whose contacts are done in some lists, while others are left.
    begun: BTreeSet<i64>,
}

/// Outcomes that are not settled yet.
#[derive(Default)]
pub(super) struct UnsettledActions {
    unwritten: UnwrittenActions,
    /// Outcomes so far of contacts in several lists, by row.
    partial: BTreeMap<i64, SettledAction>,
    /// Rows whose contacts are done in a list.
    done: BTreeSet<i64>,
    closed: BTreeSet<i64>,
    has_replaced: bool,
    /// When the oldest of them arrived.
    since: Option<Millis>,
}

impl UnsettledActions {
    /// Forgets the contacts of the slice before, which have no list left.
    pub(super) fn begin_slice(&mut self) {
        self.partial.clear();
        self.done.clear();
        self.closed.clear();
    }

    pub(super) fn len(&self) -> usize {
        let UnwrittenActions { settled, replaced, begun } = &self.unwritten;
        settled.len() + replaced.len() + begun.len()
    }

    /// Waits until they are to be settled, forever if there are none.
    pub(super) async fn grown_old(&self, now: Millis) {
        match self.since.filter(|_| self.len() > 0) {
            Some(since) => {
                let left = WAIT_MAX_MS - now.since(since);
                tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0))).await;
            }
            None => std::future::pending().await,
        }
    }

    pub(super) fn has_replaced(&self) -> bool {
        self.has_replaced
    }

    /// Replaces a fix by another action.
    pub(super) fn replace(&mut self, idx: i64, by: ContactAction, now: Millis) {
        self.arrived(now);
        self.unwritten.replaced.push((idx, by));
    }

    /// Adds a row without a contact.
    pub(super) fn add_missing(&mut self, idx: i64, now: Millis) {
        self.arrived(now);
        let (state, message) = (ActionState::Ignored, Some("the contact is no longer stored".to_owned()));
        let missing = SettledAction { idx, state, message, undo: None, mark: [0; 16], effect: None };
        self.unwritten.settled.push(missing);
    }

    /// Takes back what could not be settled, for the next attempt.
    fn put_back(&mut self, before: UnwrittenActions, now: Millis) {
        self.unwritten.settled.splice(0..0, before.settled);
        self.unwritten.replaced.splice(0..0, before.replaced);
        self.unwritten.begun.extend(before.begun);
        self.since = Some(now);
    }

    /// Notes that outcomes have arrived.
    pub(super) fn arrived(&mut self, now: Millis) {
        self.since.get_or_insert(now);
    }

    /// Collects the outcome of a contact in a list. The contact is settled after its last list; a refusal in one list
    /// applies to all.
    pub(super) fn take(&mut self, contact: &DueContact, outcome: ActionOutcome, undo: Option<Vec<u8>>, is_last: bool) {
        let idx = contact.action.idx;
        let (state, message) = state_of(outcome);
        if state == ActionState::Done && self.done.insert(idx) && !is_last {
            self.unwritten.begun.insert(idx);
        }
        let one = SettledAction { idx, state, message, undo, mark: contact.mark, effect: Some(contact.effect) };
        let whole = match self.partial.remove(&idx) {
            Some(before) if rank(before.state) > rank(one.state) => {
                SettledAction { undo: before.undo.or(one.undo), ..before }
            }
            Some(before) => SettledAction { undo: before.undo.or(one.undo), ..one },
            None => one,
        };
        if is_last {
            self.settle(contact, whole);
        } else {
            self.partial.insert(idx, whole);
        }
    }

    /// Settles a contact. What was done in some of its lists is shown, whatever became of it in the others.
    fn settle(&mut self, contact: &DueContact, whole: SettledAction) {
        let idx = contact.action.idx;
        if !self.closed.insert(idx) {
            return;
        }
        self.unwritten.begun.remove(&idx);
        let is_begun = contact.action.is_partly_done() || self.done.contains(&idx);
        let is_whole = matches!(whole.state, ActionState::Done | ActionState::Gone);
        let message = match whole.message {
            Some(why) if is_begun && !is_whole => Some(format!("{PARTLY}: {why}")),
            None if is_begun && !is_whole => Some(PARTLY.to_owned()),
            message => message,
        };
        self.unwritten.settled.push(SettledAction { message, ..whole });
    }

    /// Settles a contact regardless of its outcomes in other lists.
    pub(super) fn close(&mut self, contact: &DueContact, (state, message): (ActionState, Option<String>), now: Millis) {
        self.arrived(now);
        let idx = contact.action.idx;
        self.partial.remove(&idx);
        self.settle(contact, SettledAction { idx, state, message, undo: None, mark: contact.mark, effect: None });
    }

    /// Settles the outcomes collected so far. If the run is no longer held, records what the platform has done.
    pub(super) async fn flush(&mut self, held: &HeldRun<'_>) -> Result<(), RunStop> {
        if self.len() == 0 {
            return Ok(());
        }
        let unwritten = std::mem::take(&mut self.unwritten);
        self.since = None;
        let (mut tries, mut is_lost) = (1, false);
        loop {
            let written = if is_lost { record(held, &unwritten).await } else { write(held, &unwritten).await };
            match written {
                Err(StoreError::Unavailable { .. }) if tries < WRITES_MAX => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Err(StoreError::LeaseLost) if !is_lost => is_lost = true,
                Err(error) => {
                    self.put_back(unwritten, held.now());
                    return Err(error.into());
                }
                Ok(told) => {
                    if told {
                        held.runs.callbacks.wake();
                    }
                    self.has_replaced |= !unwritten.replaced.is_empty();
                    return if is_lost { Err(RunStop::Lost) } else { Ok(()) };
                }
            }
        }
    }
}

/// Returns the precedence of an outcome among several lists.
fn rank(state: ActionState) -> u8 {
    match state {
        ActionState::Refused => 3,
        ActionState::Taken => 2,
        ActionState::Done => 1,
        _ => 0,
    }
}

/// Writes outcomes and the deliveries about them in one transaction. Returns whether there are deliveries.
async fn write(held: &HeldRun<'_>, unwritten: &UnwrittenActions) -> Result<bool, StoreError> {
    let UnwrittenActions { settled, replaced, begun } = unwritten;
    let now = held.now();
    let (org, job) = (held.run.org, held.run.job);
    // The run that changed the contact has told of it.
    let told: BTreeSet<i64> = settled.iter().filter(|one| !is_own(one)).map(|one| one.idx).collect();
    let written = held.runs.store.write_bulk(work!(|tx| {
        let changed = actions::settle(tx, &held.fence, settled, now).await?;
        actions::begin(tx, (org, job), begun.iter().copied()).await?;
        for (idx, instead) in replaced {
            actions::replace_fix(tx, (org, job, *idx), ActionState::Due, Some(*instead), now).await?;
        }
        let changed: Vec<_> = changed.into_iter().filter(|(idx, ..)| !told.contains(idx)).collect();
        tell::contacts_changed(tx, (org, job), &done(&changed), now).await
    }));
    written.await
}

/// Records changes at the platform although the run was canceled, put back or claimed by another node meanwhile.
async fn record(held: &HeldRun<'_>, unwritten: &UnwrittenActions) -> Result<bool, StoreError> {
    let UnwrittenActions { settled, begun, .. } = unwritten;
    let now = held.now();
    let (org, job) = (held.run.org, held.run.job);
    let is_fact = |one: &&SettledAction| matches!(one.state, ActionState::Done | ActionState::Gone) && is_own(one);
    let facts: Vec<SettledAction> = settled.iter().filter(is_fact).cloned().collect();
    let written = held.runs.store.write_bulk(work!(|tx| {
        let changed = actions::record(tx, (org, job), &facts, now).await?;
        actions::begin(tx, (org, job), begun.iter().copied()).await?;
        tell::contacts_changed(tx, (org, job), &done(&changed), now).await
    }));
    written.await
}

/// Returns whether a success is this run's own: one of another run has a message.
fn is_own(outcome: &SettledAction) -> bool {
    outcome.message.is_none()
}

/// Returns the rows whose contacts are now as requested, with their changes.
fn done(changed: &[(i64, ContactAction, bool)]) -> Vec<(i64, ContactChange)> {
    changed.iter().filter(|(_, _, is_done)| *is_done).map(|(idx, kind, _)| (*idx, kind.change())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn outcomes_without_a_call_wait_no_longer_than_others() {
        type Add = fn(&mut UnsettledActions);
        let adds: [Add; 2] = [
            |unsettled| unsettled.add_missing(1, Millis(0)),
            |unsettled| unsettled.replace(1, ContactAction::Delete, Millis(0)),
        ];
        for add in adds {
            let mut unsettled = UnsettledActions::default();
            add(&mut unsettled);
            let limit = Duration::from_millis(WAIT_MAX_MS.unsigned_abs() + 1);
            tokio::time::timeout(limit, unsettled.grown_old(Millis(0))).await.unwrap();
        }
    }
}
