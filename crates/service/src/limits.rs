//! Rate limits: a token bucket for each key and one for each organization; a request needs a token of both. All widgets of an
//! organization share one more, so that they leave tokens to its servers.
//!
//! One process counts in memory. Nodes that share a PostgreSQL share the buckets in it: a node takes tokens in *slices* of two
//! hundredths of the limit and spends them by itself, so that the limit holds on all nodes together (unspent slices count as
//! spent until they are given back), and the database is asked once a slice, not once a request. While the database cannot
//! be asked, each node counts for itself. What strangers can make without number, a node counts alone (refused keys by address) or
//! behind the limits of somebody who is known (checks of the widget by visitor).

pub mod local;
pub mod shared;

use std::net::IpAddr;

use probity_account::id::{KeyId, SessionId};
use probity_mail::time::Millis;
use probity_store::{Dialect, OrgNo, Store};

use crate::ops::metrics::LimitedBy;

/// A minute, in milliseconds and microseconds: the period of all limits.
const MINUTE_MS: i64 = 60_000;
const MINUTE_US: i64 = 60_000_000;
/// The longest time that a client is told to wait, in seconds.
const RETRY_MAX_S: i64 = 60;

/// Whose bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// A key's.
    Key(OrgNo, KeyId),
    /// A person's session's.
    Session(OrgNo, SessionId),
    /// Of everybody in an organization.
    Org(OrgNo),
    /// Of people in an organization that has set a lower limit for its keys: only the operator's limit holds for them.
    OperatorOnly(OrgNo),
    /// Of all widgets of an organization.
    Widgets(OrgNo),
    /// Of refused keys from an address; counted by each node for itself.
    Failures(IpAddr),
    /// Of a visitor of a page with the widget, by a hash: whatever it asks; counted by each node for itself.
    Visitor([u8; 16]),
    /// The same visitor's checks, which all nodes count.
    Checks(OrgNo, [u8; 16]),
    /// The same of the operator's API.
    OperatorFailures(IpAddr),
}

impl Bucket {
    /// What a refusal by it counts as.
    pub fn limited_by(self) -> LimitedBy {
        match self {
            Self::Key(..) | Self::Session(..) => LimitedBy::Key,
            Self::Org(_) | Self::OperatorOnly(_) | Self::Widgets(_) => LimitedBy::Organization,
            Self::Visitor(_) | Self::Checks(..) => LimitedBy::Visitor,
            Self::Failures(_) | Self::OperatorFailures(_) => LimitedBy::Address,
        }
    }
}

/// A bucket and how many requests a minute it lets through; as many may come at once.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub bucket: Bucket,
    pub per_minute: u32,
}

/// What a bucket says after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Requests a minute.
    pub limit: u32,
    /// How many may come now.
    pub remaining: u32,
    /// When the bucket is full again.
    pub(crate) full_at: Millis,
    /// Which bucket it is.
    pub bucket: Bucket,
    /// When the next request may come; none where this one passed.
    pub refused_until: Option<Millis>,
}

impl State {
    /// Whole seconds after which a retry is let through, where this request was refused.
    pub fn retry_after_s(&self, now: Millis) -> Option<u32> {
        let until = self.refused_until?;
        let seconds = (until.since(now) + 999) / 1_000;
        u32::try_from(seconds.clamp(1, RETRY_MAX_S)).ok()
    }

    /// When the bucket is full again, in whole seconds since 1970.
    pub fn reset_s(&self) -> i64 {
        (self.full_at.0 + 999).div_euclid(1_000)
    }
}

/// The limits of a service.
pub struct RateLimits {
    /// What this process counts: all limits where it is alone, and all while the database is away.
    local: local::Buckets,
    /// What nodes count together.
    shared: Option<shared::Buckets>,
}

impl RateLimits {
    /// Limits in memory beside SQLite, shared ones over PostgreSQL.
    pub fn new(store: &Store) -> Self {
        let shared = (store.dialect() == Dialect::Postgres).then(|| shared::Buckets::new(store.clone()));
        Self { local: local::Buckets::default(), shared }
    }

    /// Takes a token of each bucket; where one is empty the others keep theirs. Tells about the one that matters: the
    /// one that refused, or else the first of those with the fewest tokens.
    pub async fn take<const N: usize>(&self, limits: &[Limit; N], now: Millis) -> State {
        const { assert!(N > 0, "somebody's limit counts") };
        let mut told = self.take_one(limits[0], now).await;
        for (taken, limit) in limits.iter().enumerate().skip(1) {
            if told.refused_until.is_some() {
                return told;
            }
            let state = self.take_one(*limit, now).await;
            if state.refused_until.is_some() {
                for earlier in &limits[..taken] {
                    self.give_back(*earlier, now).await;
                }
                return state;
            }
            told = if state.remaining < told.remaining { state } else { told };
        }
        told
    }

    /// Counts a request of a visitor.
    pub fn take_visitor(&self, visitor: [u8; 16], per_minute: u32, now: Millis) -> State {
        self.local.take(Limit { bucket: Bucket::Visitor(visitor), per_minute: per_minute.max(1) }, now)
    }

    /// Counts a refused key against an address.
    pub fn take_failure(&self, from: IpAddr, per_minute: u32, now: Millis) -> State {
        self.local.take(Limit { bucket: Bucket::Failures(from), per_minute: per_minute.max(1) }, now)
    }

    /// Counts a key that the operator's API refused against an address.
    pub fn take_operator_failure(&self, from: IpAddr, per_minute: u32, now: Millis) -> State {
        self.local.take(Limit { bucket: Bucket::OperatorFailures(from), per_minute: per_minute.max(1) }, now)
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
