//! Parameters of jobs.

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::parameters::path_id;

#[derive(Debug)]
pub struct JobPath;

impl IntoParams for JobPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Job ID, as returned by the submission.", "job_01h455vb4pex5vsknk084sn02q")]
    }
}
