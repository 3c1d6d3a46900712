//! Gates: the reasons for which a connection acts on a contact.
//!
//! Some reasons have no gate. `invalid` and `illegitimate` are always acted on, because such an address or domain receives no mail,
//! and so is `blacklisted`, because the customer named the contact. `valid` and `available` are never acted on.
//!
//! | Gate | `normal` | `aggressive` | Reason |
//! |---|---|---|---|
//! | `nonexistent`, `deactivated` | yes | yes | The MX host reports that the mailbox does not exist or is closed. |
//! | `bounced`, `complainers` | yes | yes | The customer's own data reports it. Further mail harms the sender's reputation. |
//! | `inbox_full` | | yes | The mailbox exists; its owner may empty it. |
//! | `spam`, `disposable`, `banned_words`, `role_based` | | yes | The address receives mail, and may have a reader. |
//! | `accept_all`, `failed_exchange`, `unverified` | | | The mailbox could not be checked. |
//!
//! `normal` therefore loses no reader. The last three gates are in no preset: an inconclusive verdict leads to no action unless the
//! customer opens its gate by name.

use probity_mail::verdict::Reason;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::overrides::IgnorableReason;

probity_mail::named! {
    /// Preset of the gates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Aggressiveness {
        /// [`GateSet::NORMAL`].
        #[default]
        Normal = "normal",
        /// [`GateSet::AGGRESSIVE`].
        Aggressive = "aggressive",
        /// Gates chosen by the customer.
        Custom = "custom",
    }
}

impl Aggressiveness {
    /// Returns the gates of the preset; `None` if the customer chose them.
    pub fn gates(self) -> Option<GateSet> {
        match self {
            Self::Normal => Some(GateSet::NORMAL),
            Self::Aggressive => Some(GateSet::AGGRESSIVE),
            Self::Custom => None,
        }
    }
}

/// Set of open gates, of the twelve in [`IgnorableReason::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateSet(u32);

impl GateSet {
    /// No open gate: only addresses that cannot receive mail are acted on.
    pub const NONE: Self = Self(0);
    /// Gates that lose no reader.
    pub const NORMAL: Self = Self::of(&[Reason::Nonexistent, Reason::Deactivated, Reason::Bounced, Reason::Complained]);
    /// Gates that lose no reader, and those behind which readers are unlikely.
    pub const AGGRESSIVE: Self = Self::of(&[
        Reason::Nonexistent,
        Reason::Deactivated,
        Reason::Bounced,
        Reason::Complained,
        Reason::InboxFull,
        Reason::Spam,
        Reason::Disposable,
        Reason::BannedWords,
        Reason::RoleBased,
    ]);

    const fn of(reasons: &[Reason]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < reasons.len() {
            bits |= bit(reasons[at]);
            at += 1;
        }
        Self(bits)
    }

    /// Returns whether a gate is open.
    pub fn contains(self, gate: IgnorableReason) -> bool {
        self.0 & bit(gate.reason()) != 0
    }

    /// Returns the set with a gate opened or closed.
    #[must_use]
    pub fn with(self, gate: IgnorableReason, is_open: bool) -> Self {
        let bit = bit(gate.reason());
        Self(if is_open { self.0 | bit } else { self.0 & !bit })
    }

    /// Returns whether a gate is open that is closed in the other set.
    pub fn opens_more_than(self, other: Self) -> bool {
        self.0 & !other.0 != 0
    }

    /// Iterates over the open gates, in the order of the reasons.
    pub fn iter(self) -> impl Iterator<Item = IgnorableReason> {
        IgnorableReason::ALL.into_iter().filter(move |gate| self.contains(*gate))
    }

    /// Returns whether a contact with this reason is acted on.
    pub fn would_act(self, reason: Reason) -> bool {
        match reason {
            Reason::Invalid | Reason::Illegitimate | Reason::Blacklisted => true,
            Reason::Valid | Reason::Available => false,
            reason => self.0 & bit(reason) != 0,
        }
    }
}

impl FromIterator<IgnorableReason> for GateSet {
    fn from_iter<I: IntoIterator<Item = IgnorableReason>>(gates: I) -> Self {
        gates.into_iter().fold(Self::NONE, |set, gate| set.with(gate, true))
    }
}

/// Serializes as a list of the names of open gates.
impl Serialize for GateSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(IgnorableReason::as_str))
    }
}

impl<'de> Deserialize<'de> for GateSet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        let gate = |name: &String| IgnorableReason::from_name(name).ok_or_else(|| de::Error::custom("an unknown gate"));
        names.iter().map(gate).collect()
    }
}

/// Returns the bit of a reason in memory. Stored sets are lists of names.
const fn bit(reason: Reason) -> u32 {
    1 << reason as u32
}

#[cfg(test)]
mod tests {
    use probity_mail::verdict::Status;

    use super::*;

    #[test]
    fn each_reason_is_acted_upon_as_the_table_says() {
        // Columns: no gate, `normal`, `aggressive`, every gate.
        let table = [
            (Reason::Valid, [false, false, false, false]),
            (Reason::Invalid, [true, true, true, true]),
            (Reason::Illegitimate, [true, true, true, true]),
            (Reason::Nonexistent, [false, true, true, true]),
            (Reason::Deactivated, [false, true, true, true]),
            (Reason::InboxFull, [false, false, true, true]),
            (Reason::Spam, [false, false, true, true]),
            (Reason::Complained, [false, true, true, true]),
            (Reason::Bounced, [false, true, true, true]),
            (Reason::Blacklisted, [true, true, true, true]),
            (Reason::Disposable, [false, false, true, true]),
            (Reason::BannedWords, [false, false, true, true]),
            (Reason::RoleBased, [false, false, true, true]),
            (Reason::Available, [false, false, false, false]),
            (Reason::AcceptAll, [false, false, false, true]),
            (Reason::FailedExchange, [false, false, false, true]),
            (Reason::Unverified, [false, false, false, true]),
        ];
        assert_eq!(table.len(), Reason::ALL.len());
        let all = IgnorableReason::ALL.into_iter().collect();
        for (reason, acts) in table {
            let sets = [GateSet::NONE, GateSet::NORMAL, GateSet::AGGRESSIVE, all];
            assert_eq!(sets.map(|set| set.would_act(reason)), acts, "{reason:?}");
        }
    }

    #[test]
    fn no_preset_acts_on_an_unknown_verdict() {
        for preset in [GateSet::NORMAL, GateSet::AGGRESSIVE] {
            assert!(preset.iter().all(|gate| gate.reason().status() != Status::Unknown), "{preset:?}");
        }
    }

    #[test]
    fn gates_open_and_close_by_themselves() {
        for gate in IgnorableReason::ALL {
            let one = GateSet::NONE.with(gate, true);
            assert_eq!(one.iter().collect::<Vec<_>>(), [gate]);
            assert_eq!(one.with(gate, false), GateSet::NONE);
            assert!(one.would_act(gate.reason()));
        }
        assert_eq!(GateSet::AGGRESSIVE.iter().collect::<GateSet>(), GateSet::AGGRESSIVE);
    }

    #[test]
    fn names_are_those_of_the_contract() {
        for one in Aggressiveness::ALL {
            assert_eq!(one.as_str().parse(), Ok(one));
        }
        assert_eq!("fierce".parse::<Aggressiveness>(), Err(()));
        assert_eq!(Aggressiveness::Normal.gates(), Some(GateSet::NORMAL));
        assert_eq!(Aggressiveness::Custom.gates(), None);
    }
}
