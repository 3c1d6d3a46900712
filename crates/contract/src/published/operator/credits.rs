//! Credits that the operator books, and responses with balances and ledger entries.

use probity_account::credits::{Balance, CreditBucket};
use probity_mail::time::Millis;
use probity_store::credits::booked::LedgerBooking;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::timestamp::Timestamp;

/// Credits to grant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Grant)]
pub struct GrantCredits {
    /// `prepaid` credits stay; `subscription` credits are spent first.
    #[schema(examples("prepaid"))]
    pub bucket: String,
    /// Number of credits.
    #[schema(examples(10_000), minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub amount: i64,
    /// End of the subscription credits. If omitted, they end with the plan's month, or never.
    #[serde(default)]
    pub until: Option<Timestamp>,
    /// Your name for the entry, such as an invoice number. The same name books once.
    #[schema(examples("INV-2027-001"), min_length = 1, max_length = 100)]
    pub reference: String,
}

/// A balance correction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Adjustment)]
pub struct AdjustCredits {
    /// `prepaid` or `subscription`.
    #[schema(examples("prepaid"))]
    pub bucket: String,
    /// Credits to add or, if negative, to remove; not 0.
    #[schema(examples(-250), minimum = -1_000_000_000_000_i64, maximum = 1_000_000_000_000_i64)]
    pub amount: i64,
    /// Your name for the entry. The same name books once.
    #[schema(examples("INV-2027-001-back"), min_length = 1, max_length = 100)]
    pub reference: String,
}

/// Balance after a booking.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Account)]
pub struct CreditAccount {
    /// Whether this request booked the entry; false if its reference was already booked.
    pub booked: bool,
    /// Subscription credits.
    pub subscription: BucketCredits,
    /// End of all subscription credits; null if they do not end.
    pub subscription_ends_at: Option<Timestamp>,
    /// Prepaid credits.
    pub prepaid: BucketCredits,
}

/// What an organization has, holds and has spent.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Balance)]
pub struct CreditBalance {
    /// Subscription credits.
    pub subscription: BucketCredits,
    /// Prepaid credits.
    pub prepaid: BucketCredits,
    /// Available credits of both kinds.
    pub total: i64,
}

impl From<&Balance> for CreditBalance {
    fn from(balance: &Balance) -> Self {
        let [subscription, prepaid] =
            [CreditBucket::Subscription, CreditBucket::Prepaid].map(|bucket| BucketCredits::of(balance, bucket));
        Self { subscription, prepaid, total: subscription.available.saturating_add(prepaid.available) }
    }
}

/// Credits of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Amounts)]
pub struct BucketCredits {
    /// Available credits.
    pub available: i64,
    /// Credits on hold.
    pub held: i64,
    /// Credits spent so far.
    pub spent: i64,
}

impl CreditAccount {
    pub fn of(balance: &Balance, subscription_end: Option<Millis>, booked: bool) -> Self {
        Self {
            booked,
            subscription: BucketCredits::of(balance, CreditBucket::Subscription),
            subscription_ends_at: subscription_end.map(Timestamp::from),
            prepaid: BucketCredits::of(balance, CreditBucket::Prepaid),
        }
    }
}

impl BucketCredits {
    pub fn of(balance: &Balance, bucket: CreditBucket) -> Self {
        Self { available: balance.available.of(bucket), held: balance.held.of(bucket), spent: balance.spent.of(bucket) }
    }
}

/// A ledger entry.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Entry)]
pub struct LedgerEntry {
    /// Booking time.
    pub at: Timestamp,
    /// Kind of entry: `grant`, `expire` or `adjust`.
    #[schema(examples("grant"))]
    pub kind: &'static str,
    /// Subscription credits.
    pub subscription: i64,
    /// Prepaid credits.
    pub prepaid: i64,
    /// Cause of the entry: `ref:` and your reference, `plan:` for a month of a plan, `refill:` for a refill, and others.
    #[schema(examples("ref:INV-2027-001"))]
    pub cause: String,
}

impl From<LedgerBooking> for LedgerEntry {
    fn from(row: LedgerBooking) -> Self {
        Self {
            at: row.at.into(),
            kind: row.kind.as_str(),
            subscription: row.amount.subscription,
            prepaid: row.amount.prepaid,
            cause: row.cause,
        }
    }
}
