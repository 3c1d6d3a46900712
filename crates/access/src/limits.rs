//! Rate limits: a token bucket for each API key and one for each organization; a request needs a token of both. All widgets of
//! an organization share another one, so that they leave tokens for its servers. Accounts at platforms have buckets too.
//!
//! A single process counts in memory. Nodes that share PostgreSQL share its buckets: a node takes tokens in slices of 2 % of
//! the limit, and spends them from memory. The database is therefore used once per slice, not per request. Unspent slices count
//! as spent until they are returned, so the limit holds for all nodes together.
//!
//! While the database is unavailable, each node counts alone. Strangers could create any number of buckets. These are counted
//! per node (refused keys by IP address), or behind the limit of a known caller (widget checks by visitor).

pub mod local;
mod pauses;
mod platforms;
pub mod shared;

use std::net::IpAddr;

use probity_account::id::{KeyId, OutcomeSourceId, SessionId};
use probity_mail::time::Millis;
use probity_store::{OrgNo, SqlDialect, Store};
use probity_telemetry::metrics::LimitedBy;

/// Period of callers' limits: a minute, in microseconds.
const MINUTE_US: i64 = 60_000_000;
/// Longest wait that a client is given, in seconds.
const RETRY_MAX_S: i64 = 60;

/// Identity of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitBucket {
    Key(OrgNo, KeyId),
    /// Session of a user.
    Session(OrgNo, SessionId),
    /// All requests of an organization.
    Org(OrgNo),
    /// Users in an organization that has lowered the limit of its keys. Only the operator's limit applies to them.
    OperatorOnly(OrgNo),
    /// All widgets of an organization.
    Widgets(OrgNo),
    /// Refused keys from an IP address, counted per node.
    Failures(IpAddr),
    /// All requests of a widget's visitor, by hash, counted per node.
    Visitor([u8; 16]),
    /// Checks of a widget's visitor, by hash, counted by all nodes together.
    Checks(OrgNo, [u8; 16]),
    /// Keys refused by the operator API from an IP address, counted per node.
    OperatorFailures(IpAddr),
    /// Calls to platforms while somebody of an organization waits.
    LiveCalls(OrgNo),
    /// Requests of a sending service.
    OutcomeSource(OrgNo, OutcomeSourceId),
    /// Requests of all sending services of an organization.
    OutcomeSources(OrgNo),
    /// A limit of an account at a platform, by the account's hash and the number of the limit.
    Platform([u8; 16], u8),
    /// The same for a limit that the platform counts by source IP, counted per node.
    PlatformSource([u8; 16], u8),
}

impl LimitBucket {
    /// Returns the metric label of a refusal by this bucket; `None` if it refuses no caller.
    pub fn limited_by(self) -> Option<LimitedBy> {
        match self {
            Self::Key(..) | Self::Session(..) => Some(LimitedBy::Key),
            Self::Org(_)
            | Self::OperatorOnly(_)
            | Self::Widgets(_)
            | Self::LiveCalls(_)
            | Self::OutcomeSource(..)
            | Self::OutcomeSources(_) => Some(LimitedBy::Organization),
            Self::Visitor(_) | Self::Checks(..) => Some(LimitedBy::Visitor),
            Self::Failures(_) | Self::OperatorFailures(_) => Some(LimitedBy::Address),
            Self::Platform(..) | Self::PlatformSource(..) => None,
        }
    }

    /// Whether all nodes count together.
    fn is_shared(self) -> bool {
        !matches!(self, Self::Visitor(_) | Self::Failures(_) | Self::OperatorFailures(_) | Self::PlatformSource(..))
    }
}

/// Bucket and its limit of requests per minute, which is also its burst.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimit {
    pub bucket: LimitBucket,
    pub per_minute: u32,
}

/// Bucket with its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLimit {
    pub bucket: LimitBucket,
    /// Microseconds until one token returns.
    pub step_us: i64,
    /// Tokens of a full bucket.
    pub burst: u32,
}

impl From<RequestLimit> for TokenLimit {
    fn from(limit: RequestLimit) -> Self {
        let step_us = (MINUTE_US / i64::from(limit.per_minute.max(1))).max(1);
        Self { bucket: limit.bucket, step_us, burst: limit.per_minute }
    }
}

/// State of a bucket after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitState {
    /// Requests that may come at once.
    pub limit: u32,
    /// Requests that may come now.
    pub remaining: u32,
    /// Time at which the bucket is full again.
    pub full_at: Millis,
    pub bucket: LimitBucket,
    /// Time at which the next request may come; `None` if this one passed.
    pub refused_until: Option<Millis>,
}

impl LimitState {
    /// Returns the seconds after which a retry passes, 1 to 60, if this request was refused.
    pub fn retry_after_s(&self, now: Millis) -> Option<u32> {
        let until = self.refused_until?;
        let seconds = (until.since(now) + 999) / 1_000;
        u32::try_from(seconds.clamp(1, RETRY_MAX_S)).ok()
    }

    /// Returns the time at which the bucket is full again, in whole seconds since 1970.
    pub fn reset_s(&self) -> i64 {
        (self.full_at.0 + 999).div_euclid(1_000)
    }
}

pub struct RateLimits {
    /// Counts of this process: all limits if it is alone, and all while the database is unavailable.
    local: local::LocalBuckets,
    /// Counts shared by all nodes.
    shared: Option<shared::SharedBuckets>,
    /// Pauses of accounts at platforms that all nodes keep.
    pauses: Option<pauses::SharedPauses>,
}

impl RateLimits {
    /// Creates limits in memory for SQLite, and shared ones for PostgreSQL.
    pub fn new(store: &Store) -> Self {
        let is_shared = store.dialect() == SqlDialect::Postgres;
        let shared = is_shared.then(|| shared::SharedBuckets::new(store.clone()));
        let pauses = is_shared.then(|| pauses::SharedPauses::new(store.clone()));
        Self { local: local::LocalBuckets::default(), shared, pauses }
    }

    /// Tells the other nodes that an account at a platform pauses, for calls under a set of its limits.
    pub async fn pause_platform(&self, (account, of): ([u8; 16], u32), until: Millis, now: Millis) {
        if let Some(pauses) = &self.pauses {
            pauses.tell(&shared::pause_name(account, of), until, now).await;
        }
    }

    /// Returns the end of a pause that a node has told.
    pub async fn platform_paused_until(&self, (account, of): ([u8; 16], u32), now: Millis) -> Option<Millis> {
        self.pauses.as_ref()?.until(&shared::pause_name(account, of), now).await
    }

    /// Takes a token from each bucket; if one refuses, the others keep theirs. Returns the state of the bucket that refused, or
    /// else of the first one with the fewest tokens.
    pub async fn take<const N: usize>(&self, limits: &[RequestLimit; N], now: Millis) -> LimitState {
        const { assert!(N > 0, "somebody's limit counts") };
        self.take_each(&limits.map(TokenLimit::from), now).await.expect("there is a limit")
    }

    /// The same for any number of buckets; `None` if there are none.
    pub async fn take_each(&self, limits: &[TokenLimit], now: Millis) -> Option<LimitState> {
        let mut told: Option<LimitState> = None;
        // The database may become available, or unavailable, before a token returns.
        let mut takes = Vec::with_capacity(limits.len());
        for limit in limits {
            let (state, is_shared) = self.take_one(*limit, now).await;
            if state.refused_until.is_some() {
                for (earlier, is_shared) in limits.iter().zip(takes) {
                    self.give_back(*earlier, is_shared, now).await;
                }
                return Some(state);
            }
            takes.push(is_shared);
            told = Some(told.filter(|told| told.remaining <= state.remaining).unwrap_or(state));
        }
        told
    }

    /// Takes a token from a bucket that each node counts alone.
    pub fn take_here(&self, bucket: LimitBucket, per_minute: u32, now: Millis) -> LimitState {
        self.local.take(RequestLimit { bucket, per_minute: per_minute.max(1) }.into(), now)
    }

    /// Takes a token. Returns also whether it is from the shared bucket.
    async fn take_one(&self, limit: TokenLimit, now: Millis) -> (LimitState, bool) {
        let shared = match &self.shared {
            Some(shared) if limit.bucket.is_shared() => shared.take(limit, now).await,
            _ => None,
        };
        match shared {
            Some(state) => (state, true),
            None => (self.local.take(limit, now), false),
        }
    }

    async fn give_back(&self, limit: TokenLimit, is_shared: bool, now: Millis) {
        match self.shared.as_ref().filter(|_| is_shared) {
            Some(shared) => shared.give_back(limit, now).await,
            None => self.local.give_back(limit, now),
        }
    }

    /// Returns unused slices to the shared buckets.
    pub async fn tidy(&self, now: Millis) {
        if let Some(shared) = &self.shared {
            shared.tidy(now).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_account::id::KeyId;
    use probity_store::{DatabasePlace, StoreConfig};

    use super::*;

    const NOW: Millis = Millis(1_800_000_000_000);
    const ORG: RequestLimit = RequestLimit { bucket: LimitBucket::Org(OrgNo(1)), per_minute: 3 };

    fn key(n: u8) -> RequestLimit {
        RequestLimit { bucket: LimitBucket::Key(OrgNo(1), KeyId::new(NOW, [n; 10])), per_minute: 1 }
    }

    /// The organization has 3 requests and each key 1, so every second request of a key is refused and returns its token to the
    /// organization.
    #[tokio::test]
    async fn a_token_returns_to_the_bucket_it_was_taken_from() {
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let place = DatabasePlace::Postgres(database.url().to_owned());
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        store.failpoints().go_by_callers_clock();
        let [limits, beside] = [0; 2].map(|_| RateLimits::new(&store));
        let passes = async |n: u8, now| limits.take(&[ORG, key(n)], now).await.refused_until.is_none();
        // Another node uses up the organization's shared bucket.
        for n in 0..3 {
            assert_eq!(beside.take(&[ORG, key(n)], NOW).await.refused_until, None);
        }
        // The database fails at the first request. This node counts alone then.
        store.failpoints().arm("accounts::limits::TAKE:before:1:error".parse().unwrap());
        assert!(passes(4, NOW).await && !passes(4, NOW).await);
        assert_eq!(store.failpoints().disarm(), 1);
        assert!(!passes(5, NOW + shared::AWAY_MS).await, "what was never taken from the shared bucket is not in it");
        // Once more, to see that it is in the node's own, which is full again.
        store.failpoints().arm("accounts::limits::TAKE:before:1:error".parse().unwrap());
        let later = NOW + 20_000;
        assert!(!passes(4, later).await && passes(6, later).await && passes(7, later).await && passes(9, later).await);
        assert_eq!(store.failpoints().disarm(), 1);
        assert!(!passes(8, later).await, "this node has let 3 requests pass");
        store.close().await;
    }
}
