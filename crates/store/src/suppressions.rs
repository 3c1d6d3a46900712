//! Lists of addresses that an organization has had trouble with, known by their tags only.
//!
//! A tag is made under the pepper, so the store cannot tell which address it stands for, nor can anybody who reads the database
//! alone. How many a list has is counted in the transaction that changes it: nothing ever counts the rows.

use std::collections::BTreeSet;

use probity_account::suppression::List;
use probity_mail::time::Millis;
use serde_json::json;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::hex::hex;
use crate::number::OrgNo;

/// What an address is known by: a keyed hash of its normal form.
pub type Tag = [u8; 16];

statements! {
    // PostgreSQL locks the row, and so the changes of one list are made one after the other, each with its true numbers.
    LOCK = "INSERT INTO suppression_count (org_no, list, listed, changed_at) VALUES ($1, $2, 0, $3) \
            ON CONFLICT (org_no, list) DO UPDATE SET changed_at = excluded.changed_at RETURNING listed";
    COUNTED = "UPDATE suppression_count SET listed = listed + $3 WHERE org_no = $1 AND list = $2";
    STANDING = "SELECT list, listed, changed_at FROM suppression_count WHERE org_no = $1 AND listed > 0";
    ADD = "INSERT INTO suppression (org_no, list, tag, added_at) \
           SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), {unhex:each.value ->> 0}, CAST($3 AS BIGINT) FROM {each:$4} WHERE 1 = 1 \
           ON CONFLICT (org_no, list, tag) DO NOTHING";
    REMOVE = "DELETE FROM suppression WHERE org_no = $1 AND list = $2 \
              AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
    // The first ones up to a border: a set of them PostgreSQL would compare with every row.
    REMOVE_SOME = "DELETE FROM suppression WHERE org_no = $1 AND list = $2 AND tag <= (SELECT last.tag FROM \
                   (SELECT tag FROM suppression WHERE org_no = $1 AND list = $2 ORDER BY tag LIMIT $3) AS last \
                   ORDER BY last.tag DESC LIMIT 1)";
    // Not a join: SQLite would read the whole list for it.
    FIND = "SELECT list, tag, added_at FROM suppression WHERE org_no = $1 AND list = $2 \
            AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
}

/// How a list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which.
    pub list: List,
    /// How many addresses it has; never zero.
    pub listed: i64,
    /// When it was changed last.
    pub changed_at: Millis,
}

/// An address that is on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// On which.
    pub list: List,
    /// Which address.
    pub tag: Tag,
    /// Since when.
    pub since: Millis,
}

/// How many addresses a list had and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Before.
    pub before: i64,
    /// After.
    pub after: i64,
}

/// The lists of an organization that have addresses, in the order of [`List::ALL`].
pub async fn standing(conn: &mut Conn, org: OrgNo) -> Result<Vec<Standing>> {
    let one = |row: &Row| {
        Ok(Standing { list: list(row)?, listed: row.get("listed")?, changed_at: Millis(row.get("changed_at")?) })
    };
    let mut standing = conn.rows(&STANDING, args![org]).await?.iter().map(one).collect::<Result<Vec<_>>>()?;
    standing.sort_by_key(|one| one.list);
    Ok(standing)
}

/// Puts addresses on a list. Those that are there keep the time at which they came.
pub async fn add(tx: &mut Tx, org: OrgNo, list: List, tags: &BTreeSet<Tag>, now: Millis) -> Result<Changed> {
    let before = lock(tx, org, list, now).await?;
    let added = tx.execute(&ADD, args![org, list.as_str(), now, texts(tags)]).await?;
    counted(tx, org, list, before, i64::try_from(added).unwrap_or(i64::MAX)).await
}

/// Takes addresses off a list.
pub async fn remove(tx: &mut Tx, org: OrgNo, list: List, tags: &BTreeSet<Tag>, now: Millis) -> Result<Changed> {
    let before = lock(tx, org, list, now).await?;
    let removed = tx.execute(&REMOVE, args![org, list.as_str(), texts(tags)]).await?;
    counted(tx, org, list, before, -i64::try_from(removed).unwrap_or(i64::MAX)).await
}

/// Takes up to `at_most` addresses off a list, those with the lowest tags: all of them in steps, each of which is short.
pub async fn remove_some(tx: &mut Tx, org: OrgNo, list: List, at_most: u32, now: Millis) -> Result<Changed> {
    let before = lock(tx, org, list, now).await?;
    let removed = tx.execute(&REMOVE_SOME, args![org, list.as_str(), i64::from(at_most)]).await?;
    counted(tx, org, list, before, -i64::try_from(removed).unwrap_or(i64::MAX)).await
}

/// Which of these addresses are on which lists: one look-up for each list that has any.
pub async fn find(conn: &mut Conn, org: OrgNo, lists: &[Standing], tags: &BTreeSet<Tag>) -> Result<Vec<Listed>> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = texts(tags);
    let mut found = Vec::new();
    for one in lists {
        for row in conn.rows(&FIND, args![org, one.list.as_str(), wanted.as_str()]).await? {
            let tag: Vec<u8> = row.get("tag")?;
            let tag = tag.try_into().map_err(|_| StoreError::corrupt("the tag of an address"))?;
            found.push(Listed { list: list(&row)?, tag, since: Millis(row.get("added_at")?) });
        }
    }
    found.sort();
    Ok(found)
}

async fn lock(tx: &mut Tx, org: OrgNo, list: List, now: Millis) -> Result<i64> {
    let row = tx.first(&LOCK, args![org, list.as_str(), now]).await?;
    row.ok_or_else(|| StoreError::corrupt("a count that was just written is not there"))?.get("listed")
}

async fn counted(tx: &mut Tx, org: OrgNo, list: List, before: i64, more: i64) -> Result<Changed> {
    if more != 0 {
        tx.execute(&COUNTED, args![org, list.as_str(), more]).await?;
    }
    Ok(Changed { before, after: before + more })
}

fn list(row: &Row) -> Result<List> {
    let name: String = row.get("list")?;
    List::from_name(&name).ok_or_else(|| StoreError::corrupt("the name of a list"))
}

/// As JSON, each a list of its own, in lower-case hexadecimal.
pub(crate) fn texts(tags: &BTreeSet<Tag>) -> String {
    serde_json::Value::from(tags.iter().map(|tag| json!([hex(tag)])).collect::<Vec<_>>()).to_string()
}
