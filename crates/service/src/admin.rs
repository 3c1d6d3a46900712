//! What those who run an installation do: organizations, keys, credits, and the first start.
//!
//! The command line calls this beside a running service, on the same database. A running service notices a revoked key or a
//! stopped organization within a second.

pub mod booking;
pub mod catalog;
pub mod customers;
pub mod erasures;
pub mod links;
pub mod suppressions;
pub mod users;
pub mod webhooks;

use std::sync::Arc;

use probity_account::id::{DeliveryId, KeyId, OrgId};
use probity_account::name::NameFault;
use probity_account::plans::{Plan as CatalogPlan, Plans};
use probity_mail::time::Millis;
use probity_store::audit::{self, Discrepancy};
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::keys::Key;
use probity_store::nodes::{self, Node};
use probity_store::organization::Org;
use probity_store::outbox::{self, Logged, State, Tried};
use probity_store::users::invitations;
use probity_store::users::{Role, User, UserStatus, insert as insert_user};
use probity_store::{
    OrgNo, Result, ScopedFutureExt as _, StoreError, Tx, clock, credits, instance, keys, organization, plans,
};
use secrecy::SecretString;

use crate::error::ApiError;
use crate::instance::Instance;
use crate::minting;
use crate::nodes::is_alive;

pub use crate::merge_patch::Said;
pub use crate::minting::{Wanted as NewKey, origin};
pub use booking::{Asked, BookError, Booked, Reference, Until};
pub use catalog::PlanShown;
pub use customers::{Found, NewCustomer, OrgChange};
pub use links::ResetLink;
pub use suppressions::{Addresses, ListChange, ListCount};
pub use users::{Invitee, Refused, TeamError};
pub use webhooks::{NewWebhook, WebhookError};

/// The name of the mark that the first start leaves.
const STARTED: &str = "first_start";
/// The name under which the installation knows the organization of its first start: that of whoever runs it.
pub const OPERATORS: &str = "operators_organization";
/// Organizations that are read at a time.
const PAGE: i64 = 500;

/// What a new organization may spend, where no plans are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// As much as it likes.
    Unlimited,
    /// What it is given; so many prepaid credits to begin with.
    Metered {
        /// Credits to begin with.
        initial: i64,
    },
}

impl From<Plan> for CatalogPlan {
    fn from(plan: Plan) -> Self {
        match plan {
            Plan::Unlimited => Self::unlimited(),
            Plan::Metered { initial } => Self::metered(initial),
        }
    }
}

/// The keys of a first start. They are nowhere else.
#[derive(Debug)]
pub struct FirstKeys {
    /// The token of the one-time link with which the owner sets their password.
    pub link: SecretString,
    /// Spends credits and asks mail servers.
    pub live: SecretString,
    /// Spends nothing and asks the sandbox.
    pub test: SecretString,
}

/// A node and what is known of it now.
#[derive(Clone, Debug)]
pub struct Listed {
    /// As it was last seen.
    pub node: Node,
    /// Whether that was lately.
    pub alive: bool,
    /// The names of the leases that it holds.
    pub leases: Vec<String>,
}

/// Why an organization or a key was not made, or stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// It cannot be called that.
    #[error("the name {0}")]
    Name(#[from] NameFault),
    /// There is no such plan.
    #[error("there is no plan {0:?}")]
    Plan(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an administrator may do.
#[derive(Clone, Debug)]
pub struct Admin {
    instance: Instance,
    brand: String,
    plans: Arc<Plans>,
}

impl Admin {
    /// Administers an installation whose keys begin with `brand`.
    pub fn new(instance: Instance, brand: impl Into<String>) -> Self {
        Self { instance, brand: brand.into(), plans: Arc::default() }
    }

    /// The same with the plans of a configuration.
    #[must_use]
    pub fn with_plans(self, plans: Arc<Plans>) -> Self {
        Self { plans, ..self }
    }

    /// Every plan that an organization can be on.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// Makes the first organization with its owner and two keys, where there has never been one. Of several nodes that start
    /// at once, one does it.
    pub async fn first_start(&self, name: &str, plan: impl Into<CatalogPlan>) -> Result<Option<FirstKeys>> {
        let (now, plan) = (self.now(), plan.into());
        let mark = crate::secrets::hex(&crate::random::bytes::<8>());
        let org = new_org(name, &plan, now);
        let keys = [
            ("First live key", probity_account::api_key::KeyKind::Live),
            ("First test key", probity_account::api_key::KeyKind::Test),
        ]
        .map(|(name, kind)| self.mint(&org, NewKey::plain(name, kind), now));
        let owner = owner_of(&org);
        let (link, invitation) = self.new_link(&owner, now);
        let first = self.instance.store.write(|tx| {
            async {
                let standing = instance::set_once(tx, STARTED, &mark).await?;
                if standing != mark || !organization::page(tx, None, 1).await?.is_empty() {
                    return Ok(false);
                }
                insert_org(tx, &org, &owner, &plan).await?;
                instance::set_once(tx, OPERATORS, &org.id.to_string()).await?;
                invitations::issue(tx, &invitation).await?;
                for minted in &keys {
                    keys::insert(tx, &minted.key, &minted.hash).await?;
                    happened(tx, org.no, now, Actor::System, AccountEvent::KeyCreated).await?;
                }
                Ok(true)
            }
            .scope_boxed()
        });
        if !first.await? {
            return Ok(None);
        }
        let [live, test] = keys.map(|minted| SecretString::from(minted.secret));
        Ok(Some(FirstKeys { link, live, test }))
    }

    /// Makes a key. The secret is nowhere else.
    pub async fn create_key(&self, org: &Org, wanted: NewKey) -> std::result::Result<(Key, SecretString), MakeError> {
        let now = self.now();
        let wanted = NewKey { name: probity_account::name::name(&wanted.name)?.to_owned(), ..wanted };
        let minted = self.mint(org, wanted, now);
        let made = self.instance.store.write(|tx| {
            async {
                keys::insert(tx, &minted.key, &minted.hash).await?;
                happened(tx, org.no, now, Actor::Staff, AccountEvent::KeyCreated).await
            }
            .scope_boxed()
        });
        made.await?;
        Ok((minted.key, minted.secret.into()))
    }

    /// An organization's keys, the newest first, revoked ones included.
    pub async fn list_keys(&self, org: &Org) -> Result<Vec<Key>> {
        let mut conn = self.instance.store.read().await?;
        let mut all: Vec<Key> = Vec::new();
        loop {
            let after = all.last().map(|key| (key.created_at, key.id));
            let page = keys::page(&mut conn, org.no, after, PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Revokes a key; one that is revoked stays as it is.
    pub async fn revoke_key(&self, org: &Org, key: &str) -> Result<Key> {
        let id: KeyId = key.parse().map_err(|_| StoreError::NotFound)?;
        let now = self.now();
        let revoked = self.instance.store.write(|tx| {
            async {
                keys::revoke(tx, org.no, id, now).await?;
                happened(tx, org.no, now, Actor::Staff, AccountEvent::KeyRevoked).await
            }
            .scope_boxed()
        });
        match revoked.await {
            Ok(()) | Err(StoreError::NotFound) => {}
            Err(error) => return Err(error),
        }
        keys::by_id(&mut self.instance.store.read().await?, org.no, id).await
    }

    /// Every place where the books of credits do not agree, with the organization that it is about; empty when all is well.
    /// It reads everything. Each rule is one statement, so it may run beside a service.
    pub async fn audit_credits(&self) -> Result<Vec<(Option<OrgId>, Discrepancy)>> {
        let found = credits::audit(&mut self.instance.store.read().await?).await?;
        self.named(found).await
    }

    /// Every place where the database does not keep a promise: the books, and each job against its rows. It reads everything,
    /// a job in one snapshot, so it may run beside a service.
    /// Of messages to customers' servers it misses none that ended longer ago than the log is kept.
    pub async fn audit(&self, deliveries_keep_ms: i64) -> Result<Vec<(Option<OrgId>, Discrepancy)>> {
        let messages_since = self.now() - deliveries_keep_ms;
        let found = audit::everything_since(&self.instance.store, messages_since).await?;
        self.named(found).await
    }

    /// With the organizations' ids; without where there is no such organization, which is wrong enough.
    async fn named(&self, found: Vec<Discrepancy>) -> Result<Vec<(Option<OrgId>, Discrepancy)>> {
        let mut conn = self.instance.store.read().await?;
        let mut named = Vec::with_capacity(found.len());
        for one in found {
            let id = match organization::by_no(&mut conn, one.org).await {
                Ok(org) => Some(org.id),
                Err(StoreError::NotFound) => None,
                Err(error) => return Err(error),
            };
            named.push((id, one));
        }
        Ok(named)
    }

    /// Messages to an organization's servers, the newest first, at most `at_most`; of one state where that is given.
    pub async fn list_deliveries(&self, org: &Org, state: Option<State>, at_most: u32) -> Result<Vec<Logged>> {
        let mut conn = self.instance.store.read().await?;
        outbox::page(&mut conn, org.no, state, None, i64::from(at_most)).await
    }

    /// One message with its body, and its attempts before the last one.
    pub async fn delivery(&self, org: &Org, id: &str) -> Result<(Logged, Vec<Tried>)> {
        let (id, mut conn) = (delivery_id(id)?, self.instance.store.read().await?);
        let logged = outbox::by_id(&mut conn, org.no, id).await?;
        let earlier = outbox::before_the_last(&mut conn, org.no, &[id]).await?.remove(&id);
        Ok((logged, earlier.unwrap_or_default()))
    }

    /// Has a message sent once more, now and with all its attempts before it; a running service does it.
    pub async fn resend_delivery(&self, org: &Org, id: &str) -> Result<Logged> {
        let (id, now) = (delivery_id(id)?, self.now());
        self.instance.store.write(|tx| outbox::resend(tx, org.no, id, now).scope_boxed()).await?;
        outbox::by_id(&mut self.instance.store.read().await?, org.no, id).await
    }

    /// The nodes on the database, the oldest first: those that have left are not among them, those that died are for an hour.
    pub async fn nodes(&self) -> Result<Vec<Listed>> {
        let mut conn = self.instance.store.read().await?;
        let now = clock::now(&mut conn, self.now()).await?;
        let leases = nodes::leases(&mut conn).await?;
        let listed = |node: Node| {
            let own = leases.iter().filter(|lease| lease.holder == node.id && lease.until > now);
            let leases = own.map(|lease| lease.name.clone()).collect();
            Listed { alive: is_alive(&node, now), leases, node }
        };
        Ok(nodes::all(&mut conn).await?.into_iter().map(listed).collect())
    }

    fn now(&self) -> Millis {
        self.instance.clock.now()
    }

    fn mint(&self, org: &Org, wanted: NewKey, now: Millis) -> minting::Minted {
        minting::mint(&self.instance.secrets, &self.brand, org.no, None, wanted, now)
    }
}

/// Writes down for the timeline what was done to an account, in the transaction that does it.
async fn happened(tx: &mut Tx, org: OrgNo, at: Millis, actor: Actor, event: AccountEvent) -> Result<()> {
    events::add(tx, org, at, Some(actor), &[What::Account(event)]).await
}

fn delivery_id(text: &str) -> Result<DeliveryId> {
    text.parse().map_err(|_| StoreError::NotFound)
}

fn new_org(name: &str, plan: &CatalogPlan, now: Millis) -> Org {
    Org::new(crate::random::id(now), Some(name.to_owned()), plan.name.clone(), now)
}

/// The person whom a new organization belongs to. They say who they are when they use their link.
fn owner_of(org: &Org) -> User {
    User {
        org: org.no,
        id: crate::random::id(org.created_at),
        email: None,
        name: None,
        role: Role::Administrator,
        is_primary: true,
        status: UserStatus::Active,
        created_at: org.created_at,
    }
}

async fn insert_org(tx: &mut Tx, org: &Org, owner: &User, plan: &CatalogPlan) -> Result<Org> {
    let org = plans::open(tx, org, plan).await?;
    insert_user(tx, owner).await?;
    Ok(org)
}

impl From<MakeError> for ApiError {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Name(fault) => Self::invalid("name", fault.to_string()),
            MakeError::Plan(_) => Self::invalid("plan", "must be a plan listed by `GET /admin/v1/plans`"),
            MakeError::Store(error) => error.into(),
        }
    }
}
