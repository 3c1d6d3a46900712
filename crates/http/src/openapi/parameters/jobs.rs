//! Parameters of jobs and of the timeline.

use probity_mail::verdict::{Reason, Status};
use probity_service::published::jobs::{SOURCES, STATUSES};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};

use crate::api::batch::download;
use crate::api::timeline::{DAYS, EVENTS};
use crate::openapi::parameters::{POSITIVE_INTEGER, bounded, matching, names, path_id, query, text};

/// The path of one job.
#[derive(Debug)]
pub struct JobPath;

impl IntoParams for JobPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("Job ID, as returned by the submission.", "job_01h455vb4pex5vsknk084sn02q")]
    }
}

/// The query of a job's rows.
#[derive(Debug)]
pub struct ResultsParams;

impl IntoParams for ResultsParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        let per_page = OneOfBuilder::new().item(number).item(matching(POSITIVE_INTEGER)).default(Some(100.into()));
        let per_page_means = "Rows per page, 1 to 1,000, default 100; higher values count as 1,000.";
        let next_means = "Cursor: `next` of the previous page. Omit it, or leave it empty, for the first page.";
        vec![
            query("per_page", per_page_means, per_page, 100).build(),
            query("next", next_means, text(), "MDFoNDU1dmI0cGV4NXZzaw").build(),
        ]
    }
}

/// The query of a download.
#[derive(Debug)]
pub struct DownloadParams;

impl IntoParams for DownloadParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let raw_means = "Whether to leave CSV cells unchanged, even if a spreadsheet would run them as formulas. \
            The same as `format=raw`.";
        let provider_means = "Only rows of this mail provider: an ID from `evidence.domain.provider`, or `other` \
            for rows of no known provider.";
        let columns_mean = "`original`: puts the columns of the file uploaded in the dashboard before the results, \
            without repeating the address. In JSON lines, the fields of the file come first and the result is under \
            `probity`. 404 if the job was not created from a file, or the file is no longer kept.";
        let flag = ObjectBuilder::new().schema_type(Type::Boolean).default(Some(false.into()));
        let format = names(download::formats()).default(Some("csv".into()));
        vec![
            query("format", "File format, default `csv`.", format, "csv").build(),
            query("status", "Only rows with this status.", names(Status::ALL.map(Status::as_str)), "passed").build(),
            query("reason", "Only rows with this reason.", names(Reason::ALL.iter().map(|it| it.as_str())), "valid")
                .build(),
            query("provider", provider_means, text(), "google").build(),
            query("raw", raw_means, flag, false).build(),
            query("columns", columns_mean, names(download::COLUMNS).default(Some("results".into())), "results").build(),
        ]
    }
}

/// The query of the list of jobs.
#[derive(Debug)]
pub struct JobsParams;

impl IntoParams for JobsParams {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut parameters = super::PageParams::into_params(place);
        parameters.extend([
            query("source", "Filter by source.", names(SOURCES), "api").build(),
            query("status", "Filter by status.", names(STATUSES), "completed").build(),
            query("created_after", "Only jobs accepted at this time or later.", time(), "2026-11-01T00:00:00Z").build(),
            query("created_before", "Only jobs accepted before this time.", time(), "2026-12-01T00:00:00Z").build(),
        ]);
        parameters
    }
}

/// The query of the timeline.
#[derive(Debug)]
pub struct TimelineParams;

impl IntoParams for TimelineParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let days_means = "Days to look back, 1 to 90, default 30.";
        let limit_means = "Maximum number of events, 1 to 200, default 60.";
        vec![
            query("days", days_means, bounded(DAYS, "^0*([1-9]|[1-8][0-9]|90)$"), 30).build(),
            query("limit", limit_means, bounded(EVENTS, "^0*([1-9]|[1-9][0-9]|1[0-9]{2}|200)$"), 60).build(),
        ]
    }
}

/// A time, or an empty text, which counts as left out.
fn time() -> OneOfBuilder {
    let time = SchemaFormat::KnownFormat(KnownFormat::DateTime);
    let time = ObjectBuilder::new().schema_type(Type::String).format(Some(time));
    OneOfBuilder::new().item(time).item(ObjectBuilder::new().schema_type(Type::String).max_length(Some(0)))
}
