//! Suppression lists: addresses that an organization wants flagged, stored as tags only.
//!
//! A tag is made with the pepper, so neither the store nor a reader of the database alone can identify the address. The transaction
//! that changes a list also updates its count: rows are never counted.

use std::collections::BTreeSet;

use probity_account::suppression::SuppressionKind;
use probity_mail::time::Millis;

use crate::db::error::Result;
use crate::db::hex::hex;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, listed, records};

/// Keyed hash of an address's normal form.
pub type SuppressionTag = [u8; 16];

statements! {
    // PostgreSQL locks the row, so changes of one list are serialized, each with correct counts.
    LOCK = "INSERT INTO suppression_count (org_no, list, listed, changed_at) VALUES ($1, $2, 0, $3) \
            ON CONFLICT (org_no, list) DO UPDATE SET changed_at = excluded.changed_at RETURNING listed";
    COUNTED = "UPDATE suppression_count SET listed = listed + $3 WHERE org_no = $1 AND list = $2";
    STANDING = "SELECT list, listed, changed_at FROM suppression_count WHERE org_no = $1 AND listed > 0";
    ADD = "INSERT INTO suppression (org_no, list, tag, added_at) \
           SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), {unhex:each.value ->> 0}, CAST($3 AS BIGINT) FROM {each:$4} WHERE 1 = 1 \
           ON CONFLICT (org_no, list, tag) DO NOTHING";
    REMOVE = "DELETE FROM suppression WHERE org_no = $1 AND list = $2 \
              AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
    // Removes the first ones up to a boundary: PostgreSQL would compare a set of them with every row.
    REMOVE_SOME = "DELETE FROM suppression WHERE org_no = $1 AND list = $2 AND tag <= (SELECT last.tag FROM \
                   (SELECT tag FROM suppression WHERE org_no = $1 AND list = $2 ORDER BY tag LIMIT $3) AS last \
                   ORDER BY last.tag DESC LIMIT 1)";
    // Not a join: SQLite would read the whole list for it.
    FIND = "SELECT list, tag, added_at FROM suppression WHERE org_no = $1 AND list = $2 \
            AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuppressionListSize {
    pub list: SuppressionKind,
    /// Number of addresses; never zero.
    pub listed: i64,
    /// Time of the last change.
    pub changed_at: Millis,
}

/// Listed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SuppressedAddress {
    pub list: SuppressionKind,
    /// The address.
    pub tag: SuppressionTag,
    /// Time of its addition.
    pub since: Millis,
}

records!(row => SuppressionListSize { list, listed, changed_at });
records!(row => SuppressedAddress { list, tag, since = "added_at" });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuppressionChanges {
    pub before: i64,
    pub after: i64,
}

/// An organization's lists that are not empty, in the order of [`SuppressionKind::ALL`].
pub async fn standing(conn: &mut Conn, org: OrgNo) -> Result<Vec<SuppressionListSize>> {
    let mut standing: Vec<SuppressionListSize> = conn.all(&STANDING, args![org]).await?;
    standing.sort_by_key(|one| one.list);
    Ok(standing)
}

/// Adds addresses to a list. Those already listed keep their time.
pub async fn add(
    tx: &mut Tx,
    org: OrgNo,
    list: SuppressionKind,
    tags: &BTreeSet<SuppressionTag>,
    now: Millis,
) -> Result<SuppressionChanges> {
    let before = lock(tx, org, list, now).await?;
    let added = tx.execute(&ADD, args![org, list, now, texts(tags)]).await?;
    counted(tx, org, list, before, i64::try_from(added).unwrap_or(i64::MAX)).await
}

/// Removes addresses from a list.
pub async fn remove(
    tx: &mut Tx,
    org: OrgNo,
    list: SuppressionKind,
    tags: &BTreeSet<SuppressionTag>,
    now: Millis,
) -> Result<SuppressionChanges> {
    let before = lock(tx, org, list, now).await?;
    let removed = tx.execute(&REMOVE, args![org, list, texts(tags)]).await?;
    counted(tx, org, list, before, -i64::try_from(removed).unwrap_or(i64::MAX)).await
}

/// Removes up to `at_most` addresses from a list, lowest tags first: clears a list in short steps.
pub async fn remove_some(
    tx: &mut Tx,
    org: OrgNo,
    list: SuppressionKind,
    at_most: u32,
    now: Millis,
) -> Result<SuppressionChanges> {
    let before = lock(tx, org, list, now).await?;
    let removed = tx.execute(&REMOVE_SOME, args![org, list, at_most]).await?;
    counted(tx, org, list, before, -i64::try_from(removed).unwrap_or(i64::MAX)).await
}

/// Returns the lists of these addresses, with one look-up per list that is not empty.
pub async fn find(
    conn: &mut Conn,
    org: OrgNo,
    lists: &[SuppressionListSize],
    tags: &BTreeSet<SuppressionTag>,
) -> Result<Vec<SuppressedAddress>> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = texts(tags);
    let mut found = Vec::new();
    for one in lists {
        found.extend(conn.all::<Vec<SuppressedAddress>, _>(&FIND, args![org, one.list, &wanted]).await?);
    }
    found.sort();
    Ok(found)
}

async fn lock(tx: &mut Tx, org: OrgNo, list: SuppressionKind, now: Millis) -> Result<i64> {
    tx.one(&LOCK, args![org, list, now]).await
}

async fn counted(tx: &mut Tx, org: OrgNo, list: SuppressionKind, before: i64, more: i64) -> Result<SuppressionChanges> {
    if more != 0 {
        tx.execute(&COUNTED, args![org, list, more]).await?;
    }
    Ok(SuppressionChanges { before, after: before + more })
}

/// Encodes the tags as JSON, each as an array of one, in lower-case hexadecimal.
pub(crate) fn texts(tags: &BTreeSet<SuppressionTag>) -> String {
    listed(tags.iter().map(|tag| hex(tag)))
}
