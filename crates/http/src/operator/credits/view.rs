//! What is booked, and how accounts and their ledgers are shown.

use probity_account::credits::{Balance, Bucket};
use probity_mail::time::Millis;
use probity_service::admin::Booked;
use probity_service::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Credits to grant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct Grant {
    /// `prepaid` credits stay; `subscription` credits are spent first.
    #[schema(examples("prepaid"))]
    pub(in crate::operator) bucket: String,
    /// Number of credits.
    #[schema(examples(10_000), minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub(in crate::operator) amount: i64,
    /// End of the subscription credits. If omitted, they end with the plan's month, or never.
    #[serde(default)]
    pub(in crate::operator) until: Option<Timestamp>,
    /// Your name for the entry, such as an invoice number. The same name books once.
    #[schema(examples("INV-2027-001"), min_length = 1, max_length = 100)]
    pub(in crate::operator) reference: String,
}

/// A balance correction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::operator) struct Adjustment {
    /// `prepaid` or `subscription`.
    #[schema(examples("prepaid"))]
    pub(in crate::operator) bucket: String,
    /// Credits to add or, if negative, to remove; not 0.
    #[schema(examples(-250), minimum = -1_000_000_000_000_i64, maximum = 1_000_000_000_000_i64)]
    pub(in crate::operator) amount: i64,
    /// Your name for the entry. The same name books once.
    #[schema(examples("INV-2027-001-back"), min_length = 1, max_length = 100)]
    pub(in crate::operator) reference: String,
}

/// Balance after a booking.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Account {
    /// Whether this request booked the entry; false if its reference was already booked.
    pub(in crate::operator) booked: bool,
    /// Subscription credits.
    subscription: Amounts,
    /// End of all subscription credits; null if they do not end.
    subscription_ends_at: Option<Timestamp>,
    /// Prepaid credits.
    prepaid: Amounts,
}

/// Credits of one bucket.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Amounts {
    /// Available credits.
    available: i64,
    /// Credits on hold.
    held: i64,
    /// Credits spent so far.
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

/// A ledger entry.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::operator) struct Entry {
    /// Booking time.
    at: Timestamp,
    /// Kind of entry: `grant`, `expire` or `adjust`.
    #[schema(examples("grant"))]
    kind: &'static str,
    /// Subscription credits.
    subscription: i64,
    /// Prepaid credits.
    prepaid: i64,
    /// Cause of the entry: `ref:` and your reference, `plan:` for a month of a plan, `refill:` for a refill, and others.
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
