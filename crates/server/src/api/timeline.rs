//! `GET /v1/account/timeline`: what happened in the account, newest first. It tells whether a job was started by hand or by
//! itself, and where.
//!
//! The window is counted whole, its jobs a thousand at a time; of the events only the newest are shown. A job belongs to the
//! window in which it was accepted. Nothing in an event is free text: words from lists, ids and times.

mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_store::jobs::{self, Filter};

use self::view::{JobEvent, Summary, Timeline, Window};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::openapi::parameters::TimelineParams;
use crate::query::Query;

/// How many days the window has: at least, unless wished otherwise, at most.
pub(crate) const DAYS: (i64, i64, i64) = (1, 30, 90);
/// How many events are shown: at least, unless wished otherwise, at most.
pub(crate) const EVENTS: (i64, i64, i64) = (1, 60, 200);
const DAY_MS: i64 = 86_400_000;

/// Look back
///
/// The jobs of the last days: what started each and where, and what came out. `summary` counts the whole window, also where
/// more happened than `limit` shows.
#[utoipa::path(
    get,
    path = "/v1/account/timeline",
    tag = "Account",
    params(TimelineParams),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "What happened.", body = Timeline))
)]
pub(crate) async fn get_timeline(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Json<Timeline>, ApiError> {
    let days = query.whole_within("days", DAYS)?;
    let limit = query.whole_within("limit", EVENTS)?;
    let until = app.now();
    let since = until - days * DAY_MS;
    // The last millisecond is in the window.
    let end = until + 1;
    let mut conn = app.store.read().await?;
    let started = jobs::starters(&mut conn, caller.org(), caller.is_test(), since, end).await?;
    let filter =
        Filter { test: caller.is_test(), created_from: Some(since), created_before: Some(end), ..Filter::default() };
    let newest = jobs::page(&mut conn, caller.org(), &filter, None, limit).await?;
    let mut events = newest.iter().map(JobEvent::of).collect::<Result<Vec<_>, _>>()?;
    events.sort_by_key(|event| std::cmp::Reverse(event.at));
    let summary = Summary::of(started, events.len());
    let window = Window { since: since.into(), until: until.into(), days };
    Ok(Json(Timeline { generated_at: until.into(), window, summary, events }))
}
