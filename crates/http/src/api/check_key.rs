//! `GET /v1/check-key`.

use probity_contract::published::accounts::check_key::{CheckKeyQuery, CheckedKey};
use probity_service::accounts::keys;

use crate::handler::{Answer, Asking, Call, answer};

/// Get a key's plan and credits
///
/// Returns the plan and credits of the calling key, or of another key of the same organization named in the query. It
/// also works while the organization is suspended, paused or banned. A `pub` key, which anybody can read in a page, gets
/// only its own name: the organization and plan are empty, and the credits are 0.
#[utoipa::path(
    get,
    path = "/v1/check-key",
    tag = "Account",
    params(CheckKeyQuery),
    extensions(("x-errors" = json!(["not_found"]))),
    responses((status = 200, description = "Plan and credits of the key.", body = CheckedKey))
)]
pub(crate) async fn check_key(Call(app, caller): Call, Asking(query): Asking<CheckKeyQuery>) -> Answer<CheckedKey> {
    answer(keys::check_key(&app, &caller, query).await)
}
