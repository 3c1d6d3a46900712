//! Many live calls in one transaction.
//!
//! The number of statements does not depend on the number of calls: settlements and new holds are summed for each
//! organization first. When an account does not cover all who ask, as many as it covers get their credit, in the order in
//! which the organizations' demands were summed; the others are refused.

use std::collections::BTreeMap;

use probity_core::credits::Split;
use probity_core::id::HoldId;
use probity_core::time::Millis;
use serde_json::json;

use crate::db::{Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

/// How many single credits an organization asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whose.
    pub org: OrgNo,
    /// For how many calls.
    pub credits: i64,
}

/// What is to become of parts of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Whose.
    pub org: OrgNo,
    /// The hold that an earlier window made.
    pub hold: HoldId,
    /// Spent.
    pub captured: Split,
    /// Given back.
    pub released: Split,
}

/// What comes together within a few milliseconds.
#[derive(Clone, Debug)]
pub struct Window {
    /// The id of the holds that it makes, and what caused its rows of the ledger.
    pub id: HoldId,
    /// Now.
    pub at: Millis,
    /// When its holds end.
    pub expires_at: Millis,
    /// Who wants credits: each organization once.
    pub asked: Vec<Asked>,
    /// What earlier windows' calls have come to: each hold once.
    pub settled: Vec<Settlement>,
}

/// What an organization got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Whose.
    pub org: OrgNo,
    /// How much, and out of which buckets. Less than was asked for where the account covers no more.
    pub held: Split,
}

/// What a window did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowDone {
    /// One for each organization that asked.
    pub granted: Vec<Granted>,
    /// Holds that had ended before they were settled: their credits had been given back, and stay so.
    pub lapsed: Vec<(OrgNo, HoldId)>,
}

statements! {
    SETTLE = "UPDATE hold SET subscription = subscription - d.s, prepaid = prepaid - d.p FROM (SELECT \
              CAST(each.value ->> 'o' AS BIGINT) AS o, each.value ->> 'h' AS h, CAST(each.value ->> 's' AS BIGINT) AS s, \
              CAST(each.value ->> 'p' AS BIGINT) AS p FROM {each:$1}) AS d \
              WHERE org_no = d.o AND id = d.h AND subscription >= d.s AND prepaid >= d.p RETURNING org_no, id";
    EMPTIED = "DELETE FROM hold WHERE {row} IN (SELECT hold.{row} FROM {each:$1} JOIN hold \
               ON hold.org_no = CAST(each.value ->> 'o' AS BIGINT) AND hold.id = each.value ->> 'h' \
               WHERE hold.subscription = 0 AND hold.prepaid = 0)";
    ACCOUNTS = "SELECT org_no, bucket, available FROM account WHERE org_no IN (SELECT CAST(each.value ->> 'o' AS BIGINT) \
                FROM {each:$1}) ORDER BY org_no, bucket {for_update}";
    MOVE = "UPDATE account SET available = available + d.a, held = held + d.h, spent = spent + d.s FROM (SELECT \
            CAST(each.value ->> 'o' AS BIGINT) AS o, each.value ->> 'b' AS b, CAST(each.value ->> 'a' AS BIGINT) AS a, \
            CAST(each.value ->> 'h' AS BIGINT) AS h, CAST(each.value ->> 's' AS BIGINT) AS s FROM {each:$1}) AS d \
            WHERE org_no = d.o AND bucket = d.b";
    HOLD = "INSERT INTO hold (org_no, id, subscription, prepaid, created_at, expires_at) SELECT \
            CAST(each.value ->> 'o' AS BIGINT), $2, CAST(each.value ->> 's' AS BIGINT), \
            CAST(each.value ->> 'p' AS BIGINT), $3, $4 FROM {each:$1}";
    BOOK = "INSERT INTO ledger (org_no, kind, ref, subscription, prepaid, at, fold_after) SELECT \
            CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'k', $2, CAST(each.value ->> 's' AS BIGINT), \
            CAST(each.value ->> 'p' AS BIGINT), $3, $4 FROM {each:$1}";
}

/// What happens to one organization in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    asked: i64,
    available: Split,
    held: Split,
    captured: Split,
    released: Split,
}

/// Settles what is to be settled and sets credits aside for those who ask, in that order: what is released can be held again
/// at once.
pub async fn settle_window(tx: &mut Tx, window: &Window) -> Result<WindowDone> {
    let mut changes: BTreeMap<OrgNo, Change> = BTreeMap::new();
    for asked in &window.asked {
        changes.entry(asked.org).or_default().asked += asked.credits;
    }
    let lapsed = settle(tx, &window.settled, &mut changes).await?;
    grant(tx, &mut changes).await?;
    write(tx, window, &changes).await?;
    let granted = |asked: &Asked| Granted { org: asked.org, held: changes[&asked.org].held };
    Ok(WindowDone { granted: window.asked.iter().map(granted).collect(), lapsed })
}

/// Takes the settled parts out of their holds; answers with the holds that had ended.
async fn settle(
    tx: &mut Tx,
    settled: &[Settlement],
    changes: &mut BTreeMap<OrgNo, Change>,
) -> Result<Vec<(OrgNo, HoldId)>> {
    if settled.is_empty() {
        return Ok(Vec::new());
    }
    let mut by_hold: BTreeMap<(OrgNo, HoldId), &Settlement> = BTreeMap::new();
    let mut rows = Vec::with_capacity(settled.len());
    for settlement in settled {
        let Settlement { org, hold, captured, released } = settlement;
        let sum = super::sum(*captured, *released)?;
        by_hold.insert((*org, *hold), settlement);
        rows.push(json!({ "o": org.0, "h": hold.to_string(), "s": sum.subscription, "p": sum.prepaid }));
    }
    let rows = serde_json::Value::from(rows).to_string();
    for row in tx.rows(&SETTLE, args![rows.as_str()]).await? {
        let found = (OrgNo(row.get("org_no")?), row.parse("id")?);
        let Some(settlement) = by_hold.remove(&found) else { continue };
        let change = changes.entry(found.0).or_default();
        change.captured = super::sum(change.captured, settlement.captured)?;
        change.released = super::sum(change.released, settlement.released)?;
    }
    tx.execute(&EMPTIED, args![rows]).await?;
    Ok(by_hold.into_keys().collect())
}

/// Decides who gets how much.
async fn grant(tx: &mut Tx, changes: &mut BTreeMap<OrgNo, Change>) -> Result<()> {
    let orgs: Vec<_> = changes.keys().map(|org| json!({ "o": org.0 })).collect();
    for row in tx.rows(&ACCOUNTS, args![serde_json::Value::from(orgs).to_string()]).await? {
        let Some(change) = changes.get_mut(&OrgNo(row.get("org_no")?)) else { continue };
        *super::part(&mut change.available, &row.get::<String>("bucket")?)? = row.get("available")?;
    }
    for change in changes.values_mut() {
        let there = super::sum(change.available, change.released)?;
        let covered = change.asked.min(there.total());
        change.held = Split::take(there, covered).unwrap_or_default();
    }
    Ok(())
}

async fn write(tx: &mut Tx, window: &Window, changes: &BTreeMap<OrgNo, Change>) -> Result<()> {
    let (mut moves, mut holds, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (org, change) in changes {
        let Change { held, captured, released, .. } = *change;
        let buckets = [
            ("subscription", held.subscription, captured.subscription, released.subscription),
            ("prepaid", held.prepaid, captured.prepaid, released.prepaid),
        ];
        for (bucket, held, captured, released) in buckets {
            let (available, held) = (released - held, held - captured - released);
            if (available, held, captured) != (0, 0, 0) {
                moves.push(json!({ "o": org.0, "b": bucket, "a": available, "h": held, "s": captured }));
            }
        }
        let booked = [("hold", held), ("capture", captured), ("release", released)];
        for (kind, amount) in booked.into_iter().filter(|(_, amount)| amount.total() > 0) {
            entries.push(json!({ "o": org.0, "k": kind, "s": amount.subscription, "p": amount.prepaid }));
        }
        if held.total() > 0 {
            holds.push(json!({ "o": org.0, "s": held.subscription, "p": held.prepaid }));
        }
    }
    let (id, at) = (window.id.to_string(), window.at);
    if !moves.is_empty() {
        tx.execute(&MOVE, args![serde_json::Value::from(moves).to_string()]).await?;
        let fold_after = at + super::FOLD_AFTER_MS;
        tx.execute(&BOOK, args![serde_json::Value::from(entries).to_string(), id.as_str(), at, fold_after]).await?;
    }
    if !holds.is_empty() {
        tx.execute(&HOLD, args![serde_json::Value::from(holds).to_string(), id, at, window.expires_at]).await?;
    }
    Ok(())
}
