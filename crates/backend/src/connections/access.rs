//! Access to the account of a stored connection: the platform's file, the credentials and the rate limits.

use std::collections::BTreeMap;

use probity_access::secrets::Secrets;
use probity_account::id::ConnId;
use probity_connectors::{ConnectorFile, CredentialFault, Credentials};
use probity_store::connections::connection::{self, AccountTag, StoredConnection};
use probity_store::{Conn, StoreError};

use super::{AccountBudget, Platforms};

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
    let budget = budget(platforms, secrets, (file, &credentials), &of.account_tag);
    Ok(ConnectionAccess { file, credentials, budget, token_version: None })
}

/// Returns the limits of the account that accepted credentials name. `tag` is that of the credentials.
fn budget(
    platforms: &Platforms,
    secrets: &Secrets,
    (file, credentials): (&ConnectorFile, &Credentials),
    tag: &AccountTag,
) -> AccountBudget {
    let account = credentials.account(file, |parts| secrets.platform_account(parts));
    platforms.budget(file, &account, tag)
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

/// Returns the tag of credentials as they were entered. What a platform gives or replaces is stored under it; the platform's
/// limits are counted by [`Credentials::account`].
pub fn tag(secrets: &Secrets, file: &ConnectorFile, entered: &BTreeMap<String, String>) -> AccountTag {
    let values = entered.iter().flat_map(|(name, value)| [name.as_str(), value.trim()]);
    let parts: Vec<&str> = std::iter::once(file.provider.slug.as_str()).chain(values).collect();
    secrets.platform_account(&parts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};

    use probity_connectors::{HostAllowance, Testing};
    use probity_engine::clock::EngineClock;
    use probity_engine::net::BoxFuture;
    use probity_engine::net::egress::{EgressGuard, GuardConfig};
    use probity_mail::time::Millis;
    use probity_outbound::platforms::{PlatformBuckets, PlatformLimit};
    use probity_outbound::{NoNames, UrlGuard};
    use probity_telemetry::metrics::{Metrics, Start};

    use super::*;
    use crate::connections::PlatformConfig;

    /// Accounts whose buckets were used.
    #[derive(Default)]
    struct UsedAccounts(Mutex<BTreeSet<[u8; 16]>>);

    impl PlatformBuckets for UsedAccounts {
        fn take_tokens<'a>(&'a self, limits: &'a [PlatformLimit], _: Millis) -> BoxFuture<'a, Option<Millis>> {
            self.0.lock().unwrap().extend(limits.iter().map(|limit| limit.account));
            Box::pin(std::future::ready(None))
        }
    }

    fn platforms(buckets: Arc<UsedAccounts>) -> Platforms {
        let clock = EngineClock::system();
        let guard = UrlGuard::new(EgressGuard::new(GuardConfig::default()), Arc::new(NoNames), true);
        let metrics = Metrics::new(&Start { version: "0", at: clock.now(), providers: BTreeSet::new() });
        Platforms::new(&PlatformConfig::default(), guard, buckets, Arc::new(metrics), clock)
    }

    /// Returns the number of accounts that credentials use together.
    async fn accounts(slug: &str, all: &[&[(&str, &str)]]) -> usize {
        let (used, secrets) = (Arc::new(UsedAccounts::default()), Secrets::of(&[1; 32]));
        let platforms = platforms(used.clone());
        let file = platforms.catalog().get(slug).unwrap();
        for entered in all {
            let entered = entered.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let credentials = Credentials::new(file, &entered, &HostAllowance::default()).unwrap();
            let tag = tag(&secrets, file, &entered);
            let request = Testing::new(file, &credentials).request(Millis(0)).unwrap();
            let budget = budget(&platforms, &secrets, (file, &credentials), &tag);
            assert!(platforms.turn(&budget, &request).await.is_ok());
        }
        used.0.lock().unwrap().len()
    }

    #[tokio::test]
    async fn keys_of_an_account_share_its_budget_where_the_file_tells_accounts_apart() {
        let acme: [&[(&str, &str)]; 2] = [
            &[("api_url", "https://acme.api-us1.com"), ("api_key", "one")],
            &[("api_url", "https://Acme.api-us1.com/"), ("api_key", "two")],
        ];
        let other: &[(&str, &str)] = &[("api_url", "https://other.api-us1.com"), ("api_key", "one")];
        assert_eq!(accounts("activecampaign", &acme).await, 1);
        assert_eq!(accounts("activecampaign", &[acme[0], other]).await, 2);
        assert_eq!(accounts("brevo", &[&[("api_key", "one")], &[("api_key", " one ")]]).await, 1);
        assert_eq!(accounts("brevo", &[&[("api_key", "one")], &[("api_key", "two")]]).await, 2);
    }
}
