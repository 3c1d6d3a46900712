//! Access to the account of a stored connection: the platform's file, the credentials and the rate limits.

use std::collections::BTreeMap;

use probity_account::id::ConnId;
use probity_connectors::{ConnectorFile, CredentialFault, Credentials};
use probity_store::connections::connection::{self, AccountTag, StoredConnection};
use probity_store::{Conn, StoreError};

use super::{AccountBudget, Platforms};
use crate::secrets::Secrets;

/// Requirements of calls about a connection. Without `Debug`, because credentials give access to the platform.
#[derive(Clone)]
pub struct ConnectionAccess<'p> {
    pub file: &'p ConnectorFile,
    pub credentials: Credentials,
    pub budget: AccountBudget,
    /// Number of the exchange that gave the access token; `None` without one.
    pub token_version: Option<i64>,
}

/// Reason why a connection's account is not accessible.
#[derive(Debug, thiserror::Error)]
pub enum NoAccess {
    /// The operator removed the platform's file.
    #[error("the platform is no longer supported")]
    Platform,
    /// The connection was deleted.
    #[error("the connection has no credentials")]
    Credentials,
    /// The platform's file now requires other credentials.
    #[error("the credentials are no longer valid: {0}")]
    Unfit(#[from] CredentialFault),
    /// The pepper has changed.
    #[error("the credentials cannot be decrypted")]
    Sealed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Opens the account of a connection.
pub async fn open<'p>(
    conn: &mut Conn,
    platforms: &'p Platforms,
    secrets: &Secrets,
    of: &StoredConnection,
) -> Result<ConnectionAccess<'p>, NoAccess> {
    let file = platforms.catalog().get(&of.provider).ok_or(NoAccess::Platform)?;
    let sealed = connection::credentials(conn, of.org, of.id).await?.ok_or(NoAccess::Credentials)?;
    let plain = secrets.open_connection_credentials(of.id, &sealed).map_err(|_| NoAccess::Sealed)?;
    let entered: BTreeMap<String, String> = serde_json::from_slice(&plain).map_err(|_| NoAccess::Sealed)?;
    let credentials = Credentials::new(file, &entered, platforms.hosts())?;
    Ok(ConnectionAccess { file, credentials, budget: platforms.budget(file, &of.account_tag), token_version: None })
}

/// Credentials as stored.
pub struct SealedCredentials {
    pub sealed: Vec<u8>,
    pub tag: AccountTag,
}

/// Encrypts the credentials that a customer entered, once they fit the platform.
pub fn seal(
    secrets: &Secrets,
    file: &ConnectorFile,
    id: ConnId,
    entered: &BTreeMap<String, String>,
) -> SealedCredentials {
    let plain = serde_json::to_vec(entered).expect("texts are plain JSON");
    SealedCredentials { sealed: secrets.seal_connection_credentials(id, &plain), tag: tag(secrets, file, entered) }
}

/// Returns the tag of the account to which credentials belong.
pub fn tag(secrets: &Secrets, file: &ConnectorFile, entered: &BTreeMap<String, String>) -> AccountTag {
    let values = entered.iter().flat_map(|(name, value)| [name.as_str(), value.trim()]);
    let parts: Vec<&str> = std::iter::once(file.provider.slug.as_str()).chain(values).collect();
    secrets.platform_account(&parts)
}
