//! `GET /v1/account/timeline`.

use axum::Json;
use probity_contract::published::activity::timeline::{Timeline, TimelineQuery};
use probity_service::activity::timeline;

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::asking::Asking;

/// Get the timeline
///
/// Returns jobs (trigger, origin and results), settings changes and account events, newest first. `summary` counts the
/// whole window, even if there are more events than `limit`.
#[utoipa::path(
    get,
    path = "/v1/account/timeline",
    tag = "Account",
    params(TimelineQuery),
    security(("bearer" = ["read:jobs"])),
    extensions(("x-errors" = json!(["invalid_request"]))),
    responses((status = 200, description = "Account activity.", body = Timeline))
)]
pub(crate) async fn get_timeline(Call(app, caller): Call, Asking(query): Asking<TimelineQuery>) -> Answer<Timeline> {
    Ok(Json(timeline::get_timeline(&app, &caller, query).await?))
}
