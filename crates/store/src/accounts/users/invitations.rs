//! Invitations: one-time links for a user's first sign-in and password.
//!
//! A user has at most one invitation; a new one replaces it and ends its links. One link is shown to the inviter. If mail is sent,
//! the mail contains a separate link, whose use proves that the address is the user's; an invitation that ends takes its letter with
//! it. Only keyed hashes of links are stored. [`redeem`] ends both links, so a link works once, in the transaction that sets the
//! password: either both happen or neither.

use probity_account::id::{OrgId, UserId};
use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use super::{TeamMember, UserStatus};
use crate::activity::events::{self, AccountChange, AccountEventKind, EventActor};
use crate::activity::letters::{self, LetterKey};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Minimum time between a mailed invitation and the mail of its replacement, in milliseconds: repeated invitations must not fill a
/// mailbox.
const MAIL_AGAIN_MS: i64 = 10 * 60_000;

/// Invitation to issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    pub org: OrgNo,
    /// Invited user.
    pub user: UserId,
    /// Keyed hash of the displayed link.
    pub hash: [u8; 32],
    /// Mailed link; `None` if no mail is sent.
    pub mailed: Option<MailedLink>,
    pub created_at: Millis,
    /// Expiry of its links.
    pub expires_at: Millis,
}

/// Link that only the mail contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailedLink {
    pub hash: [u8; 32],
    /// Seed from which the link is derived, with a secret outside the database.
    pub seed: [u8; 16],
}

/// What the mail with a link needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkMail {
    pub seed: [u8; 16],
    /// Expiry of the link.
    pub expires_at: Millis,
    /// Language of the mail; `None` for the user's own.
    pub language: Option<PageLanguage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// User of the link: invited, or a member who is to set a password.
    pub user: TeamMember,
    pub org_id: OrgId,
    pub org_name: Option<String>,
    /// Expiry of the link.
    pub expires_at: Millis,
    /// Whether it is the mailed link.
    pub by_mail: bool,
}

statements! {
    ISSUE = "INSERT INTO invitation (org_no, user_id, hash, mailed_hash, mail_seed, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (org_no, user_id) DO UPDATE SET hash = excluded.hash, \
             mailed_hash = excluded.mailed_hash, mail_seed = excluded.mail_seed, created_at = excluded.created_at, \
             expires_at = excluded.expires_at";
    MAILED_AT = "SELECT created_at FROM invitation WHERE org_no = $1 AND user_id = $2 AND mailed_hash IS NOT NULL";
    SPEAK = "UPDATE invitation SET mail_language = $3 WHERE org_no = $1 AND user_id = $2";
    MAILED = "SELECT mail_seed, expires_at, mail_language AS language FROM invitation \
              WHERE org_no = $1 AND user_id = $2 AND mail_seed IS NOT NULL";
    LOOK = "SELECT u.org_no, u.id, u.email, u.name, u.role, u.is_primary, u.status, u.created_at, o.id AS org_id, \
            o.name AS org_name, CASE WHEN i.hash = $1 THEN 0 ELSE 1 END AS by_mail, i.expires_at FROM invitation i \
            JOIN users u ON u.org_no = i.org_no AND u.id = i.user_id JOIN org o ON o.org_no = i.org_no \
            WHERE (i.hash = $1 OR i.mailed_hash = $1) AND i.expires_at > $2 AND u.status <> 'paused'";
    SPEND = "DELETE FROM invitation WHERE (hash = $1 OR mailed_hash = $1) AND expires_at > $2";
    // Changes the status only, so that concurrent changes by an administrator stay.
    ACCEPT = "UPDATE users SET status = 'active' WHERE org_no = $1 AND id = $2 AND status = 'invited'";
    VERIFY = "UPDATE users SET email_verified = 1 WHERE org_no = $1 AND id = $2";
    WITHDRAW = "DELETE FROM invitation WHERE org_no = $1 AND user_id = $2";
}

/// Issues an invitation and ends the former one. If that was mailed recently, the new mail waits for some minutes.
pub async fn issue(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    let Invitation { org, user, hash, created_at, expires_at, .. } = invitation;
    let mailed_at: Option<Millis> = tx.find(&MAILED_AT, args![org, user]).await?;
    let (mailed_hash, seed) = invitation.mailed.as_ref().map(|mailed| (mailed.hash, mailed.seed)).unzip();
    tx.execute(&ISSUE, args![org, user, hash, mailed_hash, seed, created_at, expires_at]).await?;
    let letter = LetterKey::link(*org, *user);
    if invitation.mailed.is_none() {
        return letters::remove(tx, &letter).await;
    }
    let after = mailed_at.filter(|at| at <= created_at).map(|at| at + MAIL_AGAIN_MS);
    letters::put(tx, &letter, *created_at, after.max(Some(*created_at))).await
}

/// Sets the language of a user's mail with a link. `None`: the user's own.
pub async fn speak(tx: &mut Tx, org: OrgNo, user: UserId, language: Option<PageLanguage>) -> Result<()> {
    tx.execute(&SPEAK, args![org, user, language]).await.map(drop)
}

/// What the mail with a user's link needs; `None` if none is to be mailed.
pub async fn mailed(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<Option<LinkMail>> {
    conn.find(&MAILED, args![org, user]).await
}

/// Target of the link with this hash, without using it; `None` if it is unknown, used or expired, or its user is paused.
pub async fn look(conn: &mut Conn, hash: &[u8; 32], now: Millis) -> Result<Option<LinkTarget>> {
    conn.find(&LOOK, args![hash, now]).await
}

/// Redeems a link: its user is a member from now on, and is returned. [`StoreError::NotFound`]: [`look`] would find nothing, or
/// another request was faster.
pub async fn redeem(tx: &mut Tx, hash: &[u8; 32], now: Millis) -> Result<TeamMember> {
    let LinkTarget { mut user, by_mail, .. } = look(tx, hash, now).await?.ok_or(StoreError::NotFound)?;
    // Of two concurrent calls, the second waits here and finds nothing left to remove.
    tx.change(&SPEND, args![hash, now], StoreError::NotFound).await?;
    letters::remove(tx, &LetterKey::link(user.org, user.id)).await?;
    if by_mail {
        tx.execute(&VERIFY, args![user.org, user.id]).await?;
    }
    if tx.execute(&ACCEPT, args![user.org, user.id]).await? == 1 {
        user.status = UserStatus::Active;
        joined(tx, &user, now).await?;
    }
    Ok(user)
}

/// Accepts an invitation without its link, for a user who has proven their address otherwise; ends their links. No effect on
/// members.
pub async fn accept(tx: &mut Tx, user: &TeamMember, now: Millis) -> Result<()> {
    tx.execute(&VERIFY, args!(user => org, id)).await?;
    if tx.execute(&ACCEPT, args!(user => org, id)).await? == 1 {
        withdraw(tx, user.org, user.id).await?;
        joined(tx, user, now).await?;
    }
    Ok(())
}

/// Records that a user has become a member.
pub async fn joined(tx: &mut Tx, user: &TeamMember, now: Millis) -> Result<()> {
    let joined = [AccountChange::Account(AccountEventKind::MemberJoined, None)];
    events::add(tx, user.org, now, Some(EventActor::User(user.id)), &joined).await
}

/// Ends a user's links, if they have any.
pub async fn withdraw(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<()> {
    tx.execute(&WITHDRAW, args![org, user]).await?;
    letters::remove(tx, &LetterKey::link(org, user)).await
}

records!(row => LinkMail { seed = "mail_seed", expires_at; language: row.language()? });
records!(row => LinkTarget { org_id, org_name, expires_at, by_mail; user: row.record()? });
