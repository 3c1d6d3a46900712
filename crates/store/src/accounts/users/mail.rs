//! Invitation mail: queued with its invitation until a relay has accepted it.
//!
//! An invitation that is replaced, used or withdrawn takes its mail with it, so no ended link is sent. [`claim`] leases due mail to
//! one run; [`record()`] writes the outcome and is fenced by the run's name.

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use super::UserStatus;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Mail claimed by a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedLinkMail {
    pub org: OrgNo,
    /// Recipient.
    pub user: UserId,
    pub email: String,
    pub org_name: Option<String>,
    /// Seed from which the link is derived.
    pub seed: [u8; 16],
    /// Time at which the mail was requested.
    pub created_at: Millis,
    /// Expiry of the link.
    pub expires_at: Millis,
    /// Whether the recipient is already a member, who is to choose a new password.
    pub is_member: bool,
    /// Language of the mail: as requested, or the recipient's.
    pub language: Option<PageLanguage>,
    /// Finished attempts.
    pub attempts: i64,
    /// Name of the run.
    pub run: String,
}

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMailOutcome {
    /// The relay accepted it.
    Sent,
    /// It is retried at this time.
    Again(Millis),
    /// It is not retried.
    Failed,
}

statements! {
    SPEAK = "UPDATE invitation SET mail_language = $3 WHERE org_no = $1 AND user_id = $2";
    ANY_DUE = "SELECT 1 AS one FROM invitation WHERE mail_state = 'waiting' AND mail_next_at <= $1 \
               AND (mail_lease_until IS NULL OR mail_lease_until <= $1) LIMIT 1";
    CLAIM = "WITH due AS MATERIALIZED (
            SELECT org_no, user_id FROM invitation WHERE mail_state = 'waiting' AND mail_next_at <= $1
            AND (mail_lease_until IS NULL OR mail_lease_until <= $1) ORDER BY mail_next_at LIMIT $2 {skip_locked})
        UPDATE invitation SET mail_lease_until = $3, mail_run = $4
        WHERE (org_no, user_id) IN (SELECT org_no, user_id FROM due)";
    HELD = "SELECT i.org_no, i.user_id, i.mail_seed, i.mail_attempts, i.mail_run, i.created_at, i.expires_at, COALESCE(i.mail_language, u.language) AS language, u.email, u.status, o.name AS org_name \
            FROM invitation i JOIN users u ON u.org_no = i.org_no AND u.id = i.user_id JOIN org o ON o.org_no = i.org_no \
            WHERE i.mail_run = $1 AND i.mail_state = 'waiting' AND u.email IS NOT NULL ORDER BY i.mail_next_at LIMIT $2";
    RECORD = "UPDATE invitation SET mail_state = $4, mail_attempts = mail_attempts + 1, mail_next_at = $5, \
              mail_lease_until = NULL, mail_run = NULL \
              WHERE org_no = $1 AND user_id = $2 AND mail_run = $3 AND mail_state = 'waiting'";
}

/// Sets the language of a user's mail with a link. `None`: the user's own.
pub async fn speak(tx: &mut Tx, org: OrgNo, user: UserId, language: Option<PageLanguage>) -> Result<()> {
    tx.execute(&SPEAK, args![org, user, language]).await.map(drop)
}

/// Whether [`claim`] would find work: reads only, so that an idle sender never takes the writer's turn.
pub async fn any_due(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY_DUE, args![now]).await
}

/// Leases up to `at_most` due mails to a run, earliest due first. `run` must be a text that no other claim uses: a random one.
pub async fn claim(tx: &mut Tx, now: Millis, lease_ms: i64, run: &str, at_most: u32) -> Result<Vec<ClaimedLinkMail>> {
    if tx.execute(&CLAIM, args![now, at_most, now + lease_ms, run]).await? == 0 {
        return Ok(Vec::new());
    }
    tx.all(&HELD, args![run, at_most]).await
}

records!(row => ClaimedLinkMail {
    org = "org_no", user = "user_id", org_name, seed = "mail_seed", created_at, expires_at, attempts = "mail_attempts",
    run = "mail_run";
    email: row.text("email")?,
    is_member: row.read::<UserStatus>("status")? != UserStatus::Invited,
    language: row.language()?,
});

/// Records the outcome of an attempt, and ends the lease. [`StoreError::LeaseLost`]: another run has the mail, or its invitation
/// has ended.
pub async fn record(tx: &mut Tx, claimed: &ClaimedLinkMail, outcome: LinkMailOutcome, now: Millis) -> Result<()> {
    let (state, next_at) = match outcome {
        LinkMailOutcome::Sent => ("sent", now),
        LinkMailOutcome::Again(at) => ("waiting", at),
        LinkMailOutcome::Failed => ("failed", now),
    };
    tx.change(&RECORD, args!(claimed => org, user, run; state, next_at), StoreError::LeaseLost).await
}
