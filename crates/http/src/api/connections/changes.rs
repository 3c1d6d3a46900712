//! `GET /v1/changes`.

use probity_contract::page::{List, PageQuery};
use probity_contract::published::connections::{ChangedVerdict, VerdictChangesQuery};
use probity_service::connections::changes;

use crate::handler::{Answer, Asking, Call, answer};

/// List changed verdicts
///
/// Lists contacts of connections whose status changed since a run last verified their address, oldest change first. An
/// unknown verdict is no change. A change is listed after 1 minute, and as long as the results of its run are stored.
#[utoipa::path(
    get,
    path = "/v1/changes",
    tag = "Integrations",
    params(VerdictChangesQuery, PageQuery),
    security(("bearer" = ["read:jobs"])),
    responses((status = 200, description = "A page of changed verdicts.", body = List<ChangedVerdict>))
)]
pub(crate) async fn list_changes(
    Call(app, caller): Call,
    Asking(query): Asking<VerdictChangesQuery>,
) -> Answer<List<ChangedVerdict>> {
    answer(changes::list_changes(&app, &caller, query).await)
}
