//! Keyword rules of connections. Keywords may be addresses, so bodies are encrypted like lists.
//!
//! Each rule has a tag, a keyed hash of what it matches, which prevents duplicates. Every change locks the connection, which
//! counts its rules. A change that lets runs act on more contacts revokes the trust of a confirmed run, because no user has seen
//! its effects.

use std::collections::BTreeMap;

use probity_account::connections::{KeywordRule, RuleKind};
use probity_account::id::{ConnId, RuleId};
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::error::Result;
use crate::db::hex::hex;
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::{ReadColumns as _, damaged, listed, record};

/// Keyed hash of what a rule matches.
pub type RuleTag = [u8; 16];

/// Rule of a connection. Without `Debug`, because its keyword may be an address.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredRule {
    pub id: RuleId,
    pub kind: RuleKind,
    pub rule: KeywordRule,
    pub created_at: Millis,
}

#[derive(Clone)]
pub struct NewRule {
    pub id: RuleId,
    pub tag: RuleTag,
    pub rule: KeywordRule,
}

statements! {
    KNOWN = "SELECT org_no, id, kind, tag, body, created_at FROM connection_rule WHERE org_no = $1 AND connection_id = $2 \
             AND kind = $3 AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$4})";
    ADD = "INSERT INTO connection_rule (org_no, connection_id, id, kind, tag, body, created_at) \
           SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), each.value ->> 'i', CAST($3 AS TEXT), {unhex:each.value ->> 't'}, \
           {unhex:each.value ->> 'b'}, CAST($4 AS BIGINT) FROM {each:$5} WHERE 1 = 1";
    BLACKLISTED = "UPDATE connection SET blacklist_count = blacklist_count + $3 WHERE org_no = $1 AND id = $2";
    WHITELISTED = "UPDATE connection SET whitelist_count = whitelist_count + $3 WHERE org_no = $1 AND id = $2";
    WIDEN = "UPDATE connection SET trusted_at = NULL, rules_widened = rules_widened + 1 WHERE org_no = $1 AND id = $2";
    PAGE = "SELECT org_no, id, kind, body, created_at FROM connection_rule WHERE org_no = $1 AND connection_id = $2 AND kind = $3 \
            AND (created_at < $4 OR (created_at = $4 AND id < $5)) ORDER BY created_at DESC, id DESC LIMIT $6";
    ALL = "SELECT org_no, id, kind, body, created_at FROM connection_rule WHERE org_no = $1 AND connection_id = $2";
    REMOVE = "DELETE FROM connection_rule WHERE org_no = $1 AND connection_id = $2 AND kind = $3 AND id = $4";
    // Rules of all connections of a mode, for erasures.
    BEHIND = "SELECT r.org_no, r.connection_id, r.id, r.kind, r.body, r.created_at FROM connection_rule r \
              JOIN connection c ON c.org_no = r.org_no AND c.id = r.connection_id \
              WHERE r.org_no = $1 AND c.test = $2 AND r.id > $3 ORDER BY r.id LIMIT $4";
}

/// Adds rules to a list of a locked connection. Returns the stored rule for each: the new one, or an existing one with the
/// same matches. Returns `None`, and adds none, if the list would exceed `at_most` rules.
pub async fn add(
    tx: &mut Tx,
    (org, connection, kind): (OrgNo, ConnId, RuleKind),
    rules: &[NewRule],
    (present, at_most): (i64, i64),
    now: Millis,
) -> Result<Option<Vec<StoredRule>>> {
    let tags = listed(rules.iter().map(|new| hex(&new.tag)));
    let known = tx.rows(&KNOWN, args![org, connection, kind, tags]).await?;
    let mut standing = BTreeMap::new();
    for row in &known {
        let tag: Vec<u8> = row.get("tag")?;
        standing.insert(tag, read(tx, row).await?);
    }
    let mut fresh = Vec::new();
    for NewRule { id, tag, rule } in rules {
        if standing.contains_key(tag.as_slice()) {
            continue;
        }
        let plain = serde_json::to_vec(rule).map_err(damaged)?;
        let body = seal(tx, org, SealedField::named(BODY, &id.to_string()), &plain).await?;
        fresh.push(json!({ "i": id.to_string(), "t": hex(tag), "b": hex(&body) }));
        standing.insert(tag.to_vec(), StoredRule { id: *id, kind, rule: rule.clone(), created_at: now });
    }
    let more = i64::try_from(fresh.len()).unwrap_or(i64::MAX);
    if present.saturating_add(more) > at_most {
        return Ok(None);
    }
    tx.execute(&ADD, args![org, connection, kind, now, json!(fresh).to_string()]).await?;
    count(tx, org, connection, kind, more).await?;
    if kind == RuleKind::Blacklist && more > 0 {
        widen(tx, org, connection).await?;
    }
    Ok(Some(rules.iter().filter_map(|new| standing.get(new.tag.as_slice()).cloned()).collect()))
}

/// Returns rules of a list, newest first, after the last one of a page, at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    (org, connection, kind): (OrgNo, ConnId, RuleKind),
    after: Option<(Millis, RuleId)>,
    at_most: i64,
) -> Result<Vec<StoredRule>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    let rows = conn.rows(&PAGE, args![org, connection, kind, at, id, at_most]).await?;
    read_all(conn, &rows).await
}

/// Returns all rules of a connection, in any order.
pub async fn all(conn: &mut Conn, org: OrgNo, connection: ConnId) -> Result<Vec<StoredRule>> {
    let rows = conn.rows(&ALL, args![org, connection]).await?;
    read_all(conn, &rows).await
}

/// Removes a rule of a locked connection. Returns false if there is none.
pub async fn remove(tx: &mut Tx, (org, connection, kind): (OrgNo, ConnId, RuleKind), id: RuleId) -> Result<bool> {
    let removed = tx.execute(&REMOVE, args![org, connection, kind, id]).await?;
    if removed == 1 {
        count(tx, org, connection, kind, -1).await?;
        if kind == RuleKind::Whitelist {
            widen(tx, org, connection).await?;
        }
    }
    Ok(removed == 1)
}

/// Returns rules of an organization's connections of a mode after one, in ID order, each with its connection.
pub async fn behind(
    conn: &mut Conn,
    (org, test): (OrgNo, bool),
    behind: Option<RuleId>,
    at_most: i64,
) -> Result<Vec<(ConnId, StoredRule)>> {
    let behind = behind.map_or(String::new(), |id| id.to_string());
    let mut found = Vec::new();
    for row in conn.rows(&BEHIND, args![org, test, behind, at_most]).await? {
        found.push((row.read("connection_id")?, read(conn, &row).await?));
    }
    Ok(found)
}

async fn count(tx: &mut Tx, org: OrgNo, connection: ConnId, kind: RuleKind, more: i64) -> Result<()> {
    let counter = match kind {
        RuleKind::Blacklist => &BLACKLISTED,
        RuleKind::Whitelist => &WHITELISTED,
    };
    tx.execute(counter, args![org, connection, more]).await.map(drop)
}

async fn widen(tx: &mut Tx, org: OrgNo, connection: ConnId) -> Result<()> {
    tx.execute(&WIDEN, args![org, connection]).await.map(drop)
}

const BODY: &str = "connection_rule.body";

async fn read_all(conn: &mut Conn, rows: &[ResultRow]) -> Result<Vec<StoredRule>> {
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        all.push(read(conn, row).await?);
    }
    Ok(all)
}

async fn read(conn: &mut Conn, row: &ResultRow) -> Result<StoredRule> {
    let name: String = row.get("id")?;
    let body = unseal(conn, row.read("org_no")?, SealedField::named(BODY, &name), row.get("body")?).await?;
    Ok(record!(row => StoredRule {
        id, kind, created_at;
        rule: serde_json::from_slice(&body).map_err(damaged)?,
    }))
}
