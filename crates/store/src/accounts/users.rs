//! Users: the team members of an organization.
//!
//! [`TeamMember`] has what every list shows of a user; [`profile`] has their own details, and [`invitations`] the one-time links of
//! their first sign-in. The store enforces the team rules that must hold for every writer: no two members have the same address,
//! and the owner is never removed. Callers lock the team before they check ([`lock_team`]), so of two invitations for the last
//! seat, one is rejected.

pub mod invitations;
pub mod profile;

use std::sync::LazyLock;

use probity_account::id::UserId;
pub use probity_account::role::MemberRole;
use probity_mail::address::Address;
use probity_mail::domain::SpecialUse;
use probity_mail::time::Millis;

use crate::accounts::people::{passwords, second_factor, sessions};
use crate::accounts::sso;
use crate::activity::letters;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

probity_mail::named! {
    /// State of a team member.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UserStatus {
        /// They may sign in.
        Active = "active",
        /// They have yet to accept.
        Invited = "invited",
        /// They may not sign in until they are reactivated.
        Paused = "paused",
    }
}
crate::records::names!(UserStatus);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamMember {
    pub org: OrgNo,
    /// Public id.
    pub id: UserId,
    /// Their address as entered; the owner of a new installation has none yet.
    pub email: Option<String>,
    pub name: Option<String>,
    pub role: MemberRole,
    /// Whether they are the owner, who cannot be removed.
    pub is_primary: bool,
    pub status: UserStatus,
    pub created_at: Millis,
}

statements! {
    INSERT = "INSERT INTO users (org_no, id, name, role, is_primary, status, created_at, email, email_key) \
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    PRIMARY = "SELECT org_no, id, email, name, role, is_primary, status, created_at FROM users \
               WHERE org_no = $1 AND is_primary = 1";
    BY_ID = "SELECT org_no, id, email, name, role, is_primary, status, created_at FROM users \
             WHERE org_no = $1 AND id = $2";
    ANYWHERE = "SELECT org_no, id, email, name, role, is_primary, status, created_at FROM users WHERE id = $1 LIMIT 1";
    MEMBER = "SELECT org_no, id, email, name, role, is_primary, status, created_at FROM users \
              WHERE org_no = $1 AND email_key = $2";
    // Across all organizations: an address may have a user in several.
    BY_EMAIL = "SELECT org_no, id, email, name, role, is_primary, status, created_at FROM users \
                WHERE email_key = $1 ORDER BY created_at, id LIMIT 100";
    // Newest first; ids of the same millisecond differ in their random part.
    PAGE = "SELECT org_no, id, email, name, role, is_primary, status, created_at FROM users \
            WHERE org_no = $1 AND (created_at < $2 OR (created_at = $2 AND id < $3)) \
            ORDER BY created_at DESC, id DESC LIMIT $4";
    SEATS = "SELECT COUNT(*) AS seats FROM users WHERE org_no = $1";
    LOCK_TEAM = "SELECT org_no FROM org WHERE org_no = $1 {for_update}";
    WRITE = "UPDATE users SET name = $3, role = $4, status = $5 WHERE org_no = $1 AND id = $2";
    SET_EMAIL = "UPDATE users SET email = $3, email_key = $4, email_verified = 0 WHERE org_no = $1 AND id = $2";
    REMOVE = "DELETE FROM users WHERE org_no = $1 AND id = $2 AND is_primary = 0";
    RELEASE_KEYS = "UPDATE api_key SET user_id = NULL WHERE org_no = $1 AND user_id = $2";
    [profile, invitations]
}

/// Key for comparing addresses, ignoring case. `None` if it is not an address. Names of private networks are allowed: a team may
/// have its mail there.
pub fn email_key(email: &str) -> Option<Vec<u8>> {
    static PRIVATE: LazyLock<SpecialUse> = LazyLock::new(SpecialUse::all_allowed);
    Address::parse_with(email, &PRIVATE).ok().map(|address| address.normalized().into_bytes())
}

/// Domain of an address in the form in which domains are compared; `None` if it is not an address.
pub fn email_domain(email: &str) -> Option<String> {
    let key = String::from_utf8(email_key(email)?).ok()?;
    key.rsplit_once('@').map(|(_, domain)| domain.to_owned())
}

/// Adds a user. [`StoreError::Conflict`]: another member has their address, or their id exists. [`StoreError::Corrupt`]: their
/// address is invalid.
pub async fn insert(tx: &mut Tx, user: &TeamMember) -> Result<()> {
    let (email, key) = stored_email(user.email.as_deref())?;
    let values = args!(user => org, id, name, role, is_primary, status, created_at; email, key);
    tx.execute(&INSERT, values).await.map(drop)
}

type Bytes = Option<Vec<u8>>;

fn stored_email(email: Option<&str>) -> Result<(Bytes, Bytes)> {
    let Some(email) = email else { return Ok((None, None)) };
    let key = email_key(email).ok_or_else(|| StoreError::corrupt("a member's address is none"))?;
    Ok((Some(email.as_bytes().to_vec()), Some(key)))
}

/// The owner of an organization.
pub async fn primary(conn: &mut Conn, org: OrgNo) -> Result<TeamMember> {
    conn.one(&PRIMARY, args![org]).await
}

pub async fn by_id(conn: &mut Conn, org: OrgNo, id: UserId) -> Result<TeamMember> {
    conn.one(&BY_ID, args![org, id]).await
}

/// The user with an id, in any organization: for operators. Scans all users.
pub async fn anywhere(conn: &mut Conn, id: UserId) -> Result<Option<TeamMember>> {
    conn.find(&ANYWHERE, args![id]).await
}

/// The member with an address, however it is written.
pub async fn member(conn: &mut Conn, org: OrgNo, email: &str) -> Result<Option<TeamMember>> {
    let Some(key) = email_key(email) else { return Ok(None) };
    conn.find(&MEMBER, args![org, key]).await
}

/// All users with an address, of any organization and status, oldest first; at most 100.
pub async fn by_email(conn: &mut Conn, email: &str) -> Result<Vec<TeamMember>> {
    let Some(key) = email_key(email) else { return Ok(Vec::new()) };
    conn.all(&BY_EMAIL, args![key]).await
}

/// Members of an organization, newest first, after the last one of a page; at most `at_most`.
pub async fn page(
    conn: &mut Conn,
    org: OrgNo,
    after: Option<(Millis, UserId)>,
    at_most: i64,
) -> Result<Vec<TeamMember>> {
    let (at, id) = after.map_or((Millis(i64::MAX), String::new()), |(at, id)| (at, id.to_string()));
    conn.all(&PAGE, args![org, at, id, at_most]).await
}

/// Number of members, including invited and paused ones.
pub async fn seats_used(conn: &mut Conn, org: OrgNo) -> Result<i64> {
    conn.one(&SEATS, args![org]).await
}

/// Locks the team until the transaction ends.
pub async fn lock_team(tx: &mut Tx, org: OrgNo) -> Result<()> {
    tx.one::<OrgNo>(&LOCK_TEAM, args![org]).await.map(drop)
}

/// Writes a member's name, role and status; the rest stays unchanged. Lock the team before reading the member, so that none of the
/// three is outdated.
pub async fn write(tx: &mut Tx, user: &TeamMember) -> Result<()> {
    tx.change(&WRITE, args!(user => org, id, name, role, status), StoreError::NotFound).await
}

/// Changes a member's address, which is unverified then. [`StoreError::Conflict`]: another member has it.
pub async fn set_email(tx: &mut Tx, org: OrgNo, id: UserId, email: &str) -> Result<()> {
    let (email, key) = stored_email(Some(email))?;
    tx.change(&SET_EMAIL, args![org, id, email, key], StoreError::NotFound).await
}

/// Removes a member with their link and all their sign-in data. Their API keys stay and act for the owner.
/// [`StoreError::NotFound`]: there is no such member, or they are the owner.
pub async fn remove(tx: &mut Tx, org: OrgNo, id: UserId) -> Result<()> {
    tx.change(&REMOVE, args![org, id], StoreError::NotFound).await?;
    tx.execute(&RELEASE_KEYS, args![org, id]).await?;
    sessions::revoke_all(tx, org, id, None).await?;
    passwords::forget(tx, org, id).await?;
    sso::forget(tx, org, id).await?;
    second_factor::forget(tx, org, id).await?;
    letters::forget_reports(tx, org, id).await?;
    invitations::withdraw(tx, org, id).await
}

records!(row => TeamMember {
    org = "org_no", id, name, role, is_primary, status, created_at;
    email: row.utf8("email")?,
});
