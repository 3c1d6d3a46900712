//! Maintenance: expired credit holds, months of plans, ended subscriptions, low balances, old rows, and recorded uses of
//! keys.
//!
//! Every node writes the uses of keys that it has counted. All other tasks run on the node with the lease `schedule`
//! ([`probity_backend::nodes`]); running them on several nodes is safe, but useless. Each task handles a bounded number of
//! rows per transaction. If a task fails, it is logged and retried in the next round.

use std::sync::Arc;
use std::time::Duration;

use probity_backend::connections::runs::keeping;
use probity_backend::connections::scheduling::ScheduledStarts;
use probity_backend::jobs::stop_jobs;
use probity_backend::nodes;
use probity_backend::outcomes::OUTCOMES_KEEP_MS;
use probity_backend::privacy::earlier::Walk;
use probity_backend::uploads;
use probity_backend::widget::roll_up;
use probity_mail::time::Millis;
use probity_store::accounts::limits;
use probity_store::accounts::people::{attempts, sessions};
use probity_store::accounts::sso;
use probity_store::activity::{events, requests};
use probity_store::connections::connection;
use probity_store::nodes::ahead::ClockCorrection;
use probity_store::nodes::{clock, facts};
use probity_store::webhooks::outbox;
use probity_store::{
    OrgNo, Result, ScopedFutureExt as _, SqlDialect, Store, credits, idempotency, jobs, outcomes, widget,
};
use tokio_util::sync::CancellationToken;

use crate::accounts::people::sso::{SSO_FLOW_MS, records};
use crate::app::{App, plans};

pub use probity_store::nodes::ahead::ClockLimits;

/// Time after which the blocks of an incomplete submission are removed, in milliseconds.
const UNBORN_MS: i64 = 3_600_000;
/// Retention of idempotent responses, in milliseconds (specification, section 8).
pub const ANSWERS_KEEP_MS: i64 = 24 * 3_600_000;
/// Retention of account events, in milliseconds: 400 days, so that a whole year can be viewed.
const EVENTS_KEEP_MS: i64 = 400 * 24 * 3_600_000;
/// Retention of the log of requests, in milliseconds: 30 days.
const REQUESTS_KEEP_MS: i64 = 30 * 24 * 3_600_000;
/// Maximum retention of deliveries about rows, in milliseconds: 7 days. They contain no addresses, but an endpoint's response
/// may.
const ROWS_KEEP_MS: i64 = 7 * 24 * 3_600_000;
/// Retention of deleted connections, in milliseconds: 90 days, in which they can be reconnected.
const CONNECTIONS_KEEP_MS: i64 = 90 * 24 * 3_600_000;
/// Interval at which times written by a fast clock are corrected, in milliseconds.
const CORRECT_EVERY_MS: i64 = 3_600_000;
/// Interval between rounds.
const ROUND: Duration = Duration::from_secs(5);
/// Rows per transaction: few enough that no request waits long for the writer.
const ROWS_MAX: u32 = 500;
/// Transactions per task and round.
const SLICES_MAX: usize = 40;

/// Pages of the SQLite file that are released per transaction: 2 MiB.
const PAGES_MAX: u32 = 512;
/// Transactions per round that release pages.
const GIVEN_MAX: usize = 16;

/// Transactions per round that fold the ledger, to which live calls add the most rows. Sufficient for 15,000 rows per
/// second.
const FOLDS_MAX: usize = 150;

/// Runs rounds until `ending` is canceled, then a last one, so nothing in memory is lost.
pub async fn run(app: Arc<App>, longest: ClockLimits, ending: CancellationToken) {
    report("unknown plans", plans::warn_of_unknown(&app).await);
    let mut going = UpkeepState { watched: None, sealing: Walk::default(), longest, corrected_at: app.now() };
    loop {
        let ended = ending.run_until_cancelled(tokio::time::sleep(ROUND)).await.is_none();
        round(&app, &mut going).await;
        if ended {
            return;
        }
        // Name servers may be slow, and shutdown must not wait for them.
        if app.presence.is_scheduler(app.now())
            && let Some(looked_up) = ending.run_until_cancelled(records::look_again(&app)).await
        {
            report("records of domains", looked_up);
        }
    }
}

/// State kept between rounds.
struct UpkeepState {
    /// Organization whose balance was checked last.
    watched: Option<OrgNo>,
    /// Progress of encrypting bodies stored before there was a master key.
    sealing: Walk,
    /// Longest durations of leases and waits.
    longest: ClockLimits,
    /// Time at which times written by a fast clock were last corrected.
    corrected_at: Millis,
}

/// Repeats a transaction until it handles fewer rows than it may.
async fn in_slices<F: Future<Output = Result<u64>>>(slice: impl Fn() -> F) -> Result<()> {
    repeated(SLICES_MAX, ROWS_MAX.into(), slice).await
}

/// Repeats a transaction, at most so many times, until it handles fewer rows than `least`.
async fn repeated<F: Future<Output = Result<u64>>>(times: usize, least: u64, slice: impl Fn() -> F) -> Result<()> {
    for _ in 0..times {
        if slice().await? < least {
            break;
        }
    }
    Ok(())
}

/// Removes rows older than a time.
macro_rules! purge {
    ($what:literal, $purge:path; $store:ident, $before:expr) => {
        report($what, in_slices(|| $store.write(move |tx| $purge(tx, $before, ROWS_MAX).scope_boxed())).await)
    };
}

async fn round(app: &App, going: &mut UpkeepState) {
    let now = app.now();
    let store = &app.store;
    report("uses of keys", app.keyring.write_uses(store).await);
    app.limits.tidy(now).await;
    if !app.presence.is_scheduler(now) {
        return;
    }
    report("times in the future", correct_times(app, going, now).await);
    report("ended holds", release_expired(app, now).await);
    // Runs before ended subscriptions, so a month's credits expire and are granted in one transaction.
    report("months of plans", plans::renew(app, now).await);
    report("ended subscriptions", expire(store, now).await);
    let looked = plans::watch(app, going.watched, now).await;
    report("low balances", looked.map(|next| going.watched = next));
    report("the ledger", fold(store, now).await);
    report("idempotency keys", forget_answers(app, now).await);
    report("deliveries", forget_deliveries(app, now).await);
    purge!("events of accounts", events::purge; store, now - EVENTS_KEEP_MS);
    purge!("the log of requests", requests::purge; store, now - REQUESTS_KEEP_MS);
    purge!("outcomes of mail", outcomes::purge; store, now - OUTCOMES_KEEP_MS);
    purge!("facts of domains", facts::purge; store, now);
    report("rate limits", forget_limits(store, now).await);
    report("submissions that broke off", sweep_unfinished_uploads(store, now).await);
    report("jobs to be stopped", stop_jobs(store, &app.metrics, &app.callbacks, now).await);
    report("days of the widget", roll_up::run(store, &app.secrets, &app.callbacks, now).await);
    // Dead nodes had reserved these daily credits.
    purge!("credits of the widget", widget::return_expired; store, now);
    purge!("nonces of the widget", widget::purge; store, now);
    report("automatic runs", start_runs(app, now).await);
    report("runs of connections", keeping::round(store, &app.callbacks, now).await);
    report("deleted connections", forget_connections(store, now).await);
    report("old uploads", uploads::keeping::round(store, &app.metrics, app.config.uploads.keep_days, now).await);
    // Sessions past their maximum age have also been unused since.
    purge!("sessions that ended", sessions::purge; store, now - app.config.people.lifetimes.idle_ms);
    purge!("sign-ins at providers", sso::purge; store, now - SSO_FLOW_MS);
    purge!("attempts to sign in", attempts::purge; store, now);
    report("nodes that are gone", nodes::forget_gone(store, now).await);
    report("bodies from before the master key", going.sealing.go_on(store, now).await);
    report("free pages", give_back(store).await);
}

fn report(what: &'static str, done: Result<()>) {
    if let Err(error) = done {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        tracing::warn!(%error, ?source, what, "maintenance failed; retrying");
    }
}

/// Corrects times that a fast clock wrote. On SQLite, the start of the process has corrected them already.
async fn correct_times(app: &App, going: &mut UpkeepState, now: Millis) -> Result<()> {
    if app.store.dialect() == SqlDialect::Sqlite || now.since(going.corrected_at) < CORRECT_EVERY_MS {
        return Ok(());
    }
    going.corrected_at = now;
    nodes::correct_clocks(&app.store, now, &going.longest, ClockCorrection::Running).await
}

async fn start_runs(app: &App, now: Millis) -> Result<()> {
    let starts = ScheduledStarts { store: &app.store, platforms: &app.platforms, plans: &app.config.plans };
    if starts.round(now).await? > 0 {
        app.wake.runs.notify_one();
    }
    Ok(())
}

async fn release_expired(app: &App, now: Millis) -> Result<()> {
    in_slices(|| async {
        let work = app.store.write(|tx| credits::release_expired(tx, now, i64::from(ROWS_MAX)).scope_boxed());
        let released = work.await?;
        if released.holds > 0 {
            tracing::info!(holds = released.holds, credits = released.credits, "released expired credit holds");
        }
        Ok(released.holds as u64)
    })
    .await
}

/// Shrinks the SQLite file. It is truncated at the next checkpoint, which only readers of older data delay.
async fn give_back(store: &Store) -> Result<()> {
    for given in 0..GIVEN_MAX {
        if store.give_back(PAGES_MAX).await? == 0 {
            return if given == 0 { Ok(()) } else { store.empty_log().await.map(drop) };
        }
    }
    store.empty_log().await.map(drop)
}

async fn expire(store: &Store, now: Millis) -> Result<()> {
    store.write(|tx| credits::expire_buckets(tx, now, i64::from(ROWS_MAX)).scope_boxed()).await.map(drop)
}

async fn fold(store: &Store, now: Millis) -> Result<()> {
    repeated(FOLDS_MAX, ROWS_MAX.into(), || async {
        let folded = store.write(|tx| credits::fold(tx, now, ROWS_MAX).scope_boxed()).await?;
        Ok(folded as u64)
    })
    .await
}

async fn forget_answers(app: &App, now: Millis) -> Result<()> {
    let before = now - ANSWERS_KEEP_MS;
    in_slices(|| async move {
        let purged = app.store.write(|tx| idempotency::purge(tx, before, ROWS_MAX).scope_boxed()).await?;
        app.metrics.answers_purged(purged);
        Ok(purged)
    })
    .await
}

async fn forget_deliveries(app: &App, now: Millis) -> Result<()> {
    let keep_ms = app.config.deliveries_keep_ms;
    let (store, before, rows_before) = (&app.store, now - keep_ms, now - keep_ms.min(ROWS_KEEP_MS));
    let count = |purged: &u64| app.metrics.deliveries_purged(*purged);
    in_slices(|| async {
        store.write(|tx| outbox::purge_rows(tx, rows_before, ROWS_MAX).scope_boxed()).await.inspect(count)
    })
    .await?;
    in_slices(|| async { store.write(|tx| outbox::purge(tx, before, ROWS_MAX).scope_boxed()).await.inspect(count) })
        .await?;
    forget_deliveries_earlier(app, now).await
}

/// Removes deliveries of organizations with a shorter retention.
async fn forget_deliveries_earlier(app: &App, now: Millis) -> Result<()> {
    for _ in 0..SLICES_MAX {
        let old = outbox::kept_too_long(&mut app.store.read().await?, now, ROWS_MAX).await?;
        if old.is_empty() {
            break;
        }
        let purged = app.store.write(|tx| outbox::purge_kept_too_long(tx, &old, now).scope_boxed()).await?;
        app.metrics.deliveries_purged(purged);
    }
    Ok(())
}

async fn forget_connections(store: &Store, now: Millis) -> Result<()> {
    let before = now - CONNECTIONS_KEEP_MS;
    // Few rows may be those of one deleted connection; the next one may still be pending.
    repeated(SLICES_MAX, 1, || store.write(move |tx| connection::purge(tx, before, ROWS_MAX).scope_boxed())).await
}

async fn sweep_unfinished_uploads(store: &Store, now: Millis) -> Result<()> {
    let broken_off = jobs::broken_off(&mut store.read().await?, now - UNBORN_MS, i64::from(ROWS_MAX)).await?;
    if broken_off.is_empty() {
        return Ok(());
    }
    store.write(|tx| jobs::sweep(tx, &broken_off, now).scope_boxed()).await.map(drop)
}

async fn forget_limits(store: &Store, now: Millis) -> Result<()> {
    let now_us = clock::now_us(&mut store.read().await?).await?.unwrap_or(now.0.saturating_mul(1_000));
    // There may be a bucket for each widget check of the last minute.
    in_slices(|| store.write(move |tx| limits::purge(tx, now_us, ROWS_MAX).scope_boxed())).await
}
