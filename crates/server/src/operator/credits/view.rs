//! What is booked, and how accounts and their ledgers are shown.

use probity_core::credits::{Balance, Bucket};
use probity_core::time::Millis;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::Booked;
use crate::api::timestamp::Timestamp;

/// Credits to be put in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct Grant {
    /// `prepaid` ones stay, `subscription` ones are spent first.
    #[schema(examples("prepaid"))]
    pub(in crate::operator) bucket: String,
    /// How many.
    #[schema(examples(10_000), minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub(in crate::operator) amount: i64,
    /// When what is left of a subscription ends; left out for the end of the plan's month, or never.
    #[serde(default)]
    pub(in crate::operator) until: Option<Timestamp>,
    /// Your name for it, such as the number of an invoice: the same one books once.
    #[schema(examples("INV-2027-001"), min_length = 1, max_length = 100)]
    pub(in crate::operator) reference: String,
}

/// A correction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct Adjustment {
    /// `prepaid` or `subscription`.
    #[schema(examples("prepaid"))]
    pub(in crate::operator) bucket: String,
    /// How many more, or with a minus how many less; not zero.
    #[schema(examples(-250), minimum = -1_000_000_000_000_i64, maximum = 1_000_000_000_000_i64)]
    pub(in crate::operator) amount: i64,
    /// Your name for it: the same one books once.
    #[schema(examples("INV-2027-001-back"), min_length = 1, max_length = 100)]
    pub(in crate::operator) reference: String,
}

/// What was booked, and what there is now.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Account {
    /// Whether it was booked by this request; false where the reference had booked it before.
    pub(in crate::operator) booked: bool,
    /// Subscription credits.
    subscription: Amounts,
    /// When the subscription credits end, all of them; null: they stay.
    subscription_ends_at: Option<Timestamp>,
    /// Prepaid credits.
    prepaid: Amounts,
}

/// Credits of one kind.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Amounts {
    /// Can be spent.
    available: i64,
    /// Set aside for what is being done.
    held: i64,
    /// Spent so far.
    spent: i64,
}

impl Account {
    pub(in crate::operator) fn of(balance: &Balance, subscription_end: Option<Millis>, booked: bool) -> Self {
        let amounts = |bucket| Amounts {
            available: balance.available.of(bucket),
            held: balance.held.of(bucket),
            spent: balance.spent.of(bucket),
        };
        Self {
            booked,
            subscription: amounts(Bucket::Subscription),
            subscription_ends_at: subscription_end.map(Timestamp::from),
            prepaid: amounts(Bucket::Prepaid),
        }
    }
}

/// A row of the ledger.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Entry {
    /// When.
    at: Timestamp,
    /// `grant`, `expire` or `adjust`.
    #[schema(examples("grant"))]
    kind: &'static str,
    /// Subscription credits.
    subscription: i64,
    /// Prepaid credits.
    prepaid: i64,
    /// What caused it: `ref:` and a reference of yours, `plan:` a month of a plan, `refill:` a refill, and others.
    #[schema(examples("ref:INV-2027-001"))]
    cause: String,
}

impl From<Booked> for Entry {
    fn from(row: Booked) -> Self {
        Self {
            at: row.at.into(),
            kind: row.kind.as_str(),
            subscription: row.amount.subscription,
            prepaid: row.amount.prepaid,
            cause: row.cause,
        }
    }
}
