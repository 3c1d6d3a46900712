//! Review of planned actions, one contact at a time.

use probity_account::id::JobId;
use probity_store::connections::actions::Undecidable;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::run::{brakes, kinds};
use crate::published::verify::verdict::{ReasonName, StatusName};
use crate::published::whole::Whole;
use crate::schema;
use crate::timestamp::Timestamp;

/// Maximum number of decisions in one call.
pub const DECISIONS_MAX: usize = 1_000;

/// A planned action that waits for a decision.
// Without `Debug`, because it has an address.
#[derive(Clone, Serialize, ToSchema)]
pub struct PlannedAction {
    #[schema(schema_with = schema::job_id)]
    pub run_id: JobId,
    /// Row of the run's job, from 0.
    #[schema(examples(7), minimum = 0)]
    pub index: i64,
    /// Address of the contact.
    #[schema(examples("nobody@sandbox.test"))]
    pub email: String,
    /// ID of the contact at the platform.
    #[schema(examples("8812"))]
    pub contact_id: String,
    #[schema(schema_with = kinds)]
    pub action: &'static str,
    /// Status of the verdict.
    #[schema(value_type = StatusName)]
    pub status: &'static str,
    /// Reason of the verdict.
    #[schema(value_type = ReasonName)]
    pub reason: &'static str,
    /// MX host that replied; null without a reply.
    #[schema(required, examples("mx.sandbox.test"))]
    pub host: Option<String>,
    /// Code of the reply that decided, with its enhanced status code (RFC 3463) if it has one; null without a reply.
    #[schema(required, examples("550 5.1.1"))]
    pub reply: Option<String>,
    #[schema(required, schema_with = brakes)]
    pub held_by: Option<&'static str>,
    /// Address that the contact gets, if the action is `fix`; null otherwise.
    #[schema(required, examples(json!(null)))]
    pub suggestion: Option<String>,
    /// Why only a decision about this contact starts the action, and not the confirmation of its run; null otherwise.
    #[schema(required, examples(json!(null)))]
    pub doubt: Option<String>,
    /// Time of the verdict.
    pub verified_at: Timestamp,
}

/// Decisions about planned actions.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDecisions {
    /// Decisions, each about another action. Actions that were decided about before stay as they are.
    #[schema(min_items = 1, max_items = 1_000)]
    pub decisions: Vec<ReviewDecisionGiven>,
}

/// A decision about a planned action.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReviewDecision)]
pub struct ReviewDecisionGiven {
    #[schema(schema_with = schema::job_id)]
    pub run_id: JobId,
    /// Row of the run's job, as listed.
    #[schema(value_type = i64, examples(7), minimum = 0)]
    pub index: Whole,
    #[schema(schema_with = words)]
    pub decision: DecisionWord,
}

probity_mail::named! {
    /// Decision about an action.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DecisionWord {
        Act = "act",
        Ignore = "ignore",
        /// Ignore, now and in every later run.
        Whitelist = "whitelist",
    }
}

/// Result of decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReviewDecided {
    /// Actions that were decided about now.
    #[schema(examples(3), minimum = 0)]
    pub decided: i64,
    /// Decisions without an effect.
    #[schema(examples(1), minimum = 0)]
    pub unchanged: i64,
    /// The decisions without an effect, with their reasons.
    pub unchanged_decisions: Vec<UnchangedDecision>,
}

/// A decision without an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct UnchangedDecision {
    #[schema(schema_with = schema::job_id)]
    pub run_id: JobId,
    /// Row of the run's job, from 0.
    #[schema(examples(7), minimum = 0)]
    pub index: i64,
    #[schema(schema_with = reasons)]
    pub reason: &'static str,
}

impl ReviewDecided {
    /// Builds the response for a number of decisions, including those without an effect.
    pub fn of(given: usize, unchanged: Vec<UnchangedDecision>) -> Self {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let decided = number(given.saturating_sub(unchanged.len()));
        Self { decided, unchanged: number(unchanged.len()), unchanged_decisions: unchanged }
    }
}

impl UnchangedDecision {
    pub fn of(run_id: JobId, index: i64, why: Undecidable) -> Self {
        Self { run_id, index, reason: reason_of(why) }
    }
}

fn reason_of(why: Undecidable) -> &'static str {
    match why {
        Undecidable::NoAction => "no_action",
        Undecidable::DecidedBefore => "decided_before",
        Undecidable::NotWaiting => "run_not_waiting",
    }
}

schema::schemas! {
    reasons = schema::one_of([Undecidable::NoAction, Undecidable::DecidedBefore, Undecidable::NotWaiting].map(reason_of),
        "Why nothing was decided. `no_action`: the row has no action. `decided_before`: the action is no longer planned. \
        `run_not_waiting`: the run is not in `needs_confirmation`.");
    words = schema::one_of(DecisionWord::ALL.map(DecisionWord::as_str), "`act`: do it. `ignore`: do not do it in this run. \
        `whitelist`: the verdict is wrong for this contact; a whitelist rule for its address is added, so that no run acts on \
        it.");
}
