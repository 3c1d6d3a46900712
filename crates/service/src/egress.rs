//! The way to mail servers, as this node sees it: what its engine has met, and what a checkup of the machine has found.
//!
//! A node writes both into its row with each sign of life, so that whoever is asked can tell of all nodes.
//! Known providers are named; of all other exchangers only the number is told: their names are those of customers' domains.
//! What checks a machine is brought by the program ([`Checkup`]); it is the same as `probity doctor` does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use probity_engine::clock::Clock;
use probity_engine::net::BoxFuture;
use probity_engine::snapshot::{Breakers, Snapshot};
use probity_mail::time::Millis;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::nodes::Presence;
use crate::timestamp::Timestamp;
use crate::verifier::Verifier;

/// When a node checks its machine first: what it is asked at once comes before.
const FIRST: Duration = Duration::from_secs(10);
/// How often it does so: listings come and go within hours, and block lists mind being asked often.
const EVERY: Duration = Duration::from_hours(1);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As it should be.
    Ok,
    /// Works, but costs answers.
    Warn,
    /// Does not work.
    Fail,
}

/// One check of the machine and its way to mail servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was asked.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found.
    pub found: String,
    /// What to do; empty where all is well.
    pub advice: String,
}

impl Check {
    /// All is well.
    pub fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: Outcome::Ok, found: found.into(), advice: String::new() }
    }

    /// It works, but costs answers.
    pub fn warn(name: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name: name.into(), outcome: Outcome::Warn, found: found.into(), advice: advice.into() }
    }

    /// It does not work.
    pub fn fail(name: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { outcome: Outcome::Fail, ..Self::warn(name, found, advice) }
    }
}

/// Whoever can check this machine.
pub trait Checkup: Send + Sync + 'static {
    /// Everything that can be checked, which takes seconds.
    fn checks(&self) -> BoxFuture<'_, Vec<Check>>;
}

/// What this node knows of its way to mail servers.
pub struct Egress {
    live: Arc<dyn Verifier>,
    presence: Arc<Presence>,
    checkup: Option<Arc<dyn Checkup>>,
    checked: Mutex<Option<Checked>>,
}

/// What the last checkup found.
#[derive(Clone, Debug, Serialize)]
struct Checked {
    at: Timestamp,
    checks: Vec<Check>,
}

/// What a node writes down.
#[derive(Serialize)]
struct State {
    /// Whether the node's sources belong to it now.
    may_ask: bool,
    /// Null where mail servers are simulated.
    engine: Option<Seen>,
    /// Null until the first checkup is over.
    checkup: Option<Checked>,
}

/// What the engine has met since it was started, and what holds it back now.
#[derive(Debug, PartialEq, Serialize)]
struct Seen {
    connections: u64,
    connect_failures: u64,
    recipients: u64,
    sessions: usize,
    sessions_limit: usize,
    breakers: Counted,
    /// Known providers that are left alone.
    held: Vec<Held>,
    /// Other exchangers that are left alone.
    held_others: usize,
    /// Limits of known providers of which little is left.
    tight: Vec<Tight>,
    /// The same of other exchangers.
    tight_others: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct Counted {
    closed: usize,
    half_open: usize,
    open: usize,
    paused: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct Held {
    provider: String,
    why: &'static str,
    until: Timestamp,
}

#[derive(Debug, PartialEq, Serialize)]
struct Tight {
    provider: String,
    budget: &'static str,
    used: u32,
    limit: u32,
}

impl From<&Snapshot> for Seen {
    fn from(snapshot: &Snapshot) -> Self {
        let Breakers { closed, half_open, open, paused } = snapshot.breakers;
        let held = snapshot.held.iter().filter(|site| site.is_provider);
        let held: Vec<Held> = held
            .map(|site| Held { provider: site.site.to_string(), why: site.why.as_str(), until: site.until.into() })
            .collect();
        let tight = snapshot.budgets.iter().filter(|one| one.is_provider);
        let tight: Vec<Tight> = tight
            .map(|one| Tight {
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
            breakers: Counted { closed, half_open, open, paused },
            // A site can be both refused and paused: at most as many are left alone.
            held_others: snapshot.held.len() - held.len(),
            held,
            tight_others: snapshot.tight.saturating_sub(tight.len()),
            tight,
        }
    }
}

impl Egress {
    pub fn new(live: Arc<dyn Verifier>, presence: Arc<Presence>, checkup: Option<Arc<dyn Checkup>>) -> Self {
        Self { live, presence, checkup, checked: Mutex::default() }
    }

    /// What is to be written down of it now; empty where there is no way to mail servers to be told of.
    pub(crate) fn state(&self, now: Millis) -> String {
        let engine = self.live.snapshot().as_ref().map(Seen::from);
        if engine.is_none() && self.checkup.is_none() {
            return String::new();
        }
        let checkup = self.checked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let state = State { may_ask: self.presence.may_ask(now), engine, checkup };
        serde_json::to_string(&state).expect("a state is plain JSON")
    }

    /// Checks the machine from time to time, until it is told to end.
    pub async fn run(self: Arc<Self>, clock: Clock, ending: CancellationToken) {
        let Some(checkup) = &self.checkup else { return };
        let mut pause = FIRST;
        while ending.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            let Some(checks) = ending.run_until_cancelled(checkup.checks()).await else { return };
            let failed = checks.iter().filter(|check| check.outcome == Outcome::Fail).count();
            if failed > 0 {
                tracing::warn!(failed, "outbound SMTP checks failed; run `probity doctor` for details");
            }
            *self.checked.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Checked { at: clock.now().into(), checks });
            pause = EVERY;
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_engine::snapshot::{HeldSite, Limit, TightBudget};

    use super::*;

    #[test]
    fn exchangers_of_customers_domains_are_counted_and_not_named() {
        let held = |site: &str, is_provider| HeldSite {
            site: site.into(),
            is_provider,
            source: 0,
            why: probity_engine::snapshot::Held::Blocked,
            until: Millis(1_800_000_000_000),
        };
        let tight = |site: &str, is_provider| TightBudget {
            site: site.into(),
            is_provider,
            source: 0,
            budget: Limit::Rate,
            used: 9,
            limit: 10,
        };
        let snapshot = Snapshot {
            held: vec![held("google", true), held("mx.secret.example", false)],
            budgets: vec![tight("yahoo", true), tight("mx.hidden.example", false)],
            tight: 7,
            ..Snapshot::default()
        };
        let seen = Seen::from(&snapshot);
        let text = serde_json::to_string(&seen).unwrap();
        assert!(!text.contains("secret") && !text.contains("hidden"), "{text}");
        assert_eq!((seen.held[0].provider.as_str(), seen.held_others), ("google", 1));
        assert_eq!((seen.tight[0].provider.as_str(), seen.tight_others), ("yahoo", 6));
    }
}
