//! `/v1/erasures`.

use probity_account::id::ErasureId;
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::ErasurePath;
use probity_contract::published::privacy::erasures::{CreateErasure, Receipt, Requested};
use probity_service::privacy::erasures;

use crate::handler::{Answer, Asking, Call, JsonBody, PathId, RunOnce, answer};

/// Erase addresses
///
/// Erases the addresses from everything submitted before. Rows keep their index, status and reason, and show `erased`
/// instead of the address; unfinished work on them is dropped. The receipt shows when the erasure is complete. Addresses
/// submitted later are verified as usual. A test key erases rows of test jobs only. At most 100 erasures can be open for
/// live jobs, and 100 for test jobs; another one gets 409 with `Retry-After`.
#[utoipa::path(
    post,
    path = "/v1/erasures",
    tag = "Privacy",
    request_body(content = CreateErasure, description = "Addresses to erase."),
    security(("bearer" = ["write:erasures"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The erasure request is stored durably.", body = Requested))
)]
pub(crate) async fn create_erasure(
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<CreateErasure>,
) -> Answer<Requested> {
    answer(erasures::create_erasure(&app, &caller, &once, asked).await)
}

/// List erasures
///
/// Lists erasures with their receipts, newest first.
#[utoipa::path(
    get,
    path = "/v1/erasures",
    tag = "Privacy",
    params(PageQuery),
    security(("bearer" = ["write:erasures"])),
    responses((status = 200, description = "A page of erasures.", body = List<Receipt>))
)]
pub(crate) async fn list_erasures(Call(app, caller): Call, Asking(query): Asking<PageQuery>) -> Answer<List<Receipt>> {
    answer(erasures::list_erasures(&app, &caller, query).await)
}

/// Get an erasure
///
/// Returns the receipt: whether everything is erased, and the number of erased entries by table.
#[utoipa::path(
    get,
    path = "/v1/erasures/{id}",
    tag = "Privacy",
    params(ErasurePath),
    security(("bearer" = ["write:erasures"])),
    responses((status = 200, description = "The receipt.", body = Receipt))
)]
pub(crate) async fn get_erasure(Call(app, caller): Call, PathId(id): PathId<ErasureId>) -> Answer<Receipt> {
    answer(erasures::get_erasure(&app, &caller, id).await)
}
