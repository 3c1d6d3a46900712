//! Settings of the installation: short named texts that are written once, such as its id.
//!
//! Nodes that start together all try to write; the first text wins, and all nodes get it.

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::records::TypedStatements as _;

statements! {
    VALUE = "SELECT value FROM instance WHERE name = $1";
    SHARED = "SELECT value FROM instance WHERE name = $1 {for_share}";
    LOCKED = "SELECT value FROM instance WHERE name = $1 {for_update}";
    SET_ONCE = "INSERT INTO instance (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    SET = "INSERT INTO instance (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    REMOVE = "DELETE FROM instance WHERE name = $1";
}

/// The text of a name, if one was set.
pub async fn value(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    conn.find(&VALUE, args![name]).await
}

/// The text of a name, fixed until the transaction ends.
pub(crate) async fn shared(tx: &mut Tx, name: &str) -> Result<Option<String>> {
    tx.find(&SHARED, args![name]).await
}

/// Locks a text exclusively until the transaction ends; waits for all [`shared`] locks.
pub(crate) async fn lock(tx: &mut Tx, name: &str) -> Result<()> {
    tx.first(&LOCKED, args![name]).await.map(drop)
}

/// Sets a text unless it exists; returns the stored text.
pub async fn set_once(tx: &mut Tx, name: &str, text: &str) -> Result<String> {
    // Waits for a transaction that sets the same name, so the following read returns what that one committed.
    tx.execute(&SET_ONCE, args![name, text]).await?;
    value(tx, name)
        .await?
        .ok_or_else(|| StoreError::corrupt("a text of the installation was removed while it was read"))
}

pub(crate) async fn set(tx: &mut Tx, name: &str, text: &str) -> Result<()> {
    tx.execute(&SET, args![name, text]).await.map(drop)
}

/// Removes a text; false if there was none.
pub(crate) async fn remove(tx: &mut Tx, name: &str) -> Result<bool> {
    Ok(tx.execute(&REMOVE, args![name]).await? > 0)
}
