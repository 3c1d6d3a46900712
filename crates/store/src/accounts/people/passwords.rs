//! Passwords: only a hash of each, under a key stored outside the database, found by a keyed hash of the user's address.
//!
//! A user belongs to one organization. An address with users in several organizations has a password in each, and an inviter of one
//! organization neither learns nor changes anything in another.

use probity_account::id::{OrgId, UserId};
use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{ReadColumns as _, record};

/// Keyed hash of an address, a token or a code.
pub type SecretHash = [u8; 32];

/// Cost parameters of argon2id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
}

/// Stored password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Password {
    pub org: OrgNo,
    pub user: UserId,
    /// Keyed hash of the user's address.
    pub who: SecretHash,
    pub hash: SecretHash,
    pub cost: HashCost,
}

/// Password that an address may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordCandidate {
    pub password: Password,
    pub org_id: OrgId,
    pub org_name: Option<String>,
}

statements! {
    SET = "INSERT INTO password (org_no, user_id, who, hash, memory_kib, passes, changed_at) \
           VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (org_no, user_id) DO UPDATE SET who = excluded.who, \
           hash = excluded.hash, memory_kib = excluded.memory_kib, passes = excluded.passes, \
           changed_at = excluded.changed_at";
    UPGRADE = "UPDATE password SET hash = $4, memory_kib = $5, passes = $6 \
               WHERE org_no = $1 AND user_id = $2 AND hash = $3";
    OF = "SELECT org_no, user_id, who, hash, memory_kib, passes FROM password WHERE org_no = $1 AND user_id = $2";
    CANDIDATES = "SELECT p.org_no, p.user_id, p.who, p.hash, p.memory_kib, p.passes, o.id AS org_id, o.name AS org_name \
                  FROM password p JOIN org o ON o.org_no = p.org_no \
                  JOIN users u ON u.org_no = p.org_no AND u.id = p.user_id \
                  WHERE p.who = $1 AND u.status = 'active' ORDER BY p.org_no LIMIT $2";
    STANDS = "SELECT 1 AS one FROM password p JOIN users u ON u.org_no = p.org_no AND u.id = p.user_id \
              WHERE p.org_no = $1 AND p.user_id = $2 AND p.hash = $3 AND u.status = 'active'";
    FORGET = "DELETE FROM password WHERE org_no = $1 AND user_id = $2";
}

/// Sets a user's password, in place of the former one.
pub async fn set(tx: &mut Tx, password: &Password, now: Millis) -> Result<()> {
    let Password { org, user, who, hash, cost } = password;
    let (memory_kib, passes) = (i64::from(cost.memory_kib), i64::from(cost.passes));
    tx.execute(&SET, args![*org, user.to_string(), who, hash, memory_kib, passes, now]).await.map(drop)
}

/// Rehashes the same password at another cost; no effect if it was changed meanwhile.
pub async fn upgrade(tx: &mut Tx, before: &Password, hash: &SecretHash, cost: HashCost) -> Result<()> {
    let (memory_kib, passes) = (i64::from(cost.memory_kib), i64::from(cost.passes));
    tx.execute(&UPGRADE, args![before.org, before.user.to_string(), &before.hash, hash, memory_kib, passes])
        .await
        .map(drop)
}

/// A user's password; `None` if they have none.
pub async fn of(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<Option<Password>> {
    conn.first(&OF, args![org, user.to_string()]).await?.as_ref().map(read).transpose()
}

/// Whether a password read before is still the user's, and they may still sign in. If the team is locked, true until the
/// transaction ends.
pub async fn stands(tx: &mut Tx, password: &Password) -> Result<bool> {
    let values = args![password.org, password.user.to_string(), &password.hash];
    Ok(tx.first(&STANDS, values).await?.is_some())
}

/// Passwords of an address's users who may sign in, at most `at_most`, always in the same order.
pub async fn candidates(conn: &mut Conn, who: &SecretHash, at_most: i64) -> Result<Vec<PasswordCandidate>> {
    let rows = conn.rows(&CANDIDATES, args![who, at_most]).await?;
    let candidate = |row: &ResultRow| {
        Ok(PasswordCandidate { password: read(row)?, org_id: row.read("org_id")?, org_name: row.get("org_name")? })
    };
    rows.iter().map(candidate).collect()
}

pub async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&FORGET, args![org, user.to_string()]).await.map(drop)
}

fn read(row: &ResultRow) -> Result<Password> {
    let cost = |column| u32::try_from(row.get::<i64>(column)?).map_err(|_| StoreError::corrupt("a password's cost"));
    Ok(record!(row => Password {
        org = "org_no", user = "user_id", who, hash;
        cost: HashCost { memory_kib: cost("memory_kib")?, passes: cost("passes")? },
    }))
}
