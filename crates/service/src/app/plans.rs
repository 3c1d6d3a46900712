//! Scheduled plan changes: monthly grants, low-balance events and refills.
//!
//! Maintenance does the first two, so one node does them; repeating them has no effect. A refill is made by the request
//! that would otherwise be refused. Plans come from the configuration; [`probity_store::accounts::plans`] books the
//! changes.

use probity_mail::time::Millis;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::plans;
use probity_store::{OrgNo, Result, ScopedFutureExt as _, StoreError};

use crate::app::App;

/// Organizations read at a time.
const AT_ONCE: i64 = 500;
/// Maximum number of reads per round: many customers' months begin on the same day.
const SLICES_MAX: usize = 40;
/// Organizations whose balances are checked per round. Later rounds check the others.
const WATCHED_AT_ONCE: i64 = 2_000;
/// Consecutive organizations for which the database was unavailable, after which a round ends.
const AWAY_MAX: usize = 3;
/// Maximum number of plan names in a warning.
const NAMES_MAX: i64 = 20;

/// Logs a warning about organizations whose plan is not configured, because their months are not renewed.
pub(crate) async fn warn_of_unknown(app: &App) -> Result<()> {
    let plans = plans::unknown(&mut app.store.read().await?, &app.config.plans, NAMES_MAX).await?;
    if !plans.is_empty() {
        tracing::warn!(?plans, "organizations are on plans that are not configured; their months are not renewed");
    }
    Ok(())
}

/// Failures of a round. A failure of one organization does not affect the others, but an unavailable database ends the round.
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
            if let Some(credits @ 1..) = failures.count(*no, "credits of a new month", granted)? {
                tracing::debug!(org = no.0, credits, "credits of a new month");
            }
        }
        let none_came_on = failures.all - failed_before == due.len();
        if none_came_on || i64::try_from(due.len()).is_ok_and(|due| due < AT_ONCE) {
            break;
        }
    }
    Ok(())
}

/// Reports balances that have become low, once each time, starting after the organization checked last. Returns where to
/// continue.
pub(crate) async fn watch(app: &App, after: Option<OrgNo>, now: Millis) -> Result<Option<OrgNo>> {
    let (plans, by_mail) = (&app.config.plans, app.sends_mail);
    let mut conn = app.store.read().await?;
    let (crossing, next) = plans::crossing(&mut conn, plans, after, WATCHED_AT_ONCE).await?;
    drop(conn);
    let mut failures = Failures::default();
    for no in crossing {
        let crossed = app.store.write(|tx| plans::cross(tx, no, plans, by_mail, now).scope_boxed()).await;
        if let Some(Some((OrgRecord { id, .. }, true))) = failures.count(no, "a low balance", crossed)? {
            tracing::warn!(org = %id, "an organization's balance is low");
        }
    }
    Ok(next)
}

/// Refills credits if the plan says so. Returns whether `needed` credits are available now, even if another request
/// refilled them.
pub async fn cover(app: &App, org: OrgNo, needed: i64) -> std::result::Result<bool, StoreError> {
    let (plans, now) = (&app.config.plans, app.now());
    if !plans::would_cover(&mut app.store.read().await?, org, plans, needed, now).await? {
        return Ok(false);
    }
    let covered = app.store.write(|tx| plans::cover(tx, org, plans, needed, now).scope_boxed()).await?;
    if covered {
        tracing::info!(org = org.0, "refilled credits of an organization without any");
    }
    Ok(covered)
}
