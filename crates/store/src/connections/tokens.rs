//! Access tokens of accounts, each exchanged by one process at a time.
//!
//! [`claim`] leases the exchange; [`store`] saves its result before the token is used. After a crash the lease expires, and the
//! next claim gets the last stored tokens.

use probity_account::connections::{StoredToken, TokenTurn};
use probity_mail::time::Millis;

use super::connection::AccountTag;
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
pub use crate::nodes::ahead::EXCHANGE_MS;
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

statements! {
    BEGIN = "INSERT INTO account_token (org_no, account_tag, version, exchanged_at) VALUES ($1, $2, 0, $3) \
             ON CONFLICT (org_no, account_tag) DO NOTHING";
    LOCK = "SELECT version, tokens, expires_at, claimed_until, exchanged_at FROM account_token WHERE org_no = $1 AND account_tag = $2 {for_update}";
    OF = "SELECT version, tokens, expires_at, claimed_until, exchanged_at FROM account_token WHERE org_no = $1 AND account_tag = $2";
    CLAIM = "UPDATE account_token SET version = version + 1, expires_at = $4, claimed_until = $3 \
             WHERE org_no = $1 AND account_tag = $2";
    STORE = "UPDATE account_token SET tokens = $4, expires_at = $5, exchanged_at = $6, claimed_until = NULL \
             WHERE org_no = $1 AND account_tag = $2 AND version = $3";
    RELEASE = "UPDATE account_token SET claimed_until = NULL WHERE org_no = $1 AND account_tag = $2 AND version = $3";
    DROP_UNUSED = "DELETE FROM account_token WHERE org_no = $1 AND account_tag = $2 AND NOT EXISTS (SELECT 1 FROM connection c \
                   WHERE c.org_no = $1 AND c.account_tag = $2 AND (c.disconnected_why IS NULL OR c.disconnected_why <> 'deleted'))";
    PURGE = "DELETE FROM account_token WHERE exchanged_at < $1 AND NOT EXISTS (SELECT 1 FROM connection c \
             WHERE c.org_no = account_token.org_no AND c.account_tag = account_token.account_tag \
             AND (c.disconnected_why IS NULL OR c.disconnected_why <> 'deleted'))";
}

/// Returns the tokens of an account, if it has exchanged its credentials.
pub async fn of_account(conn: &mut Conn, org: OrgNo, tag: &AccountTag) -> Result<Option<StoredToken>> {
    conn.find(&OF, args![org, tag.as_slice()]).await
}

/// Starts an exchange, unless a token is fresh or another process exchanges. `refused` is the version of a token that the
/// platform has refused; any other one is used until it expires.
pub async fn claim(
    tx: &mut Tx,
    (org, tag): (OrgNo, &AccountTag),
    refused: Option<i64>,
    now: Millis,
) -> Result<TokenTurn> {
    tx.execute(&BEGIN, args![org, tag.as_slice(), now]).await?;
    let stored: StoredToken = tx.one(&LOCK, args![org, tag]).await?;
    if stored.is_fresh(now) && refused != Some(stored.version) {
        return Ok(TokenTurn::Valid(stored));
    }
    if stored.is_claimed(now) {
        return Ok(TokenTurn::Busy);
    }
    let until = now + EXCHANGE_MS;
    let expires_at = stored.expires_at.filter(|_| refused.is_none());
    tx.execute(&CLAIM, args![org, tag.as_slice(), until, expires_at]).await?;
    let version = stored.version + 1;
    Ok(TokenTurn::Yours(StoredToken { version, expires_at, claimed_until: Some(until), ..stored }))
}

/// Stores the result of an exchange. Fails with [`StoreError::LeaseLost`] if another process has begun one.
pub async fn store(
    tx: &mut Tx,
    (org, tag): (OrgNo, &AccountTag),
    version: i64,
    (tokens, expires_at): (&[u8], Millis),
    now: Millis,
) -> Result<()> {
    tx.change(&STORE, args![org, tag, version, tokens, expires_at, now], StoreError::LeaseLost).await
}

/// Ends an exchange without a result.
pub async fn release(tx: &mut Tx, (org, tag): (OrgNo, &AccountTag), version: i64) -> Result<()> {
    tx.execute(&RELEASE, args![org, tag.as_slice(), version]).await.map(drop)
}

/// Removes the tokens of an account without a connection.
pub(super) async fn drop_unused(tx: &mut Tx, org: OrgNo, tag: &AccountTag) -> Result<()> {
    tx.execute(&DROP_UNUSED, args![org, tag.as_slice()]).await.map(drop)
}

/// Removes tokens from before a time without a connection: it was tried, but not created.
pub(super) async fn purge(tx: &mut Tx, before: Millis) -> Result<u64> {
    tx.execute(&PURGE, args![before]).await
}

records!(row => StoredToken { version, tokens, expires_at, claimed_until, exchanged_at });
