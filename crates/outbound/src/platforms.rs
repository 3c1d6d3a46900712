//! Client of email platforms: sends single requests within the egress guard and the account's rate limits.
//!
//! The machines of `probity-connectors` create requests and process responses; [`Platforms`] sends them. A call without a
//! response is a [`CallFault`], which states whether the platform may have acted. Logs and metrics never contain an
//! address, a credential or a query.

mod budget;
mod client;
mod config;
mod fault;
mod pool;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use probity_connectors::{
    Authorizing, Catalog, ConnectorFile, Credentials, ErrorClass, Fault, ListRecord, Method, PlatformTokenGrant,
    ReadGoal, ReadStep, Reading, Request, Response, TestOutcome, Testing,
};
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_telemetry::metrics::{Metrics, PlatformOutcome};

use crate::{Dialer, UrlGuard};
use budget::{AccountState, TURN_MAX_MS, Turn, key_of};
use client::PlatformClient;

pub use budget::{AccountBudget, PlatformBuckets, PlatformLimit, PlatformPause};
pub use config::PlatformConfig;
pub use fault::{CallCause, CallFault, NoGrant};
pub use probity_connectors::HostAllowance;

/// Maximum time of a live test, in milliseconds.
pub const TEST_MAX_MS: i64 = 15_000;
/// Maximum time for which an exchange of credentials waits for its turn, in milliseconds.
const EXCHANGE_TURN_MS: i64 = 5_000;
/// Maximum time of an exchange's call, in milliseconds. A platform may replace a credential and answer late.
const EXCHANGE_CALL_MS: i64 = 10_000;
/// Maximum time of a fetch, in milliseconds.
const FETCH_MAX_MS: i64 = 10_000;
/// Key of calls that need no credentials, which otherwise have keyed hashes.
const NO_CREDENTIALS: [u8; 16] = [0; 16];
/// Maximum time to read the lists of an account, in milliseconds.
const LISTS_MAX_MS: i64 = 30_000;
/// Maximum number of lists of an account.
const LISTS_MAX: usize = 10_000;
/// Maximum number of accounts whose state is kept in memory.
const ACCOUNTS_MAX: usize = 10_000;

/// Permission for one request within an account's limits.
pub struct CallTurn<'a> {
    account: &'a AccountBudget,
    turn: Turn<'a>,
    end: Millis,
}

/// Access to platforms. Cheap to clone.
#[derive(Clone)]
pub struct Platforms(Arc<PlatformParts>);

struct PlatformParts {
    config: PlatformConfig,
    client: PlatformClient,
    buckets: Arc<dyn PlatformBuckets>,
    metrics: Arc<Metrics>,
    clock: EngineClock,
    accounts: Mutex<LruCache<[u8; 16], Arc<AccountState>>>,
}

impl Platforms {
    /// Creates the client. It reaches hosts that the guard allows, by https, and additional hosts that the operator allows.
    pub fn new(
        config: &PlatformConfig,
        guard: UrlGuard,
        buckets: Arc<dyn PlatformBuckets>,
        metrics: Arc<Metrics>,
        clock: EngineClock,
    ) -> Self {
        let guard = guard.of_platforms(config.hosts.clone());
        let client = PlatformClient::new(guard, Dialer::trusting(&config.authorities), clock);
        let size = NonZeroUsize::new(ACCOUNTS_MAX).expect("not zero");
        let accounts = Mutex::new(LruCache::sparse(size));
        Self(Arc::new(PlatformParts { config: config.clone(), client, buckets, metrics, clock, accounts }))
    }

    /// Returns the built-in connectors with those of the operator's directory.
    pub fn catalog(&self) -> &Catalog {
        &self.0.config.catalog
    }

    /// Returns the hosts that the operator allows.
    pub fn hosts(&self) -> &HostAllowance {
        &self.0.config.hosts
    }

    /// Returns a run's first pause after a failed call, in milliseconds.
    pub fn pause_ms(&self) -> i64 {
        self.0.config.pause_ms
    }

    /// Returns the rate limits of an account. `account` is its keyed hash ([`Credentials::account`]), and `tag` that of the
    /// credentials (`connection.account_tag`). Credentials of the same account share its rate limits and pauses on all nodes, and
    /// its concurrency on this node.
    pub fn budget(&self, file: &ConnectorFile, account: &[u8], tag: &[u8]) -> AccountBudget {
        let slug = &file.provider.slug;
        let key = key_of(slug, account);
        let mut accounts = self.0.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let state = accounts.get_or_insert(key, || Arc::new(AccountState::new(file, key))).clone();
        AccountBudget { state, credentials: key_of(slug, tag) }
    }

    /// Sends a request once the account's limits allow it, within 30 s; otherwise the fault says when to retry. Redirects
    /// are not followed.
    pub async fn send(&self, account: &AccountBudget, request: &Request) -> Result<Response, CallFault> {
        let end = self.0.clock.now() + (TURN_MAX_MS + request.timeout_ms.max(0));
        self.send_until(account, request, end).await
    }

    /// Fetches what has no account, such as a certificate. The URL must be https, at a host that the caller has checked.
    pub async fn fetch(&self, url: &str, body_max: u64) -> Result<Response, CallFault> {
        let request = Request {
            method: Method::Get,
            url: url.to_owned(),
            path: String::new(),
            headers: Vec::new(),
            body: None,
            timeout_ms: FETCH_MAX_MS,
            body_max,
        };
        self.call(&request).await
    }

    /// Sends a request that has no account, such as one to a provider of sign-in. The URL must be https, or at a host that the
    /// operator allows. Redirects are not followed.
    pub async fn call(&self, request: &Request) -> Result<Response, CallFault> {
        let end = self.0.clock.now() + request.timeout_ms.max(0);
        self.0.client.call(NO_CREDENTIALS, request, end).await
    }

    /// Waits until the account's limits allow a request, as [`Platforms::send`] does. The caller checks after the wait whether the
    /// request is still wanted, and uses or drops the turn.
    pub async fn turn<'a>(&self, account: &'a AccountBudget, request: &Request) -> Result<CallTurn<'a>, CallFault> {
        let end = self.0.clock.now() + (TURN_MAX_MS + request.timeout_ms.max(0));
        self.turn_until(account, request, end).await.map(|turn| CallTurn { account, turn, end })
    }

    pub async fn send_in(&self, turn: CallTurn<'_>, request: &Request) -> Result<Response, CallFault> {
        let CallTurn { account, turn, end } = turn;
        self.exchange(account, request, turn, end).await
    }

    /// Tries credentials, within 15 s in total. An unresponsive platform is a [`TestOutcome`] too.
    pub async fn test(&self, testing: Testing<'_>, account: &AccountBudget) -> Result<TestOutcome, Fault> {
        let now = self.0.clock.now();
        let request = testing.request(now)?;
        Ok(match self.send_until(account, &request, now + TEST_MAX_MS).await {
            Ok(response) => testing.answer(&response),
            Err(fault) if fault.is_unreached() => testing.unreached(fault.fault(account.provider())),
            Err(fault) => TestOutcome::Failed(fault.fault(account.provider())),
        })
    }

    /// Exchanges credentials for an access token, within 15 s in total. A wait for the turn does not shorten the call, whose answer
    /// may hold the only valid credential.
    pub async fn authorize(
        &self,
        file: &ConnectorFile,
        credentials: &Credentials,
        account: &AccountBudget,
    ) -> Result<PlatformTokenGrant, NoGrant> {
        let invalid = || Fault {
            class: ErrorClass::Invalid,
            status: 0,
            wait_ms: None,
            message: format!("{} gives no access tokens", file.provider.name),
        };
        let clock = self.0.clock;
        let authorizing = Authorizing::new(file, credentials).ok_or_else(invalid)?;
        let request = authorizing.request(clock.now())?;
        let sent = match self.turn_until(account, &request, clock.now() + EXCHANGE_TURN_MS).await {
            Ok(turn) => self.exchange(account, &request, turn, clock.now() + EXCHANGE_CALL_MS).await,
            Err(fault) => Err(fault),
        };
        match sent {
            Ok(response) => Ok(authorizing.answer(&response)?),
            Err(fault) if fault.is_unreached() => Err(NoGrant::Unreached(fault.fault(account.provider()))),
            Err(fault) => Err(NoGrant::Fault(fault.fault(account.provider()))),
        }
    }

    /// Reads the lists of an account, within 30 s in total.
    pub async fn lists(
        &self,
        file: &ConnectorFile,
        credentials: &Credentials,
        account: &AccountBudget,
    ) -> Result<Vec<ListRecord>, Fault> {
        let clock = self.0.clock;
        let end = clock.now() + LISTS_MAX_MS;
        let mut reading = Reading::new(file, credentials, ReadGoal::Lists)?;
        let mut lists = Vec::new();
        loop {
            match reading.next(clock.now())? {
                ReadStep::Done => return Ok(lists),
                ReadStep::Send(request) => {
                    let answer = self.send_until(account, &request, end).await;
                    let answer = answer.map_err(|fault| fault.fault(account.provider()))?;
                    lists.extend(reading.answer(&answer)?.lists);
                }
            }
            if lists.len() > LISTS_MAX {
                let message = format!("the account at {} has more than {LISTS_MAX} lists", account.provider());
                return Err(Fault { class: ErrorClass::Unreadable, status: 0, wait_ms: None, message });
            }
            if clock.now() >= end {
                return Err(CallFault { cause: CallCause::Timeout, may_have_acted: false, wait_ms: None }
                    .fault(account.provider()));
            }
        }
    }

    async fn send_until(&self, account: &AccountBudget, request: &Request, end: Millis) -> Result<Response, CallFault> {
        let turn = self.turn_until(account, request, end).await?;
        self.exchange(account, request, turn, end).await
    }

    async fn turn_until<'a>(
        &self,
        account: &'a AccountBudget,
        request: &Request,
        end: Millis,
    ) -> Result<Turn<'a>, CallFault> {
        let parts = &*self.0;
        let turn = account.turn(request, &*parts.buckets, parts.clock, end).await;
        turn.inspect_err(|_| {
            parts.metrics.platforms().called(account.slug(), PlatformOutcome::Later, Duration::ZERO);
        })
    }

    async fn exchange(
        &self,
        account: &AccountBudget,
        request: &Request,
        turn: Turn<'_>,
        end: Millis,
    ) -> Result<Response, CallFault> {
        let parts = &*self.0;
        let counts = parts.metrics.platforms();
        let answer = parts.client.call(account.credentials, request, end).await;
        let (outcome, sign) = match &answer {
            Ok(response) => {
                let file = self.catalog().get(account.slug());
                let sign = file.map_or((None, None), |file| file.assess(response));
                (outcome_of(sign.0), sign)
            }
            Err(fault) if fault.is_unreached() || !fault.may_have_acted => (PlatformOutcome::Unreached, (None, None)),
            Err(_) => (PlatformOutcome::Unanswered, (None, None)),
        };
        counts.called(account.slug(), outcome, turn.waited);
        if let Ok(Response { at, .. }) = &answer
            && let Some((pause, until)) = account.state.heard(request, sign, *at, chance())
        {
            parts.buckets.pause(pause, until, *at).await;
        }
        answer
    }
}

/// Returns a random number from 0 to 1.
fn chance() -> f64 {
    let bits = getrandom::u32().expect("the operating system gives random bytes");
    f64::from(bits) / f64::from(u32::MAX)
}

fn outcome_of(class: Option<ErrorClass>) -> PlatformOutcome {
    match class {
        None => PlatformOutcome::Ok,
        Some(ErrorClass::Throttled | ErrorClass::Quota) => PlatformOutcome::Throttled,
        Some(ErrorClass::Credential) => PlatformOutcome::Credential,
        Some(ErrorClass::Gone | ErrorClass::Taken | ErrorClass::Refused | ErrorClass::Invalid) => {
            PlatformOutcome::Refused
        }
        Some(ErrorClass::Transient | ErrorClass::Unreadable) => PlatformOutcome::Failed,
    }
}

#[cfg(test)]
mod tests;
