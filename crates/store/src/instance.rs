//! What belongs to this installation as a whole: small named texts that are written once, such as its id.
//!
//! Nodes that start together all try to write; the first one's text stands, and every one is told which it is.

use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};

statements! {
    VALUE = "SELECT value FROM instance WHERE name = $1";
    SHARED = "SELECT value FROM instance WHERE name = $1 {for_share}";
    LOCKED = "SELECT value FROM instance WHERE name = $1 {for_update}";
    SET_ONCE = "INSERT INTO instance (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    SET = "INSERT INTO instance (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    REMOVE = "DELETE FROM instance WHERE name = $1";
}

/// The text of this name, if one was set.
pub async fn value(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    conn.first(&VALUE, args![name]).await?.map(|row| row.get("value")).transpose()
}

/// The same; it stays so until the transaction ends.
pub(crate) async fn shared(tx: &mut Tx, name: &str) -> Result<Option<String>> {
    tx.first(&SHARED, args![name]).await?.map(|row| row.get("value")).transpose()
}

/// Waits for all who have [`shared`] a text, and lets others wait that want to, until the transaction ends.
pub(crate) async fn lock(tx: &mut Tx, name: &str) -> Result<()> {
    tx.first(&LOCKED, args![name]).await.map(drop)
}

/// Sets a text unless there is one, and returns the one that stands.
pub async fn set_once(tx: &mut Tx, name: &str, text: &str) -> Result<String> {
    // Waits for a transaction that is setting the same name, so the reading behind it finds what that one has committed.
    tx.execute(&SET_ONCE, args![name, text]).await?;
    value(tx, name)
        .await?
        .ok_or_else(|| StoreError::corrupt("a text of the installation was removed while it was read"))
}

/// Sets a text, whatever it was.
pub(crate) async fn set(tx: &mut Tx, name: &str, text: &str) -> Result<()> {
    tx.execute(&SET, args![name, text]).await.map(drop)
}

/// Removes a text; says whether there was one.
pub(crate) async fn remove(tx: &mut Tx, name: &str) -> Result<bool> {
    Ok(tx.execute(&REMOVE, args![name]).await? > 0)
}
