//! What `/v1/batch-verify/{id}` shows.

use probity_account::id::JobId;
use probity_mail::verdict::{Reason, Status};
use probity_store::jobs::{Job, Standing, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::Object;

use crate::published::verdict::{ReasonName, StatusName};
use crate::schema;
use crate::timestamp::Timestamp;

/// The words for where a job stands.
const STATES: [&str; 5] = ["starting", "processing", "completed", "cancel", "force_stop"];

/// Progress of a job. The counters are present once processing begins.
#[derive(Clone, Debug, Serialize)]
pub struct BatchStatus {
    #[serde(flatten)]
    head: StatusHead,
    #[serde(flatten)]
    counters: Option<Counters>,
}

schema::with_optional_part!(
    BatchStatus = StatusHead + Counters,
    "Progress of a job. The counters are present once processing begins."
);

/// Fields that every job has.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct StatusHead {
    /// The job's id.
    #[schema(schema_with = schema::job_id)]
    id: JobId,
    /// Whether the job has ended: completed, canceled or stopped.
    processed: bool,
    /// Job status.
    #[schema(schema_with = states)]
    status: &'static str,
}

/// The counters of a job whose processing has begun.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Counters {
    /// Submitted rows.
    #[schema(examples(3), minimum = 0)]
    num_imported: i64,
    /// Rows with a verdict.
    #[schema(examples(3), minimum = 0)]
    emails_processed: i64,
    /// Rows that passed.
    #[schema(examples(1), minimum = 0)]
    num_passed: i64,
    /// Rows that did not pass: undeliverable, risky or unknown.
    #[schema(examples(2), minimum = 0)]
    num_failed: i64,
    /// Undeliverable rows.
    #[schema(examples(1), minimum = 0)]
    num_undeliverable: i64,
    /// Rows whose status could not be determined.
    #[schema(examples(1), minimum = 0)]
    num_unknown: i64,
    /// Rows that are deliverable but flagged.
    #[schema(examples(0), minimum = 0)]
    num_risky: i64,
}

fn states() -> Object {
    let means = "Job status. `starting`: accepted and being imported. `processing`: verification in progress. \
        `completed`: every row has a verdict. `cancel`: canceled by the customer. `force_stop`: stopped by the \
        system. More values can be added.";
    schema::one_of(STATES, means)
}

impl From<&Job> for BatchStatus {
    fn from(job: &Job) -> Self {
        let counts = job.counts;
        let counters = Counters {
            num_imported: job.rows,
            emails_processed: counts.processed,
            num_passed: counts.passed,
            num_failed: counts.failed(),
            num_undeliverable: counts.undeliverable,
            num_unknown: counts.unknown,
            num_risky: counts.risky,
        };
        let [starting, processing, completed, cancel, force_stop] = STATES;
        let status = match job.state {
            State::Unborn | State::Queued | State::Importing | State::Ready => starting,
            State::Processing => processing,
            State::Completed => completed,
            State::Cancelled => cancel,
            State::ForceStopped => force_stop,
        };
        let counters = job.started_at.map(|_| counters);
        Self { head: StatusHead { id: job.id, processed: job.state.is_closed(), status }, counters }
    }
}

/// A submitted row, with its verdict once there is one.
#[derive(Clone, Debug, Serialize)]
pub struct BatchRow {
    /// The row.
    #[serde(flatten)]
    pub head: RowHead,
    /// The verdict and what became of the row.
    #[serde(flatten)]
    pub done: Option<RowDone>,
}

/// The part of a row that has a verdict.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum RowDone {
    /// All of it.
    Whole(RowVerdict),
    /// The part that remains after an erasure.
    Erased(RowOutcome),
}

impl RowDone {
    /// Status and reason.
    pub fn outcome(&self) -> RowOutcome {
        match self {
            Self::Whole(whole) => RowOutcome { reason: whole.reason, status: whole.status },
            Self::Erased(outcome) => *outcome,
        }
    }

    /// The rest, unless the address was erased.
    pub fn whole(&self) -> Option<&RowVerdict> {
        match self {
            Self::Whole(whole) => Some(whole),
            Self::Erased(_) => None,
        }
    }
}

/// Result of a row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RowOutcome {
    /// [`RowVerdict::reason`].
    pub reason: &'static str,
    /// [`RowVerdict::status`].
    pub status: &'static str,
}

impl From<Reason> for RowOutcome {
    fn from(reason: Reason) -> Self {
        Self { reason: reason.as_str(), status: reason.status().as_str() }
    }
}

schema::with_optional_part!(
    BatchRow = RowHead + RowVerdict,
    "A submitted row. Its verdict is present once it is known."
);

/// Fields that every row has.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RowHead {
    /// Address as submitted, or `erased`. Of the verdict of an erased row, only `status` and `reason` remain.
    #[schema(examples("nobody@sandbox.test"))]
    pub email: String,
    /// Whether the row has a verdict.
    #[schema(examples(true))]
    pub processed: bool,
    /// Position of the row in the submitted list, from 0. Absent on the deprecated endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(0), minimum = 0)]
    pub index: Option<i64>,
}

/// Fields of a row that has a verdict.
#[expect(clippy::struct_excessive_bools, reason = "the contract has a flag for each action")]
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RowVerdict {
    /// Domain in lowercase A-labels; `""` if there is none.
    #[schema(examples("sandbox.test"))]
    pub domain: String,
    /// Whether the status is `passed`.
    pub passed: bool,
    /// Reason for the status, after the organization's settings are applied.
    #[schema(value_type = ReasonName)]
    pub reason: &'static str,
    /// Status of the address, after the organization's settings are applied.
    #[schema(value_type = StatusName)]
    pub status: &'static str,
    /// Time of the last change to the row.
    pub completed_at: Timestamp,
    /// Complete address that was probably intended; `""` if there is none. Does not change the verdict.
    #[schema(examples(""))]
    pub suggestion: String,
    /// Whether the address was corrected on the connected platform.
    fixed: bool,
    /// Whether the contact was deleted on the connected platform.
    deleted: bool,
    /// Whether the contact was unsubscribed on the connected platform.
    unsubscribed: bool,
    /// Whether the verdict was written to the connected platform.
    updated: bool,
    /// Whether a tag with the verdict was written to the connected platform.
    tagged: bool,
}

impl RowVerdict {
    /// Result of the row.
    pub(crate) fn of(standing: &Standing, domain: String) -> Self {
        let result = &standing.result;
        let status = result.kind.reason.status();
        Self {
            domain,
            passed: status == Status::Passed,
            reason: Reason::as_str(result.kind.reason),
            status: status.as_str(),
            completed_at: standing.at.into(),
            suggestion: result.suggestion.clone().unwrap_or_default(),
            fixed: false,
            deleted: false,
            unsubscribed: false,
            updated: false,
            tagged: false,
        }
    }
}

/// A page of rows, in submitted order.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BatchResults {
    /// Rows.
    pub data: Vec<BatchRow>,
    /// Cursor of the next page, to send as `next`; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("AXsiMDFoNDU1dmI0cGV4NXZz"))]
    pub next: Option<String>,
}

/// Outcome of a cancellation.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct BatchCancelled {
    /// `success`: the job is stopped, and what was not verified is credited back. `error`: it was completed before; nothing
    /// changes.
    #[schema(schema_with = outcomes)]
    pub status: &'static str,
}

fn outcomes() -> Object {
    let means = "`success`: the job is stopped, and credits for unverified rows are released. `error`: the job was \
        already complete; nothing changes.";
    schema::one_of(["success", "error"], means)
}
