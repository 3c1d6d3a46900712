//! `/v1/account`. A change is a JSON merge patch (RFC 7396), also within `address` and `notifications`.

use probity_contract::published::accounts::account::{Account, AccountPatch};
use probity_service::accounts::account;

use crate::handler::{Answer, Call, JsonBody, answer};

/// Get the account
///
/// Returns the account of the team member for whom the key acts: its creator, or the owner.
#[utoipa::path(
    get,
    path = "/v1/account",
    tag = "Account",
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The account.", body = Account))
)]
pub(crate) async fn get_account(Call(app, caller): Call) -> Answer<Account> {
    answer(account::get_account(&app, &caller).await)
}

/// Update the account
///
/// Takes a JSON merge patch, sent as `application/json`: omitted fields stay, null clears a field. The name can be
/// changed but not cleared. Fields that the request body does not list are read-only.
#[utoipa::path(
    patch,
    path = "/v1/account",
    tag = "Account",
    request_body(content = AccountPatch, description = "Fields to change."),
    security(("bearer" = ["write:account"])),
    responses((status = 200, description = "The updated account.", body = Account))
)]
pub(crate) async fn patch_account(Call(app, caller): Call, JsonBody(patch): JsonBody<AccountPatch>) -> Answer<Account> {
    answer(account::update_account(&app, &caller, patch).await)
}
