//! Credits: double entry. `account` caches the sums of `ledger`, whose rows are never changed; `hold` has the reserved credits.
//!
//! At every moment, for each bucket: available + held + spent = granted - expired + adjusted ([`audit()`] finds exceptions).
//! A job holds its credits and captures or releases them in parts ([`hold`]). A live call is charged when its verdict is ready.
//! Calls that end within a few milliseconds share a transaction, a [`ChargeWindow`]: one update of each account and two ledger rows
//! for each organization, however many calls there are.
//!
//! (organization, kind, reference) is unique, so a repeated cause is recorded once:
//!
//! | Kind | Cause | Reference | Folded |
//! |---|---|---|---|
//! | `grant`, `adjust` | an operator, or the first start | one per act, or the operator's own | never |
//! | `grant` | a month of a plan, a trial, a refill | number of the plan with the month or the count | never |
//! | `hold`, `capture` | a window of live calls | id of the window | both, into daily sums |
//! | `hold`, `capture`, `release` | a job: accepted, settled in parts, closed | id of the job, with the part | captures and releases |
//! | `expire` | the end of a subscription | bucket and time | never |
//!
//! An unlimited plan is a grant of 10^12 prepaid credits, so it needs no rules of its own.
//!
//! Rows are locked in one order everywhere: holds, then accounts by number and bucket.

pub mod audit;
pub mod booked;
pub mod hold;
mod upkeep;
pub mod usage;
pub mod widget;
mod window;

use probity_account::credits::{Balance, CreditBucket, Split};
use probity_mail::time::Millis;

use crate::credits::audit::AuditDiscrepancy;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _};

use booked::BookingKind;

pub use upkeep::{ReleasedHold, expire_buckets, fold, release_expired};
pub use window::{ChargeWindow, ChargedVerifications, ChargesByOrg, CountedCalls, balances, charge, charged};

/// Age at which a live call's ledger rows may be folded into a sum, in milliseconds: long enough to inspect recent events, short
/// enough to keep the busiest organization's rows below 100 MB.
const FOLD_AFTER_MS: i64 = 600_000;

statements! {
    AVAILABLE = "SELECT bucket, available, held, spent FROM account WHERE org_no = $1 ORDER BY bucket {for_update}";
    BALANCE = "SELECT bucket, available, held, spent FROM account WHERE org_no = $1";
    BOOKED = "SELECT kind, CAST(SUM(subscription) AS BIGINT) AS subscription, CAST(SUM(prepaid) AS BIGINT) AS prepaid \
              FROM ledger WHERE org_no = $1 AND kind IN ('grant', 'expire', 'adjust') GROUP BY kind";
    BOOK = "INSERT INTO ledger (org_no, kind, ref, at, fold_after, subscription, prepaid) \
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
    ADD = "UPDATE account SET available = available + $3 WHERE org_no = $1 AND bucket = $2";
    SUBSCRIPTION = "SELECT available, held, expires_at FROM account WHERE org_no = $1 AND bucket = 'subscription'";
    END = "UPDATE account SET expires_at = $2 WHERE org_no = $1 AND bucket = 'subscription'";
    [audit, booked, hold, upkeep, usage, widget, window]
}

/// Finds every mismatch in the accounts; empty if there is none. Reads everything, one statement per rule: for tests and rare
/// checks.
pub async fn audit(conn: &mut Conn) -> Result<Vec<AuditDiscrepancy>> {
    crate::credits::audit::accounts(conn).await
}

/// Ledger row.
#[derive(Clone, Debug)]
pub(crate) struct StoredLedgerEntry<'a> {
    pub(crate) org: OrgNo,
    pub(crate) kind: &'static str,
    pub(crate) cause: &'a str,
    pub(crate) amount: Split,
    pub(crate) at: Millis,
    pub(crate) fold_after: Option<Millis>,
}

pub(crate) async fn book(tx: &mut Tx, entry: StoredLedgerEntry<'_>) -> Result<()> {
    let Split { subscription, prepaid } = entry.amount;
    let values = args!(entry => org, kind, cause, at, fold_after; subscription, prepaid);
    tx.execute(&BOOK, values).await.map(drop)
}

/// Manual or planned change of an account's credits.
#[derive(Clone, Debug)]
pub struct CreditBooking<'a> {
    pub org: OrgNo,
    pub bucket: CreditBucket,
    /// Only an adjustment may be negative.
    pub amount: i64,
    /// Cause of the booking. The same cause books once; a second time is [`StoreError::Conflict`].
    pub cause: &'a str,
    pub at: Millis,
}

/// Grants credits. Subscription credits end at `until`, or never; prepaid credits do not expire, so it does not apply to them.
pub async fn grant(tx: &mut Tx, booking: &CreditBooking<'_>, until: Option<Millis>) -> Result<()> {
    lock(tx, booking.org).await?;
    if booking.bucket == CreditBucket::Subscription {
        renew(tx, booking.org, until, booking.at).await?;
    }
    put(tx, booking, "grant").await
}

/// Extends a subscription that receives another grant. Expired credits are removed first, so that the new ones do not expire with
/// them. Remaining credits share the later end, where "never" is the latest: a grant shortens nothing.
async fn renew(tx: &mut Tx, org: OrgNo, until: Option<Millis>, at: Millis) -> Result<()> {
    let row = tx.first(&SUBSCRIPTION, args![org]).await?.ok_or(StoreError::NotFound)?;
    let (available, held, end): (i64, i64, Option<Millis>) =
        (row.read("available")?, row.read("held")?, row.read("expires_at")?);
    let end = if end.is_some_and(|end| end <= at) {
        let cause = format!("{}:{}", CreditBucket::Subscription.as_str(), at.0);
        upkeep::expire(tx, org, CreditBucket::Subscription.as_str(), available, &cause, at).await?;
        until
    } else if available == 0 && held == 0 {
        until
    } else {
        end.zip(until).map(|(end, until)| end.max(until))
    };
    tx.execute(&END, args![org, end]).await.map(drop)
}

/// Books the credits of a month, possibly zero. If they end at `until`, remaining credits end now, regardless of their own end: a
/// month's credits never join others that would outlast it. Without an end, remaining credits are kept with them.
pub async fn begin_month(tx: &mut Tx, booking: &CreditBooking<'_>, until: Option<Millis>) -> Result<()> {
    let CreditBooking { org, cause, at, .. } = *booking;
    let left = lock(tx, org).await?.subscription;
    let end = subscription_end(tx, org).await?;
    if until.is_some() || end.is_some_and(|end| end <= at) {
        upkeep::expire(tx, org, CreditBucket::Subscription.as_str(), left, cause, at).await?;
    }
    tx.execute(&END, args![org, until]).await?;
    if booking.amount == 0 { Ok(()) } else { put(tx, booking, "grant").await }
}

/// Treatment of a subscription's credits when an organization changes its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditsAtPlanChange {
    /// A month or a trial granted them, and ends: credits with an end expire, credits without one become prepaid.
    OfMonth,
    /// No month or trial granted them: credits become prepaid unless they have expired.
    Granted,
}

/// Ends a subscription's credits early. Credits that remain become prepaid, so that no month ends them.
pub async fn end_subscription(
    tx: &mut Tx,
    org: OrgNo,
    left: CreditsAtPlanChange,
    cause: &str,
    at: Millis,
) -> Result<()> {
    let there = lock(tx, org).await?.subscription;
    let end = subscription_end(tx, org).await?;
    upkeep::expire(tx, org, CreditBucket::Subscription.as_str(), there, cause, at).await?;
    let stays = end.is_none_or(|end| left == CreditsAtPlanChange::Granted && end > at);
    if stays && there > 0 {
        put(tx, &CreditBooking { org, bucket: CreditBucket::Prepaid, amount: there, cause, at }, "grant").await?;
    }
    Ok(())
}

/// End of a subscription's credits; `None` if they do not expire.
pub async fn subscription_end(conn: &mut Conn, org: OrgNo) -> Result<Option<Millis>> {
    let (_, _, end): (i64, i64, _) = conn.one(&SUBSCRIPTION, args![org]).await?;
    Ok(end)
}

/// Whether jobs hold prepaid credits.
pub async fn holds_prepaid(tx: &mut Tx, org: OrgNo) -> Result<bool> {
    Ok(split(&tx.rows(&AVAILABLE, args![org]).await?, "held")?.prepaid > 0)
}

/// Corrects an account by hand, up or down, but not below zero. If a subscription has ended, its rest is removed before credits are
/// added; the added credits have no end, because the former end is in the past.
pub async fn adjust(tx: &mut Tx, booking: &CreditBooking<'_>) -> Result<()> {
    if booking.bucket == CreditBucket::Subscription && booking.amount > 0 {
        lock(tx, booking.org).await?;
        if subscription_end(tx, booking.org).await?.is_some_and(|end| end <= booking.at) {
            renew(tx, booking.org, None, booking.at).await?;
        }
    }
    put(tx, booking, "adjust").await
}

async fn put(tx: &mut Tx, booking: &CreditBooking<'_>, kind: &'static str) -> Result<()> {
    let CreditBooking { org, bucket, amount, cause, at } = *booking;
    let there = lock(tx, org).await?.of(bucket);
    if there.checked_add(amount).is_none_or(|sum| sum < 0) {
        return Err(StoreError::InsufficientCredits { needed: amount.saturating_neg(), available: there });
    }
    book(tx, StoredLedgerEntry { org, kind, cause, amount: in_bucket(bucket, amount), at, fold_after: None }).await?;
    tx.execute(&ADD, args![org, bucket.as_str(), amount]).await.map(drop)
}

/// Locks an organization's accounts until the transaction ends; returns the available credits.
pub(crate) async fn lock(tx: &mut Tx, org: OrgNo) -> Result<Split> {
    let rows = tx.rows(&AVAILABLE, args![org]).await?;
    if rows.is_empty() {
        return Err(StoreError::NotFound);
    }
    split(&rows, "available")
}

/// One column of an organization's accounts, by bucket.
fn split(rows: &[ResultRow], column: &str) -> Result<Split> {
    let mut split = Split::default();
    for row in rows {
        *part(&mut split, &row.get::<String>("bucket")?)? = row.get(column)?;
    }
    Ok(split)
}

/// Available, held and spent credits of an organization, with their origin.
pub async fn balance(conn: &mut Conn, org: OrgNo) -> Result<Balance> {
    let rows = conn.rows(&BALANCE, args![org]).await?;
    if rows.is_empty() {
        return Err(StoreError::NotFound);
    }
    let [available, held, spent] = [split(&rows, "available")?, split(&rows, "held")?, split(&rows, "spent")?];
    let mut balance = Balance { available, held, spent, ..Balance::default() };
    for row in &conn.rows(&BOOKED, args![org]).await? {
        match row.read("kind")? {
            BookingKind::Grant => balance.granted = row.record::<Split>()?,
            BookingKind::Expire => balance.expired = row.record::<Split>()?,
            BookingKind::Adjust => balance.adjusted = row.record::<Split>()?,
        }
    }
    Ok(balance)
}

/// Available credits of an organization, read from its accounts without the ledger.
pub async fn available(conn: &mut Conn, org: OrgNo) -> Result<Split> {
    split(&conn.rows(&BALANCE, args![org]).await?, "available")
}

/// Credits that an organization has spent in total.
pub async fn spent(conn: &mut Conn, org: OrgNo) -> Result<Split> {
    split(&conn.rows(&BALANCE, args![org]).await?, "spent")
}

fn in_bucket(bucket: CreditBucket, amount: i64) -> Split {
    match bucket {
        CreditBucket::Subscription => Split { subscription: amount, prepaid: 0 },
        CreditBucket::Prepaid => Split { subscription: 0, prepaid: amount },
    }
}

fn part<'a>(split: &'a mut Split, bucket: &str) -> Result<&'a mut i64> {
    match CreditBucket::from_name(bucket) {
        Some(CreditBucket::Subscription) => Ok(&mut split.subscription),
        Some(CreditBucket::Prepaid) => Ok(&mut split.prepaid),
        None => Err(StoreError::corrupt("an account's bucket")),
    }
}

fn sum(a: Split, b: Split) -> Result<Split> {
    a.checked_add(b).ok_or_else(|| StoreError::corrupt("credits beyond what can be counted"))
}
