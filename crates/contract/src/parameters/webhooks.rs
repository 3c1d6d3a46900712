//! Parameters of webhooks, erasures and sources of outcomes.

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::parameters::{path_id, path_part};

#[derive(Debug)]
pub struct WebhookPath;

impl IntoParams for WebhookPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Webhook ID, as listed.", "whk_01h455vb4pex5vsknk084sn02q")]
    }
}

#[derive(Debug)]
pub struct OutcomeSourcePath;

impl IntoParams for OutcomeSourcePath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Source ID, as listed.", "osr_01h455vb4pex5vsknk084sn02q")]
    }
}

#[derive(Debug)]
pub struct ErasurePath;

impl IntoParams for ErasurePath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Erasure ID, as returned by the request.", "era_01h455vb4pex5vsknk084sn02q")]
    }
}

/// Second path parameter of a delivery, after the webhook's ID.
#[derive(Debug)]
pub struct DeliveryPath;

impl IntoParams for DeliveryPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_part("delivery_id", "Delivery ID, as listed.", "dlv_01h455vb4pex5vsknk084sn02q")]
    }
}
