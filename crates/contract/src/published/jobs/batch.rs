//! Response types of `/v1/batch-verify/{id}`.

use probity_account::connections::ContactAction;
use probity_account::id::JobId;
use probity_mail::verdict::{Reason, Status};
use probity_store::connections::actions::RowAction;
use probity_store::jobs::{Job, JobState, SettledResult};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::page::{GivenCursor, PerPage};
use crate::parameters::{describe_query, per_page, text};
use crate::published::verify::verdict::{ReasonName, StatusName};
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::Timestamp;

/// Job statuses in responses.
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
    #[schema(schema_with = schema::job_id)]
    id: JobId,
    /// Whether the job has ended: completed, canceled or stopped.
    processed: bool,
    #[schema(schema_with = states)]
    status: &'static str,
}

/// Counters of a job that is processing or completed.
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

schema::schemas! {
    states = schema::one_of(STATES, "Job status. `starting`: accepted and being imported. `processing`: verification \
        in progress. `completed`: every row has a verdict. `cancel`: canceled by the customer. `force_stop`: stopped \
        by the system. More values can be added.");
    outcomes = schema::one_of(["success", "error"], "`success`: the job is stopped, and credits for unverified rows \
        are released. `error`: the job was already complete; nothing changes.");
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
            JobState::Unborn | JobState::Queued | JobState::Importing | JobState::Ready => starting,
            JobState::Processing => processing,
            JobState::Completed => completed,
            JobState::Cancelled => cancel,
            JobState::ForceStopped => force_stop,
        };
        let counters = job.started_at.map(|_| counters);
        Self { head: StatusHead { id: job.id, processed: job.state.is_closed(), status }, counters }
    }
}

/// A submitted row, with its verdict if there is one.
#[derive(Clone, Debug, Serialize)]
pub struct BatchRow {
    /// Fields that every row has.
    #[serde(flatten)]
    pub head: RowHead,
    /// Verdict; `None` until there is one.
    #[serde(flatten)]
    pub done: Option<RowDone>,
}

/// Verdict of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum RowDone {
    /// Complete verdict.
    Whole(RowVerdict),
    /// Part of the verdict that remains after an erasure.
    Erased(RowOutcome),
}

impl RowDone {
    pub fn outcome(&self) -> RowOutcome {
        match self {
            Self::Whole(whole) => RowOutcome { reason: whole.reason, status: whole.status },
            Self::Erased(outcome) => *outcome,
        }
    }

    /// Returns the complete verdict, unless the address was erased.
    pub fn whole(&self) -> Option<&RowVerdict> {
        match self {
            Self::Whole(whole) => Some(whole),
            Self::Erased(_) => None,
        }
    }
}

/// Part of a verdict that remains after an erasure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RowOutcome {
    pub reason: &'static str,
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
    /// Entry as submitted, with the name before its address if it has one, or `erased`. Of the verdict of an erased row, only
    /// `status` and `reason` remain.
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
    /// Builds the verdict of a row from its stored result.
    pub fn of(standing: &SettledResult, domain: String) -> Self {
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

    /// Adds the action on the row's contact at its platform.
    #[must_use]
    pub fn after(mut self, action: &RowAction) -> Self {
        if !action.has_changed() {
            return self;
        }
        let flag = match action.kind {
            ContactAction::Unsubscribe => &mut self.unsubscribed,
            ContactAction::Delete => &mut self.deleted,
            ContactAction::UpdateTags => &mut self.tagged,
            ContactAction::UpdateCustomFields => &mut self.updated,
            ContactAction::Fix => &mut self.fixed,
        };
        *flag = true;
        if let Some(at) = action.settled_at {
            self.completed_at = self.completed_at.max(at.into());
        }
        self
    }

    /// Flags of actions: fixed, deleted, unsubscribed, updated, tagged.
    pub fn flags(&self) -> [bool; 5] {
        [self.fixed, self.deleted, self.unsubscribed, self.updated, self.tagged]
    }
}

/// Page of a job's rows to list.
#[derive(Debug)]
pub struct ResultsQuery {
    /// Maximum number of rows on the page.
    pub per_page: u32,
    /// Position of the page. An invalid cursor is reported only if the job exists; otherwise, the response is 404.
    pub cursor: Result<Option<GivenCursor>, ApiError>,
}

impl ResultsQuery {
    const PER_PAGE: PerPage = PerPage { default: 100, max: 1_000 };
}

impl FromQuery for ResultsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { per_page: Self::PER_PAGE.wanted(query)?, cursor: GivenCursor::in_query(query) })
    }
}

describe_query! { ResultsQuery:
    "per_page" = "Rows per page, 1 to 1,000, default 100; higher values count as 1,000.", per_page(100), 100;
    "next" = "Cursor: `next` of the previous page. Omit it, or leave it empty, for the first page.", text(),
        "MDFoNDU1dmI0cGV4NXZzaw";
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
    #[schema(schema_with = outcomes)]
    pub status: &'static str,
}

impl BatchCancelled {
    pub const SUCCESS: &'static str = "success";
}
