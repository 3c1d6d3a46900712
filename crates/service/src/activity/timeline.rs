//! Activity of an account, newest first: jobs with their trigger and origin, settings changes and account events.
//!
//! Counts cover the whole window; only the newest events are returned. A job is dated by its start or, until then, by its
//! acceptance. Live keys see live jobs and test keys see test jobs. All keys see settings changes and account events.
//! Addresses and secrets are removed from values before they are stored.

use std::cmp::Reverse;

use probity_contract::error::ApiError;
use probity_contract::published::activity::timeline::{
    Timeline, TimelineEvent, TimelineQuery, TimelineSummary, TimelineWindow,
};
use probity_mail::time::{DAY_MS, Millis};
use probity_store::activity::events::{AccountChange, EventSubject};
use probity_store::activity::timeline;

use crate::app::App;
use crate::callers::caller::Caller;

/// Number of newest events to compare.
const NEWEST: i64 = 20;

/// Returns the newest events, without counts: these read whole windows.
pub(crate) async fn newest_activity(app: &App, caller: &Caller) -> Result<Vec<TimelineEvent>, ApiError> {
    let whole = (Millis(0), app.now() + 1);
    let mut conn = app.store.read().await?;
    let jobs = timeline::newest_jobs(&mut conn, caller.org(), caller.is_test(), whole, NEWEST).await?;
    let happened = timeline::newest_events(&mut conn, caller.org(), whole.0, whole.1, NEWEST).await?;
    let mut events = jobs.iter().map(TimelineEvent::job).collect::<Result<Vec<_>, _>>()?;
    events.extend(happened.into_iter().map(TimelineEvent::of));
    Ok(events)
}

/// Returns the IDs of the newest jobs, including deleted ones.
pub(crate) async fn newest_jobs(app: &App, caller: &Caller) -> Result<Vec<String>, ApiError> {
    let whole = (Millis(0), app.now() + 1);
    let mut conn = app.store.read().await?;
    let jobs = timeline::newest_jobs(&mut conn, caller.org(), caller.is_test(), whole, NEWEST).await?;
    Ok(jobs.iter().map(|job| job.id.to_string()).collect())
}

/// Returns times and kinds of the newest events about some subjects. Events outlast their subjects.
pub(crate) async fn newest_about(
    app: &App,
    caller: &Caller,
    is_wanted: fn(EventSubject) -> bool,
) -> Result<Vec<(i64, &'static str)>, ApiError> {
    let mut conn = app.store.read().await?;
    let happened = timeline::newest_events(&mut conn, caller.org(), Millis(0), app.now() + 1, NEWEST).await?;
    let about = happened.into_iter().filter_map(|event| match event.what {
        AccountChange::Account(kind, Some(subject)) if is_wanted(subject) => Some((event.at.0, kind.as_str())),
        _ => None,
    });
    Ok(about.collect())
}

/// Returns the newest events of a window, with counts for the whole window.
pub async fn get_timeline(app: &App, caller: &Caller, query: TimelineQuery) -> Result<Timeline, ApiError> {
    let TimelineQuery { days, limit } = query;
    let until = app.now();
    let since = until - days * DAY_MS;
    // The end of the window is inclusive.
    let end = until + 1;
    // Counting reads many rows, so an organization's requests take turns.
    let _place = app.searches.wait(caller.org()).await;
    let started = timeline::count_jobs(&app.store, caller.org(), caller.is_test(), since, end).await?;
    let counted = timeline::count_events(&app.store, caller.org(), since, end).await?;
    let mut conn = app.store.read().await?;
    let newest = timeline::newest_jobs(&mut conn, caller.org(), caller.is_test(), (since, end), limit).await?;
    let happened = timeline::newest_events(&mut conn, caller.org(), since, end, limit).await?;
    drop(conn);
    let mut events = newest.iter().map(TimelineEvent::job).collect::<Result<Vec<_>, _>>()?;
    events.extend(happened.into_iter().map(TimelineEvent::of));
    // The sort is stable: events with the same time keep their order.
    events.sort_by_key(|event| Reverse(event.at()));
    events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let summary = TimelineSummary::of(started, counted, events.len());
    let window = TimelineWindow { since: since.into(), until: until.into(), days };
    Ok(Timeline { generated_at: until.into(), window, summary, events })
}
