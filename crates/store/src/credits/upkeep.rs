//! Maintenance of credits: expired subscriptions, old ledger rows, holds of earlier versions.

use std::collections::BTreeMap;

use probity_account::credits::Split;
use probity_mail::time::Millis;
use serde_json::json;

use super::{StoredLedgerEntry, book, part};
use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _};

statements! {
    // Found by their times, locked in key order, and checked again once locked.
    ENDED_HOLDS = "SELECT org_no, id, subscription, prepaid FROM hold WHERE expires_at <= $1 AND (org_no, id) IN \
                   (SELECT org_no, id FROM hold WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) \
                   ORDER BY org_no, id {skip_locked}";
    DROP_HOLD = "DELETE FROM hold WHERE org_no = $1 AND id = $2";
    GIVE_BACK = "UPDATE account SET available = available + $3, held = held - $3 WHERE org_no = $1 AND bucket = $2";
    ENDED_BUCKETS = "SELECT org_no, bucket, available FROM account WHERE expires_at <= $1 AND available > 0 \
                     AND (org_no, bucket) IN (SELECT org_no, bucket \
                     FROM account WHERE expires_at <= $1 AND available > 0 ORDER BY expires_at LIMIT $2) \
                     ORDER BY org_no, bucket {skip_locked}";
    EMPTY_BUCKET = "UPDATE account SET available = 0 WHERE org_no = $1 AND bucket = $2";
    TAKE_OLD = "DELETE FROM ledger WHERE {row} IN (SELECT {row} FROM ledger WHERE fold_after <= $1 ORDER BY fold_after \
                LIMIT $2 {skip_locked}) RETURNING org_no, kind, subscription, prepaid";
    FOLD = "INSERT INTO ledger (org_no, kind, ref, subscription, prepaid, at) SELECT CAST(each.value ->> 'o' AS BIGINT), \
            each.value ->> 'k', $2, CAST(each.value ->> 's' AS BIGINT), CAST(each.value ->> 'p' AS BIGINT), $3 \
            FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, kind, ref) DO UPDATE \
            SET subscription = ledger.subscription + excluded.subscription, prepaid = ledger.prepaid + excluded.prepaid";
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReleasedHold {
    pub holds: usize,
    pub credits: i64,
}

/// Releases at most `at_most` expired holds. Earlier versions held a credit for each live call; this releases the holds of such a
/// node that died.
pub async fn release_expired(tx: &mut Tx, now: Millis, at_most: i64) -> Result<ReleasedHold> {
    let rows = tx.rows(&ENDED_HOLDS, args![now, at_most]).await?;
    let mut released = ReleasedHold { holds: rows.len(), credits: 0 };
    for row in &rows {
        let ((org, id), left) = (row.record::<(OrgNo, String)>()?, row.record::<Split>()?);
        released.credits = released.credits.saturating_add(left.total());
        // The order in which accounts are locked everywhere.
        for (bucket, amount) in [("prepaid", left.prepaid), ("subscription", left.subscription)] {
            if amount > 0 {
                tx.execute(&GIVE_BACK, args![org, bucket, amount]).await?;
            }
        }
        tx.execute(&DROP_HOLD, args![org, id.as_str()]).await?;
        let (cause, fold_after) = (format!("ended:{id}"), Some(now + super::FOLD_AFTER_MS));
        book(tx, StoredLedgerEntry { org, kind: "release", cause: &cause, amount: left, at: now, fold_after }).await?;
    }
    Ok(released)
}

/// Expires at most `at_most` ended subscriptions; returns their number. Credits held now and released later expire in the next
/// round.
pub async fn expire_buckets(tx: &mut Tx, now: Millis, at_most: i64) -> Result<usize> {
    let rows: Vec<(OrgNo, String, i64)> = tx.all(&ENDED_BUCKETS, args![now, at_most]).await?;
    for (org, bucket, available) in &rows {
        expire(tx, *org, bucket, *available, &format!("{bucket}:{}", now.0), now).await?;
    }
    Ok(rows.len())
}

/// Expires all available credits of a bucket whose row is locked. Each cause applies once.
pub(super) async fn expire(
    tx: &mut Tx,
    org: OrgNo,
    bucket: &str,
    available: i64,
    cause: &str,
    now: Millis,
) -> Result<()> {
    if available == 0 {
        return Ok(());
    }
    let mut amount = Split::default();
    *part(&mut amount, bucket)? = available;
    tx.execute(&EMPTY_BUCKET, args![org, bucket]).await?;
    book(tx, StoredLedgerEntry { org, kind: "expire", cause, amount, at: now, fold_after: None }).await
}

/// Folds at most `at_most` old ledger rows of live calls into one row per organization, kind and day, so that the ledger does not
/// grow with the calls; returns the rows folded. Only deleted rows are summed, so several nodes may fold at once.
pub async fn fold(tx: &mut Tx, now: Millis, at_most: u32) -> Result<usize> {
    let taken = tx.rows(&TAKE_OLD, args![now, at_most]).await?;
    // In key order, to prevent deadlocks between nodes.
    let mut sums: BTreeMap<(OrgNo, String), Split> = BTreeMap::new();
    for row in &taken {
        let sum = sums.entry(row.record()?).or_default();
        *sum = super::sum(*sum, row.record::<Split>()?)?;
    }
    if !sums.is_empty() {
        let rows = sums
            .iter()
            .map(|((org, kind), sum)| json!({ "o": org.0, "k": kind, "s": sum.subscription, "p": sum.prepaid }));
        let rows = rows.collect::<serde_json::Value>().to_string();
        tx.execute(&FOLD, args![rows, format!("day:{}", now.utc_day()), now]).await?;
    }
    Ok(taken.len())
}
