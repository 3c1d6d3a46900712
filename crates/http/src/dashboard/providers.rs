//! `GET /app/reports/providers`: how many addresses of which mail provider were verified.

use axum::Json;
use probity_service::lists::providers::{ProviderCounts, ProvidersQuery, count_providers};

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::asking::Asking;

/// The providers of the last days, today included.
pub(crate) async fn get_mix(Call(app, caller): Call, Asking(query): Asking<ProvidersQuery>) -> Answer<ProviderCounts> {
    Ok(Json(count_providers(&app, &caller, query).await?))
}
