//! Selections of contacts in the order of the platform, cached until a contact changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{EspAccount, EspContact};

/// Maximum number of cached selections; a run reads few at a time.
const KEPT_MAX: usize = 8;

/// Order of a selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageOrder {
    /// Oldest first, or in the order of the list.
    #[default]
    Oldest,
    Newest,
    /// Least recently changed first.
    Updated,
    /// Most recently changed first.
    UpdatedNewest,
}

/// Contacts to return. Selections with different `keep` functions must have different names.
pub(crate) struct Selection<'a> {
    pub name: &'a str,
    pub list: Option<u32>,
    pub order: PageOrder,
    pub keep: Option<&'a dyn Fn(&EspContact) -> bool>,
}

impl<'a> Selection<'a> {
    /// Selects all contacts of a list or of the account.
    pub(crate) fn all(list: Option<u32>, order: PageOrder) -> Self {
        Self { name: "", list, order, keep: None }
    }

    /// Limits the selection to some of them.
    pub(crate) fn keeping(mut self, name: &'a str, keep: &'a dyn Fn(&EspContact) -> bool) -> Self {
        (self.name, self.keep) = (name, Some(keep));
        self
    }
}

/// Cached selections, by name.
#[derive(Debug, Default)]
pub(super) struct Views {
    kept: BTreeMap<(String, Option<u32>, PageOrder), Arc<Vec<u32>>>,
}

impl Views {
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}

/// Part of a selection.
pub(crate) struct Slice {
    pub contacts: Vec<EspContact>,
    pub total: usize,
}

impl EspAccount {
    /// Returns the contact numbers of a selection.
    pub(crate) fn select(&mut self, selection: &Selection<'_>) -> Arc<Vec<u32>> {
        let name = (selection.name.to_owned(), selection.list, selection.order);
        if let Some(known) = self.views.kept.get(&name) {
            return Arc::clone(known);
        }
        let all = match selection.list {
            Some(list) => self.members(list),
            None => &self.everyone,
        };
        let keep = |number: &u32| {
            selection.keep.is_none_or(|keep| self.contact(*number).is_some_and(|contact| keep(&contact)))
        };
        let mut numbers: Vec<u32> = all.iter().copied().filter(keep).collect();
        match selection.order {
            PageOrder::Oldest => {}
            PageOrder::Newest => numbers.reverse(),
            PageOrder::Updated | PageOrder::UpdatedNewest => {
                numbers.sort_by_cached_key(|number| self.contact(*number).map(|contact| (contact.updated, *number)));
                if selection.order == PageOrder::UpdatedNewest {
                    numbers.reverse();
                }
            }
        }
        let numbers = Arc::new(numbers);
        if self.views.kept.len() >= KEPT_MAX {
            self.views.clear();
        }
        self.views.kept.insert(name, Arc::clone(&numbers));
        numbers
    }

    /// Returns a page of a selection.
    pub(crate) fn page(&mut self, selection: &Selection<'_>, offset: usize, size: usize) -> Slice {
        let numbers = self.select(selection);
        let part = numbers.iter().skip(offset).take(size);
        Slice { contacts: part.filter_map(|number| self.contact(*number)).collect(), total: numbers.len() }
    }

    /// Returns the page after a contact, and whether another follows. The selection must be ordered by number.
    pub(crate) fn page_after(&mut self, selection: &Selection<'_>, after: Option<u32>, size: usize) -> (Slice, bool) {
        let numbers = self.select(selection);
        let newest = selection.order == PageOrder::Newest;
        let is_past = |number: &u32| after.is_none_or(|after| if newest { *number < after } else { *number > after });
        let from = if after.is_none() { 0 } else { numbers.partition_point(|number| !is_past(number)) };
        let part = numbers.iter().skip(from).take(size);
        let contacts = part.filter_map(|number| self.contact(*number)).collect();
        (Slice { contacts, total: numbers.len() }, from + size < numbers.len())
    }
}
