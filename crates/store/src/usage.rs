//! Verifications by day, source, connection and reason: the counters behind reports.
//!
//! They are written in bulk with the settlement that charges for the work, in the same transaction, so that they add up to
//! what was charged. Days are UTC, counted from 1970-01-01.

use std::collections::BTreeMap;

use probity_core::verdict::Reason;
use serde_json::json;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

statements! {
    ADD = "INSERT INTO usage_day (org_no, day, source, connection_id, reason, verified, charged)
        SELECT CAST(each.value ->> 'org' AS BIGINT), CAST(each.value ->> 'day' AS BIGINT), each.value ->> 'source',
            each.value ->> 'connection', each.value ->> 'reason', CAST(each.value ->> 'verified' AS BIGINT),
            CAST(each.value ->> 'charged' AS BIGINT)
        FROM {each:$1} WHERE 1 = 1
        ON CONFLICT (org_no, day, source, connection_id, reason) DO UPDATE SET
            verified = usage_day.verified + excluded.verified, charged = usage_day.charged + excluded.charged";
    VERIFIED_BETWEEN = "SELECT CAST(COALESCE(SUM(verified), 0) AS BIGINT) AS verified FROM usage_day
        WHERE org_no = $1 AND day >= $2 AND day <= $3";
    BY_REASON = "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY reason";
    BY_REASON_OF_CONNECTION =
        "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 AND connection_id = $4 GROUP BY reason";
    BY_DAY = "SELECT day, reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY day, reason ORDER BY day";
}

/// Verifications to be added to the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Whose.
    pub org: OrgNo,
    /// On which day, in days since 1970-01-01: [`probity_core::time::Millis::utc_day`].
    pub day: i64,
    /// What they came through, such as `api`; never a text of a user.
    pub source: String,
    /// The id of the connection whose data it was, if it was one's.
    pub connection: Option<String>,
    /// The reason of their verdicts.
    pub reason: Reason,
    /// How many addresses.
    pub verified: i64,
    /// How many credits they cost.
    pub charged: i64,
}

/// Addresses and credits of some part of an organization's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum<K> {
    /// Of which part.
    pub of: K,
    /// How many addresses were verified.
    pub verified: i64,
    /// How many credits they cost.
    pub charged: i64,
}

/// Adds to the counters. Several deltas of the same counter add up.
pub async fn add(tx: &mut Tx, deltas: &[Delta]) -> Result<()> {
    if deltas.is_empty() {
        return Ok(());
    }
    // PostgreSQL refuses to update a row twice in one statement; and everyone writes in the order of the keys, so that
    // two writers cannot wait for each other.
    let mut counters: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    for delta in deltas {
        let connection = delta.connection.as_deref().unwrap_or("");
        let key = (delta.org, delta.day, delta.source.as_str(), connection, delta.reason.as_str());
        let counter = counters.entry(key).or_default();
        *counter = (counter.0.saturating_add(delta.verified), counter.1.saturating_add(delta.charged));
    }
    let rows = counters.into_iter().map(|((org, day, source, connection, reason), (verified, charged))| {
        json!({
            "org": org.0, "day": day, "source": source, "connection": connection, "reason": reason,
            "verified": verified, "charged": charged,
        })
    });
    tx.execute(&ADD, args![json!(rows.collect::<Vec<_>>()).to_string()]).await?;
    Ok(())
}

/// How many addresses an organization had verified from one day to another, both included.
pub async fn verified_between(conn: &mut Conn, org: OrgNo, from_day: i64, to_day: i64) -> Result<i64> {
    let row = conn.first(&VERIFIED_BETWEEN, args![org, from_day, to_day]).await?;
    row.ok_or(StoreError::NotFound)?.get("verified")
}

/// An organization's usage by reason from one day to another, both included, in the order of the reasons; of one
/// connection where one is named.
pub async fn by_reason(
    conn: &mut Conn,
    org: OrgNo,
    from_day: i64,
    to_day: i64,
    connection: Option<&str>,
) -> Result<Vec<Sum<Reason>>> {
    let rows = match connection {
        None => conn.rows(&BY_REASON, args![org, from_day, to_day]).await?,
        Some(connection) => conn.rows(&BY_REASON_OF_CONNECTION, args![org, from_day, to_day, connection]).await?,
    };
    let mut sums = rows.iter().map(|row| sum(row, reason(row)?)).collect::<Result<Vec<_>>>()?;
    sums.sort_by_key(|sum| Reason::ALL.iter().position(|reason| *reason == sum.of));
    Ok(sums)
}

/// An organization's usage by day and reason from one day to another, both included, in the order of the days; what has none
/// is left out.
pub async fn by_day(conn: &mut Conn, org: OrgNo, from_day: i64, to_day: i64) -> Result<Vec<Sum<(i64, Reason)>>> {
    let rows = conn.rows(&BY_DAY, args![org, from_day, to_day]).await?;
    rows.iter().map(|row| sum(row, (row.get("day")?, reason(row)?))).collect()
}

fn sum<K>(row: &Row, of: K) -> Result<Sum<K>> {
    Ok(Sum { of, verified: row.get("verified")?, charged: row.get("charged")? })
}

fn reason(row: &Row) -> Result<Reason> {
    let name: String = row.get("reason")?;
    Reason::from_name(&name).ok_or_else(|| StoreError::corrupt("a reason in the usage counters is not one of ours"))
}
