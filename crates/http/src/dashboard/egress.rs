//! `GET /app/egress`: the way to mail servers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::operator::egress::{EgressWays, list_ways};

use crate::callers::auth::CalledBy;
use crate::error::Refusal;

/// What all nodes that are alive see of their way to mail servers.
pub(crate) async fn get_ways(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
) -> Result<Json<EgressWays>, Refusal> {
    Ok(Json(list_ways(&app, &caller).await?))
}
