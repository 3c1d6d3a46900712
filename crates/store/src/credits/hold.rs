//! Credit holds of jobs: they last as long as the job and are settled in parts.

use probity_account::credits::Split;
use probity_mail::time::Millis;

use super::{StoredLedgerEntry, book, lock};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

statements! {
    PLACE = "INSERT INTO hold (org_no, id, subscription, prepaid, created_at) VALUES ($1, $2, $3, $4, $5)";
    FIND = "SELECT subscription, prepaid FROM hold WHERE org_no = $1 AND id = $2 {for_update}";
    LEFT = "SELECT subscription, prepaid FROM hold WHERE org_no = $1 AND id = $2";
    SET = "UPDATE hold SET subscription = $3, prepaid = $4 WHERE org_no = $1 AND id = $2";
    DROP = "DELETE FROM hold WHERE org_no = $1 AND id = $2";
    MOVE = "UPDATE account SET available = available + $3, held = held + $4, spent = spent + $5 \
            WHERE org_no = $1 AND bucket = $2";
}

/// Holds `n` credits under a name: all of them or none.
pub async fn place(tx: &mut Tx, org: OrgNo, id: &str, n: i64, at: Millis) -> Result<()> {
    let available = lock(tx, org).await?;
    let short = StoreError::InsufficientCredits { needed: n, available: available.total() };
    let held = Split::take(available, n).ok_or(short)?;
    for (bucket, amount) in [("prepaid", held.prepaid), ("subscription", held.subscription)] {
        tx.execute(&MOVE, args![org, bucket, -amount, amount, 0_i64]).await?;
    }
    tx.execute(&PLACE, args![org, id, held.subscription, held.prepaid, at]).await?;
    book(tx, StoredLedgerEntry { org, kind: "hold", cause: id, amount: held, at, fold_after: None }).await
}

/// Part of a hold to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldPart<'a> {
    pub org: OrgNo,
    pub id: &'a str,
    /// Credits to capture; subscription credits first.
    pub captured: i64,
    /// Credits to release; prepaid credits first, so that bought credits last longest.
    pub released: i64,
    /// The same cause settles once.
    pub cause: &'a str,
    pub at: Millis,
}

/// Settles a part of a hold. [`StoreError::LeaseLost`]: the hold no longer exists, or is smaller than the part.
pub async fn settle(tx: &mut Tx, part: &HoldPart<'_>) -> Result<()> {
    let HoldPart { org, id, captured, released, cause, at } = *part;
    if captured == 0 && released == 0 {
        return Ok(());
    }
    let left = find(tx, org, id).await?;
    let taken = Split::take(left, captured).ok_or(StoreError::LeaseLost)?;
    let rest = left.checked_sub(taken).ok_or(StoreError::LeaseLost)?;
    // The reverse order: prepaid credits are released first.
    let back = Split { prepaid: rest.prepaid.min(released), ..Split::ZERO };
    let given = Split { subscription: released - back.prepaid, ..back };
    let rest = rest.checked_sub(given).ok_or(StoreError::LeaseLost)?;
    write(tx, part, rest, taken, given).await?;
    for (kind, amount) in [("capture", taken), ("release", given)] {
        if amount.total() > 0 {
            let fold_after = Some(at + super::FOLD_AFTER_MS);
            book(tx, StoredLedgerEntry { org, kind, cause, amount, at, fold_after }).await?;
        }
    }
    Ok(())
}

/// Releases the rest of a hold; returns its credits. A missing hold has none.
pub async fn release_rest(tx: &mut Tx, org: OrgNo, id: &str, cause: &str, at: Millis) -> Result<i64> {
    let left = match find(tx, org, id).await {
        Ok(left) => left.total(),
        Err(StoreError::LeaseLost) => return Ok(0),
        Err(error) => return Err(error),
    };
    settle(tx, &HoldPart { org, id, captured: 0, released: left, cause, at }).await?;
    Ok(left)
}

/// Credits left in a hold; 0 if it no longer exists.
pub async fn left(conn: &mut Conn, org: OrgNo, id: &str) -> Result<i64> {
    Ok(conn.find::<Split>(&LEFT, args![org, id]).await?.unwrap_or_default().total())
}

async fn find(tx: &mut Tx, org: OrgNo, id: &str) -> Result<Split> {
    tx.find(&FIND, args![org, id]).await?.ok_or(StoreError::LeaseLost)
}

async fn write(tx: &mut Tx, part: &HoldPart<'_>, rest: Split, taken: Split, given: Split) -> Result<()> {
    let HoldPart { org, id, .. } = *part;
    if rest.total() == 0 {
        tx.execute(&DROP, args![org, id]).await?;
    } else {
        tx.execute(&SET, args![org, id, rest.subscription, rest.prepaid]).await?;
    }
    let buckets = [("prepaid", taken.prepaid, given.prepaid), ("subscription", taken.subscription, given.subscription)];
    for (bucket, taken, given) in buckets {
        if taken + given > 0 {
            tx.execute(&MOVE, args![org, bucket, given, -(taken + given), taken]).await?;
        }
    }
    Ok(())
}
