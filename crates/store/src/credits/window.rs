//! Charges for live calls: all calls of a few milliseconds in one transaction.
//!
//! A call costs one credit when its verdict is ready, and returns the verdict once the charge is committed. One statement locks the
//! accounts, and one round trip updates, books and counts all calls, summed for each organization. If an account covers only some
//! of them, those are charged and the caller refuses the others. Nothing is held beforehand, so a process that dies leaves no
//! credits held.
//!
//! In the ledger, a charge is a hold and a capture under the window's id. The capture of one organization, the window's witness, is
//! written even if nothing was charged. So a window that is retried after an unanswered commit is
//! [`StoreError::Conflict`](crate::StoreError::Conflict) if that commit succeeded; [`charged`] returns its charges.

use std::collections::{BTreeMap, BTreeSet};

use probity_account::credits::Split;
use probity_account::id::WindowId;
use probity_mail::time::Millis;
use serde_json::{Value, json};

use super::widget::{self, WidgetCreditName};
use crate::credits::usage::{self, UsageDelta};
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, StatementBatch, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::ReadColumns as _;

/// Charges of one window.
#[derive(Clone, Debug)]
pub struct ChargeWindow {
    /// Reference of its ledger rows.
    pub id: WindowId,
    pub at: Millis,
    /// Verdicts that cost a credit, by organization.
    pub calls: BTreeMap<OrgNo, i64>,
    /// Organization whose capture is booked in any case: that row proves the commit.
    pub witness: OrgNo,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChargedVerifications {
    /// Credits spent, one for each call; fewer than the calls if the account covers no more.
    pub spent: Split,
    /// Available credits afterwards.
    pub available: Split,
}

/// Counters that a window records besides its charges.
#[derive(Clone, Debug, Default)]
pub struct CountedCalls {
    /// Counters of all verdicts that are returned.
    pub usage: Vec<UsageDelta>,
    /// Credits of the widget's days that its charges spend.
    pub widget: BTreeSet<WidgetCreditName>,
}

statements! {
    ACCOUNTS = "SELECT org_no, bucket, available FROM account WHERE org_no IN (SELECT CAST(each.value ->> 'o' AS BIGINT) \
                FROM {each:$1}) ORDER BY org_no, bucket {for_update}";
    BALANCES = "SELECT org_no, bucket, available FROM account WHERE org_no IN (SELECT CAST(each.value ->> 'o' AS BIGINT) \
                FROM {each:$1})";
    SPEND = "UPDATE account SET available = available - d.n, spent = spent + d.n FROM (SELECT \
             CAST(each.value ->> 'o' AS BIGINT) AS o, each.value ->> 'b' AS b, CAST(each.value ->> 'n' AS BIGINT) AS n \
             FROM {each:$1}) AS d WHERE org_no = d.o AND bucket = d.b";
    BOOK = "INSERT INTO ledger (org_no, kind, ref, subscription, prepaid, at, fold_after) SELECT \
            CAST(each.value ->> 'o' AS BIGINT), each.value ->> 'k', $2, CAST(each.value ->> 's' AS BIGINT), \
            CAST(each.value ->> 'p' AS BIGINT), $3, $4 FROM {each:$1}";
    CHARGED = "SELECT org_no, subscription, prepaid FROM ledger WHERE org_no IN (SELECT CAST(each.value ->> 'o' AS BIGINT) \
               FROM {each:$1}) AND kind = 'capture' AND ref = $2";
}

pub type ChargesByOrg = BTreeMap<OrgNo, ChargedVerifications>;

/// Charges the calls of a window as far as the accounts cover them, subscription credits first, and records what `counted`
/// derives from the charges.
pub async fn charge(
    tx: &mut Tx,
    window: &ChargeWindow,
    counted: impl FnOnce(&ChargesByOrg) -> CountedCalls,
) -> Result<ChargesByOrg> {
    let mut charged = BTreeMap::new();
    let locked =
        if window.calls.is_empty() { Vec::new() } else { tx.rows(&ACCOUNTS, args![list(window.calls.keys())]).await? };
    for (org, available) in sums(&locked)? {
        let calls = window.calls.get(&org).copied().unwrap_or_default();
        let spent = Split::take(available, calls.min(available.total())).unwrap_or_default();
        let available = available.checked_sub(spent).unwrap_or_default();
        charged.insert(org, ChargedVerifications { spent, available });
    }
    let mut together = StatementBatch::default();
    put(&mut together, window, &charged);
    let CountedCalls { usage, widget } = counted(&charged);
    usage::put(&mut together, &usage);
    widget::spend(&mut together, &widget);
    tx.execute_together(together).await?;
    Ok(charged)
}

/// Charges of a committed window, until its rows are folded; the available credits are current.
pub async fn charged(conn: &mut Conn, window: &ChargeWindow) -> Result<ChargesByOrg> {
    let orgs = list(window.calls.keys());
    let mut charged = BTreeMap::new();
    for (org, available) in sums(&conn.rows(&BALANCES, args![orgs.as_str()]).await?)? {
        charged.insert(org, ChargedVerifications { spent: Split::default(), available });
    }
    for row in &conn.rows(&CHARGED, args![orgs, window.id]).await? {
        charged.entry(row.read("org_no")?).or_default().spent = row.record::<Split>()?;
    }
    Ok(charged)
}

/// Available credits of organizations, from their accounts. An organization without accounts is omitted.
pub async fn balances(conn: &mut Conn, orgs: &[OrgNo]) -> Result<BTreeMap<OrgNo, Split>> {
    sums(&conn.rows(&BALANCES, args![list(orgs.iter())]).await?)
}

fn list<'a>(orgs: impl Iterator<Item = &'a OrgNo>) -> String {
    orgs.map(|org| json!({ "o": org.0 })).collect::<Value>().to_string()
}

fn sums(rows: &[ResultRow]) -> Result<BTreeMap<OrgNo, Split>> {
    let mut sums: BTreeMap<OrgNo, Split> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(row.read("org_no")?).or_default();
        *super::part(sum, &row.get::<String>("bucket")?)? = row.get("available")?;
    }
    Ok(sums)
}

fn put(together: &mut StatementBatch, window: &ChargeWindow, charged: &ChargesByOrg) {
    let (mut moves, mut entries) = (Vec::new(), Vec::new());
    for (org, ChargedVerifications { spent, .. }) in charged.iter().filter(|(_, charged)| charged.spent.total() > 0) {
        for (bucket, n) in [("subscription", spent.subscription), ("prepaid", spent.prepaid)] {
            if n > 0 {
                moves.push(json!({ "o": org.0, "b": bucket, "n": n }));
            }
        }
        for kind in ["hold", "capture"] {
            entries.push(json!({ "o": org.0, "k": kind, "s": spent.subscription, "p": spent.prepaid }));
        }
    }
    if charged.get(&window.witness).is_none_or(|charged| charged.spent.total() == 0) {
        entries.push(json!({ "o": window.witness.0, "k": "capture", "s": 0, "p": 0 }));
    }
    if !moves.is_empty() {
        together.add(&SPEND, args![Value::from(moves).to_string()]);
    }
    let fold_after = window.at + super::FOLD_AFTER_MS;
    let entries = Value::from(entries).to_string();
    together.add(&BOOK, args![entries, window.id, window.at, fold_after]);
}
