//! One-time links: how a person comes in for the first time, and sets a password.
//!
//! A person has one invitation at most; a new one takes the place of the one before, whose links end. An invitation has the
//! link that is shown to whoever made it and, where mail is sent, another one that only the mail has: who comes with that one
//! has shown that the address is theirs. Of links only keyed hashes are stored. [`redeem`] ends both, so a link works once,
//! and stands in the transaction that sets the password: either both are done or neither.

pub mod mail;

use probity_account::id::{OrgId, UserId};
use probity_mail::time::Millis;

use super::{User, UserStatus};
use crate::db::{Conn, Row, Statement, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::events::{self, AccountEvent, Actor, What};
use crate::number::OrgNo;

/// Between the making of an invitation and the mail of the one that takes its place, in milliseconds: repeating an invitation
/// does not fill somebody's mailbox.
const MAIL_AGAIN_MS: i64 = 10 * 60_000;

/// An invitation to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Whose.
    pub org: OrgNo,
    /// Who is invited.
    pub user: UserId,
    /// The keyed hash of the link that is shown.
    pub hash: [u8; 32],
    /// The link that is sent; none where no mail is.
    pub mailed: Option<Mailed>,
    /// When it was made.
    pub created_at: Millis,
    /// From when on its links open nothing.
    pub expires_at: Millis,
}

/// The link that only the mail has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailed {
    /// Its keyed hash.
    pub hash: [u8; 32],
    /// What it follows from, together with a secret that is not in the database.
    pub seed: [u8; 16],
}

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose it is. They are invited, or already a member who is to set a password.
    pub user: User,
    /// Their organization's id.
    pub org_id: OrgId,
    /// Their organization's name.
    pub org_name: Option<String>,
    /// From when on the link opens nothing.
    pub expires_at: Millis,
    /// Whether it is the link that only the mail has.
    pub by_mail: bool,
}

statements! {
    ISSUE = "INSERT INTO invitation (org_no, user_id, hash, mailed_hash, mail_seed, mail_state, mail_attempts, \
             mail_next_at, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $7, $8) \
             ON CONFLICT (org_no, user_id) DO UPDATE SET hash = excluded.hash, mailed_hash = excluded.mailed_hash, \
             mail_seed = excluded.mail_seed, mail_state = excluded.mail_state, mail_attempts = 0, mail_next_at = CASE \
             WHEN invitation.created_at <= excluded.created_at AND invitation.created_at + $9 > excluded.created_at \
             THEN invitation.created_at + $9 ELSE excluded.mail_next_at END, mail_lease_until = NULL, mail_run = NULL, \
             created_at = excluded.created_at, expires_at = excluded.expires_at";
    LOOK = "SELECT u.org_no, u.id, u.email, u.name, u.role, u.is_primary, u.status, u.created_at, o.id AS org_id, \
            o.name AS org_name, i.hash, i.expires_at FROM invitation i \
            JOIN users u ON u.org_no = i.org_no AND u.id = i.user_id JOIN org o ON o.org_no = i.org_no \
            WHERE (i.hash = $1 OR i.mailed_hash = $1) AND i.expires_at > $2 AND u.status <> 'paused'";
    SPEND = "DELETE FROM invitation WHERE (hash = $1 OR mailed_hash = $1) AND expires_at > $2";
    // Only the status: what an administrator changes at the same time stays.
    ACCEPT = "UPDATE users SET status = 'active' WHERE org_no = $1 AND id = $2 AND status = 'invited'";
    VERIFY = "UPDATE users SET email_verified = 1 WHERE org_no = $1 AND id = $2";
    WITHDRAW = "DELETE FROM invitation WHERE org_no = $1 AND user_id = $2";
}

/// Every statement about links and the mail that carries them.
pub(crate) fn all_statements() -> Vec<&'static Statement> {
    [STATEMENTS, mail::STATEMENTS].concat()
}

/// Makes an invitation; one that the person has ends. Where that is young, the mail of the new one waits for some minutes.
pub async fn issue(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    let (hash, seed) = match &invitation.mailed {
        Some(mailed) => (Some(mailed.hash.to_vec()), Some(mailed.seed.to_vec())),
        None => (None, None),
    };
    let state = if hash.is_some() { "waiting" } else { "none" };
    let values = args![
        invitation.org,
        invitation.user.to_string(),
        &invitation.hash,
        hash,
        seed,
        state,
        invitation.created_at,
        invitation.expires_at,
        MAIL_AGAIN_MS,
    ];
    tx.execute(&ISSUE, values).await?;
    Ok(())
}

/// What the link with this hash leads to, without using it; none where it is unknown, spent or expired, or its person paused.
pub async fn look(conn: &mut Conn, hash: &[u8; 32], now: Millis) -> Result<Option<Found>> {
    conn.first(&LOOK, args![hash, now]).await?.map(|row| found(&row, hash)).transpose()
}

/// Uses a link: its person is a member from now on, as they are given back. Not found: [`look`] would find nothing, or
/// somebody else was faster.
pub async fn redeem(tx: &mut Tx, hash: &[u8; 32], now: Millis) -> Result<User> {
    let Found { mut user, by_mail, .. } = look(tx, hash, now).await?.ok_or(StoreError::NotFound)?;
    // Of two at once the second waits here, and finds nothing left to remove.
    super::changed(tx.execute(&SPEND, args![hash, now]).await?)?;
    if by_mail {
        tx.execute(&VERIFY, args![user.org, user.id.to_string()]).await?;
    }
    if tx.execute(&ACCEPT, args![user.org, user.id.to_string()]).await? == 1 {
        user.status = UserStatus::Active;
        let joined = [What::Account(AccountEvent::MemberJoined)];
        events::add(tx, user.org, now, Some(Actor::User(user.id)), &joined).await?;
    }
    Ok(user)
}

/// Ends a person's links, where they have any.
pub async fn withdraw(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&WITHDRAW, args![org, user.to_string()]).await?;
    Ok(())
}

fn found(row: &Row, hash: &[u8; 32]) -> Result<Found> {
    Ok(Found {
        user: super::read(row)?,
        org_id: row.parse("org_id")?,
        org_name: row.get("org_name")?,
        expires_at: Millis(row.get("expires_at")?),
        by_mail: row.get::<Vec<u8>>("hash")? != hash,
    })
}
