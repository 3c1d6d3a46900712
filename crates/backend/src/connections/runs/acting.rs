//! Performs the due actions of a run, one slice of rows at a time.
//!
//! Before each slice, while the previous one is in progress, everything that can prevent an action is read again: the
//! connection, its settings and rules, erasures and other runs. Before each call,
//! [`watch`](probity_store::connections::runs::watch) detects changes since then; after a change, the slice is decided again.
//! An action is settled after its response, while the platform responds to the next request, together with the deliveries about it.
//! A crash in between repeats the request, which changes nothing more; the action is settled and reported once.

mod deciding;
mod doing;
mod settling;
mod slice;

use std::collections::BTreeMap;

use probity_mail::time::Millis;
use probity_store::accounts::organization;
use probity_store::connections::actions;
use probity_store::connections::runs::{self, ConnectionRun, RunState, RunWatch};
use probity_store::work;

use super::account::RunAccount;
use super::held::{HeldRun, RunStep, RunStop};
use doing::Doing;
use settling::UnsettledActions;
use slice::DueSlice;

const SLICE: i64 = 500;
/// Delay before contacts are verified again whose verdicts could not be confirmed, in milliseconds.
const LATER_MS: i64 = 15 * 60_000;
/// Pause of a run whose organization is restricted, in milliseconds.
const RESTRICTED_MS: i64 = 60_000;
/// Pause before checking again for open erasures, in milliseconds.
const ERASURE_MS: i64 = 2_000;

/// Slice whose contacts have plans.
struct DecidedSlice<'h> {
    account: RunAccount<'h>,
    due: DueSlice,
    /// State from which the plans were made.
    seen: RunWatch,
    /// First row of the next slice.
    next: i64,
}

/// Next step of an acting run.
enum NextSlice<'h> {
    Ready(Box<DecidedSlice<'h>>),
    /// No due action is left.
    End,
    /// The run has to wait.
    At(Millis),
}

/// Outcome of a slice, or of all.
enum SliceEnd {
    /// All of its rows were processed. Some may have to be verified again later.
    Through { later: bool },
    /// The run has to wait.
    At(Millis),
}

/// What a slice leaves to the next one.
#[derive(Default)]
struct Carried {
    /// IDs of tags and fields found or created at the platform. They are not stored, because somebody may delete a tag there
    /// between two runs.
    memory: BTreeMap<String, String>,
    /// Outcomes to settle while the platform responds to the next call.
    unsettled: UnsettledActions,
}

pub(super) async fn act(held: &HeldRun<'_>) -> Result<RunStep, RunStop> {
    if held.test {
        return Err(RunStop::Unable("a test connection never acts".to_owned()));
    }
    let mut carried = Carried::default();
    let end = act_on_slices(held, &mut carried).await;
    // Outcomes received so far are settled even after a failure.
    carried.unsettled.flush(held).await?;
    let now = held.now();
    match end? {
        SliceEnd::At(at) => Ok(RunStep::At(at)),
        SliceEnd::Through { .. } if carried.unsettled.has_replaced() => Ok(RunStep::At(now)),
        SliceEnd::Through { later: true } => Ok(RunStep::At(now + LATER_MS)),
        SliceEnd::Through { later: false } => finish(held, now).await,
    }
}

async fn finish(held: &HeldRun<'_>, now: Millis) -> Result<RunStep, RunStop> {
    let finished = held.runs.store.write(work!(|tx| {
        let state = runs::finish_acting(tx, &held.fence, now).await?;
        // In any other state, a user still has actions to decide about.
        if state == RunState::Finished {
            held.report(tx, &ConnectionRun { state, ..held.run.clone() }, now).await?;
        }
        Ok(state)
    }));
    match finished.await? {
        // A user has decided about other actions in the meantime.
        RunState::Acting => Ok(RunStep::At(now)),
        _ => Ok(RunStep::Moved),
    }
}

async fn act_on_slices(held: &HeldRun<'_>, carried: &mut Carried) -> Result<SliceEnd, RunStop> {
    let (mut some_later, mut next) = (false, prepared(held, 0).await?);
    loop {
        let slice = match next {
            NextSlice::Ready(slice) => slice,
            NextSlice::End => return Ok(SliceEnd::Through { later: some_later }),
            NextSlice::At(at) => return Ok(SliceEnd::At(at)),
        };
        let (end, following) = act_and_prepare(held, &slice, carried).await;
        match end? {
            SliceEnd::Through { later } => some_later |= later,
            at @ SliceEnd::At(_) => return Ok(at),
        }
        next = following?;
    }
}

/// Acts on a slice, and prepares the next one while the platform responds. If that takes longer, the outcomes are settled
/// meanwhile.
async fn act_and_prepare<'h>(
    held: &'h HeldRun<'_>,
    slice: &DecidedSlice<'_>,
    carried: &mut Carried,
) -> (Result<SliceEnd, RunStop>, Result<NextSlice<'h>, RunStop>) {
    let mut preparing = Box::pin(prepared(held, slice.next));
    let mut following = None;
    let end = {
        let mut acting = Box::pin(act_on(held, slice, carried));
        loop {
            tokio::select! {
                end = &mut acting => break end,
                prepared = &mut preparing, if following.is_none() => following = Some(prepared),
            }
        }
    };
    if let Some(following) = following {
        return (end, following);
    }
    let (flushed, following) = tokio::join!(carried.unsettled.flush(held), preparing);
    (flushed.and(end), following)
}

/// Loads and decides the slice that starts at a row.
async fn prepared<'h>(held: &'h HeldRun<'_>, from: i64) -> Result<NextSlice<'h>, RunStop> {
    let (org, job) = (held.run.org, held.run.job);
    // Read first: what changes afterwards is detected.
    let seen = held.watch().await?;
    if seen.is_erasing() {
        return Ok(NextSlice::At(held.now() + ERASURE_MS));
    }
    let mut conn = held.runs.store.read().await?;
    let due = actions::due(&mut conn, org, job, from, SLICE).await?;
    let Some(last) = due.last() else { return Ok(NextSlice::End) };
    let next = last.idx + 1;
    if organization::by_no(&mut conn, org).await?.status.is_stopped() {
        return Ok(NextSlice::At(held.now() + RESTRICTED_MS));
    }
    drop(conn);
    let mut account = held.account().await?;
    held.authorize(&mut account, None).await?;
    let was_never_held = held.run.confirmed_at.is_none() && held.run.brake.is_none();
    if account.connection.settings.manual_mode && was_never_held {
        return Err(RunStop::Unable("manual mode was switched on".to_owned()));
    }
    let mut due = DueSlice::load(held, account.access.file, due).await?;
    due.decide(held, &account).await?;
    Ok(NextSlice::Ready(Box::new(DecidedSlice { account, due, seen, next })))
}

/// Acts on a slice until something changes.
async fn act_on(held: &HeldRun<'_>, slice: &DecidedSlice<'_>, carried: &mut Carried) -> Result<SliceEnd, RunStop> {
    let is_through = Doing::new(held, slice, carried).all().await?;
    Ok(if is_through { SliceEnd::Through { later: slice.due.has_later() } } else { SliceEnd::At(held.now()) })
}
