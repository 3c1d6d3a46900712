//! `GET /v1/account/timeline`.

use probity_contract::published::activity::timeline::{Timeline, TimelineQuery};
use probity_service::activity::timeline;

use crate::handler::{Answer, Asking, Call, answer};

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
    responses((status = 200, description = "Account activity.", body = Timeline))
)]
pub(crate) async fn get_timeline(Call(app, caller): Call, Asking(query): Asking<TimelineQuery>) -> Answer<Timeline> {
    answer(timeline::get_timeline(&app, &caller, query).await)
}
