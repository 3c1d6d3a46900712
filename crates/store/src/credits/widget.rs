//! Widget state shared by nodes: used nonces, and the credits that each key has taken from its day.
//!
//! Checks come in windows, as live calls do ([`crate::credits`]): the number of statements is independent of the number of
//! checks. A credit is taken from the day *before* a probe, and returned if it was not spent. So a key never exceeds its cap, for
//! any number of concurrent calls and nodes. A credit that was taken has a row until it is spent or returned, and only the
//! transaction that removes the row decides about it. So a return may be repeated if it is unknown whether it was committed, and
//! if a node dies, its credits return when their rows end ([`return_expired`]).

use std::collections::{BTreeMap, BTreeSet};

use probity_account::id::KeyId;
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::error::Result;
use crate::db::{Conn, StatementBatch, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, TypedStatements as _, records};

/// A key's day, in days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDay {
    pub org: OrgNo,
    pub key: KeyId,
    pub day: i64,
}

/// Check about to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidgetCheck {
    /// Key's day to take the credit from.
    pub of: KeyDay,
    /// Credits that the key may spend that day.
    pub cap: i64,
    /// Identifier of the nonce.
    pub nonce: String,
    /// Expiry of the nonce.
    pub expires_at: Millis,
    /// Time at which the credit returns unless it was spent; later than any check takes.
    pub held_until: Millis,
}

impl WidgetCheck {
    /// Names the credit that the check takes.
    pub fn credit(&self) -> WidgetCreditName {
        WidgetCreditName { org: self.of.org, nonce: self.nonce.clone() }
    }
}

/// Name of a credit taken from a key's day: the check's nonce.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WidgetCreditName {
    pub org: OrgNo,
    pub nonce: String,
}

records!(row => KeyDay { org = "org_no", key = "key_id", day });
records!(row => WidgetCreditName { org = "org_no", nonce });

/// Whether a check may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WidgetLeave {
    /// It may; it has taken a credit of its key's day.
    Granted,
    /// Its nonce was used before.
    Used,
    /// Its key has reached its cap.
    Spent,
}

statements! {
    USE = "INSERT INTO widget_nonce (org_no, nonce, expires_at) SELECT CAST(each.value ->> 'o' AS BIGINT), \
           each.value ->> 'n', CAST(each.value ->> 'e' AS BIGINT) FROM {each:$1} WHERE 1 = 1 \
           ON CONFLICT (org_no, nonce) DO NOTHING RETURNING org_no, nonce";
    ENSURE = "INSERT INTO widget_day (org_no, key_id, day, taken) SELECT CAST(each.value ->> 'o' AS BIGINT), \
              each.value ->> 'k', CAST(each.value ->> 'd' AS BIGINT), 0 FROM {each:$1} WHERE 1 = 1 \
              ON CONFLICT (org_no, key_id, day) DO NOTHING";
    LOCK = "SELECT org_no, key_id, day, taken FROM widget_day WHERE (org_no, key_id, day) IN \
            (SELECT CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'k', CAST(each.value ->> 'd' AS BIGINT) FROM {each:$1}) \
            ORDER BY org_no, key_id, day {for_update}";
    HOLD = "INSERT INTO widget_pass (org_no, nonce, key_id, day, held_until) SELECT CAST(each.value ->> 'o' AS BIGINT), \
            each.value ->> 'n', each.value ->> 'k', CAST(each.value ->> 'd' AS BIGINT), CAST(each.value ->> 'u' AS BIGINT) \
            FROM {each:$1} WHERE 1 = 1 ON CONFLICT (org_no, nonce) DO NOTHING";
    RETURN = "DELETE FROM widget_pass WHERE (org_no, nonce) IN \
              (SELECT CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'n' FROM {each:$1}) RETURNING org_no, key_id, day";
    SPEND = "DELETE FROM widget_pass WHERE (org_no, nonce) IN \
             (SELECT CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'n' FROM {each:$1})";
    EXPIRED = "SELECT org_no, nonce FROM widget_pass WHERE held_until <= $1 ORDER BY held_until LIMIT $2 {skip_locked}";
    // Never below zero: rows of a past day may have been removed and created again.
    MOVE = "UPDATE widget_day SET taken = CASE WHEN taken + d.n > 0 THEN taken + d.n ELSE 0 END FROM \
            (SELECT CAST(each.value ->> 'o' AS BIGINT) AS o, each.value ->> 'k' AS k, CAST(each.value ->> 'd' AS BIGINT) AS d, \
            CAST(each.value ->> 'n' AS BIGINT) AS n FROM {each:$1}) AS d \
            WHERE org_no = d.o AND key_id = d.k AND day = d.d";
    OVER = "SELECT org_no, day FROM widget_day WHERE day < $1 GROUP BY day, org_no ORDER BY day, org_no LIMIT $2";
    CLOSE = "DELETE FROM widget_day WHERE org_no = $1 AND day = $2";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, nonce FROM widget_nonce WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 {skip_locked})
        DELETE FROM widget_nonce WHERE (org_no, nonce) IN (SELECT org_no, nonce FROM old)";
}

/// Returns the credits of `returned` that were neither spent nor returned before. Then decides each check: uses up its nonce, and
/// takes a credit of its key's day if one is left. The decisions are in the order of the checks.
pub async fn settle(
    tx: &mut Tx,
    asked: &[WidgetCheck],
    returned: &BTreeSet<WidgetCreditName>,
) -> Result<Vec<WidgetLeave>> {
    let mut fresh = unused(tx, asked).await?;
    // Of two checks with one nonce, the first gets it.
    let fresh: Vec<bool> = asked.iter().map(|ask| fresh.remove(&(ask.of.org, ask.nonce.clone()))).collect();
    let mut changes = removed(tx, returned).await?;
    let wanting: BTreeSet<KeyDay> =
        asked.iter().zip(&fresh).filter(|(_, fresh)| **fresh).map(|(ask, _)| ask.of).collect();
    let mut taken = lock(tx, &wanting, &changes).await?;
    let mut leaves = Vec::with_capacity(asked.len());
    for (ask, fresh) in asked.iter().zip(fresh) {
        let sum = taken.entry(ask.of).or_default();
        leaves.push(match (fresh, *sum < ask.cap) {
            (false, _) => WidgetLeave::Used,
            (true, false) => WidgetLeave::Spent,
            (true, true) => {
                *sum += 1;
                *changes.entry(ask.of).or_default() += 1;
                WidgetLeave::Granted
            }
        });
    }
    hold(tx, asked.iter().zip(&leaves).filter(|(_, leave)| **leave == WidgetLeave::Granted).map(|(ask, _)| ask))
        .await?;
    changes.retain(|_, n| *n != 0);
    if !changes.is_empty() {
        tx.execute(&MOVE, args![listed(changes)]).await?;
    }
    Ok(leaves)
}

/// Removes the rows of credits that come back; returns the changes of their days.
async fn removed(tx: &mut Tx, returned: &BTreeSet<WidgetCreditName>) -> Result<BTreeMap<KeyDay, i64>> {
    let mut changes = BTreeMap::new();
    if returned.is_empty() {
        return Ok(changes);
    }
    let days: Vec<KeyDay> = tx.all(&RETURN, args![named(returned)]).await?;
    for of in days {
        *changes.entry(of).or_default() -= 1;
    }
    Ok(changes)
}

/// Adds the rows of credits that checks take.
async fn hold(tx: &mut Tx, granted: impl Iterator<Item = &WidgetCheck>) -> Result<()> {
    let row = |ask: &WidgetCheck| {
        let KeyDay { org, key, day } = ask.of;
        json!({ "o": org.0, "n": ask.nonce, "k": key.to_string(), "d": day, "u": ask.held_until.0 })
    };
    let rows: Vec<_> = granted.map(row).collect();
    if !rows.is_empty() {
        tx.execute(&HOLD, args![json!(rows).to_string()]).await?;
    }
    Ok(())
}

/// Removes the rows of credits that a charge spends, so that they never return.
pub(crate) fn spend(together: &mut StatementBatch, spent: &BTreeSet<WidgetCreditName>) {
    if !spent.is_empty() {
        together.add(&SPEND, args![named(spent)]);
    }
}

fn named(credits: &BTreeSet<WidgetCreditName>) -> String {
    json!(credits.iter().map(|credit| json!({ "o": credit.org.0, "n": credit.nonce })).collect::<Vec<_>>()).to_string()
}

/// Returns up to `at_most` credits whose checks must be over: their nodes died, or could not return them. Returns the number.
pub async fn return_expired(tx: &mut Tx, now: Millis, at_most: u32) -> Result<u64> {
    let expired: BTreeSet<WidgetCreditName> = tx.all(&EXPIRED, args![now, at_most]).await?;
    settle(tx, &[], &expired).await?;
    Ok(u64::try_from(expired.len()).unwrap_or(u64::MAX))
}

/// Uses up nonces; returns those that were unused.
async fn unused(tx: &mut Tx, asked: &[WidgetCheck]) -> Result<BTreeSet<(OrgNo, String)>> {
    if asked.is_empty() {
        return Ok(BTreeSet::new());
    }
    // The same order everywhere prevents deadlocks between nodes with the same nonces.
    let rows: BTreeMap<(OrgNo, &str), Millis> =
        asked.iter().map(|ask| ((ask.of.org, ask.nonce.as_str()), ask.expires_at)).collect();
    let rows = rows.into_iter().map(|((org, nonce), at)| json!({ "o": org.0, "n": nonce, "e": at.0 }));
    let rows = json!(rows.collect::<Vec<_>>()).to_string();
    tx.all(&USE, args![rows]).await
}

/// Locks the days that checks want to take from and those that change; returns the credits taken from each after the changes.
async fn lock(
    tx: &mut Tx,
    wanting: &BTreeSet<KeyDay>,
    changes: &BTreeMap<KeyDay, i64>,
) -> Result<BTreeMap<KeyDay, i64>> {
    if !wanting.is_empty() {
        tx.execute(&ENSURE, args![listed(wanting.iter().map(|of| (*of, 0)))]).await?;
    }
    let all: BTreeMap<KeyDay, i64> = wanting.iter().chain(changes.keys()).map(|of| (*of, 0)).collect();
    if all.is_empty() {
        return Ok(all);
    }
    let mut taken = BTreeMap::new();
    for row in &tx.rows(&LOCK, args![listed(all)]).await? {
        let of = row.record::<KeyDay>()?;
        let sum = row.get::<i64>("taken")? + changes.get(&of).copied().unwrap_or(0);
        taken.insert(of, sum.max(0));
    }
    Ok(taken)
}

fn listed(changes: impl IntoIterator<Item = (KeyDay, i64)>) -> String {
    let row = |(of, n): (KeyDay, i64)| json!({ "o": of.org.0, "k": of.key.to_string(), "d": of.day, "n": n });
    json!(changes.into_iter().map(row).collect::<Vec<_>>()).to_string()
}

/// Unclosed days before `before` on which an organization's widget was used, oldest first.
pub async fn days_over(conn: &mut Conn, before: i64, at_most: i64) -> Result<Vec<(OrgNo, i64)>> {
    conn.all(&OVER, args![before, at_most]).await
}

/// Closes an organization's day. False: another node has.
pub async fn close_day(tx: &mut Tx, org: OrgNo, day: i64) -> Result<bool> {
    Ok(tx.execute(&CLOSE, args![org, day]).await? > 0)
}

/// Removes up to `at_most` expired nonces; returns the number removed.
pub async fn purge(tx: &mut Tx, now: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![now, at_most]).await
}
