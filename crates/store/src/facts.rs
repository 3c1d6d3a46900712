//! What exchangers have shown of domains, for all customers and nodes: whether one accepts any local part, and whether it
//! has ever accepted some address.
//!
//! Facts are hints that age. Losing one costs a question to the exchanger, never a verdict, so the last writer wins and
//! nothing is locked.

use std::collections::BTreeMap;

use probity_mail::time::Millis;
use serde::Serialize;
use serde_json::json;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::Result;

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

/// What is known of a domain at one exchanger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The domain, in lower-case A-labels.
    pub domain: String,
    /// The exchanger's host name, in lower case.
    pub host: String,
    /// Whether it accepts any local part, and until when that counts.
    pub catch_all: Option<(bool, Millis)>,
    /// Until when it counts as a domain that has accepted some address.
    pub accepted_until: Option<Millis>,
}

/// Both parts of a fact, as in [`Fact`].
type Parts = (Option<(bool, Millis)>, Option<Millis>);

/// What is known of domains at exchangers, each asked for as a pair of domain and host, in no order; those of which nothing
/// is known are left out. Parts whose time has passed are still told until they are purged.
pub async fn recall<T: Serialize>(conn: &mut Conn, wanted: &[T]) -> Result<Vec<Fact>> {
    conn.rows(&RECALL, args![json!(wanted).to_string()]).await?.iter().map(fact).collect()
}

/// What is known of domains at whichever exchangers, each domain asked for as an array of one; in no order.
pub async fn of_domains<T: Serialize>(conn: &mut Conn, wanted: &[T]) -> Result<Vec<Fact>> {
    conn.rows(&OF_DOMAINS, args![json!(wanted).to_string()]).await?.iter().map(fact).collect()
}

fn fact(row: &Row) -> Result<Fact> {
    let catch_all: Option<i64> = row.get("catch_all")?;
    let catch_all_until: Option<i64> = row.get("catch_all_until")?;
    let accepted_until: Option<i64> = row.get("accepted_until")?;
    Ok(Fact {
        domain: row.get("domain")?,
        host: row.get("host")?,
        catch_all: catch_all.zip(catch_all_until).map(|(is, until)| (is != 0, Millis(until))),
        accepted_until: accepted_until.map(Millis),
    })
}

/// Keeps facts. Parts that are none leave what is known; of several facts about the same domain and host the last counts.
pub async fn remember(tx: &mut Tx, facts: &[Fact]) -> Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    // PostgreSQL refuses to update a row twice in one statement; and everyone writes in the order of the keys, so that
    // two writers cannot wait for each other.
    let mut rows: BTreeMap<(&str, &str), Parts> = BTreeMap::new();
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
    tx.execute(&REMEMBER, args![json!(rows.collect::<Vec<_>>()).to_string()]).await?;
    Ok(())
}

/// Removes up to `at_most` rows of which no part counts any more, the oldest first, and says how many those were.
pub async fn purge(tx: &mut Tx, now: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![now, i64::from(at_most)]).await
}
