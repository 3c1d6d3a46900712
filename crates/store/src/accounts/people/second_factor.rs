//! Two-factor authentication: each user's encrypted secret, used time steps, and recovery codes.

use probity_account::id::UserId;
use probity_mail::time::Millis;

use crate::accounts::people::passwords::SecretHash;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// A user's two-factor authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// Encrypted secret.
    pub secret: Vec<u8>,
    /// Time since it is required; `None` until a code has proved that the user has it.
    pub confirmed_at: Option<Millis>,
    /// Newest time step whose code was used.
    pub used_step: i64,
}

statements! {
    // A required secret is not replaced.
    BEGIN = "INSERT INTO second_factor (org_no, user_id, secret, confirmed_at, used_step) VALUES ($1, $2, $3, NULL, 0) \
             ON CONFLICT (org_no, user_id) DO UPDATE SET secret = excluded.secret, used_step = 0 \
             WHERE second_factor.confirmed_at IS NULL";
    OF = "SELECT secret, confirmed_at, used_step FROM second_factor WHERE org_no = $1 AND user_id = $2";
    USE_STEP = "UPDATE second_factor SET used_step = $3 WHERE org_no = $1 AND user_id = $2 AND used_step < $3";
    CONFIRM = "UPDATE second_factor SET confirmed_at = $3 WHERE org_no = $1 AND user_id = $2 AND secret = $4 \
               AND confirmed_at IS NULL";
    FORGET = "DELETE FROM second_factor WHERE org_no = $1 AND user_id = $2";
    ADD_CODE = "INSERT INTO recovery_code (org_no, user_id, hash) VALUES ($1, $2, $3)";
    USE_CODE = "DELETE FROM recovery_code WHERE org_no = $1 AND user_id = $2 AND hash = $3";
    FORGET_CODES = "DELETE FROM recovery_code WHERE org_no = $1 AND user_id = $2";
    CODES_LEFT = "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM recovery_code WHERE org_no = $1 AND user_id = $2 LIMIT 100) \
                  AS few) AS n";
}

/// Stores a new secret, not yet required. [`StoreError::Conflict`]: it is required already.
pub async fn begin(tx: &mut Tx, org: OrgNo, user: UserId, secret: &[u8]) -> Result<()> {
    tx.change(&BEGIN, args![org, user, secret], StoreError::Conflict).await
}

/// A user's secret, even if not yet required.
pub async fn of(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<Option<SecondFactor>> {
    conn.find(&OF, args![org, user]).await
}

records!(row => SecondFactor { secret, confirmed_at, used_step });

/// Uses the code of a time step; returns whether neither it nor a later one was used before. Of concurrent callers, one gets true.
pub async fn use_step(tx: &mut Tx, org: OrgNo, user: UserId, step: i64) -> Result<bool> {
    Ok(tx.execute(&USE_STEP, args![org, user, step]).await? == 1)
}

/// Requires this encrypted secret from now on, with these recovery codes in place of all others. [`StoreError::Conflict`]: it is
/// required already, missing, or was replaced meanwhile by one without a code shown.
pub async fn confirm(
    tx: &mut Tx,
    (org, user): (OrgNo, UserId),
    secret: &[u8],
    codes: &[SecretHash],
    now: Millis,
) -> Result<()> {
    tx.change(&CONFIRM, args![org, user, now, secret], StoreError::Conflict).await?;
    tx.execute(&FORGET_CODES, args![org, user]).await?;
    for hash in codes {
        tx.execute(&ADD_CODE, args![org, user, hash]).await?;
    }
    Ok(())
}

/// Uses up a recovery code; returns whether it was valid.
pub async fn use_recovery_code(tx: &mut Tx, org: OrgNo, user: UserId, hash: &SecretHash) -> Result<bool> {
    Ok(tx.execute(&USE_CODE, args![org, user, hash]).await? == 1)
}

/// Recovery codes that a user has left.
pub async fn recovery_codes_left(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<i64> {
    conn.one(&CODES_LEFT, args![org, user]).await
}

/// Removes a user's secret and codes; returns whether there was one, required or not.
pub async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<bool> {
    tx.execute(&FORGET_CODES, args![org, user]).await?;
    Ok(tx.execute(&FORGET, args![org, user]).await? == 1)
}
