//! Facts about domains at MX hosts, for all customers and nodes: whether a host is a catch-all for the domain, and whether it has
//! ever accepted an address.
//!
//! Facts are hints that expire. Losing one costs a probe, never a verdict, so the last writer wins and nothing is locked.

use std::collections::BTreeMap;

use probity_mail::time::Millis;
use serde::Serialize;
use serde_json::json;

use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::records::{TypedStatements as _, records};

statements! {
    RECALL = "SELECT f.domain, f.host, f.catch_all, f.catch_all_until, f.accepted_until FROM {each:$1} \
              JOIN domain_fact f ON f.domain = each.value ->> 0 AND f.host = each.value ->> 1";
    OF_DOMAINS = "SELECT f.domain, f.host, f.catch_all, f.catch_all_until, f.accepted_until FROM {each:$1} \
                  JOIN domain_fact f ON f.domain = each.value ->> 0";
    REMEMBER = "INSERT INTO domain_fact (domain, host, catch_all, catch_all_until, accepted_until, known_until)
        SELECT each.value ->> 'domain', each.value ->> 'host', CAST(each.value ->> 'catch_all' AS BIGINT),
            CAST(each.value ->> 'catch_all_until' AS BIGINT), CAST(each.value ->> 'accepted_until' AS BIGINT),
            CAST(each.value ->> 'known_until' AS BIGINT)
        FROM {each:$1} WHERE 1 = 1
        ON CONFLICT (domain, host) DO UPDATE SET
            catch_all = COALESCE(excluded.catch_all, domain_fact.catch_all),
            catch_all_until = COALESCE(excluded.catch_all_until, domain_fact.catch_all_until),
            accepted_until = COALESCE(excluded.accepted_until, domain_fact.accepted_until),
            known_until = CASE WHEN excluded.known_until > domain_fact.known_until
                THEN excluded.known_until ELSE domain_fact.known_until END";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT domain, host FROM domain_fact WHERE known_until <= $1 ORDER BY known_until LIMIT $2 {skip_locked})
        DELETE FROM domain_fact WHERE (domain, host) IN (SELECT domain, host FROM old)";
}

/// Facts about a domain at one MX host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDomainFact {
    /// Domain in lower-case A-labels.
    pub domain: String,
    /// MX host name, in lower case.
    pub host: String,
    /// Whether the domain is a catch-all, and the expiry of that fact.
    pub catch_all: Option<(bool, Millis)>,
    /// Expiry of the fact that the domain has accepted an address.
    pub accepted_until: Option<Millis>,
}

/// Both parts of a [`StoredDomainFact`].
type FactParts = (Option<(bool, Millis)>, Option<Millis>);

/// Facts about domains at MX hosts, requested as pairs of domain and host, in no order; unknown pairs are omitted. Expired parts
/// are included until they are purged.
pub async fn recall<T: Serialize>(conn: &mut Conn, wanted: &[T]) -> Result<Vec<StoredDomainFact>> {
    conn.all(&RECALL, args![json!(wanted).to_string()]).await
}

/// Facts about domains at all MX hosts, each domain requested as an array of one; in no order.
pub async fn of_domains<T: Serialize>(conn: &mut Conn, wanted: &[T]) -> Result<Vec<StoredDomainFact>> {
    conn.all(&OF_DOMAINS, args![json!(wanted).to_string()]).await
}

records!(row => StoredDomainFact {
    domain, host, accepted_until;
    catch_all: row.read::<Option<_>>("catch_all")?.zip(row.read("catch_all_until")?),
});

/// Stores facts. A part that is `None` leaves the stored one unchanged; of several facts about the same domain and host, the last
/// counts.
pub async fn remember(tx: &mut Tx, facts: &[StoredDomainFact]) -> Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    // PostgreSQL refuses to update a row twice in one statement. Writing in key order prevents deadlocks between writers.
    let mut rows: BTreeMap<(&str, &str), FactParts> = BTreeMap::new();
    for fact in facts {
        let row = rows.entry((&fact.domain, &fact.host)).or_default();
        *row = (fact.catch_all.or(row.0), fact.accepted_until.or(row.1));
    }
    let rows = rows.into_iter().map(|((domain, host), (catch_all, accepted_until))| {
        let catch_all_until = catch_all.map(|(_, until)| until.0);
        let accepted_until = accepted_until.map(|until| until.0);
        json!({
            "domain": domain, "host": host,
            "catch_all": catch_all.map(|(is, _)| i64::from(is)), "catch_all_until": catch_all_until,
            "accepted_until": accepted_until,
            "known_until": catch_all_until.max(accepted_until).unwrap_or(0),
        })
    });
    tx.execute(&REMEMBER, args![json!(rows.collect::<Vec<_>>()).to_string()]).await.map(drop)
}

/// Removes up to `at_most` rows whose parts have all expired, oldest first; returns the number removed.
pub async fn purge(tx: &mut Tx, now: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![now, at_most]).await
}
