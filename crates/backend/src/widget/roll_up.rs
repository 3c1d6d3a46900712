//! Daily job for the widget's verdicts: numbers by reason, and no addresses.
//!
//! A check marks its day ([`probity_store::widget`]) before it is counted in the usage, so every day with usage has a mark. The
//! node with the lease `schedule` sums a day up once it is over and none of its checks can still be in progress. It removes the
//! mark and records the job in one transaction, and derives the job's ID from organization and day. Two nodes that both rely on
//! the lease, or one that repeats the work after a crash, therefore record it once.

use probity_access::secrets::Secrets;
use probity_account::id::{Id, JobId};
use probity_mail::time::{DAY_MS, Millis};
use probity_store::activity::events::EventActor;
use probity_store::activity::reports;
use probity_store::jobs::{self, VerificationSum};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, Tx, widget};

use crate::jobs::announce;
use crate::webhooks::Callbacks;
use crate::widget::{CHECK_MAX_MS, SOURCE};

/// Days summed up per round.
const AT_MOST: i64 = 200;

/// Sums up the days that are over.
pub async fn run(store: &Store, secrets: &Secrets, callbacks: &Callbacks, now: Millis) -> Result<()> {
    let today = (now - CHECK_MAX_MS).utc_day();
    let days = widget::days_over(&mut store.read().await?, today, AT_MOST).await?;
    for (org, day) in days {
        let id = job_id(secrets, org, day);
        if store.write(|tx| close(tx, org, day, id, now).scope_boxed()).await? {
            callbacks.wake();
        }
    }
    Ok(())
}

/// Closes a day. Returns false if nothing was verified, or the day was closed before.
async fn close(tx: &mut Tx, org: OrgNo, day: i64, id: JobId, now: Millis) -> Result<bool> {
    if !widget::close_day(tx, org, day).await? {
        return Ok(false);
    }
    let sums = reports::by_source(tx, org, day, SOURCE).await?;
    let reasons: Vec<_> = sums.into_iter().map(|sum| (sum.of, sum.verified)).filter(|(_, rows)| *rows > 0).collect();
    if reasons.is_empty() {
        return Ok(false);
    }
    let summed = VerificationSum {
        org,
        id,
        source: SOURCE,
        started_by: "cron",
        source_action: format!("widget.daily.{}", date(day)),
        actor: EventActor::System.to_json(),
        at: now,
        reasons,
    };
    let Some(closed) = jobs::record(tx, &summed).await? else { return Ok(false) };
    announce(tx, &closed, now).await?;
    Ok(true)
}

/// Returns the ID of a day's job, the same on every node and at every attempt. It cannot be computed from outside.
fn job_id(secrets: &Secrets, org: OrgNo, day: i64) -> JobId {
    let tag = secrets.widget_day(org, day);
    Id::new(Millis((day + 1) * DAY_MS), *tag.first_chunk().expect("a tag has 32 bytes"))
}

/// Formats a day as `2026-11-21`.
fn date(day: i64) -> String {
    let at = Millis(day.saturating_mul(DAY_MS)).to_rfc3339();
    at.split('T').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(Millis(1_795_251_600_000).utc_day()), "2026-11-21");
    }
}
