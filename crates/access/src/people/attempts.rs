//! Limits on attempts to sign in.
//!
//! Attempts are counted by address and by network ([`probity_store::accounts::people::attempts`]), for all nodes together and
//! before anything is hashed. Pauses grow from 1 s to 5 minutes, so that nobody is locked out for longer. An address without a
//! user is counted like any other. A browser that has signed in as the address's user before is counted separately, so that
//! attempts by strangers do not delay that user. If an address has users in several organizations, anybody may have created one
//! of them. A sign-in as one of them therefore resets no failures, and no browser is counted separately.

use std::net::IpAddr;

use probity_account::id::UserId;
use probity_contract::error::ApiError;
use probity_mail::time::Millis;
use probity_store::accounts::people::attempts::{self, AttemptSlot, Backoff};
use probity_store::accounts::people::passwords::SecretHash;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, Tx};
use probity_telemetry::metrics::{LimitedBy, Metrics};

use crate::secrets::Secrets;

/// Limit for an address, and for a user who confirms their identity again.
const ACCOUNT: Backoff = Backoff { free: 5, first_ms: 1_000, longest_ms: 300_000, forget_ms: 3_600_000 };
/// Limit for a network, which may be that of an office.
const NETWORK: Backoff = Backoff { free: 30, first_ms: 1_000, longest_ms: 300_000, forget_ms: 3_600_000 };
/// Limit for an organization's mailed invitations: 50, then fewer and fewer, until it has sent none for a day.
const MAILS: Backoff = Backoff { free: 50, first_ms: 1_000, longest_ms: 86_400_000, forget_ms: 86_400_000 };
/// Limit for a member's mailed links for forgotten passwords: 5, then one after an hour, 2, 4, 8, and 12 hours, until none was
/// mailed for a day.
const LINKS: Backoff = Backoff { free: 4, first_ms: 3_600_000, longest_ms: 43_200_000, forget_ms: 86_400_000 };
/// Number of slots of each kind: for addresses, for networks, for organizations that invite, for networks that ask for links, and
/// for members who get them.
const SLOTS: i64 = 1 << 20;

pub enum AttemptSubject<'a> {
    /// Address of at most one user, and the mark of a browser that has signed in as that user.
    Address(&'a SecretHash, Option<[u8; 16]>),
    /// Address that has users in several organizations.
    Shared(&'a SecretHash),
    /// User who confirms their identity again.
    Person(OrgNo, UserId),
    /// Holder of a one-time link.
    Link,
    /// Somebody who asks for a link to this address. Counted apart from signing in, which it must not delay.
    Forgotten(&'a SecretHash),
}

/// The network that an attempt comes from.
#[derive(Clone, Copy, Debug)]
pub struct Network(Option<IpAddr>);

impl Network {
    /// For attempts that are counted against their network already.
    pub const NOWHERE: Self = Self(None);

    /// The network that an address stands for; none in process.
    pub fn of(address: Option<IpAddr>) -> Self {
        Self(address)
    }
}

/// Attempt that was let through. It counts as a failure until reported otherwise.
#[derive(Clone, Copy, Debug)]
pub struct SignInAttempt {
    account: Option<i64>,
    /// Whether the address has several users.
    shared: bool,
    network: Option<i64>,
    at: Millis,
}

/// Dependencies of counting attempts.
#[derive(Clone, Copy)]
pub struct AttemptCounter<'a> {
    pub store: &'a Store,
    pub secrets: &'a Secrets,
    pub metrics: &'a Metrics,
    pub now: Millis,
}

/// Counts an attempt, or fails with 429 and the time to wait.
pub async fn begin(
    counter: AttemptCounter<'_>,
    whose: AttemptSubject<'_>,
    Network(from): Network,
) -> Result<SignInAttempt, ApiError> {
    let AttemptCounter { store, secrets, metrics, now } = counter;
    let slot = |kind: &str, whose: &[&[u8]]| number(&secrets.attempts(kind, whose));
    let account = match whose {
        AttemptSubject::Address(who, None) | AttemptSubject::Shared(who) => Some(slot("address", &[who])),
        AttemptSubject::Address(who, Some(device)) => Some(slot("device", &[who, &device])),
        AttemptSubject::Person(org, user) => Some(slot("person", &[&org.0.to_be_bytes(), &user.bits().to_be_bytes()])),
        AttemptSubject::Link => None,
        AttemptSubject::Forgotten(who) => Some(slot("forgotten", &[who])),
    };
    let (range, kind) = match whose {
        AttemptSubject::Forgotten(_) => (3 * SLOTS, "forgotten_network"),
        _ => (SLOTS, "network"),
    };
    let network = from.map(|ip| range + slot(kind, &[ip.to_string().as_bytes()]));
    let slots: Vec<AttemptSlot> = [(account, ACCOUNT), (network, NETWORK)]
        .into_iter()
        .filter_map(|(no, backoff)| no.map(|no| AttemptSlot { no, backoff }))
        .collect();
    match store.write(|tx| attempts::begin(tx, &slots, now).scope_boxed()).await? {
        Ok(()) => Ok(SignInAttempt { account, shared: matches!(whose, AttemptSubject::Shared(_)), network, at: now }),
        Err(until) => {
            metrics.accounts().limited(LimitedBy::Address);
            let seconds = (until.since(now) + 999) / 1_000;
            Err(ApiError::rate_limited(u32::try_from(seconds.max(1)).unwrap_or(u32::MAX)))
        }
    }
}

/// Counts an invitation to be mailed; returns whether the organization's limit allows it.
pub async fn may_mail(tx: &mut Tx, secrets: &Secrets, org: OrgNo, now: Millis) -> Result<bool, StoreError> {
    let no = 2 * SLOTS + number(&secrets.attempts("mail", &[&org.0.to_be_bytes()]));
    Ok(attempts::begin(tx, &[AttemptSlot { no, backoff: MAILS }], now).await?.is_ok())
}

/// Counts a link for a forgotten password to be mailed; returns whether the member's limit allows it.
pub async fn may_mail_link(
    tx: &mut Tx,
    secrets: &Secrets,
    (org, user): (OrgNo, UserId),
    now: Millis,
) -> Result<bool, StoreError> {
    let whose = secrets.attempts("link", &[&org.0.to_be_bytes(), &user.bits().to_be_bytes()]);
    let slot = AttemptSlot { no: 4 * SLOTS + number(&whose), backoff: LINKS };
    Ok(attempts::begin(tx, &[slot], now).await?.is_ok())
}

impl SignInAttempt {
    /// Resets the account's failures after a correct attempt, unless they may be those of other users. The network keeps those
    /// of others.
    pub async fn succeeded(self, tx: &mut Tx) -> Result<(), StoreError> {
        let Some(account) = self.account.filter(|_| !self.shared) else { return self.take_back_correct(tx).await };
        attempts::forget(tx, account).await?;
        Self { account: None, ..self }.take_back_correct(tx).await
    }

    /// Passes on what judges the attempt. If it failed, nothing speaks against the attempt, so it is taken back: an overload of this
    /// server locks nobody out.
    pub async fn judged<T>(self, store: &Store, judged: Result<T, ApiError>) -> Result<T, ApiError> {
        if judged.is_err() {
            store.write(|tx| self.take_back_correct(tx).scope_boxed()).await?;
        }
        judged
    }

    /// Takes back an attempt that was correct so far. Earlier failures stay.
    pub async fn take_back_correct(self, tx: &mut Tx) -> Result<(), StoreError> {
        for slot in [self.account, self.network].into_iter().flatten() {
            attempts::take_back(tx, slot, self.at).await?;
        }
        Ok(())
    }
}

fn number(hash: &SecretHash) -> i64 {
    let first = hash.first_chunk().expect("a hash has eight bytes");
    i64::from_be_bytes(*first) & (SLOTS - 1)
}
