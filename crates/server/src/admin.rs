//! What those who run an installation do: organizations, keys, credits, and the first start.
//!
//! The command line calls this beside a running service, on the same database. A running service notices a revoked key or a
//! stopped organization within a second.

mod links;
mod team;

use probity_core::credits::{Balance, Bucket, UNLIMITED};
use probity_core::id::{DeliveryId, Id, KeyId, OrgId};
use probity_core::name::NameFault;
use probity_core::time::Millis;
use probity_store::audit::{self, Discrepancy};
use probity_store::credits::Booking;
use probity_store::events::{self, AccountEvent, Actor, What};
use probity_store::keys::Key;
use probity_store::nodes::{self, Node};
use probity_store::orgs::{Org, OrgStatus};
use probity_store::outbox::{self, Logged, State};
use probity_store::users::invitations;
use probity_store::users::{Role, User, UserStatus};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, StoreError, Tx, credits, instance, keys, orgs, users};
use secrecy::SecretString;

pub use links::ResetLink;
pub use team::{Invitee, Refused, TeamError};

pub use crate::minting::{Wanted as NewKey, origin};

use crate::app::DELIVERIES_KEEP_MS;
use crate::instance::Instance;
use crate::minting;
use crate::nodes::is_alive;

/// The name of the mark that the first start leaves.
const STARTED: &str = "first_start";
/// Organizations that are read at a time.
const PAGE: i64 = 500;

/// What a new organization may spend.
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

impl Plan {
    /// The plan's name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited",
            Self::Metered { .. } => "metered",
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

/// Why an organization or a key was not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// It cannot be called that.
    #[error("a name {0}")]
    Name(#[from] NameFault),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an administrator may do.
#[derive(Clone, Debug)]
pub struct Admin {
    instance: Instance,
    brand: String,
}

impl Admin {
    /// Administers an installation whose keys begin with `brand`.
    pub fn new(instance: Instance, brand: impl Into<String>) -> Self {
        Self { instance, brand: brand.into() }
    }

    /// Makes the first organization with its owner and two keys, where there has never been one. Of several nodes that start
    /// at once, one does it.
    pub async fn first_start(&self, name: &str, plan: Plan) -> Result<Option<FirstKeys>> {
        let now = self.now();
        let mark = crate::secrets::hex(&crate::random::bytes::<8>());
        let org = new_org(name, plan, now);
        let keys = [
            ("First live key", probity_core::api_key::KeyKind::Live),
            ("First test key", probity_core::api_key::KeyKind::Test),
        ]
        .map(|(name, kind)| self.mint(&org, NewKey::plain(name, kind), now));
        let owner = owner_of(&org);
        let (link, invitation) = self.new_link(&owner, now);
        let first = self.instance.store.write(|tx| {
            async {
                let standing = instance::set_once(tx, STARTED, &mark).await?;
                if standing != mark || !orgs::page(tx, None, 1).await?.is_empty() {
                    return Ok(false);
                }
                insert_org(tx, &org, &owner, plan).await?;
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

    /// Makes an organization with its owner.
    pub async fn create_org(&self, name: &str, plan: Plan) -> std::result::Result<Org, MakeError> {
        let org = new_org(probity_core::name::name(name)?, plan, self.now());
        let owner = owner_of(&org);
        self.instance.store.write(|tx| insert_org(tx, &org, &owner, plan).scope_boxed()).await?;
        Ok(org)
    }

    /// All organizations, the oldest first.
    pub async fn list_orgs(&self) -> Result<Vec<Org>> {
        let mut conn = self.instance.store.read().await?;
        let mut all: Vec<Org> = Vec::new();
        loop {
            let page = orgs::page(&mut conn, all.last().map(|org| org.no), PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// The organization with an id.
    pub async fn org(&self, id: &str) -> Result<Org> {
        let id: OrgId = id.parse().map_err(|_| StoreError::NotFound)?;
        orgs::by_id(&mut self.instance.store.read().await?, id).await
    }

    /// Stops an organization or lets it go on.
    pub async fn set_status(&self, org: &Org, status: OrgStatus) -> Result<Org> {
        let now = self.now();
        let changed = self.instance.store.write(|tx| {
            async {
                let before = orgs::set_status(tx, org.no, status).await?;
                match (before.is_stopped(), status.is_stopped()) {
                    (false, true) => happened(tx, org.no, now, Actor::Staff, AccountEvent::Hold).await,
                    (true, false) => happened(tx, org.no, now, Actor::Staff, AccountEvent::HoldLifted).await,
                    _ => Ok(()),
                }
            }
            .scope_boxed()
        });
        changed.await?;
        orgs::by_no(&mut self.instance.store.read().await?, org.no).await
    }

    /// Makes a key. The secret is nowhere else.
    pub async fn create_key(&self, org: &Org, wanted: NewKey) -> std::result::Result<(Key, SecretString), MakeError> {
        let now = self.now();
        let wanted = NewKey { name: probity_core::name::name(&wanted.name)?.to_owned(), ..wanted };
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

    /// Grants credits; those of a subscription end at `until`.
    pub async fn grant(&self, org: &Org, bucket: Bucket, amount: i64, until: Option<Millis>) -> Result<Balance> {
        let (cause, at) = (self.cause(), self.now());
        let booking = Booking { org: org.no, bucket, amount, cause: &cause, at };
        let granted = self.instance.store.write(|tx| {
            async {
                credits::grant(tx, &booking, until).await?;
                happened(tx, org.no, at, Actor::Staff, AccountEvent::CreditsGranted).await
            }
            .scope_boxed()
        });
        granted.await?;
        self.balance(org).await
    }

    /// Corrects an account up or down.
    pub async fn adjust(&self, org: &Org, bucket: Bucket, amount: i64) -> Result<Balance> {
        let (cause, at) = (self.cause(), self.now());
        let booking = Booking { org: org.no, bucket, amount, cause: &cause, at };
        let adjusted = self.instance.store.write(|tx| {
            async {
                credits::adjust(tx, &booking).await?;
                happened(tx, org.no, at, Actor::Staff, AccountEvent::CreditsAdjusted).await
            }
            .scope_boxed()
        });
        adjusted.await?;
        self.balance(org).await
    }

    /// What an organization has, holds and has spent.
    pub async fn balance(&self, org: &Org) -> Result<Balance> {
        credits::balance(&mut self.instance.store.read().await?, org.no).await
    }

    /// Every place where the books of credits do not agree, with the organization that it is about; empty when all is well.
    /// It reads everything. Each rule is one statement, so it may run beside a service.
    pub async fn audit_credits(&self) -> Result<Vec<(Option<OrgId>, Discrepancy)>> {
        let found = credits::audit(&mut self.instance.store.read().await?).await?;
        self.named(found).await
    }

    /// Every place where the database does not keep a promise: the books, and each job against its rows. It reads everything,
    /// a job in one snapshot, so it may run beside a service.
    pub async fn audit(&self) -> Result<Vec<(Option<OrgId>, Discrepancy)>> {
        // Those before may have been purged.
        let messages_since = self.now() - DELIVERIES_KEEP_MS;
        let found = audit::everything_since(&self.instance.store, messages_since).await?;
        self.named(found).await
    }

    /// With the organizations' ids; without where there is no such organization, which is wrong enough.
    async fn named(&self, found: Vec<Discrepancy>) -> Result<Vec<(Option<OrgId>, Discrepancy)>> {
        let mut conn = self.instance.store.read().await?;
        let mut named = Vec::with_capacity(found.len());
        for one in found {
            let id = match orgs::by_no(&mut conn, one.org).await {
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

    /// One message with its body.
    pub async fn delivery(&self, org: &Org, id: &str) -> Result<Logged> {
        outbox::by_id(&mut self.instance.store.read().await?, org.no, delivery_id(id)?).await
    }

    /// Has a message sent once more, now and with all its attempts before it; a running service does it.
    pub async fn resend_delivery(&self, org: &Org, id: &str) -> Result<Logged> {
        let (id, now) = (delivery_id(id)?, self.now());
        self.instance.store.write(|tx| outbox::resend(tx, org.no, id, now).scope_boxed()).await?;
        outbox::by_id(&mut self.instance.store.read().await?, org.no, id).await
    }

    /// The nodes on the database, the oldest first: those that have left are not among them, those that died are for an hour.
    pub async fn nodes(&self) -> Result<Vec<Listed>> {
        let (now, mut conn) = (self.now(), self.instance.store.read().await?);
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

    /// A cause of its own for each act.
    fn cause(&self) -> String {
        let id: Id<probity_core::id::Event> = crate::random::id(self.now());
        format!("staff:{id}")
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

fn new_org(name: &str, plan: Plan, now: Millis) -> Org {
    Org::new(crate::random::id(now), Some(name.to_owned()), plan.as_str().to_owned(), now)
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

async fn insert_org(tx: &mut Tx, org: &Org, owner: &User, plan: Plan) -> Result<()> {
    orgs::insert(tx, org).await?;
    users::insert(tx, owner).await?;
    let (cause, amount) = match plan {
        Plan::Unlimited => ("unlimited", UNLIMITED),
        Plan::Metered { initial } => ("initial", initial),
    };
    if amount > 0 {
        let booking = Booking { org: org.no, bucket: Bucket::Prepaid, amount, cause, at: org.created_at };
        credits::grant(tx, &booking, None).await?;
    }
    Ok(())
}
