//! `GET /app/lookup`: where an address, or a domain, stands in the lists of an organization.

use axum::Json;
use probity_service::lists::lookup::{AddressPlaces, LookupQuery, find_places};

use crate::callers::caller::Call;
use crate::error::Answer;
use crate::request::asking::Asking;

/// Where an address or a domain stands.
pub(crate) async fn get_places(Call(app, caller): Call, Asking(query): Asking<LookupQuery>) -> Answer<AddressPlaces> {
    Ok(Json(find_places(&app, &caller, query).await?))
}
