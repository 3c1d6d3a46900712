//! Outcomes of mail that an organization sent: from reported events to stored labels and suppression lists.
//!
//! An event that is new puts its address on the list of its class, in the same transaction: hard bounces on `bounced`, complaints
//! on `complained`. A repeated event does not, so an address that the organization has removed from a list stays removed. Events of
//! test keys are stored apart and change no list.

pub mod proof;

pub use probity_outbound::sns;

use std::collections::{BTreeSet, HashSet};

use probity_access::secrets::Secrets;
use probity_account::outcome::{OutcomeClass, OutcomeSource, local_form};
use probity_account::suppression::SuppressionKind;
use probity_mail::address::{Address, bare_address};
use probity_mail::time::Millis;
use probity_store::activity::events::EventActor;
use probity_store::outcomes::{self, NewOutcomes, OutcomeDetails, OutcomeKey};
use probity_store::privacy::suppressions::{self, SuppressionTag};
use probity_store::{OrgNo, StoreError, Tx};

use crate::privacy::suppressions::{EVERY_NAME, SuppressionChange};

/// Retention of outcomes, in milliseconds: 400 days, a year of data and a month for evaluation.
pub const OUTCOMES_KEEP_MS: i64 = 400 * 24 * 3_600_000;
/// Maximum lead of an event over this node's clock, in milliseconds.
pub const AHEAD_MAX_MS: i64 = 24 * 3_600_000;

/// Reported events, as tags.
#[derive(Clone, Debug, Default)]
pub struct TakenOutcomes {
    new: NewOutcomes,
    /// Number of events.
    pub submitted: i64,
    /// Number of events whose text is not an address.
    pub invalid: i64,
    /// Number of events older than the retention.
    pub expired: i64,
}

impl TakenOutcomes {
    /// Adds an event of an address.
    pub fn take(
        &mut self,
        (secrets, org): (&Secrets, OrgNo),
        email: &str,
        (class, at): (OutcomeClass, Millis),
        now: Millis,
    ) {
        self.submitted += 1;
        let Ok(address) = Address::parse_with(bare_address(email), &EVERY_NAME) else {
            self.invalid += 1;
            return;
        };
        if now.since(at) > OUTCOMES_KEEP_MS {
            self.expired += 1;
            return;
        }
        let tag = secrets.address_tag(org, &address.normalized());
        let key = OutcomeKey { tag, class, day: at.utc_day() };
        let domain = secrets.domain_tag(address.domain().ascii());
        let details = OutcomeDetails { at, domain, form: local_form(&address.local().to_lowercase()) };
        let earliest = self.new.entry(key).or_insert_with(|| details.clone());
        earliest.at = Millis(earliest.at.0.min(at.0));
    }

    /// Returns whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty()
    }

    pub fn addresses(&self) -> BTreeSet<SuppressionTag> {
        self.new.keys().map(|key| key.tag).collect()
    }

    /// Returns these events without those of some addresses.
    #[must_use]
    pub fn without(&self, addresses: &HashSet<SuppressionTag>) -> Self {
        self.only(|key| !addresses.contains(&key.tag))
    }

    fn only(&self, takes: impl Fn(&OutcomeKey) -> bool) -> Self {
        let left = self.new.iter().filter(|(key, _)| takes(key));
        Self { new: left.map(|(key, details)| (*key, details.clone())).collect(), ..*self }
    }
}

/// Organization, mode, source, actor and time of a report.
#[derive(Clone, Copy, Debug)]
pub struct OutcomeRecorder {
    pub org: OrgNo,
    pub test: bool,
    pub source: OutcomeSource,
    pub actor: EventActor,
    pub at: Millis,
}

/// Result of storing a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedOutcomes {
    /// Number of new events.
    pub added: i64,
    /// Number of addresses added to `bounced`.
    pub bounced: i64,
    /// Number of addresses added to `complained`.
    pub complained: i64,
}

impl OutcomeRecorder {
    /// Stores states of addresses: each counts once, regardless of its day.
    pub async fn record_states(&self, tx: &mut Tx, taken: &TakenOutcomes) -> Result<AddedOutcomes, StoreError> {
        let known = outcomes::known(tx, (self.org, self.test), &taken.addresses()).await?;
        self.record(tx, &taken.only(|key| !known.contains(&(key.tag, key.class)))).await
    }

    /// Stores events and updates suppression lists, in the caller's transaction.
    pub async fn record(&self, tx: &mut Tx, taken: &TakenOutcomes) -> Result<AddedOutcomes, StoreError> {
        let new = outcomes::add(tx, (self.org, self.test), self.source, &taken.new, self.at).await?;
        let mut added = AddedOutcomes { added: i64::try_from(new.len()).unwrap_or(i64::MAX), ..Default::default() };
        if self.test {
            return Ok(added);
        }
        // Always in this order, so that two reports do not wait for each other's lists.
        for list in [SuppressionKind::Complained, SuppressionKind::Bounced] {
            let listed = new.iter().filter(|(_, class)| class.suppresses() == Some(list));
            let tags: BTreeSet<_> = listed.map(|(tag, _)| *tag).collect();
            if tags.is_empty() {
                continue;
            }
            let changed = match self.actor {
                // Services and platforms report constantly; the timeline is for acts of users and their keys.
                EventActor::System => suppressions::add(tx, self.org, list, &tags, self.at).await?,
                actor => SuppressionChange { org: self.org, list, actor, at: self.at }.add(tx, &tags).await?,
            };
            let more = changed.after - changed.before;
            if list == SuppressionKind::Bounced { added.bounced = more } else { added.complained = more }
        }
        Ok(added)
    }
}

#[cfg(test)]
mod tests;
