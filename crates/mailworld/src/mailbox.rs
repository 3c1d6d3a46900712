//! Mailboxes of a domain: by name, or by a rule that needs no list.
//!
//! A domain with 1,000,000 mailboxes is a percentage: a stable hash of domain and local part decides which exist, so that a test
//! can compute the truth beside the server ([`Mailboxes::state`]) and two runs agree. Named local parts override the rule.

use std::collections::BTreeMap;

use serde::Deserialize;

/// State of a recipient at its MX host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxState {
    /// Accepts mail.
    Exists,
    #[default]
    Missing,
    /// Closed or disabled.
    Disabled,
    /// Over quota, refused permanently (5xx).
    Full,
    /// Over quota, refused temporarily (4xx).
    FullForNow,
    /// Accepts mail from certain senders only.
    Restricted,
    /// Exists, and receives more mail than allowed.
    OverRate,
    /// The server cannot check at the moment (4xx).
    Unavailable,
    /// The server refuses the client, whatever the recipient.
    Blocked,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mailboxes {
    /// Percentage of local parts that exist, 0 to 100.
    pub exists_percent: u8,
    /// The rule applies to local parts with this prefix; no others exist. Random recipients must not match it by chance.
    pub prefix: String,
    /// State of the other local parts.
    pub otherwise: MailboxState,
    /// Lower-case local parts whose state does not follow the rule.
    pub named: BTreeMap<String, MailboxState>,
}

impl Mailboxes {
    /// Mailboxes of which `exists_percent` percent of local parts exist.
    pub fn percent(exists_percent: u8) -> Self {
        Self { exists_percent, ..Self::default() }
    }

    /// The same, among the local parts with this `prefix` (lower case).
    pub fn percent_of(prefix: &str, exists_percent: u8) -> Self {
        Self { prefix: prefix.to_owned(), ..Self::percent(exists_percent) }
    }

    /// Only these local parts exist.
    pub fn only(names: &[&str]) -> Self {
        names.iter().fold(Self::default(), |all, name| all.with(name, MailboxState::Exists))
    }

    /// Sets the state of a local part.
    #[must_use]
    pub fn with(mut self, local: &str, state: MailboxState) -> Self {
        self.named.insert(local.to_lowercase(), state);
        self
    }

    /// The state of `local` (lower case) at `domain` (lower case).
    pub fn state(&self, local: &str, domain: &str) -> MailboxState {
        if !self.named.is_empty()
            && let Some(state) = self.named.get(local)
        {
            return *state;
        }
        if local.starts_with(&self.prefix) && share(local, domain) < u64::from(self.exists_percent) {
            return MailboxState::Exists;
        }
        self.otherwise
    }
}

/// A stable number in 0..100 for one address.
fn share(local: &str, domain: &str) -> u64 {
    let mut hash = Hash64::new();
    hash.write(domain.as_bytes());
    hash.write(b"@");
    hash.write(local.as_bytes());
    hash.finish() % 100
}

/// FNV-1a with a final mix: stable between builds and machines, unlike the hashers of `std`.
#[derive(Clone, Debug)]
pub(crate) struct Hash64(u64);

impl Hash64 {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        // FNV's low bits are weak for short inputs; SplitMix64's output function spreads them.
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::{MailboxState, Mailboxes};

    #[test]
    fn a_population_has_about_its_percentage_and_names_win() {
        let boxes = Mailboxes::percent(70).with("User1", MailboxState::Full);
        let existing =
            (0..10_000).filter(|i| boxes.state(&format!("user{i}"), "a.test") == MailboxState::Exists).count();
        assert!((6_800..7_200).contains(&existing), "{existing}");
        assert_eq!(boxes.state("user1", "a.test"), MailboxState::Full);
        let differing = (0..1_000)
            .filter(|i| boxes.state(&format!("user{i}"), "a.test") != boxes.state(&format!("user{i}"), "b.test"))
            .count();
        assert!(differing > 200, "two domains must not share a population: {differing}");
    }

    #[test]
    fn the_ends_of_the_percentage_are_exact() {
        for i in 0..500 {
            let local = format!("user{i}");
            assert_eq!(Mailboxes::percent(0).state(&local, "a.test"), MailboxState::Missing);
            assert_eq!(Mailboxes::percent(100).state(&local, "a.test"), MailboxState::Exists);
        }
    }
}
