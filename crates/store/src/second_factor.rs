//! Second factors: the sealed secret of each person's codes, which steps of time were used, and the codes of recovery.

use probity_account::id::UserId;
use probity_mail::time::Millis;

use crate::db::{Conn, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;
use crate::passwords::Hash;

/// A person's second factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondFactor {
    /// The sealed secret.
    pub secret: Vec<u8>,
    /// Since when it is asked for; none where no code has shown yet that the person has it.
    pub confirmed_at: Option<Millis>,
    /// The newest step of time whose code was used.
    pub used_step: i64,
}

statements! {
    // One that is asked for is not replaced.
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

/// Keeps a new secret, which is not asked for yet. Conflict: the person has a second factor.
pub async fn begin(tx: &mut Tx, org: OrgNo, user: UserId, secret: &[u8]) -> Result<()> {
    let rows = tx.execute(&BEGIN, args![org, user.to_string(), secret]).await?;
    if rows == 0 { Err(StoreError::Conflict) } else { Ok(()) }
}

/// A person's second factor, also one that is not asked for yet.
pub async fn of(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<Option<SecondFactor>> {
    let Some(row) = conn.first(&OF, args![org, user.to_string()]).await? else { return Ok(None) };
    Ok(Some(SecondFactor {
        secret: row.get("secret")?,
        confirmed_at: row.get::<Option<i64>>("confirmed_at")?.map(Millis),
        used_step: row.get("used_step")?,
    }))
}

/// Uses the code of a step of time; says whether neither it nor a later one was used before. Of several at once, one is told so.
pub async fn use_step(tx: &mut Tx, org: OrgNo, user: UserId, step: i64) -> Result<bool> {
    Ok(tx.execute(&USE_STEP, args![org, user.to_string(), step]).await? == 1)
}

/// Asks for the second factor with this sealed secret from now on, with these codes of recovery in the place of all others.
/// Conflict: it is asked for already, there is none, or another was begun meanwhile, of which the person has shown no code.
pub async fn confirm(
    tx: &mut Tx,
    (org, user): (OrgNo, UserId),
    secret: &[u8],
    codes: &[Hash],
    now: Millis,
) -> Result<()> {
    let user = user.to_string();
    if tx.execute(&CONFIRM, args![org, user.as_str(), now, secret]).await? == 0 {
        return Err(StoreError::Conflict);
    }
    tx.execute(&FORGET_CODES, args![org, user.as_str()]).await?;
    for hash in codes {
        tx.execute(&ADD_CODE, args![org, user.as_str(), hash]).await?;
    }
    Ok(())
}

/// Uses a code of recovery up; says whether it was one.
pub async fn use_recovery_code(tx: &mut Tx, org: OrgNo, user: UserId, hash: &Hash) -> Result<bool> {
    Ok(tx.execute(&USE_CODE, args![org, user.to_string(), hash]).await? == 1)
}

/// How many codes of recovery a person has left.
pub async fn recovery_codes_left(conn: &mut Conn, org: OrgNo, user: UserId) -> Result<i64> {
    conn.first(&CODES_LEFT, args![org, user.to_string()]).await?.ok_or(StoreError::NotFound)?.get("n")
}

/// Removes a person's second factor and its codes; says whether there was one that was asked for or begun.
pub async fn forget(tx: &mut Tx, org: OrgNo, user: UserId) -> Result<bool> {
    tx.execute(&FORGET_CODES, args![org, user.to_string()]).await?;
    Ok(tx.execute(&FORGET, args![org, user.to_string()]).await? == 1)
}
