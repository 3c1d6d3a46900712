//! Outcomes of mail that organizations sent, by keyed tag: labels for a score of addresses.
//!
//! The key of the table lets an event count once: class and day of one address. Old outcomes are purged by the time of the event;
//! erasures remove those reported before them.

pub mod sources;
mod states;

use std::collections::BTreeMap;

use probity_account::id::ErasureId;
use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::error::Result;
use crate::db::hex::hex;
use crate::db::{Tx, args, statements};
use crate::number::OrgNo;
use crate::privacy::suppressions::SuppressionTag;
use crate::records::TypedStatements as _;

pub use states::known;

/// Keyed hash of a domain, the same in all organizations.
pub type DomainTag = [u8; 16];

statements! {
    ADD = "INSERT INTO outcome (org_no, test, tag, class, day, at, reported_at, domain, form, source) \
           SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), {unhex:each.value ->> 't'}, each.value ->> 'c', \
           CAST(each.value ->> 'd' AS BIGINT), CAST(each.value ->> 'a' AS BIGINT), CAST($3 AS BIGINT), \
           {unhex:each.value ->> 'o'}, each.value ->> 'f', CAST($4 AS TEXT) FROM {each:$5} WHERE 1 = 1 \
           ON CONFLICT (org_no, test, tag, class, day) DO NOTHING RETURNING tag, class";
    ERASE = "DELETE FROM outcome WHERE org_no = $1 AND test = $2 AND (tag, class, day) IN (SELECT o.tag, o.class, o.day \
             FROM tombstone t JOIN outcome o ON o.org_no = t.org_no AND o.tag = t.tag \
             WHERE t.org_no = $1 AND t.erasure_id = $3 AND o.test = $2 AND o.reported_at <= $4 LIMIT $5)";
    PURGE = "WITH old AS MATERIALIZED (
            SELECT org_no, test, tag, class, day FROM outcome WHERE at < $1 ORDER BY at LIMIT $2 {skip_locked})
        DELETE FROM outcome WHERE (org_no, test, tag, class, day) IN (SELECT org_no, test, tag, class, day FROM old)";
    [sources, states]
}

/// Key of an outcome within a mode of an organization: address, class and day of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutcomeKey {
    pub tag: SuppressionTag,
    pub class: OutcomeClass,
    /// Days since 1970-01-01.
    pub day: i64,
}

/// Details of an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeDetails {
    /// Time of the event.
    pub at: Millis,
    pub domain: DomainTag,
    /// Form of the local part ([`probity_account::outcome::local_form`]).
    pub form: String,
}

/// Outcomes to add. Sorted, so that writers of the same outcomes lock them in the same order.
pub type NewOutcomes = BTreeMap<OutcomeKey, OutcomeDetails>;

/// Adds outcomes; returns address and class of the new ones.
pub async fn add(
    tx: &mut Tx,
    (org, test): (OrgNo, bool),
    source: OutcomeSource,
    outcomes: &NewOutcomes,
    now: Millis,
) -> Result<Vec<(SuppressionTag, OutcomeClass)>> {
    if outcomes.is_empty() {
        return Ok(Vec::new());
    }
    let one = |(key, details): (&OutcomeKey, &OutcomeDetails)| {
        json!({
            "t": hex(&key.tag), "c": key.class.as_str(), "d": key.day, "a": details.at.0,
            "o": hex(&details.domain), "f": details.form,
        })
    };
    let texts = serde_json::Value::from(outcomes.iter().map(one).collect::<Vec<_>>()).to_string();
    tx.all(&ADD, args![org, test, now, source, texts]).await
}

/// Removes up to `at_most` outcomes of an erasure's addresses that were reported before it; returns the number.
pub async fn erase(
    tx: &mut Tx,
    (org, test): (OrgNo, bool),
    erasure: ErasureId,
    before: Millis,
    at_most: i64,
) -> Result<u64> {
    tx.execute(&ERASE, args![org, test, erasure, before, at_most]).await
}

/// Removes up to `at_most` outcomes of events before a time; returns the number.
pub async fn purge(tx: &mut Tx, before: Millis, at_most: u32) -> Result<u64> {
    tx.execute(&PURGE, args![before, at_most]).await
}
