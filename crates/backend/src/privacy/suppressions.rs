//! Suppression lists: addresses that an organization wants flagged in the results of lists.
//!
//! A listed address is `spam`, `complained` or `bounced` in jobs, before the overrides; `GET /v1/verify` uses no lists. Lists
//! belong to the organization, so test keys see and change the same ones.
//!
//! Only the keyed tag of an address is stored ([`Secrets::address_tag`]), so lists can be queried, counted and emptied, but never
//! read. A change of many addresses is made in short steps, to keep the database available. Each step is recorded in the
//! timeline, with the number of addresses before and after. An interrupted change is repeated as a whole, because an address on
//! the list is not added again.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use probity_access::secrets::Secrets;
use probity_account::suppression::SuppressionKind;
use probity_mail::address::{Address, bare_address};
use probity_mail::domain::SpecialUse;
use probity_mail::time::Millis;
use probity_store::activity::events::{self, AccountChange, EventActor};
use probity_store::privacy::suppressions::{self, SuppressionChanges, SuppressionTag};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, Tx, work};

const STEP: usize = 20_000;

/// Names of the sandbox and of private networks are accepted as well, because mail may have been sent there; the verifier decides
/// about them.
pub(crate) static EVERY_NAME: LazyLock<SpecialUse> = LazyLock::new(SpecialUse::all_allowed);

/// Returns the tag of an address, the same for all its spellings; `None` for any other text.
pub fn tag_of(secrets: &Secrets, org: OrgNo, text: &str) -> Option<SuppressionTag> {
    let address = Address::parse_with(bare_address(text), &EVERY_NAME).ok()?;
    Some(secrets.address_tag(org, &address.normalized()))
}

/// Submitted addresses, as tags.
#[derive(Debug, Default)]
pub struct TakenAddresses {
    tags: BTreeSet<SuppressionTag>,
    /// Number of submitted texts.
    pub submitted: i64,
    /// Number of submitted texts that are not addresses.
    pub invalid: i64,
}

impl TakenAddresses {
    pub fn take(&mut self, secrets: &Secrets, org: OrgNo, text: &str) {
        self.submitted += 1;
        match tag_of(secrets, org, text) {
            Some(tag) => drop(self.tags.insert(tag)),
            None => self.invalid += 1,
        }
    }

    /// Splits the tags into short steps, at least one.
    pub fn steps(&self) -> Vec<BTreeSet<SuppressionTag>> {
        let tags: Vec<SuppressionTag> = self.tags.iter().copied().collect();
        let mut steps: Vec<BTreeSet<SuppressionTag>> =
            tags.chunks(STEP).map(|step| step.iter().copied().collect()).collect();
        if steps.is_empty() {
            steps.push(BTreeSet::new());
        }
        steps
    }
}

/// List, actor and time of a change.
#[derive(Clone, Copy, Debug)]
pub struct SuppressionChange {
    pub org: OrgNo,
    pub list: SuppressionKind,
    pub actor: EventActor,
    pub at: Millis,
}

impl SuppressionChange {
    /// Adds addresses to the list, in the caller's transaction.
    pub async fn add(&self, tx: &mut Tx, tags: &BTreeSet<SuppressionTag>) -> Result<SuppressionChanges, StoreError> {
        let changed = suppressions::add(tx, self.org, self.list, tags, self.at).await?;
        self.note(tx, changed).await
    }

    /// Adds addresses to the list in steps; returns how many were new.
    pub async fn add_all(&self, store: &Store, steps: &[BTreeSet<SuppressionTag>]) -> Result<i64, StoreError> {
        let mut added = 0;
        for step in steps {
            let changed = store.write_bulk(|tx| self.add(tx, step).scope_boxed()).await?;
            added += changed.after - changed.before;
        }
        Ok(added)
    }

    /// Removes addresses from the list in steps; returns how many were on it.
    pub async fn remove_all(&self, store: &Store, steps: &[BTreeSet<SuppressionTag>]) -> Result<i64, StoreError> {
        let mut removed = 0;
        for step in steps {
            let changed = store.write_bulk(work!(|tx| {
                let changed = suppressions::remove(tx, self.org, self.list, step, self.at).await?;
                self.note(tx, changed).await
            }));
            let changed = changed.await?;
            removed += changed.before - changed.after;
        }
        Ok(removed)
    }

    /// Empties the list in steps; returns how many addresses were on it.
    pub async fn clear(&self, store: &Store) -> Result<i64, StoreError> {
        let at_most = u32::try_from(STEP).unwrap_or(u32::MAX);
        let mut removed = 0;
        loop {
            let changed = store.write_bulk(work!(|tx| {
                let changed = suppressions::remove_some(tx, self.org, self.list, at_most, self.at).await?;
                self.note(tx, changed).await
            }));
            let changed = changed.await?;
            removed += changed.before - changed.after;
            if changed.after == 0 || changed.before == changed.after {
                return Ok(removed);
            }
        }
    }

    /// Records a change for the timeline: the numbers before and after, but no address.
    async fn note(&self, tx: &mut Tx, changed: SuppressionChanges) -> Result<SuppressionChanges, StoreError> {
        if changed.before != changed.after {
            let setting = format!("organization.suppressions.{}", self.list);
            let (before, after) = (changed.before.into(), changed.after.into());
            let what = AccountChange::SettingsChange { setting, before, after, connection: None };
            events::add(tx, self.org, self.at, Some(self.actor), &[what]).await?;
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_tag_however_it_is_spelled_and_other_texts_have_none() {
        let secrets = Secrets::of(&[1; 32]);
        let tag = |text| tag_of(&secrets, OrgNo(1), text);
        assert!(tag("Jo@Example.org").is_some());
        assert_eq!(tag(" jo@EXAMPLE.org "), tag("Jo@example.org"));
        assert_eq!(tag("jo@b\u{fc}cher.example.org"), tag("jo@xn--bcher-kva.example.org"));
        assert_ne!(tag("jo@example.org"), tag("jo+x@example.org"));
        assert!(tag("complained@sandbox.test").is_some(), "a special-use name is a name");
        assert_eq!(tag("no address"), None);
        assert_eq!(tag(""), None);
    }

    #[test]
    fn steps_are_short_and_have_each_address_once() {
        let secrets = Secrets::of(&[1; 32]);
        let mut taken = TakenAddresses::default();
        assert_eq!(taken.steps(), [BTreeSet::new()], "nothing is one step, in which the answer is kept");
        for n in 0..STEP + 5 {
            taken.take(&secrets, OrgNo(1), &format!("a{n}@example.org"));
        }
        taken.take(&secrets, OrgNo(1), "A1@example.org");
        taken.take(&secrets, OrgNo(1), "x");
        let sizes: Vec<usize> = taken.steps().iter().map(BTreeSet::len).collect();
        assert_eq!(sizes, [STEP, 5]);
        assert_eq!((taken.submitted, taken.invalid), (20_007, 1));
    }
}
