//! Secrets that sign organizations' job callbacks. Callers pass them encrypted.

use probity_mail::time::Millis;

use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

statements! {
    FIND_SECRET = "SELECT secret, previous, previous_until FROM callback_secret WHERE org_no = $1";
    MAKE_SECRET = "INSERT INTO callback_secret (org_no, secret) VALUES ($1, $2) ON CONFLICT (org_no) DO NOTHING";
    // Each expression of SET reads the old row.
    ROTATE = "INSERT INTO callback_secret (org_no, secret) VALUES ($1, $2)
        ON CONFLICT (org_no) DO UPDATE SET secret = excluded.secret,
            previous = CASE WHEN callback_secret.previous_until > $3 THEN callback_secret.previous
                       ELSE callback_secret.secret END,
            previous_until = CASE WHEN callback_secret.previous_until > $3 THEN callback_secret.previous_until ELSE $4 END";
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCallbackSecret {
    /// Current secret.
    pub secret: Vec<u8>,
    /// Previous secret, and the time until which it signs, too.
    pub previous: Option<(Vec<u8>, Millis)>,
}

/// Returns an organization's secret. If it has none, `fresh` becomes the secret; of several concurrent callers, one succeeds.
pub async fn secret_of(tx: &mut Tx, org: OrgNo, fresh: &[u8]) -> Result<StoredCallbackSecret> {
    if let Some(standing) = find_secret(tx, org).await? {
        return Ok(standing);
    }
    // Waits for a transaction that creates one, so the following read returns what that one committed.
    tx.execute(&MAKE_SECRET, args![org, fresh]).await?;
    standing(tx, org).await
}

/// Makes `fresh` the secret. The previous one signs, too, until `previous_until`. If an earlier one still signs, it is kept and the
/// newer secret is dropped: receivers were promised the older one until its end.
pub async fn rotate(
    tx: &mut Tx,
    org: OrgNo,
    fresh: &[u8],
    now: Millis,
    previous_until: Millis,
) -> Result<StoredCallbackSecret> {
    tx.execute(&ROTATE, args![org, fresh, now, previous_until]).await?;
    standing(tx, org).await
}

/// An organization's secret, if it has one.
pub async fn find_secret(conn: &mut Conn, org: OrgNo) -> Result<Option<StoredCallbackSecret>> {
    conn.find(&FIND_SECRET, args![org]).await
}

async fn standing(conn: &mut Conn, org: OrgNo) -> Result<StoredCallbackSecret> {
    find_secret(conn, org).await?.ok_or_else(|| StoreError::corrupt("a secret was removed while it was read"))
}

records!(row => StoredCallbackSecret {
    secret;
    previous: row.read::<Option<_>>("previous")?.zip(row.read("previous_until")?),
});
