//! [`Sandbox`]: verifies for test keys, and for `--sandbox`.
//!
//! There are three kinds of address. For those under `sandbox.test` that a simulated server decides, the sandbox has its own
//! engines, one for live calls and one for lists, in whose world waiting takes 1 s. Outcomes that no server can produce come from
//! the table. Every other address gets real facts of syntax and lists, and an outcome by a hash ([`mod@elsewhere`]), without any
//! network. The engines are never shared with real use: their caches, facts and pacing are separate.
//!
//! A delay (`+delay-2s`) is waited for here and not at the MX host, so that it holds no session; an earlier deadline gives the same
//! verdict as in the engine: unknown.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use probity_engine::config::{ConfigError, EngineConfig, POLICIES_FILE, PaceProfile, REPLIES_FILE};
use probity_engine::net::Net;
use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, Engine, JobAddress, LiveCall, OutcomeSink};
use probity_mail::address::Address;
use probity_mail::domain::SpecialUse;
use probity_mail::time::Millis;
use probity_mail::verdict::{EvidenceSource, Finding, Reason, Status, Verdict, Verification};
use tokio::time::sleep;

use super::{DOMAIN, SandboxOutcome, elsewhere, is_sandbox, outcome, split_delay};

/// Seed of the sandbox's engine and network: all processes behave alike.
pub const SEED: u64 = 1;

/// Lifetime of verdicts of simulated servers, in milliseconds: long enough to bear load, short enough to show changes over time
/// (greylisting).
const FRESH_MS: i64 = 60_000;

/// Retry delay for an address of a list that a simulated server deferred, in milliseconds: waiting is simulated. It matches the MX
/// hosts of `sandbox_lists.toml`.
const AGAIN_MS: i64 = 1_000;

/// Maximum attempts for an address of a list: a third one would change nothing here.
const ATTEMPTS_MAX: u32 = 2;

/// Longest wait of a list for a connection and for a banner, in milliseconds: longer than `slow.sandbox.test` takes, but no longer,
/// because it is known which ones never come.
const PATIENCE_MS: i64 = 2_000;

/// Adapts an engine's configuration to the simulated internet: without the protection of real servers, without an operator's
/// exceptions for real networks and replies, and with mail at `sandbox.test`.
pub fn config(base: &EngineConfig) -> EngineConfig {
    let mut config = base.clone();
    config.special_use_allowed.push(DOMAIN.to_owned());
    config.networks_allowed.clear();
    config.data_files.retain(|name, _| name != REPLIES_FILE && name != POLICIES_FILE);
    config.in_use_since.clear();
    config.profile = PaceProfile::Open;
    config.port = 25;
    config.mail_from = format!("postmaster@{DOMAIN}");
    config.seed = Some(SEED);
    config.cache.good_ms = FRESH_MS;
    config.cache.bad_ms = FRESH_MS;
    config.batch.connect_ms = PATIENCE_MS;
    config.batch.banner_ms = PATIENCE_MS;
    config.attempts_max = ATTEMPTS_MAX;
    config
}

/// Verifies addresses as documented in `docs/sandbox.md`.
pub struct Sandbox {
    engine: Engine,
    /// For lists: over a separate world, so that lists and live calls are greylisted separately.
    lists: Engine,
    special: SpecialUse,
    rules: SandboxRules,
}

/// Names of the rules that decide here.
struct SandboxRules {
    table: Arc<str>,
    hash: Arc<str>,
    deadline: Arc<str>,
}

/// How an address gets its verdict.
enum SandboxAnswer {
    /// The verdict is known; return it after this many milliseconds.
    Told(Box<Verification>, u64),
    /// Probe a simulated server with this address, and return the verdict after at least this many milliseconds.
    Asked(String, u64),
}

impl Sandbox {
    /// The sandbox of an engine with this configuration. Call within a tokio runtime.
    pub fn new(base: &EngineConfig) -> Result<Self, ConfigError> {
        Self::over(base, super::net(), super::net_of_lists())
    }

    /// The same over other networks, for live calls and for lists. They only get addresses under `sandbox.test`.
    pub fn over(base: &EngineConfig, net: Arc<dyn Net>, of_lists: Arc<dyn Net>) -> Result<Self, ConfigError> {
        let config = config(base);
        let special = SpecialUse::allow(&config.special_use_allowed);
        let engine = Engine::new(config.clone(), net)?;
        let lists = engine.beside(config, of_lists)?;
        let rules = SandboxRules {
            table: "sandbox.table".into(),
            hash: "sandbox.hash".into(),
            deadline: "sandbox.deadline".into(),
        };
        Ok(Self { engine, lists, special, rules })
    }

    /// The sandbox's engine for live calls. Its own verdicts lack the table and the hash.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine for lists.
    pub(super) fn lists(&self) -> &Engine {
        &self.lists
    }

    /// Verifies one address within `live.timeout_ms`; beyond, it is `unverified`.
    pub async fn verify(&self, email: &str, live: LiveCall) -> Verification {
        let (asked, delay_ms) = match self.way(email) {
            SandboxAnswer::Told(verification, 0) => return *verification,
            SandboxAnswer::Told(verification, delay_ms) => (Err(*verification), delay_ms),
            SandboxAnswer::Asked(address, delay_ms) => (Ok(address), delay_ms),
        };
        let started = self.engine.now();
        let mut verification = if delay_ms >= live.timeout_ms {
            sleep(Duration::from_millis(live.timeout_ms)).await;
            self.too_late(email)
        } else {
            let answer = async {
                match asked {
                    Ok(address) => self.engine.verify(&address, live).await,
                    Err(told) => told,
                }
            };
            let wait = async {
                if delay_ms > 0 {
                    sleep(Duration::from_millis(delay_ms)).await;
                }
            };
            tokio::join!(Box::pin(answer), wait).0
        };
        verification.email = email.into();
        verification.evidence.timings.total = u32::try_from(self.engine.now().since(started)).unwrap_or(u32::MAX);
        verification
    }

    /// Verifies many addresses. Verdicts without a server are returned at once, without their delay; addresses deferred by a server
    /// may be retried 1 s later.
    pub async fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) {
        let (mut told, mut rest) = (Vec::new(), Vec::new());
        for item in items {
            match self.way(&item.email) {
                SandboxAnswer::Told(verification, _) => told.push((item.key, AddressOutcome::Settled(*verification))),
                SandboxAnswer::Asked(..) => rest.push(item),
            }
        }
        if !told.is_empty() {
            sink(told);
        }
        let engine = self.lists.clone();
        let sooner: OutcomeSink = Arc::new(move |outcomes| {
            let latest = engine.now() + AGAIN_MS;
            sink(outcomes.into_iter().map(|(key, outcome)| (key, not_after(outcome, latest))).collect());
        });
        self.lists.verify_many(rest, sooner).await;
    }

    fn way(&self, email: &str) -> SandboxAnswer {
        let facts = || Box::new(self.engine.facts_only(email));
        let Ok(address) = Address::parse_with(email, &self.special) else { return SandboxAnswer::Told(facts(), 0) };
        let domain = address.domain().ascii();
        if !is_sandbox(domain) {
            return SandboxAnswer::Told(Box::new(self.by_hash(*facts(), &address.normalized())), 0);
        }
        if let Some(SandboxOutcome { reason, delay_ms }) = outcome(address.local(), domain)
            && let Some(reason) = Reason::from_name(reason)
        {
            return SandboxAnswer::Told(Box::new(self.by_table(*facts(), reason)), delay_ms);
        }
        let local = address.local().to_ascii_lowercase();
        let (base, delay_ms) = split_delay(&local);
        match address.with_local(base) {
            Ok(base) if delay_ms > 0 => SandboxAnswer::Asked(base.normalized(), delay_ms),
            _ => SandboxAnswer::Asked(email.to_owned(), 0),
        }
    }

    fn by_table(&self, mut verification: Verification, reason: Reason) -> Verification {
        verification.flags.role |= reason == Reason::RoleBased;
        verification.flags.disposable |= reason == Reason::Disposable;
        tell(&mut verification, vec![finding(reason, "sandbox", &self.rules.table)], &self.rules.table);
        verification
    }

    /// Outcome of an address elsewhere: findings of lists stand, otherwise the hash decides.
    fn by_hash(&self, mut verification: Verification, normalized: &str) -> Verification {
        let mut findings = listed(&verification);
        if findings.is_empty() {
            let (reason, meta) = elsewhere(normalized);
            findings.push(finding(reason, meta, &self.rules.hash));
        }
        tell(&mut verification, findings, &self.rules.hash);
        verification
    }

    /// Verdict at a deadline. Without the finding that `spam@` is a role mailbox, which would hide it.
    fn too_late(&self, email: &str) -> Verification {
        let mut verification = self.engine.facts_only(email);
        tell(
            &mut verification,
            vec![finding(Reason::Unverified, "timeout", &self.rules.deadline)],
            &self.rules.deadline,
        );
        verification
    }
}

/// Limits a deferral by a server to `latest`. Throttling by our own limits is unchanged.
fn not_after(mut outcome: AddressOutcome, latest: Millis) -> AddressOutcome {
    if let AddressOutcome::PutOff { not_before, held: None, .. } = &mut outcome {
        *not_before = latest.min(*not_before);
    }
    outcome
}

/// Findings of lists, without the one that nothing was probed.
fn listed(facts: &Verification) -> Vec<Finding> {
    facts.verdict.findings.iter().filter(|finding| finding.reason != Reason::Unverified).cloned().collect()
}

fn finding(reason: Reason, meta: &'static str, rule: &Arc<str>) -> Finding {
    Finding { reason, meta: Cow::Borrowed(meta), rule: rule.clone() }
}

/// Sets the verdict from these findings; one that passes is not a finding.
fn tell(verification: &mut Verification, mut findings: Vec<Finding>, valid_rule: &Arc<str>) {
    findings.retain(|finding| finding.reason.status() != Status::Passed);
    verification.verdict = Verdict::of(findings, valid_rule);
    verification.evidence.source = EvidenceSource::Sandbox;
}
