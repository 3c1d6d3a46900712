//! `/app/account`: what people change of themselves, whatever their role.
//!
//! `PATCH /v1/account` also has billing fields, so it needs a scope that contributors do not have.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_contract::published::accounts::account::{Account, OwnPatch};
use probity_service::accounts::account;
use probity_service::app::App;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::body::JsonBody;

/// Changes name, telephone number and wishes to be told of the person who is signed in.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    JsonBody(patch): JsonBody<OwnPatch>,
) -> Result<Json<Account>, Refusal> {
    Ok(Json(account::update_account(&app, &caller, patch.into()).await?))
}
