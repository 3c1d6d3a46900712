//! What `/v1/batch-verify/{id}` shows.

use probity_core::id::JobId;
use probity_core::verdict::{Reason, Status};
use probity_store::jobs::{Job, Standing, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::Object;

use crate::api::timestamp::Timestamp;
use crate::openapi::schema;
use crate::openapi::verdict::{ReasonName, StatusName};

/// The words for where a job stands.
const STATES: [&str; 5] = ["starting", "processing", "completed", "cancel", "force_stop"];

/// Where a job stands. The counters are there once processing has begun.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BatchStatus {
    #[serde(flatten)]
    head: StatusHead,
    #[serde(flatten)]
    counters: Option<Counters>,
}

schema::with_optional_part!(
    BatchStatus = StatusHead + Counters,
    "Where a job stands. The counters come with processing."
);

/// What is always known of a job.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct StatusHead {
    /// The job's id.
    #[schema(schema_with = schema::job_id)]
    id: JobId,
    /// Whether the job is over, in whatever way.
    processed: bool,
    /// How far it is.
    #[schema(schema_with = states)]
    status: &'static str,
}

/// The counters of a job whose processing has begun.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Counters {
    /// Rows that were submitted.
    #[schema(examples(3), minimum = 0)]
    num_imported: i64,
    /// Rows that have their verdict.
    #[schema(examples(3), minimum = 0)]
    emails_processed: i64,
    /// Rows that passed.
    #[schema(examples(1), minimum = 0)]
    num_passed: i64,
    /// Rows that did not pass: undeliverable, risky and unknown ones.
    #[schema(examples(2), minimum = 0)]
    num_failed: i64,
    /// Rows that are undeliverable.
    #[schema(examples(1), minimum = 0)]
    num_undeliverable: i64,
    /// Rows about which nothing could be found out.
    #[schema(examples(1), minimum = 0)]
    num_unknown: i64,
    /// Rows that are deliverable, but flagged.
    #[schema(examples(0), minimum = 0)]
    num_risky: i64,
}

fn states() -> Object {
    let means = "`starting`: accepted, and being sorted. `processing`: addresses are being verified. `completed`: every row \
        has its verdict. `cancel`: stopped by the customer. `force_stop`: stopped by the system. More may be added.";
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

/// A submitted row. What belongs to its verdict is there when it has one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BatchRow {
    /// The row.
    #[serde(flatten)]
    pub(crate) head: RowHead,
    /// The verdict and what became of the row.
    #[serde(flatten)]
    pub(crate) done: Option<RowDone>,
}

/// What is shown of a row that has its verdict.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum RowDone {
    /// All of it.
    Whole(RowVerdict),
    /// What is left where the address was erased.
    Erased(RowOutcome),
}

impl RowDone {
    /// Status and reason.
    pub(crate) fn outcome(&self) -> RowOutcome {
        match self {
            Self::Whole(whole) => RowOutcome { reason: whole.reason, status: whole.status },
            Self::Erased(outcome) => *outcome,
        }
    }

    /// The rest, unless the address was erased.
    pub(crate) fn whole(&self) -> Option<&RowVerdict> {
        match self {
            Self::Whole(whole) => Some(whole),
            Self::Erased(_) => None,
        }
    }
}

/// What a row came to.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RowOutcome {
    /// [`RowVerdict::reason`].
    pub(crate) reason: &'static str,
    /// [`RowVerdict::status`].
    pub(crate) status: &'static str,
}

impl From<Reason> for RowOutcome {
    fn from(reason: Reason) -> Self {
        Self { reason: reason.as_str(), status: reason.status().as_str() }
    }
}

schema::with_optional_part!(BatchRow = RowHead + RowVerdict, "A submitted row. The verdict is there when it is known.");

/// What is always known of a row.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RowHead {
    /// The address as it was submitted, or `erased`: then of its verdict only `status` and `reason` are left.
    #[schema(examples("nobody@sandbox.test"))]
    pub(crate) email: String,
    /// Whether the row has its verdict.
    #[schema(examples(true))]
    pub(crate) processed: bool,
    /// The row's place in the submitted list, from 0. Not on the deprecated endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(0), minimum = 0)]
    pub(crate) index: Option<i64>,
}

/// What is known of a row once it has its verdict.
#[expect(clippy::struct_excessive_bools, reason = "the contract has a flag for each action")]
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RowVerdict {
    /// The domain in lower-case A-labels, `""` where there is none.
    #[schema(examples("sandbox.test"))]
    pub(crate) domain: String,
    /// Whether the status is `passed`.
    pub(crate) passed: bool,
    /// The reason for the status, after the organization's settings.
    #[schema(value_type = ReasonName)]
    pub(crate) reason: &'static str,
    /// What to do with the address, after the organization's settings.
    #[schema(value_type = StatusName)]
    pub(crate) status: &'static str,
    /// When something last happened to the row.
    pub(crate) completed_at: Timestamp,
    /// A whole address that was perhaps meant, `""` where none is. Does not change the verdict.
    #[schema(examples(""))]
    pub(crate) suggestion: String,
    /// Whether the address was corrected in the connected platform.
    fixed: bool,
    /// Whether the contact was deleted there.
    deleted: bool,
    /// Whether the contact was unsubscribed there.
    unsubscribed: bool,
    /// Whether the verdict was written there.
    updated: bool,
    /// Whether a tag with the verdict was written there.
    tagged: bool,
}

impl RowVerdict {
    /// What a row shows of its result.
    pub(super) fn of(standing: &Standing, domain: String) -> Self {
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

/// A page of rows, in the order in which they were submitted.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct BatchResults {
    /// The rows.
    pub(crate) data: Vec<BatchRow>,
    /// To be sent back as `next` for the page that follows; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("AXsiMDFoNDU1dmI0cGV4NXZz"))]
    pub(crate) next: Option<String>,
}

/// Whether a job was cancelled.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct BatchCancelled {
    /// `success`: the job is stopped, and what was not verified is credited back. `error`: it was completed before; nothing
    /// changes.
    #[schema(schema_with = outcomes)]
    pub(crate) status: &'static str,
}

fn outcomes() -> Object {
    let means = "`success`: the job is stopped, and what was not verified is credited back. `error`: it was completed before; \
        nothing changes.";
    schema::one_of(["success", "error"], means)
}
