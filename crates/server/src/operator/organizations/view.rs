//! What customers are made and changed by, and how they are shown.

use std::collections::BTreeMap;

use probity_core::plans::{Entitlement, Entitlements, Plan};
use probity_core::time::Millis;
use probity_store::organization::{Org, OrgStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::Said;
use crate::api::merge_patch::given;
use crate::api::timestamp::Timestamp;
use crate::api::whole::Whole;

/// An organization as the operator sees it.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Customer {
    /// Its id.
    #[schema(examples("org_01h455vb4pex5vsknk084sn02q"))]
    id: String,
    /// What it is called.
    #[schema(required, examples("Example Ltd"))]
    name: Option<String>,
    /// Where it stands.
    #[schema(examples("active"))]
    status: &'static str,
    /// Why it was stopped, or is looked at: for operators only.
    #[schema(required)]
    hold_reason: Option<String>,
    /// The name of its plan.
    #[schema(examples("team"))]
    plan: String,
    /// Its period.
    period: Span,
    /// When credits of its plan are due.
    #[schema(required)]
    renews_at: Option<Timestamp>,
    /// When its trial ends or ended.
    #[schema(required)]
    trial_ends_at: Option<Timestamp>,
    /// Whether its balance is low.
    is_low: bool,
    /// What holds for it: its own, or its plan's.
    seats: Limit,
    /// Requests a minute for all its keys.
    rate_limit_per_minute: Limit,
    /// Below how many credits its balance is low.
    low_balance: Limit,
    /// What it may use.
    entitlements: Vec<&'static str>,
    /// Entitlements that it has or has not whatever its plan says.
    own_entitlements: BTreeMap<&'static str, bool>,
    /// When it was made.
    created_at: Timestamp,
}

/// A period of time.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Span {
    /// Its first moment.
    start: Timestamp,
    /// The first moment after it.
    end: Timestamp,
}

/// A number that an organization may have of its own.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Limit {
    /// Its own; null where the plan's counts.
    #[schema(required)]
    own: Option<i64>,
    /// What counts; null where neither says.
    #[schema(required)]
    effective: Option<i64>,
}

impl Limit {
    fn of(own: Option<i64>, plan: Option<i64>) -> Self {
        Self { own, effective: own.or(plan) }
    }
}

impl Customer {
    pub(in crate::operator) fn of(org: &Org, plan: &Plan, now: Millis) -> Self {
        let period = org.period(now);
        let denied = org.own.unentitled.iter().map(|one| (one.as_str(), false));
        let granted = org.own.entitled.without(org.own.unentitled);
        Self {
            id: org.id.to_string(),
            name: org.name.clone(),
            status: org.status.as_str(),
            hold_reason: org.hold_reason.clone(),
            plan: org.plan.clone(),
            period: Span { start: period.start.into(), end: period.end.into() },
            renews_at: org.term.renews_at.map(Into::into),
            trial_ends_at: org.trial.map(|(_, end)| end.into()),
            is_low: org.term.is_low,
            seats: Limit::of(org.seats_max, plan.seats),
            rate_limit_per_minute: Limit::of(org.rate_limit_per_minute, plan.rate_limit_per_minute),
            low_balance: Limit::of(org.own.low_balance, plan.low_balance),
            entitlements: names(org.entitlements(plan)),
            own_entitlements: granted.iter().map(|one| (one.as_str(), true)).chain(denied).collect(),
            created_at: org.created_at.into(),
        }
    }
}

fn names(set: Entitlements) -> Vec<&'static str> {
    set.iter().map(Entitlement::as_str).collect()
}

/// A customer to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct NewCustomer {
    /// What they are called.
    #[schema(examples("Example Ltd"), min_length = 1, max_length = 100)]
    pub(in crate::operator) name: String,
    /// The name of their plan; left out for that of new organizations.
    #[serde(default)]
    pub(in crate::operator) plan: Option<String>,
    /// How many people may belong to them; left out where the plan says.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) seats: Option<Whole>,
    /// Requests a minute for all their keys; left out where the plan says.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) rate_limit_per_minute: Option<Whole>,
    /// Whether the answer has a first live key.
    #[serde(default)]
    pub(in crate::operator) first_key: bool,
}

/// A customer that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct MadeCustomer {
    /// The organization.
    pub(in crate::operator) organization: Customer,
    /// With which its owner sets their password; shown this once.
    pub(in crate::operator) link: OneTimeLink,
    /// The first live key, where one was wished for; shown this once.
    #[schema(required)]
    pub(in crate::operator) key: Option<String>,
}

/// A link that works once.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct OneTimeLink {
    /// Where a browser opens it. Without `server.public_url` it begins with `/`.
    #[schema(examples("https://verify.example.com/#/link/abc"))]
    pub(in crate::operator) url: String,
    /// From when on it opens nothing.
    pub(in crate::operator) expires_at: Timestamp,
}

/// What to change. What is left out stays; null gives the organization what its plan says. A name and a plan it always has:
/// neither may be null.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct CustomerPatch {
    /// What it is called.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false, min_length = 1, max_length = 100)]
    pub(in crate::operator) name: Option<String>,
    /// Another plan, from today on.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub(in crate::operator) plan: Option<String>,
    /// How many people may belong to it.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) seats: Said<Whole>,
    /// Requests a minute for all its keys.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) rate_limit_per_minute: Said<Whole>,
    /// Below how many credits its balance is low.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) low_balance: Said<Whole>,
    /// By name: true, it may use it; false, it may not; null, as its plan says.
    #[serde(default)]
    pub(in crate::operator) entitlements: BTreeMap<String, Option<bool>>,
}

/// A hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct Hold {
    /// `suspended`, `paused`, `banned` or `under_review`.
    #[schema(examples("suspended"))]
    pub(in crate::operator) status: String,
    /// Why, for operators only.
    #[serde(default)]
    #[schema(max_length = 1_000)]
    pub(in crate::operator) reason: Option<String>,
}

impl Hold {
    /// What is to become of the organization; none where that is no hold.
    pub(in crate::operator) fn wanted(&self) -> Option<OrgStatus> {
        let status: OrgStatus = self.status.parse().ok()?;
        (status.is_stopped() || status == OrgStatus::UnderReview).then_some(status)
    }
}
