//! The people of an organization.

use probity_core::id::UserId;
pub use probity_core::role::Role;
use probity_core::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Whose.
    pub org: OrgNo,
    /// The id outside.
    pub id: UserId,
    /// Their address; the owner of a new installation has none yet.
    pub email: Option<String>,
    /// What they are called.
    pub name: Option<String>,
    /// What they may do.
    pub role: Role,
    /// The one who cannot be removed.
    pub is_primary: bool,
    /// When they were added.
    pub created_at: Millis,
}

statements! {
    INSERT = "INSERT INTO users (org_no, id, email, name, role, is_primary, status, created_at) \
              VALUES ($1, $2, $3, $4, $5, $6, 'active', $7)";
    PRIMARY = "SELECT id, email, name, role, is_primary, created_at FROM users WHERE org_no = $1 AND is_primary = 1";
    SEATS = "SELECT COUNT(*) AS seats FROM users WHERE org_no = $1";
}

/// Adds a person.
pub async fn insert(tx: &mut Tx, user: &User) -> Result<()> {
    let email = user.email.as_ref().map(|email| email.clone().into_bytes());
    let (id, name) = (user.id.to_string(), user.name.as_deref());
    let values = args![user.org, id, email, name, user.role.as_str(), user.is_primary, user.created_at];
    tx.execute(&INSERT, values).await?;
    Ok(())
}

/// The person whom the organization belongs to.
pub async fn primary(conn: &mut Conn, org: OrgNo) -> Result<User> {
    let row = conn.first(&PRIMARY, args![org]).await?;
    row.as_ref().map_or(Err(StoreError::NotFound), |row| read(org, row))
}

/// How many people belong to it.
pub async fn seats_used(conn: &mut Conn, org: OrgNo) -> Result<i64> {
    conn.first(&SEATS, args![org]).await?.ok_or(StoreError::NotFound)?.get("seats")
}

fn read(org: OrgNo, row: &Row) -> Result<User> {
    let email: Option<Vec<u8>> = row.get("email")?;
    let email = email.map(String::from_utf8).transpose().map_err(|error| StoreError::Corrupt(error.into()))?;
    let role: String = row.get("role")?;
    Ok(User {
        org,
        id: row.parse("id")?,
        email,
        name: row.get("name")?,
        role: Role::from_name(&role).ok_or_else(|| StoreError::corrupt("a person's role"))?,
        is_primary: row.get::<i64>("is_primary")? == 1,
        created_at: Millis(row.get("created_at")?),
    })
}
