//! Rate limits: a token bucket for each key and one for each organization; a request needs a token of both.
//!
//! One process counts in memory. Nodes that share a PostgreSQL share the buckets in it: a node takes tokens in *slices* of two
//! hundredths of the limit and spends them by itself, so that the limit holds on all nodes together (unspent slices count as
//! spent until they are given back), and the database is asked once a slice, not once a request. While the database cannot
//! be asked, each node counts for itself.

mod local;
mod shared;

use std::net::IpAddr;

use probity_core::id::{KeyId, SessionId};
use probity_core::time::Millis;
use probity_store::{Dialect, OrgNo, Store};

/// A minute, in milliseconds and microseconds: the period of all limits.
const MINUTE_MS: i64 = 60_000;
const MINUTE_US: i64 = 60_000_000;
/// The longest time that a client is told to wait, in seconds.
const RETRY_MAX_S: i64 = 60;

/// Whose bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bucket {
    /// A key's.
    Key(OrgNo, KeyId),
    /// A person's session's.
    Session(OrgNo, SessionId),
    /// Of everybody in an organization.
    Org(OrgNo),
    /// Of refused keys from an address; counted by each node for itself.
    Failures(IpAddr),
}

impl Bucket {
    fn is_of_key(self) -> bool {
        matches!(self, Self::Key(..) | Self::Session(..))
    }
}

/// A bucket and how many requests a minute it lets through; as many may come at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) bucket: Bucket,
    pub(crate) per_minute: u32,
}

/// What a bucket says after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Requests a minute.
    pub(crate) limit: u32,
    /// How many may come now.
    pub(crate) remaining: u32,
    /// When the bucket is full again.
    pub(crate) full_at: Millis,
    /// Whether the bucket is a key's or a session's.
    pub(crate) is_of_key: bool,
    /// When the next request may come; none where this one passed.
    pub(crate) refused_until: Option<Millis>,
}

impl State {
    /// Whole seconds after which a retry is let through, where this request was refused.
    pub(crate) fn retry_after_s(&self, now: Millis) -> Option<u32> {
        let until = self.refused_until?;
        let seconds = (until.since(now) + 999) / 1_000;
        u32::try_from(seconds.clamp(1, RETRY_MAX_S)).ok()
    }

    /// When the bucket is full again, in whole seconds since 1970.
    pub(crate) fn reset_s(&self) -> i64 {
        (self.full_at.0 + 999).div_euclid(1_000)
    }
}

/// The limits of a service.
pub(crate) struct RateLimits {
    /// What this process counts: all limits where it is alone, and all while the database is away.
    local: local::Buckets,
    /// What nodes count together.
    shared: Option<shared::Buckets>,
}

impl RateLimits {
    /// Limits in memory beside SQLite, shared ones over PostgreSQL.
    pub(crate) fn new(store: &Store) -> Self {
        let shared = (store.dialect() == Dialect::Postgres).then(|| shared::Buckets::new(store.clone()));
        Self { local: local::Buckets::default(), shared }
    }

    /// Takes a token of both buckets; where one is empty the other keeps its token. Tells about the one that matters: the
    /// one that refused, or else the one with fewer tokens.
    pub(crate) async fn take(&self, key: Limit, org: Limit, now: Millis) -> State {
        let first = self.take_one(key, now).await;
        if first.refused_until.is_some() {
            return first;
        }
        let second = self.take_one(org, now).await;
        if second.refused_until.is_some() {
            self.give_back(key, now).await;
            return second;
        }
        if second.remaining < first.remaining { second } else { first }
    }

    /// Counts a refused key against an address.
    pub(crate) fn take_failure(&self, from: IpAddr, per_minute: u32, now: Millis) -> State {
        self.local.take(Limit { bucket: Bucket::Failures(from), per_minute: per_minute.max(1) }, now)
    }

    async fn take_one(&self, limit: Limit, now: Millis) -> State {
        let shared = match &self.shared {
            Some(shared) => shared.take(limit, now).await,
            None => None,
        };
        shared.unwrap_or_else(|| self.local.take(limit, now))
    }

    async fn give_back(&self, limit: Limit, now: Millis) {
        match &self.shared {
            None => self.local.give_back(limit, now),
            Some(shared) => shared.give_back(limit).await,
        }
    }

    /// Gives unused slices back.
    pub(crate) async fn tidy(&self, now: Millis) {
        if let Some(shared) = &self.shared {
            shared.tidy(now).await;
        }
    }
}
