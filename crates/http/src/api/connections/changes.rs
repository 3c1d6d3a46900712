//! `GET /v1/changes`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_contract::page::List;
use probity_contract::published::connections::{ChangedVerdict, VerdictChangesQuery};
use probity_service::app::App;
use probity_service::connections::changes;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;

/// List changed verdicts
///
/// Lists contacts of connections whose status changed since a run last verified their address, oldest change first. An
/// unknown verdict is no change. A change is listed after 1 minute, and as long as the results of its run are stored.
#[utoipa::path(
    get,
    path = "/v1/changes",
    tag = "Integrations",
    params(VerdictChangesQuery),
    security(("bearer" = ["read:jobs"])),
    extensions(("x-errors" = json!(["invalid_request"]))),
    responses((status = 200, description = "A page of changed verdicts.", body = List<ChangedVerdict>))
)]
pub(crate) async fn list_changes(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<VerdictChangesQuery>,
) -> Result<Json<List<ChangedVerdict>>, Refusal> {
    Ok(Json(changes::list_changes(&app, &caller, query).await?))
}
