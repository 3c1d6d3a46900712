//! Position of reading, in a form that can be stored.

use probity_mail::time::Millis;
use serde::{Deserialize, Serialize};

use super::ReadPage;
use super::walk::PageWalk;
use crate::file::{ContactsRule, SinceKind};

/// Date from which contacts are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSince {
    pub kind: SinceKind,
    /// Milliseconds of Unix time. Requests subtract the connector's overlap.
    pub at: i64,
}

/// Contacts to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactsGoal {
    /// Lists to read; if empty, all. Must be empty unless [`ConnectorFile::can_choose_lists`].
    ///
    /// [`ConnectorFile::can_choose_lists`]: crate::ConnectorFile::can_choose_lists
    pub lists: Vec<String>,
    /// Start date. If the platform cannot filter by date, everything is read.
    pub since: Option<ReadSince>,
    /// Whether to skip other states, if the platform has a call per state.
    pub only_subscribed: bool,
}

/// Records to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadGoal {
    Lists,
    Contacts(ContactsGoal),
}

impl ReadGoal {
    pub(super) fn since(&self) -> Option<ReadSince> {
        match self {
            Self::Lists => None,
            Self::Contacts(goal) => goal.since,
        }
    }

    pub(super) fn only_subscribed(&self) -> bool {
        matches!(self, Self::Contacts(goal) if goal.only_subscribed)
    }
}

/// Stage of reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReadStage {
    Lists {
        found: Vec<String>,
    },
    /// Reading the first list. If contacts are read per account, one empty name replaces the lists.
    Contacts {
        lists: Vec<String>,
        state: usize,
    },
    Done,
}

/// Position of reading. Contains IDs of lists and cursors of the platform, but no addresses and no credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPosition {
    pub(super) goal: ReadGoal,
    pub(super) stage: ReadStage,
    pub(super) walk: PageWalk,
    /// Newest date seen, in milliseconds.
    pub(super) watermark: Option<i64>,
    /// Time of the last request, in milliseconds.
    pub(super) asked: i64,
    /// Contacts read so far, without those that are read again.
    #[serde(default)]
    pub(super) contacts: u64,
    /// Records without an ID or an address so far.
    #[serde(default)]
    pub(super) skipped: u64,
}

impl ReadPosition {
    pub(super) fn new(goal: ReadGoal, by_list: bool) -> Self {
        let stage = match &goal {
            ReadGoal::Contacts(_) if !by_list => ReadStage::Contacts { lists: vec![String::new()], state: 0 },
            ReadGoal::Contacts(contacts) if !contacts.lists.is_empty() => {
                ReadStage::Contacts { lists: contacts.lists.clone(), state: 0 }
            }
            _ => ReadStage::Lists { found: Vec::new() },
        };
        Self { goal, stage, walk: PageWalk::default(), watermark: None, asked: 0, contacts: 0, skipped: 0 }
    }

    /// Returns whether everything was read.
    pub fn is_done(&self) -> bool {
        self.stage == ReadStage::Done
    }

    /// Returns the number of contacts read so far, and that of records without an ID or an address. What is read again counts
    /// once.
    pub fn counts(&self) -> (u64, u64) {
        (self.contacts, self.skipped)
    }

    /// Counts a page, after which the walk has gone back by some records.
    pub(super) fn count(&mut self, page: &ReadPage, back: u64) {
        let before = self.contacts.saturating_add(page.contacts.len() as u64);
        self.contacts = before.saturating_sub(back);
        self.skipped = self.skipped.saturating_add(page.skipped as u64);
    }

    /// Returns the newest date seen, at which the next run starts.
    pub fn watermark(&self) -> Option<Millis> {
        self.watermark.map(Millis)
    }

    /// Returns the kind of date used for the watermark.
    pub(super) fn kind(&self, rule: &ContactsRule) -> SinceKind {
        let kind = self.goal.since().map(|since| since.kind);
        kind.unwrap_or(if rule.fields.created.is_some() { SinceKind::Created } else { SinceKind::Updated })
    }

    pub(super) fn list(&self) -> Option<&str> {
        match &self.stage {
            ReadStage::Contacts { lists, .. } => lists.first().map(String::as_str).filter(|list| !list.is_empty()),
            _ => None,
        }
    }

    pub(super) fn state(&self) -> usize {
        if let ReadStage::Contacts { state, .. } = self.stage { state } else { 0 }
    }

    /// Ends a walk, one of `states` for its list.
    pub(super) fn leave(&mut self, page: &ReadPage, states: usize) {
        self.walk = PageWalk::default();
        let ends = self.goal == ReadGoal::Lists;
        self.stage = match std::mem::replace(&mut self.stage, ReadStage::Done) {
            ReadStage::Lists { .. } if ends => ReadStage::Done,
            ReadStage::Lists { mut found } => {
                found.extend(page.lists.iter().map(|list| list.id.clone()));
                contacts(found, 0)
            }
            ReadStage::Contacts { lists, state } if state + 1 < states => contacts(lists, state + 1),
            ReadStage::Contacts { mut lists, .. } => {
                lists.remove(0);
                contacts(lists, 0)
            }
            ReadStage::Done => ReadStage::Done,
        };
    }

    /// Stores the lists of a page that is not the last.
    pub(super) fn keep(&mut self, page: &ReadPage) {
        if let ReadStage::Lists { found } = &mut self.stage {
            found.extend(page.lists.iter().map(|list| list.id.clone()));
        }
    }
}

fn contacts(lists: Vec<String>, state: usize) -> ReadStage {
    if lists.is_empty() { ReadStage::Done } else { ReadStage::Contacts { lists, state } }
}
