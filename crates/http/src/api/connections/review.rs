//! Review of planned actions.

use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::ConnectionPath;
use probity_contract::published::connections::{PlannedAction, ReviewDecided, ReviewDecisions};
use probity_service::connections::{ConnectionPlace, review};

use crate::handler::{Answer, Asking, Call, JsonBody, PathId, RunOnce, answer};

/// List planned actions
///
/// Lists the planned actions of the connection's runs that need confirmation, with address, reason and contact.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/review",
    tag = "Integrations",
    params(ConnectionPath, PageQuery),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "A page of planned actions.", body = List<PlannedAction>))
)]
pub(crate) async fn list_review(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    Asking(query): Asking<PageQuery>,
) -> Answer<List<PlannedAction>> {
    answer(review::list_review(&app, &caller, &place, query).await)
}

/// Decide about planned actions
///
/// Decides about 1 to 1,000 planned actions: `act`, `ignore` or `whitelist`. Actions that were decided about before stay
/// as they are; `unchanged_decisions` lists the decisions without an effect. Single decisions do not confirm a connection: its next
/// run needs confirmation as before.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/review/decisions",
    tag = "Integrations",
    params(ConnectionPath),
    request_body(content = ReviewDecisions, description = "The decisions."),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The numbers of decisions with and without an effect.", body = ReviewDecided))
)]
pub(crate) async fn decide_review(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<ReviewDecisions>,
) -> Answer<ReviewDecided> {
    answer(review::decide_review(&app, &caller, &place, &once, asked).await)
}
