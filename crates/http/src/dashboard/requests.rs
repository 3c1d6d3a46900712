//! `GET /app/requests`: requests with API keys.

use axum::Json;
use probity_contract::page::List;
use probity_service::activity::requests::{self, RequestShown, RequestsQuery};

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::asking::Asking;

/// What the organization's programs asked, newest first.
pub(crate) async fn list_requests(
    Call(app, caller): Call,
    Asking(query): Asking<RequestsQuery>,
) -> Answer<List<RequestShown>> {
    Ok(Json(requests::list_requests(&app, &caller, query).await?))
}
