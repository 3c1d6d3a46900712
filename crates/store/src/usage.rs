//! Usage counters: verifications by day, source, connection and reason, and by day and mail provider. [`crate::reports`] reads
//! them.
//!
//! They are written in bulk by the settlement that charges for the work, in the same transaction, so their sums match the charges.
//! Days are UTC, counted from 1970-01-01.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_mail::verdict::{Reason, Status};
use serde_json::json;

use crate::db::{Together, Tx, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

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
}

/// Verifications to add to the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub org: OrgNo,
    /// Day, in days since 1970-01-01: [`probity_mail::time::Millis::utc_day`].
    pub day: i64,
    /// Source, such as `api`; never user text.
    pub source: String,
    /// Id of the connection that owned the data, if any.
    pub connection: Option<String>,
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
pub async fn add(tx: &mut Tx, deltas: &[Delta]) -> Result<()> {
    let mut together = Together::default();
    put(&mut together, deltas);
    tx.execute_together(together).await
}

/// As [`add`], batched with other changes.
pub(crate) fn put(together: &mut Together, deltas: &[Delta]) {
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
}

/// In key order, as above.
fn put_providers(together: &mut Together, deltas: &[Delta]) {
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
