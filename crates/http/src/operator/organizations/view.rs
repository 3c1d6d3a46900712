//! What customers are made and changed by, and how they are shown.

use std::collections::BTreeMap;

use probity_account::plans::{Entitlement, Entitlements, Plan};
use probity_mail::time::Millis;
use probity_service::admin::Said;
use probity_service::merge_patch::given;
use probity_service::published::whole::Whole;
use probity_service::timestamp::Timestamp;
use probity_store::organization::{Org, OrgStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An organization.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Customer {
    /// Organization ID.
    #[schema(examples("org_01h455vb4pex5vsknk084sn02q"))]
    id: String,
    /// Organization name.
    #[schema(required, examples("Example Ltd"))]
    name: Option<String>,
    /// Status of the organization.
    #[schema(examples("active"))]
    status: &'static str,
    /// Reason for the restriction or review, for operators only; null if none was given.
    #[schema(required)]
    hold_reason: Option<String>,
    /// Name of the plan.
    #[schema(examples("team"))]
    plan: String,
    /// Current period.
    period: Span,
    /// Time of the plan's next credits; null if none are due.
    #[schema(required)]
    renews_at: Option<Timestamp>,
    /// End of the trial, past or future; null without a trial.
    #[schema(required)]
    trial_ends_at: Option<Timestamp>,
    /// Whether the balance is low.
    is_low: bool,
    /// Number of seats.
    seats: Limit,
    /// Requests per minute for all keys together.
    rate_limit_per_minute: Limit,
    /// Credits below which the balance is low.
    low_balance: Limit,
    /// Entitlements in effect.
    entitlements: Vec<&'static str>,
    /// Entitlements set for this organization, regardless of its plan.
    own_entitlements: BTreeMap<&'static str, bool>,
    /// Creation time.
    created_at: Timestamp,
}

/// A period of time.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Span {
    /// Start of the period.
    start: Timestamp,
    /// End of the period, exclusive.
    end: Timestamp,
}

/// A limit that can be set for an organization.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Limit {
    /// The organization's own value; null if the plan's value applies.
    #[schema(required)]
    own: Option<i64>,
    /// Value in effect; null if neither the organization nor its plan sets one.
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

/// Organization to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct NewCustomer {
    /// Display name.
    #[schema(examples("Example Ltd"), min_length = 1, max_length = 100)]
    pub(in crate::operator) name: String,
    /// Name of the plan; if omitted, the default plan.
    #[serde(default)]
    pub(in crate::operator) plan: Option<String>,
    /// Number of seats; if omitted, the plan's value applies.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) seats: Option<Whole>,
    /// Requests per minute for all keys together; if omitted, the plan's value applies.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) rate_limit_per_minute: Option<Whole>,
    /// Whether to create a first live key.
    #[serde(default)]
    pub(in crate::operator) first_key: bool,
}

/// A created organization.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct MadeCustomer {
    /// The organization.
    pub(in crate::operator) organization: Customer,
    /// Link with which the owner sets a password; shown once.
    pub(in crate::operator) link: OneTimeLink,
    /// First live key, if requested; shown once.
    #[schema(required)]
    pub(in crate::operator) key: Option<String>,
}

/// A one-time link.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct OneTimeLink {
    /// URL to open in a browser. It begins with `server.public_url`, or with `/` if that is not set.
    #[schema(examples("https://verify.example.com/#/link/abc"))]
    pub(in crate::operator) url: String,
    /// Expiry time.
    pub(in crate::operator) expires_at: Timestamp,
}

/// Fields to change. Omitted fields stay; null restores the plan's value. `name` and `plan` cannot be null.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct CustomerPatch {
    /// Organization name.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false, min_length = 1, max_length = 100)]
    pub(in crate::operator) name: Option<String>,
    /// New plan, from today on.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub(in crate::operator) plan: Option<String>,
    /// Number of seats.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) seats: Said<Whole>,
    /// Requests per minute for all keys together.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) rate_limit_per_minute: Said<Whole>,
    /// Credits below which the balance is low.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub(in crate::operator) low_balance: Said<Whole>,
    /// Entitlements by name: true grants, false denies, null restores the plan's value.
    #[serde(default)]
    pub(in crate::operator) entitlements: BTreeMap<String, Option<bool>>,
}

/// A restriction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct Hold {
    /// `suspended`, `paused`, `banned` or `under_review`.
    #[schema(examples("suspended"))]
    pub(in crate::operator) status: String,
    /// Reason, for operators only.
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
