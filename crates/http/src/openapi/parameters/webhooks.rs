//! Parameters of webhooks and erasures.

use probity_store::outbox::State;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::openapi::parameters::{names, path_id, path_part, query};

/// The path of one webhook.
#[derive(Debug)]
pub struct WebhookPath;

impl IntoParams for WebhookPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Webhook ID, as listed.", "whk_01h455vb4pex5vsknk084sn02q")]
    }
}

/// The path of one erasure.
#[derive(Debug)]
pub struct ErasurePath;

impl IntoParams for ErasurePath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Erasure ID, as returned by the request.", "era_01h455vb4pex5vsknk084sn02q")]
    }
}

/// What the path of one delivery has besides.
#[derive(Debug)]
pub struct DeliveryPath;

impl IntoParams for DeliveryPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_part("delivery_id", "Delivery ID, as listed.", "dlv_01h455vb4pex5vsknk084sn02q")]
    }
}

/// The query of the list of deliveries.
#[derive(Debug)]
pub struct DeliveriesParams;

impl IntoParams for DeliveriesParams {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parameters = super::PageParams::into_params(place);
        let states = names(State::ALL.map(State::as_str));
        parameters.push(query("status", "Filter by status.", states, "exhausted").build());
        parameters
    }
}
