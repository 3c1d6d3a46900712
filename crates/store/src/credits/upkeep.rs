//! What has to be done from time to time: ended holds, ended subscriptions, old rows of the ledger.

use probity_core::credits::Split;
use probity_core::time::Millis;

use super::{Entry, book, part};
use crate::db::{Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

statements! {
    ENDED_HOLDS = "SELECT org_no, id, subscription, prepaid FROM hold WHERE expires_at <= $1 \
                   ORDER BY org_no, id LIMIT $2 {skip_locked}";
    DROP_HOLD = "DELETE FROM hold WHERE org_no = $1 AND id = $2";
    GIVE_BACK = "UPDATE account SET available = available + $3, held = held - $3 WHERE org_no = $1 AND bucket = $2";
    ENDED_BUCKETS = "SELECT org_no, bucket, available FROM account WHERE expires_at <= $1 AND available > 0 \
                     ORDER BY org_no, bucket LIMIT $2 {skip_locked}";
    EMPTY_BUCKET = "UPDATE account SET available = 0 WHERE org_no = $1 AND bucket = $2";
    FOLDABLE = "SELECT org_no FROM ledger WHERE fold_after <= $1 ORDER BY fold_after LIMIT 1";
    FOLD = "INSERT INTO ledger (org_no, kind, ref, subscription, prepaid, at) SELECT org_no, kind, $3, \
            CAST(SUM(subscription) AS BIGINT), CAST(SUM(prepaid) AS BIGINT), $4 FROM ledger \
            WHERE org_no = $1 AND fold_after <= $2 GROUP BY org_no, kind ON CONFLICT (org_no, kind, ref) DO UPDATE \
            SET subscription = ledger.subscription + excluded.subscription, prepaid = ledger.prepaid + excluded.prepaid";
    FOLDED = "DELETE FROM ledger WHERE org_no = $1 AND fold_after <= $2";
}

/// What [`release_expired`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Holds that had ended.
    pub holds: usize,
    /// The credits that were left in them.
    pub credits: i64,
}

/// Releases holds that were neither captured nor released in time, at most `at_most` of them.
pub async fn release_expired(tx: &mut Tx, now: Millis, at_most: i64) -> Result<Released> {
    let rows = tx.rows(&ENDED_HOLDS, args![now, at_most]).await?;
    let mut released = Released { holds: rows.len(), credits: 0 };
    for row in &rows {
        let (org, id): (_, String) = (OrgNo(row.get("org_no")?), row.get("id")?);
        let left = Split { subscription: row.get("subscription")?, prepaid: row.get("prepaid")? };
        released.credits = released.credits.saturating_add(left.total());
        // In the order in which accounts are locked everywhere.
        for (bucket, amount) in [("prepaid", left.prepaid), ("subscription", left.subscription)] {
            if amount > 0 {
                tx.execute(&GIVE_BACK, args![org, bucket, amount]).await?;
            }
        }
        tx.execute(&DROP_HOLD, args![org, id.as_str()]).await?;
        let cause = format!("ended:{id}");
        let amount = (left.subscription, left.prepaid);
        book(
            tx,
            Entry {
                org,
                kind: "release",
                cause: &cause,
                amount,
                at: now,
                fold_after: Some(now + super::FOLD_AFTER_MS),
            },
        )
        .await?;
    }
    Ok(released)
}

/// Takes what is left of subscriptions that have ended, at most `at_most` of them; says how many. What is held then and
/// released later goes at the next round.
pub async fn expire_buckets(tx: &mut Tx, now: Millis, at_most: i64) -> Result<usize> {
    let rows = tx.rows(&ENDED_BUCKETS, args![now, at_most]).await?;
    for row in &rows {
        let (org, bucket): (_, String) = (OrgNo(row.get("org_no")?), row.get("bucket")?);
        let mut gone = Split::default();
        *part(&mut gone, &bucket)? = row.get("available")?;
        tx.execute(&EMPTY_BUCKET, args![org, bucket.as_str()]).await?;
        let cause = format!("{bucket}:{}", now.0);
        let amount = (gone.subscription, gone.prepaid);
        book(tx, Entry { org, kind: "expire", cause: &cause, amount, at: now, fold_after: None }).await?;
    }
    Ok(rows.len())
}

/// Folds the old rows of one organization's live calls into one row a kind and day, so that the ledger does not grow with
/// the calls. Says whether there was anything to fold.
pub async fn fold(tx: &mut Tx, now: Millis) -> Result<bool> {
    let Some(row) = tx.first(&FOLDABLE, args![now]).await? else { return Ok(false) };
    let org = OrgNo(row.get("org_no")?);
    let cause = format!("day:{}", now.utc_day());
    tx.execute(&FOLD, args![org, now, cause, now]).await?;
    tx.execute(&FOLDED, args![org, now]).await?;
    Ok(true)
}
