//! What time does to plans: new months are granted, balances become low, and credits that ran out are put in where the plan
//! says so.
//!
//! The first two are pieces of the upkeep, so one node does them; done twice they come to nothing. The third is done by the
//! request that would be refused, before it is. The plans are those of the configuration, and what is booked is in
//! [`probity_store::plans`].

use probity_mail::time::Millis;
use probity_store::organization::Org;
use probity_store::{OrgNo, Result, ScopedFutureExt as _, StoreError, plans};

use crate::app::App;

/// Organizations that are looked for at a time.
const AT_ONCE: i64 = 500;
/// How often they are looked for in a round: months of many customers begin on the same day.
const SLICES_MAX: usize = 40;
/// Organizations whose balances are looked at in a round; of more, the others are looked at in the next ones.
const WATCHED_AT_ONCE: i64 = 2_000;
/// Organizations in a row for which the database was away, before a round ends.
const AWAY_MAX: usize = 3;
/// Names of plans that a warning tells at most.
const NAMES_MAX: i64 = 20;

/// Warns of organizations whose plan is not configured: they get no new month.
pub(crate) async fn warn_of_unknown(app: &App) -> Result<()> {
    let plans = plans::unknown(&mut app.store.read().await?, &app.config.plans, NAMES_MAX).await?;
    if !plans.is_empty() {
        tracing::warn!(?plans, "organizations are on plans that are not configured; their months are not renewed");
    }
    Ok(())
}

/// What failed in a round. One organization is in no other's way, but a database that is away ends it.
#[derive(Debug, Default)]
struct Failures {
    all: usize,
    away: usize,
}

impl Failures {
    fn count<T>(&mut self, org: OrgNo, what: &'static str, done: Result<T>) -> Result<Option<T>> {
        let error = match done {
            Ok(done) => {
                self.away = 0;
                return Ok(Some(done));
            }
            Err(error) => error,
        };
        self.all += 1;
        self.away = if matches!(error, StoreError::Unavailable { .. }) { self.away + 1 } else { 0 };
        if self.away >= AWAY_MAX {
            return Err(error);
        }
        let source = std::error::Error::source(&error).map(ToString::to_string);
        tracing::warn!(
            %error, ?source, org = org.0, failures = self.all, what,
            "a scheduled plan change failed; retrying in the next round"
        );
        Ok(None)
    }
}

/// Grants the credits of months that have begun.
pub(crate) async fn renew(app: &App, now: Millis) -> Result<()> {
    let mut failures = Failures::default();
    for _ in 0..SLICES_MAX {
        let plans = &app.config.plans;
        let due = plans::due(&mut app.store.read().await?, plans, now, AT_ONCE).await?;
        let failed_before = failures.all;
        for no in &due {
            let granted = app.store.write(|tx| plans::renew(tx, *no, plans, now).scope_boxed()).await;
            if let Some(credits @ 1..) = failures.count(*no, "the credits of a new month", granted)? {
                tracing::debug!(org = no.0, credits, "the credits of a new month");
            }
        }
        let none_came_on = failures.all - failed_before == due.len();
        if none_came_on || i64::try_from(due.len()).is_ok_and(|due| due < AT_ONCE) {
            break;
        }
    }
    Ok(())
}

/// Tells of balances that have become low, once each time, among the organizations behind the one that was looked at last. Says
/// where to
/// go on.
pub(crate) async fn watch(app: &App, after: Option<OrgNo>, now: Millis) -> Result<Option<OrgNo>> {
    let (plans, by_mail) = (&app.config.plans, app.sends_mail);
    let mut conn = app.store.read().await?;
    let (crossing, next) = plans::crossing(&mut conn, plans, after, WATCHED_AT_ONCE).await?;
    drop(conn);
    let mut failures = Failures::default();
    for no in crossing {
        let crossed = app.store.write(|tx| plans::cross(tx, no, plans, by_mail, now).scope_boxed()).await;
        if let Some(Some((Org { id, .. }, true))) = failures.count(no, "a low balance", crossed)? {
            tracing::warn!(org = %id, "an organization's balance is low");
        }
    }
    Ok(next)
}

/// Whether so many credits can be spent now that there were not enough: by a refill, or because somebody else was faster.
pub async fn cover(app: &App, org: OrgNo, needed: i64) -> std::result::Result<bool, StoreError> {
    let (plans, now) = (&app.config.plans, app.now());
    if !plans::would_cover(&mut app.store.read().await?, org, plans, needed, now).await? {
        return Ok(false);
    }
    let covered = app.store.write(|tx| plans::cover(tx, org, plans, needed, now).scope_boxed()).await?;
    if covered {
        tracing::info!(org = org.0, "credits were put in because there were none");
    }
    Ok(covered)
}
