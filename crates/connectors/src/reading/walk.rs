//! Walk over pages: the cursor, its end, and protection against cycles.
//!
//! A repeated cursor would never end, and a repeated page would skip the records that follow. Both are faults.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use probity_mail::time::Millis;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Fault, RawRecord};
use crate::file::{PageEnd, PageRule};
use crate::request::{Values, next_address};
use crate::source::{Found, Source};
use crate::template::PlaceholderFamily;

/// Maximum number of pages per walk: 100 million contacts at 1,000 per page.
const PAGES_MAX: u32 = 100_000;
/// Records that a platform may give beyond the number that it stated: this share of it, and as many more.
const SURPLUS_SHARE: u64 = 10;
const SURPLUS: u64 = 1_000;
/// Maximum length of a cursor, in bytes.
const CURSOR_MAX: usize = 8192;
/// Maximum number of times that a walk steps back because records were removed; a platform's total may also fluctuate.
const RETURNS_MAX: u32 = 100;

/// State of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageWalk {
    pages: u32,
    seen: u64,
    /// Token, key or URL of the next page.
    cursor: Option<String>,
    /// Earlier cursor, stored to detect a cycle (Brent's algorithm: replaced after 1, 2, 4, ... pages).
    kept: Option<String>,
    kept_at: u32,
    /// Hash of the first and the last ID of the previous page. Some IDs are addresses, which a position must not contain.
    ends: Option<String>,
    /// Date at which a new search started.
    from: Option<i64>,
    since_restart: u64,
    /// Total number of records in the last response.
    #[serde(default)]
    total: Option<u64>,
    /// Records of the longest page, because some platforms silently send fewer than requested.
    #[serde(default)]
    longest: u64,
    /// Number of times that the walk stepped back.
    #[serde(default)]
    returns: u32,
    /// Whether the last page was empty although the total says that records follow.
    #[serde(default)]
    was_early: bool,
    /// Number of records that the platform stated first.
    #[serde(default)]
    stated: Option<u64>,
    /// Hash of the last ID of the previous page, if the next page begins with it.
    #[serde(default)]
    last: Option<String>,
}

/// Parts of a response that a walk needs.
pub(crate) struct Advance<'a> {
    pub page: &'a PageRule,
    /// Place of the number of records, if the pages do not end by one.
    pub total: Option<&'a Source>,
    pub found: Found<'a>,
    pub records: &'a [RawRecord<'a>],
    pub id: &'a Source,
    pub base: &'a str,
}

impl PageWalk {
    /// Sets the values of `{page.…}`. The first page has no token, and its key is `first`.
    pub(crate) fn fill(&self, page: &PageRule, values: &mut Values<'_>) {
        if let Some(size) = page.size() {
            values.set(PlaceholderFamily::Page, "size", size);
        }
        match page {
            PageRule::Offset { again, .. } => values.set(PlaceholderFamily::Page, "offset", self.offset(*again)),
            PageRule::Page { first, .. } => {
                values.set(PlaceholderFamily::Page, "number", u64::from(*first) + u64::from(self.pages));
            }
            PageRule::Token { .. } => {
                if let Some(token) = &self.cursor {
                    values.set(PlaceholderFamily::Page, "token", token.as_str());
                }
            }
            PageRule::Keyset { first, .. } => {
                values.set(PlaceholderFamily::Page, "key", self.cursor.as_deref().unwrap_or(first));
            }
            PageRule::None {} | PageRule::NextUrl { .. } => {}
        }
    }

    /// Returns the number of records read so far, without those that are read again.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the number of pages read so far.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the URL of the next page, if the platform sends one.
    pub(crate) fn next_url(&self, page: &PageRule) -> Option<&str> {
        if matches!(page, PageRule::NextUrl { .. }) { self.cursor.as_deref() } else { None }
    }

    pub(super) fn restarted_at(&self) -> Option<i64> {
        self.from
    }

    /// Processes a page, and returns whether another follows.
    pub(crate) fn advance(&mut self, answer: &Advance<'_>) -> Result<bool, Fault> {
        let count = answer.records.len() as u64;
        self.pages += 1;
        self.seen += count;
        self.since_restart += count;
        if self.pages > PAGES_MAX {
            return Err(Fault::unreadable(format!("too many pages; the maximum is {PAGES_MAX}")));
        }
        self.notice_total(answer)?;
        match answer.page {
            PageRule::None {} => Ok(false),
            PageRule::Offset { size, end, again: true } => {
                let known = self.known(answer);
                if known == 0 {
                    self.notice_page(answer)?;
                }
                let has_new = answer.records.len() > known;
                Ok(self.step(answer) || has_new && !self.is_last(end, *size, answer))
            }
            PageRule::Offset { size, end, .. } | PageRule::Page { size, end, .. } => {
                if self.ends_early(end, answer) {
                    self.pages -= 1;
                    return Ok(true);
                }
                self.notice_page(answer)?;
                let returns = self.go_back(end, answer);
                Ok(returns || count > 0 && !self.is_last(end, *size, answer))
            }
            PageRule::Token { at, more, .. } => {
                let ends = more.as_ref().is_some_and(|more| is_absent(more.value(answer.found).as_ref()));
                if ends { Ok(false) } else { self.follow(at.text(answer.found)) }
            }
            PageRule::NextUrl { at, .. } => {
                let next = at.text(answer.found).filter(|text| !text.is_empty());
                let next = next.map(|text| next_address(answer.base, &text).map_err(Fault::unreadable)).transpose()?;
                self.follow(next)
            }
            PageRule::Keyset { size, from, end, .. } => {
                if self.is_last(end, *size, answer) {
                    return Ok(false);
                }
                // Without its key, the remaining records would be lost silently.
                let key = answer.records.last().and_then(|record| from.text(record.found()));
                let key = key.ok_or_else(|| Fault::unreadable("the last record has no key from which to continue"))?;
                self.follow(Some(key))
            }
        }
    }

    /// Refuses records beyond the number that the platform stated: new pages would never end. Contacts are added while they are
    /// read, but not so many.
    fn notice_total(&mut self, answer: &Advance<'_>) -> Result<(), Fault> {
        let by_page = match answer.page {
            PageRule::Offset { end: PageEnd::Total(at), .. }
            | PageRule::Page { end: PageEnd::Total(at), .. }
            | PageRule::Keyset { end: PageEnd::Total(at), .. } => Some(at),
            _ => None,
        };
        let total = answer.total.or(by_page).and_then(|at| number(at, answer.found));
        self.stated = self.stated.or(total);
        match self.stated {
            Some(stated) if self.seen > stated.saturating_add(stated / SURPLUS_SHARE).saturating_add(SURPLUS) => {
                Err(Fault::unreadable(format!("the platform stated {stated} records, and its pages do not end")))
            }
            _ => Ok(()),
        }
    }

    /// Starts a new search at the newest date, before the platform's maximum number of hits is reached.
    pub(super) fn restart(&mut self, limit: u32, size: u32, newest: Option<Millis>) -> Result<bool, Fault> {
        if self.since_restart + u64::from(size) <= u64::from(limit) {
            return Ok(true);
        }
        let newest = newest.map(|at| at.0).filter(|at| self.from.is_none_or(|from| *at > from));
        let from = newest.ok_or_else(|| Fault::unreadable("too many contacts have the same date"))?;
        (self.from, self.cursor, self.kept, self.since_restart) = (Some(from), None, None, 0);
        Ok(true)
    }

    /// Returns the offset of the next page.
    fn offset(&self, again: bool) -> u64 {
        self.seen.saturating_sub(u64::from(again))
    }

    /// Returns the number of records at the start of a page that the previous page had.
    pub(super) fn known(&self, answer: &Advance<'_>) -> usize {
        let is_again = matches!(answer.page, PageRule::Offset { again: true, .. });
        usize::from(is_again && self.last.is_some() && self.last == hash_of(answer.records.first(), answer.id))
    }

    /// Counts the records of a page that begins with the last record of the previous one. If it does not, records moved:
    /// steps back by the longest page, and returns true.
    fn step(&mut self, answer: &Advance<'_>) -> bool {
        let count = answer.records.len() as u64;
        self.longest = self.longest.max(count);
        let start = self.seen.saturating_sub(count).saturating_sub(1);
        let has_moved = self.last.is_some() && self.known(answer) == 0;
        if has_moved && self.returns < RETURNS_MAX {
            self.returns += 1;
            (self.seen, self.last, self.ends) = (start.saturating_sub(self.longest), None, None);
            return true;
        }
        self.seen = start + count;
        self.last = hash_of(answer.records.last(), answer.id);
        false
    }

    /// Steps back by the number of records removed since the previous page, because others moved to positions already read.
    /// Returns whether it did.
    fn go_back(&mut self, end: &PageEnd, answer: &Advance<'_>) -> bool {
        let PageEnd::Total(at) = end else { return false };
        let Some(total) = number(at, answer.found) else { return false };
        let count = answer.records.len() as u64;
        let (pages, seen) = (self.pages - 1, self.seen - count);
        self.longest = self.longest.max(count);
        let left = self.total.replace(total).map_or(0, |before| before.saturating_sub(total));
        if left == 0 || seen == 0 || self.returns >= RETURNS_MAX {
            return false;
        }
        self.returns += 1;
        if matches!(answer.page, PageRule::Offset { .. }) {
            self.seen = seen.saturating_sub(left);
        } else {
            let back = u32::try_from(left.div_ceil(self.longest.max(1))).unwrap_or(pages);
            self.pages = pages.saturating_sub(back);
            self.seen = u64::from(self.pages) * self.longest;
        }
        true
    }

    /// Returns whether a page is empty although the total says that records follow, for the first time. It is asked for again,
    /// because a fault that passes must not end a reading before the last contacts. A second empty page is the end: some totals
    /// count records that are not listed.
    fn ends_early(&mut self, end: &PageEnd, answer: &Advance<'_>) -> bool {
        let PageEnd::Total(at) = end else { return false };
        let is_early = answer.records.is_empty() && number(at, answer.found).is_some_and(|total| total > self.seen);
        let is_first = is_early && !self.was_early;
        self.was_early = is_early;
        is_first
    }

    fn is_last(&self, end: &PageEnd, size: u32, answer: &Advance<'_>) -> bool {
        match end {
            PageEnd::Short => answer.records.len() < size as usize,
            PageEnd::Empty => answer.records.is_empty(),
            // Without the number, an empty page is the end.
            PageEnd::Total(at) => number(at, answer.found).is_some_and(|total| self.seen >= total),
            PageEnd::Pages(at) => number(at, answer.found).is_some_and(|pages| u64::from(self.pages) >= pages),
            PageEnd::More(at) => is_absent(at.value(answer.found).as_ref()),
        }
    }

    /// Refuses a repeated page: the platform ignores the parameter, so the walk would never end.
    fn notice_page(&mut self, answer: &Advance<'_>) -> Result<(), Fault> {
        let id = |record: Option<&RawRecord<'_>>| record.and_then(|record| answer.id.text(record.found()));
        let ends = id(answer.records.first()).zip(id(answer.records.last()));
        let ends = ends.map(|(first, last)| hashed(&format!("{first}\n{last}")));
        if ends.is_some() && ends == self.ends {
            return Err(Fault::unreadable("the platform repeats a page"));
        }
        self.ends = ends;
        Ok(())
    }

    /// Advances to a cursor, unless the cursor is repeated.
    fn follow(&mut self, cursor: Option<String>) -> Result<bool, Fault> {
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(false) };
        if cursor.len() > CURSOR_MAX {
            return Err(Fault::unreadable(format!("a cursor has more than {CURSOR_MAX} bytes")));
        }
        if self.cursor.as_ref() == Some(&cursor) || self.kept.as_ref() == Some(&cursor) {
            return Err(Fault::unreadable("a cursor comes again, so the pages would never end"));
        }
        if self.pages >= self.kept_at.saturating_mul(2).max(1) {
            (self.kept, self.kept_at) = (Some(cursor.clone()), self.pages);
        }
        self.cursor = Some(cursor);
        Ok(true)
    }
}

impl PageRule {
    /// Returns whether a response has the number that ends the pages; true if they end in another way.
    pub(super) fn has_count(&self, found: Found<'_>) -> bool {
        match self {
            Self::Offset { end, .. } | Self::Page { end, .. } | Self::Keyset { end, .. } => match end {
                PageEnd::Total(at) | PageEnd::Pages(at) => number(at, found).is_some(),
                PageEnd::Short | PageEnd::Empty | PageEnd::More(_) => true,
            },
            Self::None {} | Self::Token { .. } | Self::NextUrl { .. } => true,
        }
    }
}

fn hash_of(record: Option<&RawRecord<'_>>, id: &Source) -> Option<String> {
    id.text(record?.found()).map(|id| hashed(&id))
}

fn hashed(text: &str) -> String {
    BASE64_STANDARD.encode(digest(&SHA256, text.as_bytes()))
}

fn number(source: &Source, found: Found<'_>) -> Option<u64> {
    source.text(found).and_then(|text| text.trim().parse().ok())
}

/// Returns whether a value means that no page follows.
fn is_absent(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::String(text)) => text.is_empty() || text == "false",
        Some(_) => false,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
