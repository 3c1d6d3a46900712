//! Rules for reading lists and contacts: requests, pages, and places of fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::http::{ErrorRule, RequestRule, span};
use crate::date::DateForm;
use crate::source::{Source, pointer};
use crate::template::Template;

/// Scope of a call or an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContactScope {
    List,
    Account,
}

/// Form of the records in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordForm {
    #[default]
    Array,
    /// Object of records by key. Arrays are accepted too: PHP encodes empty maps and maps with the keys 0, 1, 2 as arrays.
    Map,
    /// One value per line.
    Lines,
    /// One JSON value per line.
    Ndjson,
}

/// Condition that ends the pages. For offsets and page numbers, a page without records is always the last.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageEnd {
    /// The page has fewer records than requested.
    Short,
    /// The page has no records.
    Empty,
    /// As many records were read as the number at this place.
    Total(Source),
    /// As many pages were read as the number at this place.
    Pages(Source),
    /// The value at this place is missing, null, false or empty.
    More(Source),
}

/// Pagination. `size` is the value of `{page.size}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PageRule {
    /// One response has all records.
    None {},
    /// `{page.offset}` is the number of records received.
    Offset {
        size: u32,
        end: PageEnd,
        /// Whether each page begins with the last record of the page before, which shows that records moved because others
        /// were removed. For platforms that report no total.
        #[serde(default)]
        again: bool,
    },
    /// `{page.number}` starts at `first`.
    Page {
        size: u32,
        #[serde(default = "one")]
        first: u32,
        end: PageEnd,
    },
    /// `{page.token}` is taken from each response; missing after the last page.
    Token {
        size: u32,
        at: Source,
        /// Place that says whether another page follows, for platforms that send a token with the last page too.
        #[serde(default)]
        more: Option<Source>,
        /// Records after which a new search starts at the newest date seen, for searches with a limited number of hits.
        #[serde(default)]
        restart: Option<u32>,
    },
    /// URL of the next page, which must have the origin of `base`.
    NextUrl { size: u32, at: Source },
    /// `{page.key}` is a field of the last record.
    Keyset { size: u32, from: Source, first: String, end: PageEnd },
}

fn one() -> u32 {
    1
}

impl Default for PageRule {
    fn default() -> Self {
        Self::None {}
    }
}

impl PageRule {
    /// Returns `{page.size}`.
    pub(crate) fn size(&self) -> Option<u32> {
        match self {
            Self::Offset { size, .. }
            | Self::Page { size, .. }
            | Self::Token { size, .. }
            | Self::NextUrl { size, .. }
            | Self::Keyset { size, .. } => Some(*size),
            Self::None {} => None,
        }
    }

    /// Returns the names after `page.` that have a value.
    pub(crate) fn names(&self) -> &'static [&'static str] {
        match self {
            Self::None {} => &[],
            Self::Offset { .. } => &["offset", "size"],
            Self::Page { .. } => &["number", "size"],
            Self::Token { .. } => &["token", "size"],
            Self::NextUrl { .. } => &["size"],
            Self::Keyset { .. } => &["key", "size"],
        }
    }
}

/// Rules for reading the lists of an account.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListsRule {
    pub request: RequestRule,
    #[serde(deserialize_with = "pointer")]
    pub records: Source,
    #[serde(default)]
    pub form: RecordForm,
    /// Whether a response without `records` is an empty page.
    #[serde(default)]
    pub may_be_absent: bool,
    pub id: Source,
    pub name: Source,
    /// Place of the list's number of contacts.
    #[serde(default)]
    pub count: Option<Source>,
    pub page: PageRule,
}

/// Place and form of a date.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateAt {
    pub at: Source,
    pub form: DateForm,
}

/// State of a contact, common to all platforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContactState {
    Subscribed,
    /// Subscription not confirmed yet.
    Pending,
    Unsubscribed,
    Bounced,
    Complained,
    /// Stored, but receives no mail.
    Archived,
    Unknown,
}

/// Items of a record of which only some count, such as those about email among all channels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmongRule {
    /// Place of the array.
    #[serde(deserialize_with = "pointer")]
    pub records: Source,
    /// Place in an item, and the values with which it counts.
    pub at: Source,
    pub is: Vec<String>,
}

/// Place of a state, and the meanings of its values. A value without a meaning is left to the next rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateRule {
    /// Items of the record that are looked at one by one, in place of the record.
    #[serde(default)]
    pub among: Option<AmongRule>,
    pub at: Source,
    pub map: BTreeMap<String, ContactState>,
}

/// Places of a contact's fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldRules {
    pub id: Source,
    pub email: Source,
    #[serde(default)]
    pub created: Option<DateAt>,
    #[serde(default)]
    pub updated: Option<DateAt>,
    #[serde(default)]
    pub state: Vec<StateRule>,
    /// State if no rule applies.
    pub state_default: ContactState,
}

/// Kind of date by which contacts are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SinceKind {
    Created,
    Updated,
}

/// Request for contacts since a date.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinceRule {
    /// Parameters added to the query of the request.
    #[serde(default)]
    pub query: BTreeMap<String, Template>,
    /// Request that replaces the usual one.
    #[serde(default)]
    pub request: Option<RequestRule>,
    /// Pagination that replaces the usual one.
    #[serde(default)]
    pub page: Option<PageRule>,
    /// Whether the newest contacts come first, so reading ends at the first older one.
    #[serde(default)]
    pub stop: bool,
}

/// Reading by date.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinceRules {
    #[serde(default)]
    pub created: Option<SinceRule>,
    #[serde(default)]
    pub updated: Option<SinceRule>,
    /// Time by which a date is moved back, because clocks differ and records appear late.
    #[serde(deserialize_with = "span")]
    pub overlap: i64,
}

/// Place of a contact's lists in a response, with the values of those that it has left.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembershipRule {
    /// Place of the array in the response.
    #[serde(deserialize_with = "pointer")]
    pub records: Source,
    /// Place of the list's ID in an item.
    pub id: Source,
    /// Place in an item, and the values of a list that the contact has left.
    pub at: Source,
    pub left: Vec<String>,
}

/// Call that reads one contact by its ID. Its fields have the same places as on a page.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneContactRule {
    pub request: RequestRule,
    /// Place of the contact in the response.
    #[serde(default, deserialize_with = "pointer")]
    pub record: Source,
    /// Lists of the contact, if only these tell that it has unsubscribed.
    #[serde(default)]
    pub lists: Option<MembershipRule>,
    /// Error rules that precede those of the file. Class `gone` means that the contact no longer exists.
    #[serde(default)]
    pub errors: Vec<ErrorRule>,
}

/// Rules for reading contacts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContactsRule {
    pub scope: ContactScope,
    pub request: RequestRule,
    #[serde(deserialize_with = "pointer")]
    pub records: Source,
    #[serde(default)]
    pub form: RecordForm,
    #[serde(default)]
    pub may_be_absent: bool,
    pub page: PageRule,
    /// Place of the number of contacts that the request gives, if its pages do not end by one.
    #[serde(default)]
    pub total: Option<Source>,
    /// Interval of requests for new contacts, in milliseconds.
    #[serde(default = "usual_poll", deserialize_with = "span")]
    pub poll: i64,
    /// Values of `{state}` with their meanings, for platforms with a call per state.
    #[serde(default)]
    pub states: BTreeMap<String, ContactState>,
    #[serde(default)]
    pub since: Option<SinceRules>,
    pub fields: FieldRules,
    /// Call for one contact; `None` if the platform has none.
    #[serde(default)]
    pub one: Option<OneContactRule>,
}

fn usual_poll() -> i64 {
    10 * 60_000
}

impl ContactsRule {
    /// Returns the rule for reading since a date, if the platform supports it.
    pub fn since(&self, kind: SinceKind) -> Option<&SinceRule> {
        let since = self.since.as_ref()?;
        match kind {
            SinceKind::Created => since.created.as_ref(),
            SinceKind::Updated => since.updated.as_ref(),
        }
    }

    /// Returns the place of a date.
    pub(crate) fn date(&self, kind: SinceKind) -> Option<&DateAt> {
        match kind {
            SinceKind::Created => self.fields.created.as_ref(),
            SinceKind::Updated => self.fields.updated.as_ref(),
        }
    }
}
