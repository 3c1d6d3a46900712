//! Starts automatic runs that are due.
//!
//! The node with the lease `schedule` looks every few seconds. The lease only saves work: a run starts in the transaction that
//! moves its schedule to the next slot ([`schedule::start`]), so no slot has two runs, whoever looks.

use std::sync::Arc;

use probity_account::connections::{AccountZone, RunCause};
use probity_account::id::ConnId;
use probity_account::plans::Plans;
use probity_connectors::ConnectorFile;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::accounts::plans;
use probity_store::connections::runs::NewRun;
use probity_store::connections::schedule::{self, DueSchedule, ScheduleWait};
use probity_store::jobs::NewJob;
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use super::Platforms;

/// Schedules of one look, and looks of one round. The next round follows in seconds.
const AT_MOST: i64 = 200;
const LOOKS: usize = 10;
/// Pause before credits are looked for again, in milliseconds.
const CREDITS_MS: i64 = 15 * 60_000;
/// Pause before a complete run is looked for again, in milliseconds.
const FIRST_RUN_MS: i64 = 3_600_000;

/// Starts the runs of due schedules.
pub struct ScheduledStarts<'a> {
    pub store: &'a Store,
    pub platforms: &'a Platforms,
    /// Plans, which may refill credits.
    pub plans: &'a Arc<Plans>,
}

impl ScheduledStarts<'_> {
    /// Starts every run that is due; returns their number.
    pub async fn round(&self, now: Millis) -> Result<usize> {
        let mut started = 0;
        for _ in 0..LOOKS {
            let due = schedule::due(&mut self.store.read().await?, now, AT_MOST).await?;
            for one in &due {
                match self.start(one, now).await {
                    Ok(is_started) => started += usize::from(is_started),
                    // Another run of the connection started meanwhile, or the connection was disconnected.
                    Err(StoreError::Conflict | StoreError::NotFound) => {}
                    Err(error) => return Err(error),
                }
            }
            if i64::try_from(due.len()).unwrap_or(0) < AT_MOST {
                break;
            }
        }
        Ok(started)
    }

    /// Starts the poll of a connection if it is due and no run of the connection is in progress; returns whether it has started.
    pub async fn poll(&self, (org, connection): (OrgNo, ConnId), now: Millis) -> Result<bool> {
        let Some(due) = schedule::due_poll(&mut self.store.read().await?, org, connection, now).await? else {
            return Ok(false);
        };
        match self.start(&due, now).await {
            Err(StoreError::Conflict | StoreError::NotFound) => Ok(false),
            started => started,
        }
    }

    async fn start(&self, due: &DueSchedule, now: Millis) -> Result<bool> {
        let file = self.platforms.catalog().get(&due.provider);
        if let Some((why, to)) = self.hindrance(due, file, now).await? {
            self.store.write(|tx| schedule::postpone(tx, &due.schedule, to, why, now).scope_boxed()).await?;
            return Ok(false);
        }
        let new = new_run(due, now)?;
        let next = next_slot(due, file, now);
        let days = due.settings.decay_days;
        let started = self.store.write(|tx| schedule::start(tx, &due.schedule, &new, next, days).scope_boxed()).await?;
        Ok(started.is_some())
    }

    /// Returns why the run cannot start, and when to look again.
    async fn hindrance(
        &self,
        due: &DueSchedule,
        file: Option<&ConnectorFile>,
        now: Millis,
    ) -> Result<Option<(ScheduleWait, Millis)>> {
        let Some(contacts) = file.and_then(|file| file.contacts.as_ref()) else {
            return Ok(Some((ScheduleWait::Failed, now + DAY_MS)));
        };
        let polls = due.schedule.cause == RunCause::Instafloss;
        if polls && contacts.fields.created.is_none() && !due.is_known {
            return Ok(Some((ScheduleWait::FirstRun, now + FIRST_RUN_MS)));
        }
        // A run without any credit would read everything for nothing.
        let org = due.schedule.org;
        if !due.test && !plans::would_cover(&mut self.store.read().await?, org, self.plans, 1, now).await? {
            return Ok(Some((ScheduleWait::Credits, now + CREDITS_MS)));
        }
        Ok(None)
    }
}

/// Returns the slot after a run that starts now. Earlier ones are missed, and this run makes up for them.
fn next_slot(due: &DueSchedule, file: Option<&ConnectorFile>, now: Millis) -> Millis {
    let cause = due.schedule.cause;
    if cause == RunCause::Instafloss {
        return now + file.and_then(|file| file.contacts.as_ref()).map_or(DAY_MS, |contacts| contacts.poll);
    }
    AccountZone::stored(due.time_zone.as_deref()).next_night(due.schedule.connection, cause, now)
}

/// Returns the creation date from which contacts are read; `None` for all.
fn since(due: &DueSchedule, now: Millis) -> Option<Millis> {
    let schedule = &due.schedule;
    match schedule.cause {
        RunCause::Autofloss => due.watermark.filter(|_| {
            // One of the nights since the slot may read all contacts.
            let zone = AccountZone::stored(due.time_zone.as_deref());
            !zone.has_weekly(schedule.connection, schedule.due_at, now)
        }),
        // Contacts from before belong to other runs. A clock that was ahead may have switched it on.
        RunCause::Instafloss => Some(schedule.begun_at.min(now)).max(schedule.watermark).max(due.watermark),
        RunCause::DecayProtection | RunCause::Manual => None,
    }
}

fn new_run(due: &DueSchedule, now: Millis) -> Result<NewRun> {
    let schedule = &due.schedule;
    let job = NewJob {
        org: schedule.org,
        id: probity_access::secrets::random::id(now),
        test: due.test,
        source: "integration",
        started_by: schedule.cause.as_str(),
        source_action: "system.integrations.schedule",
        actor: None,
        at: now,
    };
    let settings = serde_json::to_string(&due.settings).map_err(|error| StoreError::Corrupt(error.into()))?;
    let since = since(due, now);
    Ok(NewRun { job, connection: schedule.connection, cause: schedule.cause, is_dry: false, settings, since })
}
