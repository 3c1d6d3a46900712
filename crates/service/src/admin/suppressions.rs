//! Suppression lists of an organization from the command line. They are counted and changed, and cannot be read: of an address
//! only its keyed tag is kept.

use probity_account::suppression::List;
use probity_mail::time::Millis;
use probity_store::events::Actor;
use probity_store::organization::Org;
use probity_store::{Result, suppressions};

use crate::admin::Admin;
use crate::suppressions::{Change, Taken};

/// How many addresses a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCount {
    /// Which list.
    pub list: List,
    /// How many addresses are on it.
    pub count: i64,
    /// When it was changed last; none where it is empty.
    pub changed_at: Option<Millis>,
}

/// What a change of a list came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListChange {
    /// Texts that were no addresses.
    pub invalid: i64,
    /// Addresses that came on the list, or went.
    pub changed: i64,
    /// The list after it.
    pub now: ListCount,
}

/// Addresses on their way to or from a list: of each only its tag stays in memory.
pub struct Addresses<'a> {
    admin: &'a Admin,
    change: Change,
    taken: Taken,
}

impl Admin {
    /// How many addresses each list of an organization has.
    pub async fn suppression_counts(&self, org: &Org) -> Result<Vec<ListCount>> {
        let standing = suppressions::standing(&mut self.instance.store.read().await?, org.no).await?;
        let count = |list| match standing.iter().find(|one| one.list == list) {
            Some(one) => ListCount { list, count: one.listed, changed_at: Some(one.changed_at) },
            None => ListCount { list, count: 0, changed_at: None },
        };
        Ok(List::ALL.map(count).to_vec())
    }

    /// Begins a change of a list.
    pub fn suppressions(&self, org: &Org, list: List) -> Addresses<'_> {
        let change = Change { org: org.no, list, actor: Actor::Staff, at: self.now() };
        Addresses { admin: self, change, taken: Taken::default() }
    }

    /// Empties a list.
    pub async fn clear_suppressions(&self, org: &Org, list: List) -> Result<ListChange> {
        let addresses = self.suppressions(org, list);
        let removed = addresses.change.clear(&self.instance.store).await?;
        addresses.changed(org, removed).await
    }
}

impl Addresses<'_> {
    /// Takes a text that may be an address.
    pub fn take(&mut self, text: &str) {
        self.taken.take(&self.admin.instance.secrets, self.change.org, text);
    }

    /// Puts them on the list.
    pub async fn add(self, org: &Org) -> Result<ListChange> {
        let added = self.change.add_all(&self.admin.instance.store, &self.taken.steps()).await?;
        self.changed(org, added).await
    }

    /// Takes them off the list.
    pub async fn remove(self, org: &Org) -> Result<ListChange> {
        let removed = self.change.remove_all(&self.admin.instance.store, &self.taken.steps()).await?;
        self.changed(org, removed).await
    }

    async fn changed(&self, org: &Org, changed: i64) -> Result<ListChange> {
        let counts = self.admin.suppression_counts(org).await?;
        let now = *counts.iter().find(|one| one.list == self.change.list).expect("every list is counted");
        Ok(ListChange { invalid: self.taken.invalid, changed, now })
    }
}
