//! `/app/account`: a member's own details, for any role.
//!
//! `PATCH /v1/account` also has billing fields, so it needs a scope that contributors do not have.

use probity_contract::published::accounts::account::{Account, OwnPatch};
use probity_service::accounts::account;

use crate::handler::{Answer, Call, JsonBody, answer};

/// Changes name, telephone number and notification settings of the signed-in member.
pub(crate) async fn change(Call(app, caller): Call, JsonBody(patch): JsonBody<OwnPatch>) -> Answer<Account> {
    answer(account::update_account(&app, &caller, patch.into()).await)
}
