//! The secrets with which organizations' batch callbacks are signed. The store holds them as it is given them: encrypted.

use probity_mail::time::Millis;

use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

statements! {
    FIND_SECRET = "SELECT secret, previous, previous_until FROM callback_secret WHERE org_no = $1";
    MAKE_SECRET = "INSERT INTO callback_secret (org_no, secret) VALUES ($1, $2) ON CONFLICT (org_no) DO NOTHING";
    // Each expression of SET reads the row as it was.
    ROTATE = "INSERT INTO callback_secret (org_no, secret) VALUES ($1, $2)
        ON CONFLICT (org_no) DO UPDATE SET secret = excluded.secret,
            previous = CASE WHEN callback_secret.previous_until > $3 THEN callback_secret.previous
                       ELSE callback_secret.secret END,
            previous_until = CASE WHEN callback_secret.previous_until > $3 THEN callback_secret.previous_until ELSE $4 END";
}

/// An organization's secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackSecret {
    /// The secret that counts.
    pub secret: Vec<u8>,
    /// The one before it, and until when messages are signed with that one too.
    pub previous: Option<(Vec<u8>, Millis)>,
}

/// An organization's secret. Where it has none, `fresh` becomes it; of several callers at once, one's.
pub async fn secret_of(tx: &mut Tx, org: OrgNo, fresh: &[u8]) -> Result<CallbackSecret> {
    if let Some(standing) = find_secret(tx, org).await? {
        return Ok(standing);
    }
    // Waits for a transaction that is making one, so the reading behind it finds what that one has committed.
    tx.execute(&MAKE_SECRET, args![org, fresh]).await?;
    standing(tx, org).await
}

/// Makes `fresh` the secret. The one before it signs too until `previous_until`. While one before signs still, that stays as it is,
/// and it is the newer secret that goes: receivers were promised the older one until its end.
pub async fn rotate(
    tx: &mut Tx,
    org: OrgNo,
    fresh: &[u8],
    now: Millis,
    previous_until: Millis,
) -> Result<CallbackSecret> {
    tx.execute(&ROTATE, args![org, fresh, now, previous_until]).await?;
    standing(tx, org).await
}

/// An organization's secret, where it has one.
pub async fn find_secret(conn: &mut Conn, org: OrgNo) -> Result<Option<CallbackSecret>> {
    conn.first(&FIND_SECRET, args![org]).await?.as_ref().map(read).transpose()
}

async fn standing(conn: &mut Conn, org: OrgNo) -> Result<CallbackSecret> {
    find_secret(conn, org).await?.ok_or_else(|| StoreError::corrupt("a secret was removed while it was read"))
}

fn read(row: &Row) -> Result<CallbackSecret> {
    let previous: Option<Vec<u8>> = row.get("previous")?;
    let until: Option<i64> = row.get("previous_until")?;
    Ok(CallbackSecret { secret: row.get("secret")?, previous: previous.zip(until.map(Millis)) })
}
