//! Review of planned actions.

use axum::body::Body;
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::ConnectionPath;
use probity_contract::published::connections::{PlannedAction, ReviewDecided, ReviewDecisions};
use probity_contract::published::jobs::download::FileFormat;
use probity_service::connections::review_file::{self, find_review_file};
use probity_service::connections::{ConnectionPlace, review};

use crate::api::batch::download::attached;
use crate::edge::shell::unsent_body;
use crate::handler::{Answer, Asking, Call, JsonBody, PathId, Refusal, RunOnce, answer};

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

/// Download planned actions
///
/// Returns all planned actions of the connection's runs that need confirmation as CSV (RFC 4180, UTF-8), each with the verdict,
/// the mail server's reply and the reason why it waits. Cells that a spreadsheet would run as a formula begin with `'`.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/review/download",
    tag = "Integrations",
    params(ConnectionPath),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "The file.", content((String = "text/csv", example = review_file::example))))
)]
pub(crate) async fn download_review(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    method: Method,
) -> Result<Response, Refusal> {
    let file = find_review_file(&app, &caller, &place).await?;
    let headers = attached(FileFormat::Csv { raw: false }.media_type(), &file.file_name())?;
    let body = if method == Method::HEAD { unsent_body() } else { Body::from_stream(file.write().parts) };
    Ok((headers, body).into_response())
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
