//! `/app/account`: what people change of themselves, whatever their role.
//!
//! `PATCH /v1/account` also has billing fields, so it needs a scope that contributors do not have.

use axum::Json;
use probity_contract::published::accounts::account::{Account, OwnPatch};
use probity_service::accounts::account;

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::body::JsonBody;

/// Changes name, telephone number and wishes to be told of the person who is signed in.
pub(crate) async fn change(Call(app, caller): Call, JsonBody(patch): JsonBody<OwnPatch>) -> Answer<Account> {
    Ok(Json(account::update_account(&app, &caller, patch.into()).await?))
}
