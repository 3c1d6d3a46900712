//! Report data: sums of the counters of [`crate::credits::usage`], by reason, day, source and mail provider.
//!
//! Every sum covers one organization and whole UTC days, counted from 1970-01-01.

use std::collections::BTreeMap;

use probity_mail::verdict::Reason;

use crate::credits::usage::NO_PROVIDER;
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, args, statements};
use crate::number::OrgNo;
use crate::records::{FromRow, TypedStatements as _, records};

/// Sums of the largest parts of an organization by day; `$4` restricts them to one part.
macro_rules! largest {
    ($part:literal, $verified:literal, $charged:literal, $from:literal) => {
        concat!(
            "WITH used AS (SELECT day, ",
            $part,
            " AS part, CAST(",
            $verified,
            " AS BIGINT) AS verified, CAST(",
            $charged,
            " AS BIGINT) AS charged FROM ",
            $from,
            " AND org_no = $1 AND day >= $2 AND day <= $3 AND ",
            $part,
            " = COALESCE($4, ",
            $part,
            ") GROUP BY day, ",
            $part,
            "), largest AS (SELECT part FROM (SELECT part, SUM(verified) AS verified FROM used
            GROUP BY part) AS sums ORDER BY verified DESC LIMIT $5)
            SELECT day, part, verified, charged FROM used WHERE part IN (SELECT part FROM largest) ORDER BY day"
        )
    };
}

statements! {
    LARGEST_SOURCES = largest!("source", "SUM(verified)", "SUM(charged)", "usage_day WHERE 1 = 1");
    LARGEST_CONNECTIONS = largest!("connection_id", "SUM(verified)", "SUM(charged)", "usage_day WHERE 1 = 1");
    LARGEST_KEYS = largest!("part", "SUM(verified)", "SUM(charged)", "usage_part_day WHERE kind = 'key'");
    LARGEST_DOMAINS = largest!("part", "SUM(verified)", "SUM(charged)", "usage_part_day WHERE kind = 'domain'");
    LARGEST_PROVIDERS = largest!("provider", "SUM(verified)", "0", "usage_provider_day WHERE 1 = 1");
    BY_PROVIDER = "SELECT provider, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(unknown) AS BIGINT) AS unknown
        FROM usage_provider_day WHERE org_no = $1 AND day >= $2 AND day <= $3 GROUP BY provider";
    VERIFIED_BETWEEN = "SELECT CAST(COALESCE(SUM(verified), 0) AS BIGINT) AS verified FROM usage_day
        WHERE org_no = $1 AND day >= $2 AND day <= $3";
    ANY_VERIFIED = "SELECT 1 AS one FROM usage_day WHERE org_no = $1 AND verified > 0 LIMIT 1";
    BY_REASON = "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 AND connection_id = COALESCE($4, connection_id) GROUP BY reason";
    KNOWS_CONNECTION = "SELECT 1 AS one FROM usage_day WHERE org_no = $1 AND connection_id = $2 LIMIT 1";
    BY_SOURCE = "SELECT reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day = $2 AND source = $3 GROUP BY reason";
    BY_DAY = "SELECT day, reason, CAST(SUM(verified) AS BIGINT) AS verified, CAST(SUM(charged) AS BIGINT) AS charged
        FROM usage_day WHERE org_no = $1 AND day >= $2 AND day <= $3 AND connection_id = COALESCE($4, connection_id)
        GROUP BY day, reason ORDER BY day";
}

/// Addresses and credits of a part of an organization's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageSum<K> {
    /// Part that was used.
    pub of: K,
    /// Addresses verified.
    pub verified: i64,
    /// Credits charged.
    pub charged: i64,
}

/// Addresses of one mail provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderUsage {
    /// Provider's id; `None` for all MX hosts of no known provider.
    pub provider: Option<String>,
    /// Addresses verified.
    pub verified: i64,
    /// Addresses with an unknown verdict.
    pub unknown: i64,
}

/// An organization's usage by mail provider between two days, both included, the provider with the most addresses first.
pub async fn by_provider(conn: &mut Conn, org: OrgNo, from_day: i64, to_day: i64) -> Result<Vec<ProviderUsage>> {
    let mut all: Vec<ProviderUsage> = conn.all(&BY_PROVIDER, args![org, from_day, to_day]).await?;
    all.sort_by(|a, b| (b.verified, &a.provider).cmp(&(a.verified, &b.provider)));
    Ok(all)
}

records!(row => ProviderUsage {
    verified, unknown;
    provider: Some(row.read("provider")?).filter(|id: &String| id != NO_PROVIDER),
});

probity_mail::named! {
    /// Dimension by which usage is divided.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UsageDimension {
        /// Status of the verdict.
        Status = "status",
        Source = "source",
        /// API key.
        Key = "key",
        Connection = "connection",
        /// Mail provider; the credits of its addresses are not counted.
        Provider = "provider",
        Domain = "domain",
    }
}

/// Returns the usage of the `at_most` largest parts by day and part, between two days, both included; only of one part if given.
/// The empty part is usage without this dimension.
pub async fn by_part(
    conn: &mut Conn,
    org: OrgNo,
    (from_day, to_day): (i64, i64),
    dimension: UsageDimension,
    only: Option<&str>,
    at_most: i64,
) -> Result<Vec<UsageSum<(i64, String)>>> {
    let statement = match dimension {
        UsageDimension::Status => return by_status(conn, org, (from_day, to_day), only).await,
        UsageDimension::Source => &LARGEST_SOURCES,
        UsageDimension::Key => &LARGEST_KEYS,
        UsageDimension::Connection => &LARGEST_CONNECTIONS,
        UsageDimension::Provider => &LARGEST_PROVIDERS,
        UsageDimension::Domain => &LARGEST_DOMAINS,
    };
    let mut sums: Vec<UsageSum<(i64, String)>> =
        conn.all(statement, args![org, from_day, to_day, only, at_most]).await?;
    sums.sort_by(|a, b| a.of.cmp(&b.of));
    Ok(sums)
}

async fn by_status(
    conn: &mut Conn,
    org: OrgNo,
    (from_day, to_day): (i64, i64),
    only: Option<&str>,
) -> Result<Vec<UsageSum<(i64, String)>>> {
    let mut sums: BTreeMap<(i64, String), (i64, i64)> = BTreeMap::new();
    for sum in by_day(conn, org, from_day, to_day, None).await? {
        let status = sum.of.1.status().as_str();
        if only.is_none_or(|only| only == status) {
            let (verified, charged) = sums.entry((sum.of.0, status.to_owned())).or_default();
            (*verified, *charged) = (*verified + sum.verified, *charged + sum.charged);
        }
    }
    let sum = |((day, status), (verified, charged))| UsageSum { of: (day, status), verified, charged };
    Ok(sums.into_iter().map(sum).collect())
}

/// Addresses that an organization verified between two days, both included.
pub async fn verified_between(conn: &mut Conn, org: OrgNo, from_day: i64, to_day: i64) -> Result<i64> {
    conn.one(&VERIFIED_BETWEEN, args![org, from_day, to_day]).await
}

/// Whether this organization ever verified anything.
pub async fn any_verified(conn: &mut Conn, org: OrgNo) -> Result<bool> {
    conn.has(&ANY_VERIFIED, args![org]).await
}

/// Whether this organization ever verified anything for a connection.
pub async fn knows_connection(conn: &mut Conn, org: OrgNo, connection: &str) -> Result<bool> {
    conn.has(&KNOWS_CONNECTION, args![org, connection]).await
}

/// An organization's usage by reason between two days, both included, in the order of the reasons; of one connection if given.
pub async fn by_reason(
    conn: &mut Conn,
    org: OrgNo,
    from_day: i64,
    to_day: i64,
    connection: Option<&str>,
) -> Result<Vec<UsageSum<Reason>>> {
    Ok(in_order(conn.all(&BY_REASON, args![org, from_day, to_day, connection]).await?))
}

/// Usage of one source on one day, by reason, in the order of the reasons.
pub async fn by_source(conn: &mut Conn, org: OrgNo, day: i64, source: &str) -> Result<Vec<UsageSum<Reason>>> {
    Ok(in_order(conn.all(&BY_SOURCE, args![org, day, source]).await?))
}

fn in_order(mut sums: Vec<UsageSum<Reason>>) -> Vec<UsageSum<Reason>> {
    sums.sort_by_key(|sum| Reason::ALL.iter().position(|reason| *reason == sum.of));
    sums
}

/// An organization's usage by day and reason between two days, both included, in the order of the days; empty sums are omitted; of
/// one connection if given.
pub async fn by_day(
    conn: &mut Conn,
    org: OrgNo,
    from_day: i64,
    to_day: i64,
    connection: Option<&str>,
) -> Result<Vec<UsageSum<(i64, Reason)>>> {
    conn.all(&BY_DAY, args![org, from_day, to_day, connection]).await
}

impl<K: FromRow> FromRow for UsageSum<K> {
    /// The first columns contain the part.
    fn from_row(row: &ResultRow) -> Result<Self> {
        Ok(Self { of: K::from_row(row)?, verified: row.get("verified")?, charged: row.get("charged")? })
    }
}
