//! `/app/account`: what people change of themselves, whatever their role.
//!
//! `PATCH /v1/account` has the fields of whoever pays besides, so it needs a scope that contributors do not have.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::published::account::{Account, OwnPatch};

use crate::api::account;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;

/// Changes name, telephone number and wishes to be told of the person who is signed in.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(patch): JsonBody<OwnPatch>,
) -> Result<Json<Account>, Refusal> {
    account::change(&app, &caller, &patch.into()).await.map(Json)
}
