//! `GET /app/lookup`: where an address, or a domain, stands in the lists of an organization.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_service::app::App;
use probity_service::lists::lookup::{AddressPlaces, LookupQuery, find_places};

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::asking::Asking;

/// Where an address or a domain stands.
pub(crate) async fn get_places(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    Asking(query): Asking<LookupQuery>,
) -> Result<Json<AddressPlaces>, Refusal> {
    Ok(Json(find_places(&app, &caller, query).await?))
}
