//! `POST /app/connections/{type}/{id}/rules/trial`: what the keyword rules of a connection say about an address.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::connections::trial::{RuleTrial, TriedAddress, try_keyword_rules};

use crate::api::connections::place::AtConnection;
use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::body::JsonBody;

/// Tries rules on an address.
pub(crate) async fn try_rules(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    AtConnection(place): AtConnection,
    JsonBody(tried): JsonBody<TriedAddress>,
) -> Result<Json<RuleTrial>, Refusal> {
    Ok(Json(try_keyword_rules(&app, &caller, &place, tried).await?))
}
