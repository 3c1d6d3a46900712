//! Forgotten passwords: requests for a mailed link, and the links that are issued for them.
//!
//! A request is stored by the keyed hash of its address, with the same work for every address; [`take`] removes a request to
//! serve it. Anyone can request a link for any address, so a request never ends a valid link: a mailed link exists beside the
//! operator's, and is mailed again while it is valid; all end when one is used ([`super::super::users::invitations::redeem`]).

use probity_account::id::UserId;
use probity_account::language::PageLanguage;
use probity_mail::time::Millis;

use crate::accounts::people::passwords::SecretHash;
use crate::activity::letters::{self, LetterKey};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Request for a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenPassword {
    /// Keyed hash of the address.
    pub who: SecretHash,
    /// Language of the page that asked.
    pub language: Option<PageLanguage>,
    pub asked_at: Millis,
}

/// Valid link of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandingLink {
    /// Hash of the link that was not mailed.
    pub hash: SecretHash,
    /// Whether a link was mailed.
    pub by_mail: bool,
    pub created_at: Millis,
    pub expires_at: Millis,
}

statements! {
    ASK = "INSERT INTO forgotten_password (who, language, asked_at) VALUES ($1, $2, $3) \
           ON CONFLICT (who) DO UPDATE SET language = excluded.language, asked_at = excluded.asked_at";
    ANY = "SELECT 1 AS one FROM forgotten_password WHERE asked_at <= $1 LIMIT 1";
    TAKE = "WITH next AS MATERIALIZED (
            SELECT who FROM forgotten_password WHERE asked_at <= $1 ORDER BY asked_at LIMIT 1 {skip_locked})
        DELETE FROM forgotten_password WHERE who IN (SELECT who FROM next) RETURNING who, language, asked_at";
    STANDING = "SELECT hash, mailed_hash, created_at, expires_at FROM invitation \
                WHERE org_no = $1 AND user_id = $2 AND expires_at > $3";
    AGAIN = "UPDATE invitation SET created_at = $3, expires_at = $4 WHERE org_no = $1 AND user_id = $2 AND mailed_hash IS NOT NULL";
}

/// Stores a request, in place of an earlier one of the same address.
pub async fn ask(tx: &mut Tx, asked: &ForgottenPassword) -> Result<()> {
    tx.execute(&ASK, args!(asked => who, language, asked_at)).await.map(drop)
}

/// Returns whether [`take`] would find a request: reads only.
pub async fn any(conn: &mut Conn, now: Millis) -> Result<bool> {
    conn.has(&ANY, args![now]).await
}

/// Removes the earliest request and returns it, to be served in this transaction.
pub async fn take(tx: &mut Tx, now: Millis) -> Result<Option<ForgottenPassword>> {
    tx.find(&TAKE, args![now]).await
}

records!(row => ForgottenPassword { who, asked_at; language: row.language()? });

/// Returns the currently valid links of a member.
pub async fn standing(tx: &mut Tx, org: OrgNo, user: UserId, now: Millis) -> Result<Option<StandingLink>> {
    tx.find(&STANDING, args![org, user, now]).await
}

records!(row => StandingLink {
    hash, created_at, expires_at;
    by_mail: row.read::<Option<SecretHash>>("mailed_hash")?.is_some(),
});

/// Queues a member's mailed link to be mailed again; it is then valid until `expires_at`. [`StoreError::NotFound`]: none was mailed.
pub async fn mail_again(tx: &mut Tx, org: OrgNo, user: UserId, now: Millis, expires_at: Millis) -> Result<()> {
    tx.change(&AGAIN, args![org, user, now, expires_at], StoreError::NotFound).await?;
    letters::put(tx, &LetterKey::link(org, user), now, Some(now)).await
}
