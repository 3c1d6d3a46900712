//! Report data: sums of the counters of [`crate::usage`], by reason, day, source and mail provider.
//!
//! Every sum covers one organization and whole UTC days, counted from 1970-01-01.

use probity_mail::verdict::Reason;

use crate::db::{Conn, Row, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::usage::NO_PROVIDER;

statements! {
    BY_PROVIDER = "SELECT provider, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(unknown) AS BIGINT) AS unknown
        FROM usage_provider_day WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY provider";
    VERIFIED_BETWEEN = "SELECT CAST(COALESCE(SUM(verified), 0) AS BIGINT) AS verified FROM usage_day
        WHERE org_no = $1 AND day >= $2 AND day <= $3";
    BY_REASON = "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY reason";
    BY_REASON_OF_CONNECTION =
        "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 AND connection_id = $4 GROUP BY reason";
    KNOWS_CONNECTION = "SELECT 1 AS one FROM usage_day WHERE org_no = $1 AND connection_id = $2 LIMIT 1";
    BY_SOURCE = "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day = $2 AND source = $3 GROUP BY reason";
    BY_DAY = "SELECT day, reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY day, reason ORDER BY day";
    BY_DAY_OF_CONNECTION =
        "SELECT day, reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 AND connection_id = $4 GROUP BY day, reason ORDER BY day";
}

/// Addresses and credits of a part of an organization's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum<K> {
    /// The part.
    pub of: K,
    /// Addresses verified.
    pub verified: i64,
    /// Credits charged.
    pub charged: i64,
}

/// Addresses of one mail provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfProvider {
    /// Provider's id; `None` for all MX hosts of no known provider.
    pub provider: Option<String>,
    /// Addresses verified.
    pub verified: i64,
    /// Addresses with an unknown verdict.
    pub unknown: i64,
}

/// An organization's usage by mail provider between two days, both included, the provider with the most addresses first.
pub async fn by_provider(conn: &mut Conn, org: OrgNo, from_day: i64, to_day: i64) -> Result<Vec<OfProvider>> {
    let read = |row: &Row| {
        let provider: String = row.get("provider")?;
        let provider = Some(provider).filter(|id| id != NO_PROVIDER);
        Ok(OfProvider { provider, verified: row.get("verified")?, unknown: row.get("unknown")? })
    };
    let rows = conn.rows(&BY_PROVIDER, args![org, from_day, to_day]).await?;
    let mut all = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    all.sort_by(|a, b| (b.verified, &a.provider).cmp(&(a.verified, &b.provider)));
    Ok(all)
}

/// Addresses that an organization verified between two days, both included.
pub async fn verified_between(conn: &mut Conn, org: OrgNo, from_day: i64, to_day: i64) -> Result<i64> {
    let row = conn.first(&VERIFIED_BETWEEN, args![org, from_day, to_day]).await?;
    row.ok_or(StoreError::NotFound)?.get("verified")
}

/// Whether this organization ever verified anything for a connection.
pub async fn knows_connection(conn: &mut Conn, org: OrgNo, connection: &str) -> Result<bool> {
    Ok(conn.first(&KNOWS_CONNECTION, args![org, connection]).await?.is_some())
}

/// An organization's usage by reason between two days, both included, in the order of the reasons; of one connection if given.
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

/// Usage of one source on one day, by reason, in the order of the reasons.
pub async fn by_source(conn: &mut Conn, org: OrgNo, day: i64, source: &str) -> Result<Vec<Sum<Reason>>> {
    let rows = conn.rows(&BY_SOURCE, args![org, day, source]).await?;
    let mut sums = rows.iter().map(|row| sum(row, reason(row)?)).collect::<Result<Vec<_>>>()?;
    sums.sort_by_key(|sum| Reason::ALL.iter().position(|reason| *reason == sum.of));
    Ok(sums)
}

/// An organization's usage by day and reason between two days, both included, in the order of the days; empty sums are omitted; of
/// one connection if given.
pub async fn by_day(
    conn: &mut Conn,
    org: OrgNo,
    from_day: i64,
    to_day: i64,
    connection: Option<&str>,
) -> Result<Vec<Sum<(i64, Reason)>>> {
    let rows = match connection {
        None => conn.rows(&BY_DAY, args![org, from_day, to_day]).await?,
        Some(connection) => conn.rows(&BY_DAY_OF_CONNECTION, args![org, from_day, to_day, connection]).await?,
    };
    rows.iter().map(|row| sum(row, (row.get("day")?, reason(row)?))).collect()
}

fn sum<K>(row: &Row, of: K) -> Result<Sum<K>> {
    Ok(Sum { of, verified: row.get("verified")?, charged: row.get("charged")? })
}

fn reason(row: &Row) -> Result<Reason> {
    let name: String = row.get("reason")?;
    Reason::from_name(&name).ok_or_else(|| StoreError::corrupt("a reason in the usage counters is not one of ours"))
}
