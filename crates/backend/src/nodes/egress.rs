//! Access of this node to MX hosts: what its engine observed, and what a checkup of the machine found.
//!
//! A node writes both to its row with each heartbeat, so that every node can report on all nodes. Known providers are named.
//! Other MX hosts are only counted, because their names belong to customers' domains. The program implements the checkup
//! ([`Checkup`]), which is the one of `probity doctor`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_contract::timestamp::Timestamp;
use probity_engine::clock::EngineClock;
use probity_engine::locked;
use probity_engine::net::BoxFuture;
use probity_engine::snapshot::{BreakerCounts, EngineSnapshot};
use probity_mail::time::Millis;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::nodes::NodePresence;
use crate::nodes::asking::{AskingState, Essential};
use crate::nodes::verifier::Verifier;

/// Delay of the first complete checkup, so that startup work comes first. Its essential part runs at once.
const FIRST: Duration = Duration::from_secs(10);
/// Interval between complete checkups. Listings change within hours, and block lists discourage frequent queries.
const EVERY: Duration = Duration::from_hours(1);
/// Minimum pause before a checkup that somebody asked for.
const SOON: Duration = Duration::from_secs(5);
/// Interval between essential checkups while mail servers cannot be probed, or while all connections fail.
const AGAIN: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    Ok,
    /// Works, but some verdicts may become inconclusive.
    Warn,
    Fail,
}

/// Check of the machine or of its access to MX hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Subject of the check.
    pub name: String,
    pub outcome: CheckOutcome,
    /// Observation, as text.
    pub found: String,
    /// Recommended action; empty if none is needed.
    pub advice: String,
    /// Lines for the configuration file that carry it out; empty if none do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config: String,
    /// Condition without which no probe is possible, if the check is about one.
    #[serde(skip)]
    pub essential: Option<Essential>,
}

impl Check {
    pub fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            outcome: CheckOutcome::Ok,
            found: found.into(),
            advice: String::new(),
            config: String::new(),
            essential: None,
        }
    }

    pub fn warn(name: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { outcome: CheckOutcome::Warn, advice: advice.into(), ..Self::ok(name, found) }
    }

    pub fn fail(name: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { outcome: CheckOutcome::Fail, ..Self::warn(name, found, advice) }
    }

    /// Adds lines for the configuration file.
    #[must_use]
    pub fn with_config(self, config: impl Into<String>) -> Self {
        Self { config: config.into(), ..self }
    }

    /// Marks a check without which no mail server can be probed.
    #[must_use]
    pub fn about(self, essential: Essential) -> Self {
        Self { essential: Some(essential), ..self }
    }
}

/// Checks of this machine.
pub trait Checkup: Send + Sync + 'static {
    /// Returns the configuration file, or where there would be one.
    fn config_file(&self) -> &Path;

    /// Runs all checks. This takes seconds.
    fn checks(&self) -> BoxFuture<'_, Vec<Check>>;

    /// Runs only the checks that decide whether mail servers can be probed ([`AskingState::of`]).
    fn essentials(&self) -> BoxFuture<'_, Vec<Check>>;
}

/// Engine and checkup of this node.
pub struct Egress {
    live: Arc<dyn Verifier>,
    presence: Arc<NodePresence>,
    checkup: Option<Arc<dyn Checkup>>,
    checked: Mutex<Option<Checked>>,
}

/// Results of the last checkup.
#[derive(Clone, Debug, Serialize)]
struct Checked {
    at: Timestamp,
    /// Path of the configuration file.
    config_file: String,
    checks: Vec<Check>,
}

/// State that a node writes to its row.
#[derive(Serialize)]
struct EgressState {
    /// Whether the node holds its source IPs now.
    may_ask: bool,
    /// Whether mail servers can be probed ([`AskingState::as_str`]).
    asking: &'static str,
    /// Null if MX hosts are simulated.
    engine: Option<EngineCounts>,
    /// Null until the first checkup ends.
    checkup: Option<Checked>,
}

/// Engine counters since the start, and limits in effect now.
#[derive(Debug, PartialEq, Serialize)]
struct EngineCounts {
    connections: u64,
    connect_failures: u64,
    recipients: u64,
    sessions: usize,
    sessions_limit: usize,
    breakers: CheckCounts,
    /// Known providers to which probes are paused.
    held: Vec<PausedProvider>,
    /// Number of other MX hosts to which probes are paused.
    held_others: usize,
    /// Limits of known providers that are nearly used up.
    tight: Vec<TightBudgetLine>,
    /// Number of other MX hosts' limits that are nearly used up.
    tight_others: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct CheckCounts {
    closed: usize,
    half_open: usize,
    open: usize,
    paused: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct PausedProvider {
    provider: String,
    why: &'static str,
    until: Timestamp,
}

#[derive(Debug, PartialEq, Serialize)]
struct TightBudgetLine {
    provider: String,
    budget: &'static str,
    used: u32,
    limit: u32,
}

impl From<&EngineSnapshot> for EngineCounts {
    fn from(snapshot: &EngineSnapshot) -> Self {
        let BreakerCounts { closed, half_open, open, paused } = snapshot.breakers;
        let held = snapshot.held.iter().filter(|site| site.is_provider);
        let held: Vec<PausedProvider> = held
            .map(|site| PausedProvider {
                provider: site.site.to_string(),
                why: site.why.as_str(),
                until: site.until.into(),
            })
            .collect();
        let tight = snapshot.budgets.iter().filter(|one| one.is_provider);
        let tight: Vec<TightBudgetLine> = tight
            .map(|one| TightBudgetLine {
                provider: one.site.to_string(),
                budget: one.budget.as_str(),
                used: one.used,
                limit: one.limit,
            })
            .collect();
        Self {
            connections: snapshot.counters.connections,
            connect_failures: snapshot.counters.connect_failures,
            recipients: snapshot.counters.rcpts,
            sessions: snapshot.sessions.all.used,
            sessions_limit: snapshot.sessions.all.limit,
            breakers: CheckCounts { closed, half_open, open, paused },
            // An upper bound: a site can have several entries.
            held_others: snapshot.held.len() - held.len(),
            held,
            tight_others: snapshot.tight.saturating_sub(tight.len()),
            tight,
        }
    }
}

impl Egress {
    pub fn new(live: Arc<dyn Verifier>, presence: Arc<NodePresence>, checkup: Option<Arc<dyn Checkup>>) -> Self {
        if checkup.is_some() {
            presence.found_asking(AskingState::Unchecked);
        }
        Self { live, presence, checkup, checked: Mutex::default() }
    }

    /// Returns the state to write to the node's row, as JSON. Empty if the node has neither an engine nor a checkup.
    pub fn state(&self, now: Millis) -> String {
        let engine = self.live.snapshot().as_ref().map(EngineCounts::from);
        if engine.is_none() && self.checkup.is_none() {
            return String::new();
        }
        let checkup = locked(&self.checked).clone();
        let asking = self.presence.asking().as_str();
        let state = EgressState { may_ask: self.presence.may_ask(now), asking, engine, checkup };
        serde_json::to_string(&state).expect("a state is plain JSON")
    }

    /// Runs checkups until `ending` is canceled: the essential part at once and after possible changes, all of it every hour and
    /// when somebody asks for it.
    pub async fn run(self: Arc<Self>, clock: EngineClock, ending: CancellationToken) {
        let Some(checkup) = &self.checkup else { return };
        let Some(checks) = ending.run_until_cancelled(checkup.essentials()).await else { return };
        self.note(checkup.config_file(), clock.now(), checks, false);
        let (mut since_all, mut pause, mut attempts) = (EVERY, FIRST, self.attempts());
        while let Some(is_asked) = ending.run_until_cancelled(self.pass(pause)).await {
            since_all = if is_asked { EVERY } else { since_all + pause };
            pause = AGAIN;
            let has_connected = self.attempts().made > attempts.made;
            let is_failing = self.attempts().only_failed_since(&mut attempts);
            let checks = if since_all >= EVERY {
                since_all = Duration::ZERO;
                checkup.checks()
            } else if is_failing || !self.presence.asking().is_able() {
                checkup.essentials()
            } else {
                continue;
            };
            let Some(checks) = ending.run_until_cancelled(checks).await else { return };
            self.note(checkup.config_file(), clock.now(), checks, has_connected);
        }
    }

    /// Waits, at most for `pause`; true if somebody asked for a checkup meanwhile.
    async fn pass(&self, pause: Duration) -> bool {
        tokio::time::sleep(SOON).await;
        tokio::time::timeout(pause.saturating_sub(SOON), self.presence.asked_again()).await.is_ok()
    }

    /// Returns the connections to MX hosts so far.
    fn attempts(&self) -> Attempts {
        let counters = self.live.counters();
        // Without resolved names, no connections are made, so queries without connections are a sign, too.
        Attempts { made: counters.connections, failed: counters.connect_failures + counters.queries }
    }

    /// Stores the results of a checkup, of which an essential one replaces a part, and logs changes once. `has_connected`:
    /// whether probes have reached mail servers meanwhile, which outweighs a failed checkup.
    fn note(&self, config_file: &Path, now: Millis, checks: Vec<Check>, has_connected: bool) {
        let asking = match AskingState::of(&checks) {
            AskingState::NoResolver | AskingState::PortClosed if has_connected => AskingState::Able,
            found => found,
        };
        let before = self.presence.found_asking(asking);
        match asking.obstacle() {
            Some(why) if before != asking => tracing::warn!(
                "mail servers cannot be asked: {why}. Live lists wait until that is corrected; test keys and the sandbox \
                 work. `probity doctor` says what to do"
            ),
            None if before.obstacle().is_some() => {
                tracing::warn!("mail servers can be asked again; live lists continue");
            }
            _ => {}
        }
        let mut checked = locked(&self.checked);
        let others = checked.take().into_iter().flat_map(|before| before.checks);
        let others: Vec<Check> = others.filter(|other| checks.iter().all(|new| new.name != other.name)).collect();
        let config_file = config_file.display().to_string();
        *checked = Some(Checked { at: now.into(), config_file, checks: checks.into_iter().chain(others).collect() });
    }
}

/// Connections to MX hosts since the start.
#[derive(Clone, Copy, Debug)]
struct Attempts {
    made: u64,
    failed: u64,
}

impl Attempts {
    /// Returns whether connections failed and none succeeded since the last call.
    fn only_failed_since(self, last: &mut Self) -> bool {
        let before = std::mem::replace(last, self);
        self.failed > before.failed && self.made == before.made
    }
}

#[cfg(test)]
mod tests {
    use probity_engine::snapshot::{PausedSite, SiteLimit, TightBudget};

    use super::*;

    #[test]
    fn connections_that_only_fail_are_noticed() {
        let mut last = Attempts { made: 3, failed: 1 };
        let cases = [((3, 1), false), ((3, 2), true), ((3, 2), false), ((4, 3), false), ((4, 4), true)];
        for ((made, failed), expected) in cases {
            assert_eq!(Attempts { made, failed }.only_failed_since(&mut last), expected, "{made} {failed}");
        }
    }

    #[test]
    fn exchangers_of_customers_domains_are_counted_and_not_named() {
        let held = |site: &str, is_provider| PausedSite {
            site: site.into(),
            is_provider,
            source: 0,
            why: probity_engine::snapshot::PauseCause::Blocked,
            until: Millis(1_800_000_000_000),
        };
        let tight = |site: &str, is_provider| TightBudget {
            site: site.into(),
            is_provider,
            source: 0,
            budget: SiteLimit::Rate,
            used: 9,
            limit: 10,
        };
        let snapshot = EngineSnapshot {
            held: vec![held("google", true), held("mx.secret.example", false)],
            budgets: vec![tight("yahoo", true), tight("mx.hidden.example", false)],
            tight: 7,
            ..EngineSnapshot::default()
        };
        let seen = EngineCounts::from(&snapshot);
        let text = serde_json::to_string(&seen).unwrap();
        assert!(!text.contains("secret") && !text.contains("hidden"), "{text}");
        assert_eq!((seen.held[0].provider.as_str(), seen.held_others), ("google", 1));
        assert_eq!((seen.tight[0].provider.as_str(), seen.tight_others), ("yahoo", 6));
    }
}
