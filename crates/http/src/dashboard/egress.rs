//! `GET /app/egress`: the way to mail servers.

use axum::Json;
use probity_service::operator::egress::{EgressWays, list_ways};

use crate::callers::caller::Call;
use crate::error::Answer;

/// What all nodes that are alive see of their way to mail servers.
pub(crate) async fn get_ways(Call(app, caller): Call) -> Answer<EgressWays> {
    Ok(Json(list_ways(&app, &caller).await?))
}
