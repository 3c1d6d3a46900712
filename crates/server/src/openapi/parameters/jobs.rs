//! Parameters of jobs and of the timeline.

use probity_core::verdict::{Reason, Status};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};

use super::{POSITIVE_INTEGER, bounded, matching, names, path_id, query, text};
use crate::api::batch::download;
use crate::api::jobs::view::{SOURCES, STATUSES};
use crate::api::timeline::{DAYS, EVENTS};

/// The path of one job.
#[derive(Debug)]
pub struct JobPath;

impl IntoParams for JobPath {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![path_id("The job's id, as its submission was answered.", "job_01h455vb4pex5vsknk084sn02q")]
    }
}

/// The query of a job's rows.
#[derive(Debug)]
pub struct ResultsParams;

impl IntoParams for ResultsParams {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        let per_page = OneOfBuilder::new().item(number).item(matching(POSITIVE_INTEGER)).default(Some(100.into()));
        let per_page_means = "Rows on a page, 1 to 1,000; more is taken as 1,000.";
        let next_means = "Where the page begins: `next` of the page before. Left out, or empty, for the first page.";
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
        let raw_means = "Whether cells of CSV are left as they are, also where a spreadsheet would run them as formulas; \
             `format=raw` says the same.";
        let provider_means = "Only rows whose domain has its mail at this provider, by its id as `evidence.domain.provider` names it; \
            `other`: at none that is known.";
        let columns_mean = "`original`: before the columns of the results those of the file that somebody uploaded in the \
            dashboard, without the address a second time; in JSON lines the file's own fields, with the result under `probity`. \
            404 for a job that was made of no file, or of one that is no longer kept.";
        let flag = ObjectBuilder::new().schema_type(Type::Boolean).default(Some(false.into()));
        let format = names(download::formats()).default(Some("csv".into()));
        vec![
            query("format", "The form of the file.", format, "csv").build(),
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
            query("source", "Only jobs whose addresses came from there.", names(SOURCES), "api").build(),
            query("status", "Only jobs that stand so.", names(STATUSES), "completed").build(),
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
        let days_means = "How many days to look back, 1 to 90.";
        let limit_means = "How many events to show at most, 1 to 200.";
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
