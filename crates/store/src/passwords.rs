//! Passwords: of each only a hash under a key that lies outside the database, found by a keyed hash of its person's address.
//!
//! A person belongs to one organization. An address that has a person in several has a password in each of them, and whoever
//! invites into one learns and changes nothing in another.

use probity_account::id::{OrgId, UserId};
use probity_mail::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// A keyed hash: of an address, of a token, of a code.
pub type Hash = [u8; 32];

/// What argon2id was told to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// How often it goes over the memory.
    pub passes: u32,
}

/// A password as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Password {
    /// Whose organization.
    pub org: OrgNo,
    /// Whose.
    pub user: UserId,
    /// The keyed hash of the person's address.
    pub who: Hash,
    /// The hash of the password.
    pub hash: Hash,
    /// What it cost.
    pub cost: Cost,
}

/// A password that an address may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The password.
    pub password: Password,
    /// The organization's id.
    pub org_id: OrgId,
    /// What the organization is called.
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

/// Sets a person's password, in the place of the one before.
pub async fn set(tx: &mut Tx, password: &Password, now: Millis) -> Result<()> {
    let Password { org, user, who, hash, cost } = password;
    let (memory_kib, passes) = (i64::from(cost.memory_kib), i64::from(cost.passes));
    tx.execute(&SET, args![*org, user.to_string(), who, hash, memory_kib, passes, now]).await?;
    Ok(())
}

/// Keeps the same password at another cost; does nothing where it was changed meanwhile.
pub async fn upgrade(tx: &mut Tx, before: &Password, hash: &Hash, cost: Cost) -> Result<()> {
    let (memory_kib, passes) = (i64::from(cost.memory_kib), i64::from(cost.passes));
    tx.execute(&UPGRADE, args![before.org, before.user.to_string(), &before.hash, hash, memory_kib, passes]).await?;
    Ok(())
}

/// A person's password; none where they have none.
pub async fn of(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<Option<Password>> {
    conn.first(&OF, args![org, user.to_string()]).await?.as_ref().map(read).transpose()
}

/// Whether a password that was read before is still its person's, and they may still sign in. True until the transaction ends
/// where that has locked the team.
pub async fn stands(tx: &mut Tx, password: &Password) -> Result<bool> {
    let values = args![password.org, password.user.to_string(), &password.hash];
    Ok(tx.first(&STANDS, values).await?.is_some())
}

/// The passwords of an address's people who may sign in, at most `at_most`, always in the same order.
pub async fn candidates(conn: &mut Conn, who: &Hash, at_most: i64) -> Result<Vec<Candidate>> {
    let rows = conn.rows(&CANDIDATES, args![who, at_most]).await?;
    let candidate = |row: &Row| {
        Ok(Candidate { password: read(row)?, org_id: row.parse("org_id")?, org_name: row.get("org_name")? })
    };
    rows.iter().map(candidate).collect()
}

/// Removes a person's password.
pub async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&FORGET, args![org, user.to_string()]).await?;
    Ok(())
}

fn read(row: &Row) -> Result<Password> {
    let cost = |column| u32::try_from(row.get::<i64>(column)?).map_err(|_| StoreError::corrupt("a password's cost"));
    Ok(Password {
        org: OrgNo(row.get("org_no")?),
        user: row.parse("user_id")?,
        who: hash(row, "who")?,
        hash: hash(row, "hash")?,
        cost: Cost { memory_kib: cost("memory_kib")?, passes: cost("passes")? },
    })
}

/// A column with a hash.
pub(crate) fn hash(row: &Row, column: &'static str) -> Result<Hash> {
    let bytes: Vec<u8> = row.get(column)?;
    bytes.try_into().map_err(|_| StoreError::corrupt(format!("column {column} is no hash")))
}
