//! First start of an installation: creates the operator's organization, with its owner and two keys.
//!
//! The first start runs before the service is assembled. If several nodes start at once, one creates the organization; a
//! database that has organizations gets none.

use probity_access::minting::{self, KeyRequest, MintedKey};
use probity_account::api_key::KeyKind;
use probity_account::plans::Plan;
use probity_backend::nodes::instance::Instance;
use probity_store::accounts::users::invitations::{self, Invitation};
use probity_store::accounts::{keys, organization};
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::nodes::instance;
use probity_store::{Result, ScopedFutureExt as _, Tx};
use secrecy::SecretString;

use crate::operator::opening::NewOrganization;
use crate::operator::people::new_link;

/// Name of the record that the first start leaves.
const STARTED: &str = "first_start";
/// Name under which the installation stores the ID of the organization created at the first start, which is the operator's.
pub const OPERATORS: &str = "operators_organization";

/// Name of the first organization until a user renames it.
pub const UNNAMED: &str = "My organization";

/// Secrets of a first start, stored only as hashes.
#[derive(Debug)]
pub struct FirstKeys {
    /// Token of the one-time link with which the owner sets a password.
    pub link: SecretString,
    pub live: SecretString,
    pub test: SecretString,
}

/// First start of an installation whose keys begin with `brand`.
#[derive(Clone, Copy, Debug)]
pub struct FirstStart<'a> {
    pub instance: &'a Instance,
    pub brand: &'a str,
}

impl FirstStart<'_> {
    /// Creates the first organization. Returns `None` if there has ever been one.
    ///
    /// # Panics
    /// If `name`, which is the program's own, breaks the rules for names.
    pub async fn make_organization(self, name: &str, plan: impl Into<Plan>) -> Result<Option<FirstKeys>> {
        let now = self.instance.clock.now();
        let opened = NewOrganization::prepare(name, plan.into(), now).expect("the first organization's name is valid");
        let keys = [("First live key", KeyKind::Live), ("First test key", KeyKind::Test)].map(|(name, kind)| {
            let wanted = KeyRequest::plain(name, kind);
            minting::mint(&self.instance.secrets, self.brand, opened.org.no, None, wanted, now)
        });
        let (link, invitation) = new_link(&self.instance.secrets, &opened.owner, now);
        let mark = probity_access::secrets::hex(&probity_access::secrets::random::bytes::<8>());
        let made = self.instance.store.write(|tx| insert_once(tx, &mark, &opened, &invitation, &keys).scope_boxed());
        if !made.await? {
            return Ok(None);
        }
        let [live, test] = keys.map(|minted| SecretString::from(minted.secret));
        Ok(Some(FirstKeys { link: link.token, live, test }))
    }
}

async fn insert_once(
    tx: &mut Tx,
    mark: &str,
    opened: &NewOrganization,
    invitation: &Invitation,
    keys: &[MintedKey; 2],
) -> Result<bool> {
    let standing = instance::set_once(tx, STARTED, mark).await?;
    if standing != mark || !organization::page(tx, None, 1).await?.is_empty() {
        return Ok(false);
    }
    let org = opened.insert(tx).await?;
    instance::set_once(tx, OPERATORS, &org.id.to_string()).await?;
    invitations::issue(tx, invitation).await?;
    for minted in keys {
        keys::insert(tx, &minted.key, &minted.hash).await?;
        let event = [AccountChange::about(AccountEventKind::KeyCreated, EventSubject::Key(minted.key.id))];
        events::add(tx, org.no, org.created_at, Some(EventActor::System), &event).await?;
    }
    Ok(true)
}
