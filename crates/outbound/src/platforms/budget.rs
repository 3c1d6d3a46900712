//! Rate limits of an account at a platform, and its pauses.
//!
//! Each limit of the platform's file is a bucket that all nodes share. A bucket never allows more requests than the
//! platform does in any span of the limit's length, with a margin for network delays between requests. If a platform
//! requests a wait, the account pauses on all nodes, for requests under the same limits: an exhausted limit for tests does
//! not stop reading. Concurrent requests are counted per node.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use probity_connectors::{ConnectorFile, ErrorClass, RateLimit, RateSubject, Request};
use probity_engine::clock::EngineClock;
use probity_engine::net::BoxFuture;
use probity_mail::time::Millis;
use ring::digest;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::fault::{CallCause, CallFault};

/// Maximum time for which a call waits for its turn, in milliseconds. A call that would wait longer fails with the time to
/// retry.
pub(super) const TURN_MAX_MS: i64 = 30_000;
/// First pause after a platform reports too many requests without a wait, in milliseconds. Doubles each time.
const PAUSE_MS: i64 = 2_000;
/// Maximum of such pauses, in milliseconds.
const PAUSE_MAX_MS: i64 = 600_000;
/// Pause after a used-up quota if the platform states no end, in milliseconds.
const QUOTA_MS: i64 = 900_000;
/// Part of a limit available as a burst, if the limit spans more than [`SMOOTH_MS`].
const BURST_PART: u32 = 8;
/// Maximum length of limits without a burst, in milliseconds.
const SMOOTH_MS: i64 = 1_000;
/// Part of a limit's length by which the network may shrink the distance between requests.
const MARGIN_PART: i64 = 20;
/// Minimum time between checks of a bucket, in milliseconds.
const LOOK_MS: i64 = 5;

/// Limit of an account, as a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformLimit {
    /// Key of the account or of the credentials, whichever the platform counts; if the limit is not shared, of platform and
    /// host.
    pub account: [u8; 16],
    /// Number of the limit in the platform's file.
    pub number: u8,
    /// Whether all nodes share the limit. Otherwise the platform counts each source IP separately.
    pub is_shared: bool,
    /// Microseconds until one token returns.
    pub step_us: i64,
    /// Tokens of a full bucket.
    pub burst: u32,
}

/// Pause of an account, for requests under the same limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlatformPause {
    /// Key of the account.
    pub account: [u8; 16],
    /// Limits, as a bit set.
    pub of: u32,
}

/// Buckets and pauses of all nodes. By default, pauses are not shared.
pub trait PlatformBuckets: Send + Sync + 'static {
    /// Takes a token from each bucket. If a bucket is empty, takes none, and returns the time at which that bucket has a
    /// token.
    fn take_tokens<'a>(&'a self, limits: &'a [PlatformLimit], now: Millis) -> BoxFuture<'a, Option<Millis>>;

    /// Tells the other nodes that an account pauses.
    fn pause(&self, _: PlatformPause, _until: Millis, _now: Millis) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns the end of a pause that another node has told.
    fn paused_until(&self, _: PlatformPause, _now: Millis) -> BoxFuture<'_, Option<Millis>> {
        Box::pin(std::future::ready(None))
    }
}

/// Rate limits and concurrency of one account, as its credentials use them. Cheap to clone.
#[derive(Clone)]
pub struct AccountBudget {
    pub(super) state: Arc<AccountState>,
    /// Key of the credentials. Connections to hosts belong to them, because they may be another customer's.
    pub(super) credentials: [u8; 16],
}

/// State of an account on this node.
pub(super) struct AccountState {
    slug: String,
    name: String,
    key: [u8; 16],
    limits: Vec<PacedLimit>,
    places: Semaphore,
    pauses: Mutex<Vec<Pause>>,
}

/// Limit of the file as a bucket.
struct PacedLimit {
    subject: RateSubject,
    step_us: i64,
    burst: u32,
    paths: Vec<String>,
}

/// Pause for requests under the same limits.
struct Pause {
    /// Limits, as a bit set.
    of: u32,
    until: Millis,
    /// Consecutive refusals without a wait.
    times: u32,
}

/// Turn of a call.
pub(super) struct Turn<'a> {
    _place: SemaphorePermit<'a>,
    pub waited: Duration,
}

impl AccountBudget {
    /// Returns the platform's display name.
    pub fn provider(&self) -> &str {
        &self.state.name
    }

    /// Returns the platform's slug.
    pub fn slug(&self) -> &str {
        &self.state.slug
    }

    /// Waits for a slot and a token of each limit, at most until `end`.
    pub(super) async fn turn(
        &self,
        request: &Request,
        buckets: &dyn PlatformBuckets,
        clock: EngineClock,
        end: Millis,
    ) -> Result<Turn<'_>, CallFault> {
        self.state.turn((request, self.credentials), buckets, clock, end).await
    }
}

impl AccountState {
    pub(super) fn new(file: &ConnectorFile, key: [u8; 16]) -> Self {
        let places = usize::try_from(file.rate.concurrency.unwrap_or(1)).unwrap_or(1);
        Self {
            slug: file.provider.slug.clone(),
            name: file.provider.name.clone(),
            key,
            limits: file.rate.limits.iter().map(PacedLimit::new).collect(),
            places: Semaphore::new(places),
            pauses: Mutex::default(),
        }
    }

    async fn turn(
        &self,
        (request, credentials): (&Request, [u8; 16]),
        buckets: &dyn PlatformBuckets,
        clock: EngineClock,
        end: Millis,
    ) -> Result<Turn<'_>, CallFault> {
        let began = clock.now();
        let end = end.min(began + TURN_MAX_MS);
        let of = self.limits_of(request);
        let limits = self.buckets(of, request, credentials);
        let place = tokio::time::timeout_at(clock.instant(end), self.places.acquire()).await;
        let place = place.ok().and_then(Result::ok).ok_or_else(|| later(PAUSE_MS))?;
        loop {
            let now = clock.now();
            let paused = match self.paused_until(of, now) {
                Some(until) => Some(until),
                None => self.paused_elsewhere(of, buckets, now).await,
            };
            let next = match paused {
                Some(until) => Some(until),
                None => buckets.take_tokens(&limits, now).await,
            };
            let Some(next) = next else {
                let waited = Duration::from_millis(clock.now().since(began).unsigned_abs());
                return Ok(Turn { _place: place, waited });
            };
            if next > end {
                return Err(later(next.since(now)));
            }
            clock.wait_until(next.max(now + LOOK_MS)).await;
        }
    }

    /// Applies the meaning of a response for the account. `chance` is from 0 to 1 and spreads the ends of pauses. Returns a pause
    /// that other nodes are to keep as well, with its end.
    pub(super) fn heard(
        &self,
        request: &Request,
        (class, wait_ms): (Option<ErrorClass>, Option<i64>),
        now: Millis,
        chance: f64,
    ) -> Option<(PlatformPause, Millis)> {
        let of = self.limits_of(request);
        let mut pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        let times = pauses.iter().find(|pause| pause.of == of).map_or(0, |pause| pause.times);
        let (wait_ms, times) = match (class, wait_ms) {
            (Some(ErrorClass::Throttled | ErrorClass::Quota | ErrorClass::Transient), Some(wait)) => (wait, times),
            (Some(ErrorClass::Quota), None) => (QUOTA_MS, times),
            (Some(ErrorClass::Throttled), None) => (backoff_ms(times, chance), times.saturating_add(1)),
            (Some(ErrorClass::Transient), None) => return None,
            // The platform accepts requests again. A call already in flight does not end a pause that another call caused.
            _ => {
                pauses.retain(|pause| pause.of != of || pause.until > now);
                return None;
            }
        };
        let until = now + wait_ms;
        match pauses.iter_mut().find(|pause| pause.of == of) {
            Some(pause) => (pause.until, pause.times) = (pause.until.max(until), times),
            None => pauses.push(Pause { of, until, times }),
        }
        Some((self.shared_pause(of)?, until))
    }

    /// Returns the pause of all nodes; `None` if the platform counts each source IP by itself.
    fn shared_pause(&self, of: u32) -> Option<PlatformPause> {
        let is_of = |number: usize| of & (1 << number) != 0;
        let by_source = |(number, limit): (usize, &PacedLimit)| is_of(number) && limit.subject == RateSubject::Address;
        let is_shared = !self.limits.iter().enumerate().any(by_source);
        is_shared.then_some(PlatformPause { account: self.key, of })
    }

    async fn paused_elsewhere(&self, of: u32, buckets: &dyn PlatformBuckets, now: Millis) -> Option<Millis> {
        buckets.paused_until(self.shared_pause(of)?, now).await
    }

    fn paused_until(&self, of: u32, now: Millis) -> Option<Millis> {
        let pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.iter().find(|pause| pause.of == of && pause.until > now).map(|pause| pause.until)
    }

    /// Returns the limits that apply to a request, as a bit set. A file has few limits.
    fn limits_of(&self, request: &Request) -> u32 {
        let counts =
            |limit: &PacedLimit| limit.paths.is_empty() || limit.paths.iter().any(|path| is_below(&request.path, path));
        let counting = self.limits.iter().enumerate().filter(|(_, limit)| counts(limit));
        counting.fold(0, |of, (number, _)| of | 1 << number)
    }

    fn buckets(&self, of: u32, request: &Request, credentials: [u8; 16]) -> Vec<PlatformLimit> {
        let counting = self.limits.iter().enumerate().filter(|(number, _)| of & (1 << number) != 0);
        let bucket = |(number, limit): (usize, &PacedLimit)| {
            let number = u8::try_from(number).unwrap_or(u8::MAX);
            let account = match limit.subject {
                RateSubject::Account => self.key,
                RateSubject::Key => credentials,
                RateSubject::Address => self.host_key(request),
            };
            let is_shared = limit.subject != RateSubject::Address;
            PlatformLimit { account, number, is_shared, step_us: limit.step_us, burst: limit.burst }
        };
        counting.map(bucket).collect()
    }

    /// Returns the key of a limit that all accounts of this node share at a host.
    fn host_key(&self, request: &Request) -> [u8; 16] {
        let host = url::Url::parse(&request.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        key_of(&self.slug, host.unwrap_or_default().as_bytes())
    }
}

impl PacedLimit {
    /// Converts a limit to a bucket: `burst` tokens initially, then one per step. In any span of the limit's length and its
    /// margin, at most `max` requests pass: `burst + span / step`, rounded down.
    fn new(limit: &RateLimit) -> Self {
        let burst = if limit.per <= SMOOTH_MS { 1 } else { (limit.max / BURST_PART).max(1) };
        let after = i64::from(limit.max.saturating_sub(burst) + 1);
        let step_us = (limit.per + limit.per / MARGIN_PART).saturating_mul(1_000) / after + 1;
        Self { subject: limit.of, step_us, burst, paths: limit.paths.clone() }
    }
}

/// Returns the key of an account, from its platform and tag.
pub(super) fn key_of(slug: &str, tag: &[u8]) -> [u8; 16] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(slug.as_bytes());
    context.update(&[0]);
    context.update(tag);
    let digest = context.finish();
    let (key, _) = digest.as_ref().split_first_chunk().expect("SHA-256 has 32 bytes");
    *key
}

/// Returns whether a path equals the prefix or continues it with another segment. A segment `*` of the prefix stands for any.
fn is_below(path: &str, prefix: &str) -> bool {
    let mut given = path.split('/');
    prefix
        .trim_end_matches('/')
        .split('/')
        .all(|wanted| given.next().is_some_and(|part| wanted == "*" || part == wanted))
}

/// Returns a pause that doubles with each consecutive refusal, of which up to half is random.
fn backoff_ms(times: u32, chance: f64) -> i64 {
    let whole = PAUSE_MS.saturating_mul(1 << times.min(16)).min(PAUSE_MAX_MS);
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a pause is far below 2^52 ms")]
    let spread = (whole as f64 / 2.0 * chance.clamp(0.0, 1.0)) as i64;
    whole - spread
}

fn later(wait_ms: i64) -> CallFault {
    CallFault { cause: CallCause::Later, may_have_acted: false, wait_ms: Some(wait_ms) }
}
