//! `GET /app/requests`: requests with API keys.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_contract::page::List;
use probity_service::activity::requests::{self, RequestShown, RequestsQuery};
use probity_service::app::App;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;

/// What the organization's programs asked, newest first.
pub(crate) async fn list_requests(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<RequestsQuery>,
) -> Result<Json<List<RequestShown>>, Refusal> {
    Ok(Json(requests::list_requests(&app, &caller, query).await?))
}
