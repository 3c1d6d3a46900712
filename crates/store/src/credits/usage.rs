//! Usage counters: verifications by day, source, connection and reason, and by day and mail provider, API key or domain.
//! [`crate::activity::reports`] reads them.
//!
//! A day has at most [`DOMAINS_MAX`] domains, for any number of addresses: a write counts only domains with a share of
//! [`DOMAIN_SHARE`] in it, and adds none beyond the bound. The counters are written in bulk by the settlement that charges for
//! the work, in the same transaction, so their sums match the charges. Days are UTC, counted from 1970-01-01.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_account::id::KeyId;
use probity_mail::verdict::{Reason, Status};
use serde_json::json;

use crate::db::error::Result;
use crate::db::{Conn, StatementBatch, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::TypedStatements as _;

statements! {
    ADD = "INSERT INTO usage_day (org_no, day, source, connection_id, reason, verified, charged)
        SELECT CAST(each.value ->> 'org' AS BIGINT), CAST(each.value ->> 'day' AS BIGINT), each.value ->> 'source',
            each.value ->> 'connection', each.value ->> 'reason', CAST(each.value ->> 'verified' AS BIGINT),
            CAST(each.value ->> 'charged' AS BIGINT)
        FROM {each:$1} WHERE 1 = 1
        ON CONFLICT (org_no, day, source, connection_id, reason) DO UPDATE SET
            verified = usage_day.verified + excluded.verified, charged = usage_day.charged + excluded.charged";
    ADD_PROVIDERS = "INSERT INTO usage_provider_day (org_no, day, provider, verified, unknown)
        SELECT CAST(each.value ->> 'org' AS BIGINT), CAST(each.value ->> 'day' AS BIGINT), each.value ->> 'provider',
            CAST(each.value ->> 'verified' AS BIGINT), CAST(each.value ->> 'unknown' AS BIGINT)
        FROM {each:$1} WHERE 1 = 1
        ON CONFLICT (org_no, day, provider) DO UPDATE SET
            verified = usage_provider_day.verified + excluded.verified,
            unknown = usage_provider_day.unknown + excluded.unknown";
    ADD_PARTS = "INSERT INTO usage_part_day (org_no, kind, day, part, verified, charged)
        SELECT e.org_no, e.kind, e.day, e.part, e.verified, e.charged FROM (SELECT CAST(each.value ->> 'org' AS BIGINT) AS org_no,
            each.value ->> 'kind' AS kind, CAST(each.value ->> 'day' AS BIGINT) AS day, each.value ->> 'part' AS part,
            CAST(each.value ->> 'verified' AS BIGINT) AS verified, CAST(each.value ->> 'charged' AS BIGINT) AS charged
            FROM {each:$1}) AS e
        WHERE e.kind = 'key' OR (SELECT COUNT(*) FROM (SELECT 1 AS one FROM usage_part_day c WHERE c.org_no = e.org_no AND c.kind = e.kind
                AND c.day = e.day LIMIT $2) AS counted) < $2
            OR EXISTS (SELECT 1 FROM usage_part_day k WHERE k.org_no = e.org_no AND k.kind = e.kind AND k.day = e.day AND k.part = e.part)
        ON CONFLICT (org_no, kind, day, part) DO UPDATE SET
            verified = usage_part_day.verified + excluded.verified, charged = usage_part_day.charged + excluded.charged";
    OLD_DOMAINS = "SELECT u.org_no, u.day, u.part FROM org o LEFT JOIN org_settings s ON s.org_no = o.org_no CROSS JOIN usage_part_day u
        WHERE u.org_no = o.org_no AND u.kind = 'domain' AND u.day < $1 - COALESCE(s.retention_days, $2) LIMIT $3";
    FORGET_DOMAIN = "DELETE FROM usage_part_day WHERE org_no = $1 AND kind = 'domain' AND day = $2 AND part = $3";
}

/// Maximum number of domains per day of an organization; concurrent writes can add a few more.
const DOMAINS_MAX: i64 = 300;
/// Minimum share of a write's addresses for a domain to be counted: 1 in this number. Lists have thousands of domains with one
/// address each, which would leave no room for the relevant ones.
const DOMAIN_SHARE: i64 = 50;

/// Verifications to add to the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageDelta {
    pub org: OrgNo,
    /// Day, in days since 1970-01-01: [`probity_mail::time::Millis::utc_day`].
    pub day: i64,
    /// Source, such as `api`; never user text.
    pub source: String,
    /// Id of the connection that owned the data, if any.
    pub connection: Option<String>,
    /// API key that caused the verifications, if any.
    pub key: Option<KeyId>,
    /// Domain of the addresses, if they have one.
    pub domain: Option<Arc<str>>,
    /// Id of the mail provider of the domain's MX hosts, if known.
    pub provider: Option<Arc<str>>,
    pub reason: Reason,
    /// Addresses verified.
    pub verified: i64,
    /// Credits charged.
    pub charged: i64,
}

/// Stored name for MX hosts of no known provider.
pub(crate) const NO_PROVIDER: &str = "";

/// Adds to the counters. Deltas of the same counter are summed.
pub async fn add(tx: &mut Tx, deltas: &[UsageDelta]) -> Result<()> {
    let mut together = StatementBatch::default();
    put(&mut together, deltas);
    tx.execute_together(together).await
}

/// As [`add`], batched with other changes.
pub(crate) fn put(together: &mut StatementBatch, deltas: &[UsageDelta]) {
    if deltas.is_empty() {
        return;
    }
    // PostgreSQL refuses to update a row twice in one statement. Writing in key order prevents deadlocks between writers.
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
    together.add(&ADD, args![json!(rows.collect::<Vec<_>>()).to_string()]);
    put_providers(together, deltas);
    put_parts(together, deltas);
}

/// In key order, as above.
fn put_providers(together: &mut StatementBatch, deltas: &[UsageDelta]) {
    let mut counters: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    for delta in deltas {
        let key = (delta.org, delta.day, delta.provider.as_deref().unwrap_or(NO_PROVIDER));
        let (verified, unknown) = counters.entry(key).or_default();
        *verified = verified.saturating_add(delta.verified);
        if delta.reason.status() == Status::Unknown {
            *unknown = unknown.saturating_add(delta.verified);
        }
    }
    let rows = counters.into_iter().map(|((org, day, provider), (verified, unknown))| {
        json!({ "org": org.0, "day": day, "provider": provider, "verified": verified, "unknown": unknown })
    });
    together.add(&ADD_PROVIDERS, args![json!(rows.collect::<Vec<_>>()).to_string()]);
}

/// In key order, as above.
fn put_parts(together: &mut StatementBatch, deltas: &[UsageDelta]) {
    let mut sums: BTreeMap<(OrgNo, &str, i64, String), (i64, i64)> = BTreeMap::new();
    let mut totals: BTreeMap<(OrgNo, i64), i64> = BTreeMap::new();
    for delta in deltas {
        let total = totals.entry((delta.org, delta.day)).or_default();
        *total = total.saturating_add(delta.verified);
        let key = delta.key.map(|id| id.to_string()).unwrap_or_default();
        let parts = [("key", Some(key)), ("domain", delta.domain.as_deref().map(ToOwned::to_owned))];
        for (kind, part) in parts.into_iter().filter_map(|(kind, part)| Some((kind, part?))) {
            let (verified, charged) = sums.entry((delta.org, kind, delta.day, part)).or_default();
            (*verified, *charged) = (verified.saturating_add(delta.verified), charged.saturating_add(delta.charged));
        }
    }
    let matters = |org: &OrgNo, kind: &str, day: &i64, verified: i64| {
        kind == "key" || verified.saturating_mul(DOMAIN_SHARE) >= totals[&(*org, *day)]
    };
    let rows = sums.iter().filter(|((org, kind, day, _), (verified, _))| matters(org, kind, day, *verified));
    let rows = rows.map(|((org, kind, day, part), (verified, charged))| {
        json!({ "org": org.0, "kind": kind, "day": day, "part": part, "verified": verified, "charged": charged })
    });
    together.add(&ADD_PARTS, args![json!(rows.collect::<Vec<_>>()).to_string(), DOMAINS_MAX]);
}

/// Counted domains of an organization on a day.
pub type DomainDay = (OrgNo, i64, String);

/// Counted domains older than their organization's retention of results, or than `usual_days`.
pub async fn old_domains(conn: &mut Conn, today: i64, usual_days: i64, at_most: i64) -> Result<Vec<DomainDay>> {
    conn.all(&OLD_DOMAINS, args![today, usual_days, at_most]).await
}

/// Removes counted domains. The sums of the day keep their addresses.
pub async fn forget_domains(tx: &mut Tx, old: &[DomainDay]) -> Result<()> {
    for (org, day, domain) in old {
        tx.execute(&FORGET_DOMAIN, args![*org, *day, domain.as_str()]).await?;
    }
    Ok(())
}
