//! Sandbox: addresses with predefined outcomes, for trials and integration tests.
//!
//! Most outcomes are real: the engine probes a simulated MX host and judges its reply, so the sandbox behaves like the engine. The
//! others cannot come from a server (they need a customer's data, or the string is not an address), or contradict another outcome
//! at the same domain (a domain cannot be a catch-all and refuse a recipient). For those at the bare domain `sandbox.test`, a table
//! decides ([`outcome`]); subdomains behave so if a server can. The world is `data/sandbox.toml`; `docs/sandbox.md` lists all
//! outcomes.
//!
//! [`Sandbox`] combines these; [`elsewhere()`] decides addresses outside `sandbox.test`.

mod elsewhere;
mod seam;
mod verifier;

use std::sync::Arc;

use crate::memory::MemoryNet;
use crate::world::World;

pub use elsewhere::elsewhere;
pub use verifier::{SEED, Sandbox, config};

pub const DOMAIN: &str = probity_mail::domain::SANDBOX;

/// Longest delay that a local part can request, in seconds.
const MAX_DELAY_S: u64 = 60;

/// Outcomes of the bare domain that no MX host produces.
const TABLE: [&str; 11] = [
    "invalid",
    "illegitimate",
    "spam",
    "complained",
    "bounced",
    "blacklisted",
    "disposable",
    "banned_words",
    "role_based",
    "available",
    "accept_all",
];

/// Outcome decided by the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxOutcome {
    /// Reason of the verdict.
    pub reason: &'static str,
    /// Delay of the verdict, in milliseconds.
    pub delay_ms: u64,
}

/// The table's outcome for an address; `None` if the world decides (and for every domain but `sandbox.test`).
pub fn outcome(local: &str, domain: &str) -> Option<SandboxOutcome> {
    if !domain.eq_ignore_ascii_case(DOMAIN) {
        return None;
    }
    let local = local.to_ascii_lowercase();
    let (name, delay_ms) = split_delay(&local);
    let reason = TABLE.into_iter().find(|reason| *reason == name)?;
    Some(SandboxOutcome { reason, delay_ms })
}

/// Cuts `+delay-2s` off a lower-case local part; returns the rest, and the delay in milliseconds. A delay above 60 s is ignored.
pub fn split_delay(local: &str) -> (&str, u64) {
    let asked = local.rsplit_once("+delay-").and_then(|(base, delay)| {
        let digits = delay.strip_suffix('s').filter(|d| d.len() <= 2 && d.bytes().all(|b| b.is_ascii_digit()))?;
        let seconds = digits.parse::<u64>().ok().filter(|seconds| *seconds <= MAX_DELAY_S)?;
        Some((base, seconds * 1_000))
    });
    asked.unwrap_or((local, 0))
}

/// World of the sandbox.
pub fn world() -> Arc<World> {
    let filled = World::builder().file(include_str!("../data/sandbox.toml")).expect("the embedded world file parses");
    filled.build().expect("the embedded world file names known personalities and no address twice")
}

/// World of the sandbox for lists, in which waiting is simulated: a server's requested delay ends after 1 s.
fn world_of_lists() -> Arc<World> {
    let filled = World::builder().file(include_str!("../data/sandbox.toml"));
    let filled = filled.and_then(|world| world.file(include_str!("../data/sandbox_lists.toml")));
    let filled = filled.expect("the embedded world files parse");
    filled.build().expect("the embedded world files name known personalities and no address twice")
}

/// The sandbox's network in memory, without a trace: for a service that runs for months.
pub fn net() -> Arc<MemoryNet> {
    world().net_without_trace(SEED)
}

/// The same for lists.
fn net_of_lists() -> Arc<MemoryNet> {
    world_of_lists().net_without_trace(SEED)
}

/// Whether a name in lower-case A-labels is `sandbox.test` or below it.
fn is_sandbox(domain: &str) -> bool {
    domain.strip_suffix(DOMAIN).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use probity_mail::verdict::Reason;

    use super::{SandboxOutcome, TABLE, is_sandbox, outcome, split_delay, world};
    use crate::mailbox::MailboxState;

    #[test]
    fn delays() {
        for (local, expected) in [
            ("valid", ("valid", 0)),
            ("valid+delay-2s", ("valid", 2_000)),
            ("valid+delay-60s", ("valid", 60_000)),
            ("a+delay-1s+delay-2s", ("a+delay-1s", 2_000)),
            ("valid+delay-61s", ("valid+delay-61s", 0)),
            ("valid+delay-s", ("valid+delay-s", 0)),
            ("valid+delay-+2s", ("valid+delay-+2s", 0)),
            ("valid+delay-2", ("valid+delay-2", 0)),
        ] {
            assert_eq!(split_delay(local), expected, "{local}");
        }
    }

    #[test]
    fn the_table_speaks_only_for_the_bare_domain() {
        let spam = Some(SandboxOutcome { reason: "spam", delay_ms: 3_000 });
        assert_eq!(outcome("Spam+delay-3s", "Sandbox.test"), spam);
        assert_eq!(outcome("spam", "catchall.sandbox.test"), None);
        assert_eq!(outcome("valid", "sandbox.test"), None);
        assert_eq!(outcome("spam", "example.com"), None);
    }

    #[test]
    fn the_sandbox_is_one_domain_with_what_lies_under_it() {
        assert!(is_sandbox("sandbox.test") && is_sandbox("a.b.sandbox.test"));
        assert!(!is_sandbox("xsandbox.test") && !is_sandbox("test") && !is_sandbox("sandbox.test.example.com"));
    }

    #[test]
    fn every_reason_is_either_in_the_table_or_a_mailbox_of_the_world() {
        let world = world();
        let (_, zone) = world.zones().find(|(name, _)| *name == "sandbox.test").unwrap();
        for reason in Reason::ALL.iter().map(|reason| reason.as_str()) {
            let named = zone.mailboxes.named.contains_key(reason);
            let missing = reason == "nonexistent";
            assert!(TABLE.contains(&reason) ^ (named || missing), "{reason}");
        }
        assert_eq!(zone.mailboxes.state("nonexistent", "sandbox.test"), MailboxState::Missing);
    }
}
