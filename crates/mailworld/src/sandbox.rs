//! The sandbox: addresses whose outcome is known beforehand, for trying out and for tests of integrations.
//!
//! Most outcomes are real: the engine asks a simulated exchanger and judges its reply, so that the sandbox tells the truth
//! about the engine. The others cannot come from any server (they need a customer's data, or the string is no address), or
//! contradict another outcome at the same domain (a domain cannot both accept everybody and refuse somebody); for those
//! at the bare domain `sandbox.test` there is a table ([`outcome`]), and sub-domains that behave so wherever a
//! server can. The world is `data/sandbox.toml`; `docs/sandbox.md` lists everything.
//!
//! [`Sandbox`] puts it together and answers; [`elsewhere()`] decides about addresses outside `sandbox.test`.

mod elsewhere;
mod seam;
mod verifier;

use std::sync::Arc;

use crate::memory::MemoryNet;
use crate::world::World;

pub use elsewhere::elsewhere;
pub use verifier::{SEED, Sandbox, config};

/// The sandbox's domain.
pub const DOMAIN: &str = probity_mail::domain::SANDBOX;

/// The longest delay that a local part can ask for, in seconds.
const MAX_DELAY_S: u64 = 60;

/// Outcomes of the bare domain that no exchanger makes.
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

/// An outcome that the table decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxOutcome {
    /// The verdict's reason.
    pub reason: &'static str,
    /// How long the answer is to take, in milliseconds.
    pub delay_ms: u64,
}

/// The table's outcome for an address; none where the world is to be asked (and for every domain but `sandbox.test`).
pub fn outcome(local: &str, domain: &str) -> Option<SandboxOutcome> {
    if !domain.eq_ignore_ascii_case(DOMAIN) {
        return None;
    }
    let local = local.to_ascii_lowercase();
    let (name, delay_ms) = split_delay(&local);
    let reason = TABLE.into_iter().find(|reason| *reason == name)?;
    Some(SandboxOutcome { reason, delay_ms })
}

/// Cuts `+delay-2s` off a local part in lower case: the rest, and the delay in milliseconds. A delay above 60 s is none.
pub fn split_delay(local: &str) -> (&str, u64) {
    let asked = local.rsplit_once("+delay-").and_then(|(base, delay)| {
        let digits = delay.strip_suffix('s').filter(|d| d.len() <= 2 && d.bytes().all(|b| b.is_ascii_digit()))?;
        let seconds = digits.parse::<u64>().ok().filter(|seconds| *seconds <= MAX_DELAY_S)?;
        Some((base, seconds * 1_000))
    });
    asked.unwrap_or((local, 0))
}

/// The sandbox's world.
pub fn world() -> Arc<World> {
    let filled = World::builder().file(include_str!("../data/sandbox.toml")).expect("the embedded world file parses");
    filled.build().expect("the embedded world file names known personalities and no address twice")
}

/// The sandbox's world for lists, in which waiting is simulated: what a server asks to wait for is over in a second.
fn world_of_lists() -> Arc<World> {
    let filled = World::builder().file(include_str!("../data/sandbox.toml"));
    let filled = filled.and_then(|world| world.file(include_str!("../data/sandbox_lists.toml")));
    let filled = filled.expect("the embedded world files parse");
    filled.build().expect("the embedded world files name known personalities and no address twice")
}

/// The sandbox in memory, without a trace: for a service that runs for months.
pub fn net() -> Arc<MemoryNet> {
    world().net_without_trace(SEED)
}

/// The same for lists.
fn net_of_lists() -> Arc<MemoryNet> {
    world_of_lists().net_without_trace(SEED)
}

/// Whether a name in lower-case A-labels is `sandbox.test` or lies under it.
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
