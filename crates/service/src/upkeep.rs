//! What has to be done from time to time: ended holds, new months, ended subscriptions, low balances, old rows, noted uses
//! of keys.
//!
//! What lies in this node's memory is its own to write. Everything else is done by the node that has the lease `schedule`
//! ([`crate::nodes`]): each piece could be done by several at once, which would only be in vain. Each takes a bounded number of
//! rows a transaction. A piece that fails is logged and tried again in the next round.

use std::sync::Arc;
use std::time::Duration;

use probity_mail::time::Millis;
use probity_store::ahead::{Longest, When};
use probity_store::{
    Dialect, OrgNo, Result, ScopedFutureExt as _, Store, attempts, clock, credits, events, facts, idempotency, jobs,
    limits, outbox, sessions, widget,
};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::jobs::stop_jobs;
use crate::sealing::earlier::Walk;
use crate::uploads;
use crate::widget::roll_up;
use crate::{nodes, plans};

/// How long a submission may take before its blocks are swept, in milliseconds.
const UNBORN_MS: i64 = 3_600_000;
/// How long answers are kept, in milliseconds (specification, section 8).
pub const ANSWERS_KEEP_MS: i64 = 24 * 3_600_000;
/// How long events of accounts are kept, in milliseconds: 400 days, so that a year can be looked back on.
const EVENTS_KEEP_MS: i64 = 400 * 24 * 3_600_000;
/// How long messages about rows are kept at most, in milliseconds: a week. They hold no addresses, but what a receiver has
/// answered may.
const ROWS_KEEP_MS: i64 = 7 * 24 * 3_600_000;
/// How often it is looked for times that a clock wrote which was ahead, in milliseconds.
const SET_RIGHT_MS: i64 = 3_600_000;
/// How often.
const ROUND: Duration = Duration::from_secs(5);
/// Rows of one transaction: so few that no request waits long for the writer.
const ROWS_MAX: u32 = 500;
/// Transactions of one piece in a round.
const SLICES_MAX: usize = 40;

/// Pages of SQLite's file that are given back in one transaction: two megabytes.
const PAGES_MAX: u32 = 512;
/// Such transactions in a round.
const GIVEN_MAX: usize = 16;

/// The same for the ledger, to which live calls add more rows than any other piece has: 15,000 a second are kept up with.
const FOLDS_MAX: usize = 150;

/// Goes round until it is told to end; then does what must not be lost once more.
pub async fn run(app: Arc<App>, longest: Longest, ending: CancellationToken) {
    report("unknown plans", plans::warn_of_unknown(&app).await);
    let mut going = Going { watched: None, sealing: Walk::new(), longest, set_right_at: app.now() };
    loop {
        let ended = ending.run_until_cancelled(tokio::time::sleep(ROUND)).await.is_none();
        round(&app, &mut going).await;
        if ended {
            return;
        }
    }
}

/// What goes on over many rounds.
struct Going {
    /// The organization whose balance was looked at last.
    watched: Option<OrgNo>,
    /// What seals bodies from before there was a master key.
    sealing: Walk,
    /// How long things last that are waited for.
    longest: Longest,
    /// When it was last looked for times that a clock wrote which was ahead.
    set_right_at: Millis,
}

/// One round.
async fn round(app: &App, going: &mut Going) {
    let now = app.now();
    let store = &app.store;
    report("uses of keys", app.keyring.write_uses(store).await);
    app.limits.tidy(now).await;
    if !app.presence.is_scheduler(now) {
        return;
    }
    report("times in the future", set_right(app, going, now).await);
    report("ended holds", release_expired(app, now).await);
    // Before what has ended is taken: a month's credits go and come in one transaction.
    report("months of plans", plans::renew(app, now).await);
    report("ended subscriptions", expire(store, now).await);
    let looked = plans::watch(app, going.watched, now).await;
    report("low balances", looked.map(|next| going.watched = next));
    report("the ledger", fold(store, now).await);
    report("idempotency keys", forget_answers(app, now).await);
    report("deliveries", forget_deliveries(app, now).await);
    report("events of accounts", forget_events(store, now - EVENTS_KEEP_MS).await);
    report("facts of domains", forget_facts(store, now).await);
    report("rate limits", forget_limits(store, now).await);
    report("submissions that broke off", sweep_unborn(store, now).await);
    report("jobs to be stopped", stop_jobs(store, &app.metrics, &app.callbacks, now).await);
    report("days of the widget", roll_up::run(store, &app.secrets, &app.callbacks, now).await);
    report("nonces of the widget", forget_nonces(store, now).await);
    report("old uploads", uploads::keeping::round(store, &app.metrics, app.config.uploads.keep_days, now).await);
    report("sessions that ended", forget_sessions(app, now).await);
    report("attempts to sign in", forget_attempts(store, now).await);
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

/// Beside SQLite only a process of before can have written such times: the start has looked.
async fn set_right(app: &App, going: &mut Going, now: Millis) -> Result<()> {
    if app.store.dialect() == Dialect::Sqlite || now.since(going.set_right_at) < SET_RIGHT_MS {
        return Ok(());
    }
    going.set_right_at = now;
    nodes::set_clocks_right(&app.store, now, &going.longest, When::Running).await
}

async fn release_expired(app: &App, now: Millis) -> Result<()> {
    for _ in 0..SLICES_MAX {
        let work = app.store.write(|tx| credits::release_expired(tx, now, i64::from(ROWS_MAX)).scope_boxed());
        let released = work.await?;
        if released.holds > 0 {
            tracing::info!(holds = released.holds, credits = released.credits, "released expired credit holds");
        }
        if released.holds < usize::try_from(ROWS_MAX).unwrap_or(usize::MAX) {
            break;
        }
    }
    Ok(())
}

/// A file that has become smaller is cut when its log goes back into it; who reads what is older only puts that off.
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
    for _ in 0..FOLDS_MAX {
        let folded = store.write(|tx| credits::fold(tx, now, ROWS_MAX).scope_boxed()).await?;
        if folded < usize::try_from(ROWS_MAX).unwrap_or(usize::MAX) {
            break;
        }
    }
    Ok(())
}

async fn forget_answers(app: &App, now: Millis) -> Result<()> {
    let before = now - ANSWERS_KEEP_MS;
    for _ in 0..SLICES_MAX {
        let purged = app.store.write(|tx| idempotency::purge(tx, before, ROWS_MAX).scope_boxed()).await?;
        app.metrics.answers_purged(purged);
        if purged < u64::from(ROWS_MAX) {
            break;
        }
    }
    Ok(())
}

async fn forget_deliveries(app: &App, now: Millis) -> Result<()> {
    let keep_ms = app.config.deliveries_keep_ms;
    let (store, before, rows_before) = (&app.store, now - keep_ms, now - keep_ms.min(ROWS_KEEP_MS));
    for _ in 0..SLICES_MAX {
        let purged = store.write(|tx| outbox::purge_rows(tx, rows_before, ROWS_MAX).scope_boxed()).await?;
        app.metrics.deliveries_purged(purged);
        if purged < u64::from(ROWS_MAX) {
            break;
        }
    }
    for _ in 0..SLICES_MAX {
        let purged = store.write(|tx| outbox::purge(tx, before, ROWS_MAX).scope_boxed()).await?;
        app.metrics.deliveries_purged(purged);
        if purged < u64::from(ROWS_MAX) {
            break;
        }
    }
    forget_deliveries_earlier(app, now).await
}

/// Those that their organizations wish to keep for a shorter time.
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

async fn forget_events(store: &Store, before: Millis) -> Result<()> {
    for _ in 0..SLICES_MAX {
        if store.write(|tx| events::purge(tx, before, ROWS_MAX).scope_boxed()).await? < u64::from(ROWS_MAX) {
            break;
        }
    }
    Ok(())
}

async fn forget_facts(store: &Store, now: Millis) -> Result<()> {
    store.write(|tx| facts::purge(tx, now, ROWS_MAX).scope_boxed()).await.map(drop)
}

async fn sweep_unborn(store: &Store, now: Millis) -> Result<()> {
    let broken_off = jobs::broken_off(&mut store.read().await?, now - UNBORN_MS, i64::from(ROWS_MAX)).await?;
    if broken_off.is_empty() {
        return Ok(());
    }
    store.write(|tx| jobs::sweep(tx, &broken_off, now).scope_boxed()).await.map(drop)
}

async fn forget_limits(store: &Store, now: Millis) -> Result<()> {
    let now_us = clock::now_us(&mut store.read().await?).await?.unwrap_or(now.0.saturating_mul(1_000));
    // There may be one for each check of a widget in the last minute.
    for _ in 0..SLICES_MAX {
        let purged = store.write(|tx| limits::purge(tx, now_us, ROWS_MAX).scope_boxed()).await?;
        if purged < u64::from(ROWS_MAX) {
            break;
        }
    }
    Ok(())
}

/// Also those that ended by their age: nobody has used them since.
async fn forget_sessions(app: &App, now: Millis) -> Result<()> {
    let since = now - app.config.people.lifetimes.idle_ms;
    app.store.write(|tx| sessions::purge(tx, since, ROWS_MAX).scope_boxed()).await.map(drop)
}

async fn forget_nonces(store: &Store, now: Millis) -> Result<()> {
    for _ in 0..SLICES_MAX {
        if store.write(|tx| widget::purge(tx, now, ROWS_MAX).scope_boxed()).await? < u64::from(ROWS_MAX) {
            break;
        }
    }
    Ok(())
}

async fn forget_attempts(store: &Store, now: Millis) -> Result<()> {
    for _ in 0..SLICES_MAX {
        if store.write(|tx| attempts::purge(tx, now, ROWS_MAX).scope_boxed()).await? < u64::from(ROWS_MAX) {
            break;
        }
    }
    Ok(())
}
