//! Requests that create and change organizations, and their responses.

use std::collections::BTreeMap;

use probity_account::plans::{Entitlement, EntitlementSet, Plan};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{OrgRecord, OrgState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::merge_patch::{PatchField, given};
use crate::page::PageQuery;
use crate::parameters::{describe_query, parameter, text};
use crate::published::operator::credits::CreditBalance;
use crate::published::operator::page_parameters;
use crate::published::whole::Whole;
use crate::query::{FromQuery, Query};
use crate::timestamp::Timestamp;

/// Maximum length of a name's prefix, in bytes.
const NAME_BYTES_MAX: usize = 400;

/// Filter and page of a list of organizations.
#[derive(Clone, Debug, Default)]
pub struct OrganizationsQuery {
    /// Prefix of the name, ignoring case; empty for all organizations.
    pub name: String,
    pub page: PageQuery,
}

impl FromQuery for OrganizationsQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let name = query.text("name")?.unwrap_or_default();
        if name.len() > NAME_BYTES_MAX {
            return Err(ApiError::invalid("name", format_args!("may have at most {NAME_BYTES_MAX} bytes")));
        }
        Ok(Self { name: name.into_owned(), page: PageQuery::from_query(query)? })
    }
}

describe_query!(
    OrganizationsQuery = {
        let name = parameter("name", "Prefix of the name, in any case.", text()).build();
        [vec![name], page_parameters()].concat()
    }
);

/// An organization.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Customer {
    /// Organization ID.
    #[schema(examples("org_01h455vb4pex5vsknk084sn02q"))]
    pub id: String,
    /// Organization name.
    #[schema(required, examples("Example Ltd"))]
    pub name: Option<String>,
    /// Status of the organization.
    #[schema(examples("active"))]
    pub status: &'static str,
    /// Reason for the restriction or review, for operators only; null if none was given.
    #[schema(required)]
    pub hold_reason: Option<String>,
    /// Name of the plan.
    #[schema(examples("team"))]
    pub plan: String,
    /// Current period.
    pub period: PlanPeriod,
    /// Time of the plan's next credits; null if none are due.
    #[schema(required)]
    pub renews_at: Option<Timestamp>,
    /// End of the trial, past or future; null without a trial.
    #[schema(required)]
    pub trial_ends_at: Option<Timestamp>,
    /// Whether the balance is low.
    pub is_low: bool,
    /// Number of seats.
    pub seats: CustomerLimit,
    /// Requests per minute for all keys together.
    pub rate_limit_per_minute: CustomerLimit,
    /// Credits below which the balance is low.
    pub low_balance: CustomerLimit,
    /// Entitlements in effect.
    pub entitlements: Vec<&'static str>,
    /// Entitlements set for this organization, regardless of its plan.
    pub own_entitlements: BTreeMap<&'static str, bool>,
    /// Creation time.
    pub created_at: Timestamp,
}

/// An organization with its credits.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CustomerWithCredits {
    /// The organization, as listed.
    #[serde(flatten)]
    pub customer: Customer,
    /// Credits of the organization.
    pub credits: CreditBalance,
}

/// A period of time.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Span)]
pub struct PlanPeriod {
    /// Start of the period.
    pub start: Timestamp,
    /// End of the period, exclusive.
    pub end: Timestamp,
}

/// A limit that can be set for an organization.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Limit)]
pub struct CustomerLimit {
    /// The organization's own value; null if the plan's value applies.
    #[schema(required)]
    pub own: Option<i64>,
    /// Value in effect; null if neither the organization nor its plan sets one.
    #[schema(required)]
    pub effective: Option<i64>,
}

impl CustomerLimit {
    fn of(own: Option<i64>, plan: Option<i64>) -> Self {
        Self { own, effective: own.or(plan) }
    }
}

impl Customer {
    pub fn of(org: &OrgRecord, plan: &Plan, now: Millis) -> Self {
        let period = org.period(now);
        let denied = org.own.unentitled.iter().map(|one| (one.as_str(), false));
        let granted = org.own.entitled.without(org.own.unentitled);
        Self {
            id: org.id.to_string(),
            name: org.name.clone(),
            status: org.status.as_str(),
            hold_reason: org.hold_reason.clone(),
            plan: org.plan.clone(),
            period: PlanPeriod { start: period.start.into(), end: period.end.into() },
            renews_at: org.term.renews_at.map(Into::into),
            trial_ends_at: org.trial.map(|(_, end)| end.into()),
            is_low: org.term.is_low,
            seats: CustomerLimit::of(org.seats_max, plan.seats),
            rate_limit_per_minute: CustomerLimit::of(org.rate_limit_per_minute, plan.rate_limit_per_minute),
            low_balance: CustomerLimit::of(org.own.low_balance, plan.low_balance),
            entitlements: names(org.entitlements(plan)),
            own_entitlements: granted.iter().map(|one| (one.as_str(), true)).chain(denied).collect(),
            created_at: org.created_at.into(),
        }
    }
}

fn names(set: EntitlementSet) -> Vec<&'static str> {
    set.iter().map(Entitlement::as_str).collect()
}

/// Organization to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewCustomer)]
pub struct CreateCustomer {
    /// Display name.
    #[schema(examples("Example Ltd"), min_length = 1, max_length = 100)]
    pub name: String,
    /// Name of the plan; if omitted, the default plan.
    #[serde(default)]
    pub plan: Option<String>,
    /// Number of seats; if omitted, the plan's value applies.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub seats: Option<Whole>,
    /// Requests per minute for all keys together; if omitted, the plan's value applies.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub rate_limit_per_minute: Option<Whole>,
    /// Whether to create a first live key.
    #[serde(default)]
    pub first_key: bool,
}

/// A created organization.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MadeCustomer)]
pub struct CreatedCustomer {
    /// The organization.
    pub organization: Customer,
    /// Link with which the owner sets a password; shown once.
    pub link: OneTimeLink,
    /// First live key, if requested; shown once.
    #[schema(required)]
    pub key: Option<String>,
}

/// A one-time link.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneTimeLink {
    /// URL to open in a browser. It begins with `server.public_url`, or with `/` if that is not set.
    #[schema(examples("https://verify.example.com/#/link/abc"))]
    pub url: String,
    /// Expiry time.
    pub expires_at: Timestamp,
}

/// Fields to change. Omitted fields stay; null restores the plan's value. `name` and `plan` cannot be null.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomerPatch {
    /// Organization name.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false, min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// New plan, from today on.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = false)]
    pub plan: Option<String>,
    /// Number of seats.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub seats: PatchField<Whole>,
    /// Requests per minute for all keys together.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub rate_limit_per_minute: PatchField<Whole>,
    /// Credits below which the balance is low.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub low_balance: PatchField<Whole>,
    /// Entitlements by name: true grants, false denies, null restores the plan's value.
    #[serde(default)]
    pub entitlements: BTreeMap<String, Option<bool>>,
}

/// A restriction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Hold)]
pub struct HoldCustomer {
    /// `suspended`, `paused`, `banned` or `under_review`.
    #[schema(examples("suspended"))]
    pub status: String,
    /// Reason, for operators only.
    #[serde(default)]
    #[schema(max_length = 1_000)]
    pub reason: Option<String>,
}

impl HoldCustomer {
    /// Returns the requested status; `None` if the text is not a restriction.
    pub fn wanted(&self) -> Option<OrgState> {
        let status: OrgState = self.status.parse().ok()?;
        (status.is_stopped() || status == OrgState::UnderReview).then_some(status)
    }
}
