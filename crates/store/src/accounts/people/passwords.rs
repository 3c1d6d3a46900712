//! Passwords: only a hash of each, under a key stored outside the database, found by a keyed hash of the user's address.
//!
//! A user belongs to one organization. An address with users in several organizations has a password in each, and an inviter of one
//! organization neither learns nor changes anything in another.

use probity_account::id::{OrgId, UserId};
use probity_mail::time::Millis;

use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

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
    let HashCost { memory_kib, passes } = password.cost;
    tx.execute(&SET, args!(password => org, user, who, hash; memory_kib, passes, now)).await.map(drop)
}

/// Rehashes the same password at another cost; no effect if it was changed meanwhile.
pub async fn upgrade(tx: &mut Tx, before: &Password, hash: &SecretHash, cost: HashCost) -> Result<()> {
    let HashCost { memory_kib, passes } = cost;
    tx.execute(&UPGRADE, args!(before => org, user, hash; hash, memory_kib, passes)).await.map(drop)
}

/// A user's password; `None` if they have none.
pub async fn of(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<Option<Password>> {
    conn.find(&OF, args![org, user]).await
}

/// Whether a password read before is still the user's, and they may still sign in. If the team is locked, true until the
/// transaction ends.
pub async fn stands(tx: &mut Tx, password: &Password) -> Result<bool> {
    tx.has(&STANDS, args!(password => org, user, hash)).await
}

/// Passwords of an address's users who may sign in, at most `at_most`, always in the same order.
pub async fn candidates(conn: &mut Conn, who: &SecretHash, at_most: i64) -> Result<Vec<PasswordCandidate>> {
    conn.all(&CANDIDATES, args![who, at_most]).await
}

pub async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&FORGET, args![org, user]).await.map(drop)
}

records!(row => HashCost { memory_kib, passes });
records!(row => Password { org = "org_no", user = "user_id", who, hash; cost: row.record()? });
records!(row => PasswordCandidate { org_id, org_name; password: row.record()? });
