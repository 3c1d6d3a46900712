//! Waits for the verdicts of a run, verifies the suggested addresses, and applies the brake.

use futures_util::future::join_all;
use probity_mail::verdict::Status;
use probity_store::connections::actions::{self, ActionState, RowAction};
use probity_store::connections::runs::{self, RunState};
use probity_store::jobs::{self, JobState};
use probity_store::{StoreError, work};

use super::held::{HeldRun, RunStep, RunStop};
use super::second_look;
use crate::connections::planning::settings_of;

/// Interval at which a waiting run checks its job, in milliseconds. The end of the job also wakes the run.
const WAIT_MS: i64 = 60_000;
/// Pause while this node may not probe, in milliseconds.
const NOT_HERE_MS: i64 = 5_000;
/// Suggestions verified at a time.
const SLICE: i64 = 50;
const AT_ONCE: usize = 8;

pub(super) async fn verify(held: &HeldRun<'_>) -> Result<RunStep, RunStop> {
    let (org, no) = (held.run.org, held.run.job);
    let job = match jobs::by_no(&mut held.runs.store.read().await?, org, no).await {
        Err(StoreError::NotFound) => return Err(RunStop::Unable("the job of the run no longer exists".to_owned())),
        job => job?,
    };
    match job.state {
        JobState::Completed => {}
        JobState::Cancelled => return Err(RunStop::Unable("the job of the run was canceled".to_owned())),
        JobState::ForceStopped => return Err(RunStop::Unable("the job of the run was stopped".to_owned())),
        _ => return Ok(RunStep::At(held.now() + WAIT_MS)),
    }
    if !verify_suggestions(held).await? {
        return Ok(RunStep::At(held.now() + NOT_HERE_MS));
    }
    let now = held.now();
    let concluded = held.runs.store.write_bulk(work!(|tx| {
        let run = runs::conclude(tx, &held.fence, now).await?;
        held.report(tx, &run, now).await?;
        Ok(run)
    }));
    let run = concluded.await?;
    if run.state == RunState::NeedsConfirmation {
        tracing::info!(run = %run.id, brake = ?run.brake, "a run waits for confirmation");
    }
    Ok(RunStep::Moved)
}

/// Verifies the suggestions of planned fixes. Only deliverable ones are used. Returns false if this node may not probe now.
async fn verify_suggestions(held: &HeldRun<'_>) -> Result<bool, RunStop> {
    let (org, job) = (held.run.org, held.run.job);
    let mut from = 0;
    loop {
        let slice = actions::unchecked(&mut held.runs.store.read().await?, org, job, from, SLICE).await?;
        let Some(last) = slice.last() else { return Ok(true) };
        from = last.idx + 1;
        if !held.test && !held.runs.presence.may_ask(held.now()) {
            return Ok(false);
        }
        for part in slice.chunks(AT_ONCE) {
            let asked = join_all(part.iter().map(|action| is_deliverable(held, action))).await;
            for (action, passes) in part.iter().zip(asked) {
                write(held, action, passes?).await?;
            }
        }
    }
}

async fn is_deliverable(held: &HeldRun<'_>, action: &RowAction) -> Result<bool, RunStop> {
    let mut conn = held.runs.store.read().await?;
    let (org, job) = (held.run.org, held.run.job);
    let found = jobs::outcomes(&mut conn, org, job, action.idx, action.idx + 1).await?;
    drop(conn);
    let suggestion = found.into_iter().find_map(|(_, standing)| standing.result.suggestion);
    // Erased in the meantime.
    let Some(suggestion) = suggestion else { return Ok(false) };
    Ok(second_look::ask(held, &suggestion).await.verdict.status() == Status::Passed)
}

async fn write(held: &HeldRun<'_>, action: &RowAction, passes: bool) -> Result<(), RunStop> {
    let (now, row) = (held.now(), (held.run.org, held.run.job, action.idx));
    let instead = settings_of(&held.run)?.action_instead_of_fix(action.reason);
    let written = held.runs.store.write(work!(|tx| {
        if passes {
            actions::checked(tx, row.0, row.1, row.2, now).await
        } else {
            actions::replace_fix(tx, row, ActionState::Planned, instead, now).await
        }
    }));
    Ok(written.await?)
}
