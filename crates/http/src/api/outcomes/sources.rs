//! `/v1/outcome-sources`: sending services that post events.

use probity_account::id::OutcomeSourceId;
use probity_contract::page::{List, OnePageQuery};
use probity_contract::parameters::OutcomeSourcePath;
use probity_contract::published::outcomes::sources::{
    CreateOutcomeSource, DeletedOutcomeSource, NewOutcomeSource, OutcomeSourceShown,
};
use probity_service::outcomes::sources;

use crate::handler::{Answer, Asking, Call, Created, JsonBody, PathId, RunOnce, answer, created};

/// List sources of outcomes
///
/// Lists the sending services that report outcomes by URL, newest first. URLs and keys are never shown again.
#[utoipa::path(
    get,
    path = "/v1/outcome-sources",
    tag = "Account",
    params(OnePageQuery),
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "All sources.", body = List<OutcomeSourceShown>))
)]
pub(crate) async fn list_outcome_sources(
    Call(app, caller): Call,
    Asking(OnePageQuery): Asking<OnePageQuery>,
) -> Answer<List<OutcomeSourceShown>> {
    answer(sources::list_sources(&app, &caller).await)
}

/// Create a source of outcomes
///
/// Returns the URL to which the sending service posts its events, shown only here. An organization can have at most 20 sources.
#[utoipa::path(
    post,
    path = "/v1/outcome-sources",
    tag = "Account",
    request_body(content = CreateOutcomeSource, description = "The source to create."),
    security(("bearer" = ["write:account"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 201, description = "The source, with its URL.", body = NewOutcomeSource))
)]
pub(crate) async fn create_outcome_source(
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<CreateOutcomeSource>,
) -> Created<NewOutcomeSource> {
    created(sources::create_source(&app, &caller, &once.created(), asked).await)
}

/// Delete a source of outcomes
///
/// Its URL stops working. Outcomes that it reported stay.
#[utoipa::path(
    delete,
    path = "/v1/outcome-sources/{id}",
    tag = "Account",
    params(OutcomeSourcePath),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "The source is deleted.", body = DeletedOutcomeSource))
)]
pub(crate) async fn delete_outcome_source(
    Call(app, caller): Call,
    PathId(id): PathId<OutcomeSourceId>,
) -> Answer<DeletedOutcomeSource> {
    answer(sources::delete_source(&app, &caller, id).await)
}
