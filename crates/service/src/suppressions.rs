//! Suppression lists: from addresses to tags, and from a change to short transactions.
//!
//! Of an address only its keyed tag is kept ([`Secrets::address_tag`]): lists can be asked, counted and emptied, and never read
//! out. A change of many addresses is made in steps, so that nobody waits long for the database; each step is written down for
//! the timeline with how many the list had and has. A change that breaks off half-way is repeated whole: an address that is
//! there is not added again.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use probity_account::suppression::List;
use probity_mail::address::Address;
use probity_mail::domain::SpecialUse;
use probity_mail::time::Millis;
use probity_store::events::{self, Actor, What};
use probity_store::suppressions::{self, Changed, Tag};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, Tx};

use crate::secrets::Secrets;

/// Addresses of one step.
const STEP: usize = 20_000;

/// The sandbox's names and those of private networks are mailboxes too: whoever verifies says what comes of them.
static EVERY_NAME: LazyLock<SpecialUse> = LazyLock::new(SpecialUse::all_allowed);

/// What an address is known by; none where the text is no address. However it is spelled, it is the same one.
pub fn tag_of(secrets: &Secrets, org: OrgNo, text: &str) -> Option<Tag> {
    let address = Address::parse_with(text.trim_ascii(), &EVERY_NAME).ok()?;
    Some(secrets.address_tag(org, &address.normalized()))
}

/// Addresses that came in, as their tags.
#[derive(Debug, Default)]
pub struct Taken {
    tags: BTreeSet<Tag>,
    /// How many texts came.
    pub(crate) submitted: i64,
    /// How many of them were no addresses.
    pub invalid: i64,
}

impl Taken {
    /// Takes a text.
    pub fn take(&mut self, secrets: &Secrets, org: OrgNo, text: &str) {
        self.submitted += 1;
        match tag_of(secrets, org, text) {
            Some(tag) => drop(self.tags.insert(tag)),
            None => self.invalid += 1,
        }
    }

    /// All tags, so many at a time that each step is short; at least one step.
    pub fn steps(&self) -> Vec<BTreeSet<Tag>> {
        let tags: Vec<Tag> = self.tags.iter().copied().collect();
        let mut steps: Vec<BTreeSet<Tag>> = tags.chunks(STEP).map(|step| step.iter().copied().collect()).collect();
        if steps.is_empty() {
            steps.push(BTreeSet::new());
        }
        steps
    }
}

/// Who changes which list.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub org: OrgNo,
    pub list: List,
    pub actor: Actor,
    pub at: Millis,
}

impl Change {
    /// Puts addresses on the list, in a transaction of the caller's.
    pub async fn add(&self, tx: &mut Tx, tags: &BTreeSet<Tag>) -> Result<Changed> {
        let changed = suppressions::add(tx, self.org, self.list, tags, self.at).await?;
        self.note(tx, changed).await
    }

    /// Puts addresses on the list, step by step; says how many were new.
    pub async fn add_all(&self, store: &Store, steps: &[BTreeSet<Tag>]) -> Result<i64> {
        let mut added = 0;
        for step in steps {
            let changed = store.write_bulk(|tx| self.add(tx, step).scope_boxed()).await?;
            added += changed.after - changed.before;
        }
        Ok(added)
    }

    /// Takes addresses off the list, step by step; says how many were on it.
    pub async fn remove_all(&self, store: &Store, steps: &[BTreeSet<Tag>]) -> Result<i64> {
        let mut removed = 0;
        for step in steps {
            let changed = store.write_bulk(|tx| {
                async {
                    let changed = suppressions::remove(tx, self.org, self.list, step, self.at).await?;
                    self.note(tx, changed).await
                }
                .scope_boxed()
            });
            let changed = changed.await?;
            removed += changed.before - changed.after;
        }
        Ok(removed)
    }

    /// Empties the list, step by step; says how many were on it.
    pub async fn clear(&self, store: &Store) -> Result<i64> {
        let at_most = u32::try_from(STEP).unwrap_or(u32::MAX);
        let mut removed = 0;
        loop {
            let changed = store.write_bulk(|tx| {
                async {
                    let changed = suppressions::remove_some(tx, self.org, self.list, at_most, self.at).await?;
                    self.note(tx, changed).await
                }
                .scope_boxed()
            });
            let changed = changed.await?;
            removed += changed.before - changed.after;
            if changed.after == 0 || changed.before == changed.after {
                return Ok(removed);
            }
        }
    }

    /// Writes a change down for the timeline: how many there were and are, of which nobody learns an address.
    async fn note(&self, tx: &mut Tx, changed: Changed) -> Result<Changed> {
        if changed.before != changed.after {
            let setting = format!("organization.suppressions.{}", self.list);
            let (before, after) = (changed.before.into(), changed.after.into());
            let what = What::SettingsChange { setting, before, after, connection: None };
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
        let mut taken = Taken::default();
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
