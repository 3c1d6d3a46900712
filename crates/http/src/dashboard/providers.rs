//! `GET /app/reports/providers`: how many addresses of which mail provider were verified.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::lists::providers::{ProviderCounts, ProvidersQuery, count_providers};

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;

/// The providers of the last days, today included.
pub(crate) async fn get_mix(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<ProvidersQuery>,
) -> Result<Json<ProviderCounts>, Refusal> {
    Ok(Json(count_providers(&app, &caller, query).await?))
}
