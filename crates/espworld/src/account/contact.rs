//! Contacts, generated from their number until they change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// State of a contact. Each platform has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EspState {
    Subscribed,
    Pending,
    Unsubscribed,
    Bounced,
    Complained,
    Archived,
}

/// Contact.
#[derive(Clone, Debug, PartialEq)]
pub struct EspContact {
    /// Number in the order of creation.
    pub number: u32,
    pub email: String,
    /// State in the account.
    pub state: EspState,
    /// State in each of the contact's lists.
    pub lists: BTreeMap<u32, EspState>,
    /// IDs of tags.
    pub tags: BTreeSet<u32>,
    pub fields: BTreeMap<String, Value>,
    pub created: i64,
    pub updated: i64,
}

impl EspContact {
    /// Returns the state in a list; `None` if the contact is not a member.
    pub fn state_in(&self, list: u32) -> Option<EspState> {
        self.lists.get(&list).copied()
    }
}

/// Generator of contacts.
#[derive(Clone, Debug)]
pub(crate) struct ContactMold {
    pub seed: u64,
    pub count: u32,
    pub lists: u32,
    /// Whether some contacts are in two lists.
    pub overlaps: bool,
    /// States that occur in addition to `Subscribed`.
    pub states: &'static [EspState],
    pub domains: Vec<String>,
    /// Start time of the world.
    pub epoch: i64,
    /// Whether addresses are in lower case only.
    pub is_lower: bool,
}

/// Time between two contacts, in milliseconds.
const STEP_MS: i64 = 61_000;

const FIRST: [&str; 16] = [
    "ann", "bob", "carla", "dmitri", "eve", "farid", "grace", "hugo", "ines", "jack", "kim", "lena", "milo", "nora",
    "otto", "pia",
];
const LAST: [&str; 16] = [
    "abel", "berg", "costa", "diaz", "egger", "fox", "gray", "haas", "ito", "jones", "kaya", "lopez", "meyer", "novak",
    "okoro", "price",
];

/// Mixes two numbers (`SplitMix64`).
pub(crate) fn mixed(seed: u64, number: u64) -> u64 {
    probity_mail::rng::Rng::new(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).next_u64()
}

fn pick<T>(items: &[T], by: u64) -> Option<&T> {
    let length = u64::try_from(items.len()).ok().filter(|length| *length > 0)?;
    items.get(usize::try_from(by % length).ok()?)
}

impl ContactMold {
    /// Returns the time at which a generated contact was created.
    pub(crate) fn created(&self, number: u32) -> i64 {
        self.epoch - (i64::from(self.count) - i64::from(number)) * STEP_MS
    }

    /// Returns the lists of a contact.
    pub(crate) fn lists(&self, number: u32) -> impl Iterator<Item = u32> + use<> {
        let by = mixed(self.seed, u64::from(number) << 3 | 1);
        let lists = u64::from(self.lists.max(1));
        let first = u32::try_from(by % lists).unwrap_or(0) + 1;
        let second =
            (self.overlaps && lists > 1 && (by >> 32).is_multiple_of(4)).then_some(first % self.lists.max(1) + 1);
        std::iter::once(first).chain(second)
    }

    /// Generates the contact with a number.
    pub(crate) fn contact(&self, number: u32) -> EspContact {
        let by = mixed(self.seed, u64::from(number) << 3 | 2);
        let state = if (by >> 8).is_multiple_of(8) { pick(self.states, by >> 16).copied() } else { None };
        let state = state.unwrap_or(EspState::Subscribed);
        let created = self.created(number);
        let updated = created + i64::try_from(by >> 40 & 0xf_ffff).unwrap_or(0).min(self.epoch - created);
        EspContact {
            number,
            email: self.email(number),
            state,
            lists: self.lists(number).map(|list| (list, state)).collect(),
            tags: BTreeSet::new(),
            fields: BTreeMap::new(),
            created,
            updated,
        }
    }

    /// Generates the address of a number. One in 10 requires escaping in a path, a query or a hash.
    pub(crate) fn email(&self, number: u32) -> String {
        let by = mixed(self.seed, u64::from(number) << 3 | 3);
        let domain = pick(&self.domains, by >> 24).map_or("example.com", String::as_str);
        let first = pick(&FIRST, by).copied().unwrap_or_default();
        let last = pick(&LAST, by >> 8).copied().unwrap_or_default();
        let local = match by >> 48 & 31 {
            0 => format!("{first}+{last}.{number}"),
            1 => format!("O'{last}.{number}"),
            2 => format!("{first}&{last}.{number}"),
            3 => format!("{first}%25{last}.{number}"),
            4 => format!("{first}/{last}.{number}"),
            _ => format!("{first}.{last}.{number}"),
        };
        if self.is_lower { format!("{local}@{domain}").to_lowercase() } else { format!("{local}@{domain}") }
    }

    /// Generates the address of a contact that is added during a run.
    pub(crate) fn late_comer(&self, number: usize) -> String {
        let domain =
            pick(&self.domains, mixed(self.seed, number as u64 ^ 0x1a7e)).map_or("example.com", String::as_str);
        let email = format!("late.comer{number}@{domain}");
        if self.is_lower { email.to_lowercase() } else { email }
    }

    /// Returns the number of a generated address.
    pub(crate) fn number(&self, email: &str) -> Option<u32> {
        let (local, _) = email.rsplit_once('@')?;
        let number = local.rsplit('.').next()?.parse().ok().filter(|number| *number < self.count)?;
        self.email(number).eq_ignore_ascii_case(email).then_some(number)
    }
}
