//! One job a day for what the widget has verified: how many addresses, and what came out; no addresses.
//!
//! A check writes down that its day has one ([`probity_store::widget`]) before it is counted in the usage, so a day that has
//! usage has a mark. The node with the lease `schedule` sums a day up once it is over and no check of it can still be under
//! way. It takes the marks away and records the job in one transaction, and the job's id follows from organization and day: two
//! nodes that both believe to have the lease, or one that comes back from a crash, record it once.

use probity_account::id::{Id, JobId};
use probity_mail::time::{DAY_MS, Millis};
use probity_store::events::Actor;
use probity_store::jobs::{self, Summed};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, Tx, reports, widget};

use crate::jobs::announce;
use crate::secrets::Secrets;
use crate::webhooks::Callbacks;
use crate::widget::SOURCE;

/// How long after its end a day is summed up, in milliseconds: later than any check of it is settled, and than clocks differ.
const GRACE_MS: i64 = 600_000;
/// Days that are summed up in one round.
const AT_MOST: i64 = 200;

/// Sums up the days that are over.
pub async fn run(store: &Store, secrets: &Secrets, callbacks: &Callbacks, now: Millis) -> Result<()> {
    let today = (now - GRACE_MS).utc_day();
    let days = widget::days_over(&mut store.read().await?, today, AT_MOST).await?;
    for (org, day) in days {
        let id = job_id(secrets, org, day);
        if store.write(|tx| close(tx, org, day, id, now).scope_boxed()).await? {
            callbacks.wake();
        }
    }
    Ok(())
}

/// Closes a day. False: nothing was verified, or somebody else has closed it.
async fn close(tx: &mut Tx, org: OrgNo, day: i64, id: JobId, now: Millis) -> Result<bool> {
    if !widget::close_day(tx, org, day).await? {
        return Ok(false);
    }
    let sums = reports::by_source(tx, org, day, SOURCE).await?;
    let reasons: Vec<_> = sums.into_iter().map(|sum| (sum.of, sum.verified)).filter(|(_, rows)| *rows > 0).collect();
    if reasons.is_empty() {
        return Ok(false);
    }
    let summed = Summed {
        org,
        id,
        source: SOURCE,
        started_by: "cron",
        source_action: format!("widget.daily.{}", date(day)),
        actor: Actor::System.to_json(),
        at: now,
        reasons,
    };
    let Some(closed) = jobs::record(tx, &summed).await? else { return Ok(false) };
    announce(tx, &closed, now).await?;
    Ok(true)
}

/// The same for the same day, on every node and at every try; nobody else can make it up.
fn job_id(secrets: &Secrets, org: OrgNo, day: i64) -> JobId {
    let tag = secrets.widget_day(org, day);
    Id::new(Millis((day + 1) * DAY_MS), *tag.first_chunk().expect("a tag has 32 bytes"))
}

/// `2026-11-21`.
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
