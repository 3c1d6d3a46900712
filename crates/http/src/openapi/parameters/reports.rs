//! Parameters of reports.

use probity_service::published::reports::PERIODS;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::api::reports::SERIES_DAYS;
use crate::openapi::parameters::{bounded, names, query, text};

/// The query of a usage report.
#[derive(Debug)]
pub struct UsageParams;

impl IntoParams for UsageParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let period = names(PERIODS).default(Some("this_month".into()));
        let connection_means = "Only verifications for this connection; not possible with `lifetime`.";
        let connection = "conn_01h455vb4pex5vsknk084sn02q";
        vec![
            query("period", "Period in UTC, default `this_month`.", period, "this_week").build(),
            query("connection_id", connection_means, text(), connection).build(),
        ]
    }
}

/// The query of the usage by day.
#[derive(Debug)]
pub struct DailyUsageParams;

impl IntoParams for DailyUsageParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let pattern = "^0*([1-9]|[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-6])$";
        let connection_means = "Only verifications for this connection.";
        vec![
            query("days", "Number of days including today, 1 to 366, default 30.", bounded(SERIES_DAYS, pattern), 30)
                .build(),
            query("connection_id", connection_means, text(), "conn_01h455vb4pex5vsknk084sn02q").build(),
        ]
    }
}
