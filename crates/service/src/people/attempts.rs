//! How often somebody may try to sign in.
//!
//! Counted are the address that is tried and the network that tries ([`probity_store::attempts`]), for all nodes together and
//! before anything is hashed. Waiting begins with a second and ends at five minutes, so nobody is locked out for longer, and an
//! address without a person is counted like any other. A browser that has signed in as the address's person before is counted by
//! itself: strangers who try the address do not make its owner wait there. Where an address has people in several organizations,
//! one of them may be anybody's making: who signs in as one forgives no guesses at the others, and no browser counts by itself.

use std::net::IpAddr;

use probity_account::id::UserId;
use probity_mail::time::Millis;
use probity_store::attempts::{self, Backoff, Slot};
use probity_store::passwords::Hash;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, Tx};

use crate::error::ApiError;
use crate::ops::metrics::{LimitedBy, Metrics};
use crate::secrets::Secrets;

/// For an address, and for a person who shows who they are once more.
const ACCOUNT: Backoff = Backoff { free: 5, longest_ms: 300_000, forget_ms: 3_600_000 };
/// For a network, behind which there may be an office.
const NETWORK: Backoff = Backoff { free: 30, longest_ms: 300_000, forget_ms: 3_600_000 };
/// For an organization that has invitations mailed by the operator's relay: fifty, then ever fewer, until it has rested for a day.
const MAILS: Backoff = Backoff { free: 50, longest_ms: 86_400_000, forget_ms: 86_400_000 };
/// Rows for addresses, as many for networks, and as many for organizations that invite.
const SLOTS: i64 = 1 << 20;

/// Who tries.
pub enum Whose<'a> {
    /// Somebody with an address of at most one person, and the mark of a browser that has signed in as them.
    Address(&'a Hash, Option<[u8; 16]>),
    /// Somebody with an address that has people in several organizations.
    Shared(&'a Hash),
    /// A person who shows who they are once more.
    Person(OrgNo, UserId),
    /// Somebody with a link.
    Link,
}

/// From where.
#[derive(Clone, Copy, Debug)]
pub struct From(Option<IpAddr>);

impl From {
    /// For what is counted against its network already.
    pub const NOWHERE: Self = Self(None);

    /// The network of an address; none in process.
    pub fn of(address: Option<IpAddr>) -> Self {
        Self(address)
    }
}

/// An attempt that was let through, and counts as a failure until something else is said.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    account: Option<i64>,
    /// Whether the account is of several people.
    shared: bool,
    network: Option<i64>,
    at: Millis,
}

/// What counting attempts needs.
#[derive(Clone, Copy)]
pub struct AttemptCounter<'a> {
    pub store: &'a Store,
    pub secrets: &'a Secrets,
    pub metrics: &'a Metrics,
    pub now: Millis,
}

/// Counts an attempt, or says how long it has to wait (429).
pub async fn begin(counter: AttemptCounter<'_>, whose: Whose<'_>, From(from): From) -> Result<Attempt, ApiError> {
    let AttemptCounter { store, secrets, metrics, now } = counter;
    let slot = |kind: &str, whose: &[&[u8]]| number(&secrets.attempts(kind, whose));
    let account = match whose {
        Whose::Address(who, None) | Whose::Shared(who) => Some(slot("address", &[who])),
        Whose::Address(who, Some(device)) => Some(slot("device", &[who, &device])),
        Whose::Person(org, user) => Some(slot("person", &[&org.0.to_be_bytes(), &user.bits().to_be_bytes()])),
        Whose::Link => None,
    };
    let network = from.map(|ip| SLOTS + slot("network", &[ip.to_string().as_bytes()]));
    let slots: Vec<Slot> = [(account, ACCOUNT), (network, NETWORK)]
        .into_iter()
        .filter_map(|(no, backoff)| no.map(|no| Slot { no, backoff }))
        .collect();
    match store.write(|tx| attempts::begin(tx, &slots, now).scope_boxed()).await? {
        Ok(()) => Ok(Attempt { account, shared: matches!(whose, Whose::Shared(_)), network, at: now }),
        Err(until) => {
            metrics.accounts().limited(LimitedBy::Address);
            let seconds = (until.since(now) + 999) / 1_000;
            Err(ApiError::rate_limited(u32::try_from(seconds.max(1)).unwrap_or(u32::MAX)))
        }
    }
}

/// Counts an invitation that is to be mailed; says whether the organization may have it mailed.
pub(crate) async fn may_mail(tx: &mut Tx, secrets: &Secrets, org: OrgNo, now: Millis) -> Result<bool, StoreError> {
    let no = 2 * SLOTS + number(&secrets.attempts("mail", &[&org.0.to_be_bytes()]));
    Ok(attempts::begin(tx, &[Slot { no, backoff: MAILS }], now).await?.is_ok())
}

impl Attempt {
    /// It was right: the account has no failures any more, unless they may be others'. The network keeps those of others.
    pub async fn succeeded(self, tx: &mut Tx) -> Result<(), StoreError> {
        if self.shared {
            return self.went_on(tx).await;
        }
        if let Some(account) = self.account {
            attempts::forget(tx, account).await?;
        }
        self.back(tx, self.network).await
    }

    /// It was right as far as it went: it counts as none, and earlier failures stay.
    pub async fn went_on(self, tx: &mut Tx) -> Result<(), StoreError> {
        self.back(tx, self.account).await?;
        self.back(tx, self.network).await
    }

    async fn back(self, tx: &mut Tx, slot: Option<i64>) -> Result<(), StoreError> {
        match slot {
            Some(slot) => attempts::take_back(tx, slot, self.at).await,
            None => Ok(()),
        }
    }
}

fn number(hash: &Hash) -> i64 {
    let first = hash.first_chunk().expect("a hash has eight bytes");
    i64::from_be_bytes(*first) & (SLOTS - 1)
}
