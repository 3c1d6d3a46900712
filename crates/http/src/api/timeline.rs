//! `GET /v1/account/timeline`: what happened in the account, newest first. It tells whether a job was started by hand or by
//! itself, and where.
//!
//! The window is counted whole, a thousand rows at a time and by one request of an organization after the other; of the events
//! only the newest are shown. A job stands where its processing began, or where it was accepted as long as it waits. Live keys
//! see live jobs and test keys see test jobs; what happened to the account and its settings all of its keys see, for there is
//! but one account. Nothing in an event is free text but short values of settings,
//! from which addresses and secrets were taken out before they were stored.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_mail::time::DAY_MS;
use probity_service::app::App;
use probity_service::published::timeline::{Shown, Summary, Timeline, Window};
use probity_store::timeline;

use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::TimelineParams;

/// How many days the window has: at least, unless wished otherwise, at most.
pub(crate) const DAYS: (i64, i64, i64) = (1, 30, 90);
/// How many events are shown: at least, unless wished otherwise, at most.
pub(crate) const EVENTS: (i64, i64, i64) = (1, 60, 200);

/// Get the timeline
///
/// Returns jobs (trigger, origin and results), settings changes and account events, newest first. `summary` counts the
/// whole window, even if there are more events than `limit`.
#[utoipa::path(
    get,
    path = "/v1/account/timeline",
    tag = "Account",
    params(TimelineParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "Account activity.", body = Timeline))
)]
pub(crate) async fn get_timeline(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<Timeline>, Refusal> {
    let days = query.whole_within("days", DAYS)?;
    let limit = query.whole_within("limit", EVENTS)?;
    let until = app.now();
    let since = until - days * DAY_MS;
    // The last millisecond is in the window.
    let end = until + 1;
    let _place = app.searches.wait(caller.org()).await;
    let started = timeline::count_jobs(&app.store, caller.org(), caller.is_test(), since, end).await?;
    let counted = timeline::count_events(&app.store, caller.org(), since, end).await?;
    let mut conn = app.store.read().await?;
    let newest = timeline::newest_jobs(&mut conn, caller.org(), caller.is_test(), (since, end), limit).await?;
    let happened = timeline::newest_events(&mut conn, caller.org(), since, end, limit).await?;
    drop(conn);
    let mut events = newest.iter().map(Shown::job).collect::<Result<Vec<_>, _>>()?;
    events.extend(happened.into_iter().map(Shown::of));
    // Stable: what happened at one time stays in its order.
    events.sort_by_key(|event| std::cmp::Reverse(event.at()));
    events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let summary = Summary::of(started, counted, events.len());
    let window = Window { since: since.into(), until: until.into(), days };
    Ok(Json(Timeline { generated_at: until.into(), window, summary, events }))
}
