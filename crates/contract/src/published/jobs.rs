//! Job in responses of `/v1/jobs` and in job callbacks.

pub mod batch;
pub mod download;
pub mod submission;

use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::jobs::{Job, JobState};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use utoipa::openapi::schema::{AdditionalProperties, KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};

use crate::error::ApiError;
use crate::page::PageQuery;
use crate::parameters::{describe_query, names};
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::{NoTime, Timestamp};

/// Source of the widget's verifications, in usage and jobs.
pub const WIDGET: &str = "widget";
/// Job statuses in responses.
pub const STATUSES: [&str; 4] = ["queued", "processing", "completed", "cancelled"];
pub const SOURCES: [&str; 6] = ["api", "csv", "input", "widget", "zapier", "integration"];

/// Filters and page of a list of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobsQuery {
    /// Source of the addresses.
    pub source: Option<String>,
    /// Job status.
    pub status: Option<String>,
    /// Earliest acceptance time, inclusive.
    pub created_after: Option<Millis>,
    /// Latest acceptance time, exclusive.
    pub created_before: Option<Millis>,
    pub page: PageQuery,
}

impl FromQuery for JobsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self {
            source: query.one_of("source", &SOURCES)?,
            status: query.one_of("status", &STATUSES)?,
            created_after: time(query, "created_after")?,
            created_before: time(query, "created_before")?,
            page: PageQuery::from_query(query)?,
        })
    }
}

fn time(query: &Query, name: &str) -> Result<Option<Millis>, ApiError> {
    let Some(text) = query.filled(name)? else { return Ok(None) };
    text.parse().map(|Timestamp(at)| Some(at)).map_err(|error: NoTime| ApiError::invalid(name, error))
}

describe_query! { JobsQuery:
    "source" = "Filter by source.", names(SOURCES), "api";
    "status" = "Filter by status.", names(STATUSES), "completed";
    "created_after" = "Only jobs accepted at this time or later.", times(), "2026-11-01T00:00:00Z";
    "created_before" = "Only jobs accepted before this time.", times(), "2026-12-01T00:00:00Z";
}

/// Returns the schema of a time, or an empty text, which counts as omitted.
fn times() -> OneOfBuilder {
    let time = SchemaFormat::KnownFormat(KnownFormat::DateTime);
    let time = ObjectBuilder::new().schema_type(Type::String).format(Some(time));
    OneOfBuilder::new().item(time).item(ObjectBuilder::new().schema_type(Type::String).max_length(Some(0)))
}

/// A job.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub struct JobView {
    #[schema(schema_with = schema::job_id)]
    id: JobId,
    #[schema(schema_with = statuses)]
    status: &'static str,
    #[schema(schema_with = sources)]
    source: String,
    /// Name given by a user or with the submission, or that of the file; null without one.
    #[schema(required, examples("customers.csv"))]
    name: Option<String>,
    /// Provider, if the source is `integration`.
    #[schema(required, examples(json!(null)))]
    source_integration: Option<String>,
    /// Time at which the job was accepted.
    created_at: Timestamp,
    /// Finish time; null until then.
    #[schema(required)]
    finished_at: Option<Timestamp>,
    /// Results; null until the job is completed, and if it was canceled.
    #[schema(required)]
    results: Option<JobResults>,
}

/// Rows of a job, counted by verdict.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobResults {
    /// Submitted rows.
    #[schema(examples(3), minimum = 0)]
    total: i64,
    /// Rows with a verdict.
    #[schema(examples(3), minimum = 0)]
    processed: i64,
    /// Rows that passed.
    #[schema(examples(1), minimum = 0)]
    passed: i64,
    /// Rows that did not pass: undeliverable, risky or unknown.
    #[schema(examples(2), minimum = 0)]
    failed: i64,
    /// Undeliverable rows.
    #[schema(examples(1), minimum = 0)]
    undeliverable: i64,
    /// Rows that are deliverable but flagged.
    #[schema(examples(0), minimum = 0)]
    risky: i64,
    /// Rows whose status could not be determined.
    #[schema(examples(1), minimum = 0)]
    unknown: i64,
    /// Rows that did not pass, by reason. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reasons: Option<ReasonCounts>,
}

impl JobView {
    /// Builds the response for a job. Pass `reasons` to include the rows by reason.
    pub fn of(job: &Job, reasons: Option<&[(Reason, i64)]>) -> Self {
        let counts = job.counts;
        let results = JobResults {
            total: job.rows,
            processed: counts.processed,
            passed: counts.passed,
            failed: counts.failed(),
            undeliverable: counts.undeliverable,
            risky: counts.risky,
            unknown: counts.unknown,
            reasons: reasons.map(ReasonCounts::of),
        };
        Self {
            id: job.id,
            status: status(job.state),
            source: job.source.clone(),
            name: job.title.clone(),
            source_integration: job.integration.clone(),
            created_at: job.created_at.into(),
            finished_at: job.finished_at.map(Into::into),
            results: (job.state == JobState::Completed).then_some(results),
        }
    }
}

/// Returns the status that responses show for a state.
pub fn status(state: JobState) -> &'static str {
    let [queued, processing, completed, cancelled] = STATUSES;
    match state {
        JobState::Unborn | JobState::Queued | JobState::Importing | JobState::Ready => queued,
        JobState::Processing => processing,
        JobState::Completed => completed,
        JobState::Cancelled | JobState::ForceStopped => cancelled,
    }
}

schema::schemas! {
    pub statuses = schema::one_of(STATUSES, "Job status. `queued`: accepted, not yet processing. `processing`: in \
        progress. `completed`: finished. `cancelled`: stopped early, by the customer or by the system.");
    pub sources = schema::one_of(SOURCES, "Source of the addresses. `api`: this API. `csv`: an uploaded file. \
        `input`: pasted into the dashboard. `widget`: the widget. `zapier`: an automation. `integration`: a \
        connected platform.");
}

/// Rows by reason: each of the 16 reasons other than `valid`, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonCounts(Vec<(Reason, i64)>);

/// Returns the reasons that are counted.
fn counted() -> impl Iterator<Item = Reason> {
    Reason::ALL.iter().copied().filter(|reason| *reason != Reason::Valid)
}

impl ReasonCounts {
    /// Counts rows by reason. Reasons that are not in `rows` count 0.
    pub fn of(rows: &[(Reason, i64)]) -> Self {
        let of = |reason: Reason| rows.iter().filter(|(other, _)| *other == reason).map(|(_, n)| n).sum();
        Self(counted().map(|reason| (reason, of(reason))).collect())
    }
}

impl Serialize for ReasonCounts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (reason, rows) in &self.0 {
            map.serialize_entry(reason.as_str(), rows)?;
        }
        map.end()
    }
}

schema::describe!(
    ReasonCounts = {
        let rows = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).examples([0]);
        let each =
            |object: ObjectBuilder, reason: Reason| object.property(reason.as_str(), rows()).required(reason.as_str());
        let object = ObjectBuilder::new()
            .description(Some("Rows by reason, with all 16 reasons other than `valid`."))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        counted().fold(object, each)
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_but_valid_is_counted() {
        let counts = ReasonCounts::of(&[(Reason::Valid, 9), (Reason::Unverified, 2)]);
        let json = serde_json::to_value(&counts).unwrap();
        assert_eq!(json.as_object().unwrap().len(), 16);
        assert_eq!((&json["unverified"], &json["invalid"], json.get("valid")), (&2.into(), &0.into(), None));
    }
}
