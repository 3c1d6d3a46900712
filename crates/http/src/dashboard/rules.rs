//! `POST /app/connections/{type}/{id}/rules/trial`: what the keyword rules of a connection say about an address.

use axum::Json;
use probity_service::connections::trial::{RuleTrial, TriedAddress, try_keyword_rules};

use crate::api::connections::place::AtConnection;
use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::body::JsonBody;

/// Tries rules on an address.
pub(crate) async fn try_rules(
    Call(app, caller): Call,
    AtConnection(place): AtConnection,
    JsonBody(tried): JsonBody<TriedAddress>,
) -> Answer<RuleTrial> {
    Ok(Json(try_keyword_rules(&app, &caller, &place, tried).await?))
}
