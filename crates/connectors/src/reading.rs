//! Reads lists and contacts, page by page.
//!
//! The state machine returns requests and receives responses; it has no socket and no clock. After every response its
//! position can be stored, and reading resumes there after a crash. A failed response changes nothing: the same request is
//! sent again. A page that cannot be read stops the run, so that a watermark never passes unread contacts.

mod contact;
mod position;
mod walk;

use std::collections::BTreeMap;

use probity_mail::time::Millis;

pub(crate) use contact::state;
pub use contact::{ContactRecord, ListRecord, ReadPage};
pub use position::{ContactsGoal, ReadGoal, ReadPosition, ReadSince};

use crate::answer::{AnswerJudge, Fault, RawRecord, records};
use crate::file::{
    ConnectorFile, ContactScope, ContactState, ContactsRule, PageRule, RecordForm, RequestRule, SinceRule,
};
use crate::request::{Credentials, Rendering, Request, Response, Values, next_address};
use crate::source::{Found, Source};
use crate::template::{PlaceholderFamily, Template};
use position::ReadStage;
pub(crate) use walk::{Advance, PageWalk};

/// Maximum number of lists of an account.
const LISTS_MAX: usize = 10_000;

/// Next step of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadStep {
    Send(Request),
    Done,
}

/// Reads the records of a goal.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    file: &'a ConnectorFile,
    credentials: &'a Credentials,
    position: ReadPosition,
}

/// Rules for one kind of record.
struct Section<'a> {
    request: &'a RequestRule,
    more: &'a BTreeMap<String, Template>,
    page: &'a PageRule,
    total: Option<&'a Source>,
    records: (&'a Source, RecordForm),
    may_be_absent: bool,
    id: &'a Source,
}

impl<'a> Reading<'a> {
    /// Starts reading. Fails if the platform does not list the records of the goal, or reads more than its lists.
    pub fn new(file: &'a ConnectorFile, credentials: &'a Credentials, goal: ReadGoal) -> Result<Self, Fault> {
        let (lists, contacts) = (file.lists.is_some(), file.contacts.as_ref());
        let can = match &goal {
            ReadGoal::Lists => lists,
            ReadGoal::Contacts(_) => contacts.is_some(),
        };
        if !can {
            return Err(Fault::invalid(format!("{} does not list them", file.provider.name)));
        }
        let by_list = contacts.is_some_and(|rule| rule.scope == ContactScope::List);
        if matches!(&goal, ReadGoal::Contacts(contacts) if !contacts.lists.is_empty()) && !by_list {
            let what = format!("lists are chosen, but all contacts of {} are read together", file.provider.name);
            return Err(Fault::invalid(what));
        }
        Ok(Self { file, credentials, position: ReadPosition::new(goal, by_list) })
    }

    /// Resumes at a stored position.
    pub fn resume(file: &'a ConnectorFile, credentials: &'a Credentials, position: ReadPosition) -> Self {
        Self { file, credentials, position }
    }

    /// Returns the current position.
    pub fn position(&self) -> &ReadPosition {
        &self.position
    }

    /// Returns the next step. Repeated calls return the same request.
    pub fn next(&mut self, now: Millis) -> Result<ReadStep, Fault> {
        let Some(section) = self.section()? else { return Ok(ReadStep::Done) };
        let rendering = Rendering { file: self.file, now };
        let mut values = self.values();
        let request = if let Some(url) = self.position.walk.next_url(section.page) {
            let base = rendering.base(&values)?;
            // Checked again, because the position may come from an older file.
            rendering.next_url(next_address(&base, url).map_err(Fault::unreadable)?, &values)?
        } else {
            self.position.walk.fill(section.page, &mut values);
            rendering.request(section.request, section.more, &values)?
        };
        self.position.asked = now.0;
        Ok(ReadStep::Send(request))
    }

    /// Processes the response to the last request.
    pub fn answer(&mut self, response: &Response) -> Result<ReadPage, Fault> {
        let Some(section) = self.section()? else { return Err(Fault::invalid("nothing was asked")) };
        let judge = AnswerJudge { file: self.file, credentials: self.credentials, first: &[], hidden: &[] };
        let body = judge.judge(response)?.body;
        let found = Found { body: &body, headers: &response.headers, key: None };
        let mut walk = self.position.walk.clone();
        let by_tree = matches!(section.records.1, RecordForm::Array | RecordForm::Map);
        if by_tree && !(body.is_object() || body.is_array()) {
            return Err(Fault::unreadable("the response is not JSON"));
        }
        let records = records(section.records, section.may_be_absent, found, &response.body)?;
        if records.is_empty() && section.may_be_absent && !section.page.has_count(found) {
            return Err(Fault::unreadable("the response has neither records nor their number"));
        }
        let base = self.base()?;
        let advance =
            Advance { page: section.page, total: section.total, found, records: &records, id: section.id, base: &base };
        let known = walk.known(&advance);
        let end = walk.seen() + (records.len() - known) as u64;
        let more = walk.advance(&advance)?;
        let back = end.saturating_sub(walk.seen());
        let (page, more) = self.take(&records[known..], &mut walk, more)?;
        self.position.count(&page, back);
        if more {
            self.position.walk = walk;
            self.position.keep(&page);
        } else {
            self.leave(&page)?;
        }
        Ok(page)
    }

    fn base(&self) -> Result<String, Fault> {
        let rendering = Rendering { file: self.file, now: Millis(0) };
        Ok(rendering.base(&Values::new(self.credentials))?)
    }

    /// Turns records into a page, and returns whether another page follows.
    fn take(&mut self, records: &[RawRecord<'_>], walk: &mut PageWalk, more: bool) -> Result<(ReadPage, bool), Fault> {
        if let ReadStage::Lists { .. } = self.position.stage {
            let Some(rule) = &self.file.lists else { return Ok((ReadPage::default(), false)) };
            return Ok((contact::lists(rule, records), more));
        }
        let Some(rule) = &self.file.contacts else { return Ok((ReadPage::default(), false)) };
        let kind = self.position.kind(rule);
        let mut page = contact::contacts(rule, records, self.position.list(), self.state(rule));
        let newest = page.contacts.iter().filter_map(|contact| contact.date(kind)).max();
        let more = match section_page(rule, self.since_rule()) {
            PageRule::Token { size, restart: Some(restart), .. } if more => walk.restart(*restart, *size, newest)?,
            _ => more,
        };
        // A date in the future would hide all contacts created until then.
        let newest = newest.map(|at| at.min(Millis(self.position.asked)));
        self.position.watermark = self.position.watermark.max(newest.map(|at| at.0));
        page.watermark = self.position.watermark.map(Millis);
        let is_older = |contact: &ContactRecord, at: Millis| contact.date(kind).is_some_and(|date| date < at);
        let stop = self.since_rule().is_some_and(|rule| rule.stop);
        let Some(at) = self.since_at().filter(|_| stop) else { return Ok((page, more)) };
        let before = page.contacts.len();
        page.contacts.retain(|contact| !is_older(contact, at));
        let all_newer = page.contacts.len() == before;
        Ok((page, more && all_newer))
    }

    /// Advances to the next state, list or stage.
    fn leave(&mut self, page: &ReadPage) -> Result<(), Fault> {
        let states = self.file.contacts.as_ref().map_or(0, |rule| self.states(rule).len());
        self.position.leave(page, states.max(1));
        if let ReadStage::Contacts { lists, .. } = &self.position.stage
            && lists.len() > LISTS_MAX
        {
            return Err(Fault::unreadable(format!("the account has more than {LISTS_MAX} lists")));
        }
        Ok(())
    }

    fn section(&self) -> Result<Option<Section<'a>>, Fault> {
        static NOTHING: BTreeMap<String, Template> = BTreeMap::new();
        let missing = || Fault::invalid("the connector's file no longer defines this");
        Ok(match &self.position.stage {
            ReadStage::Done => None,
            ReadStage::Lists { .. } => {
                let rule = self.file.lists.as_ref().ok_or_else(missing)?;
                let records = (&rule.records, rule.form);
                let (request, page, id, may_be_absent) = (&rule.request, &rule.page, &rule.id, rule.may_be_absent);
                Some(Section { request, more: &NOTHING, page, total: None, records, may_be_absent, id })
            }
            ReadStage::Contacts { .. } => {
                let rule = self.file.contacts.as_ref().ok_or_else(missing)?;
                let since = self.since_rule();
                let request = since.and_then(|since| since.request.as_ref()).unwrap_or(&rule.request);
                let (page, more) = (section_page(rule, since), since.map_or(&NOTHING, |since| &since.query));
                let (records, may_be_absent) = ((&rule.records, rule.form), rule.may_be_absent);
                let (total, id) = (rule.total.as_ref(), &rule.fields.id);
                Some(Section { request, more, page, total, records, may_be_absent, id })
            }
        })
    }

    /// Returns the rule for the goal's date; `None` if everything is read.
    fn since_rule(&self) -> Option<&'a SinceRule> {
        let rule = self.file.contacts.as_ref()?;
        rule.since(self.position.goal.since()?.kind)
    }

    /// Returns the date to request: the goal's, moved back by the overlap, or the date at which a new search started.
    fn since_at(&self) -> Option<Millis> {
        let overlap = self.file.contacts.as_ref()?.since.as_ref()?.overlap;
        self.since_rule()?;
        let by_goal = self.position.goal.since()?.at.saturating_sub(overlap).max(0);
        Some(Millis(self.position.walk.restarted_at().unwrap_or(by_goal)))
    }

    /// Returns the values of `{state}` to request, with their meanings.
    fn states(&self, rule: &'a ContactsRule) -> Vec<(&'a String, ContactState)> {
        let wanted = |state: ContactState| !self.position.goal.only_subscribed() || state == ContactState::Subscribed;
        rule.states.iter().map(|(name, state)| (name, *state)).filter(|(_, state)| wanted(*state)).collect()
    }

    fn state(&self, rule: &'a ContactsRule) -> Option<ContactState> {
        self.states(rule).get(self.position.state()).map(|(_, state)| *state)
    }

    fn values(&self) -> Values<'a> {
        let mut values = Values::new(self.credentials);
        if let Some(list) = self.position.list() {
            values.set(PlaceholderFamily::List, "id", list);
        }
        if let Some(rule) = &self.file.contacts
            && let Some((name, _)) = self.states(rule).get(self.position.state())
        {
            values.set(PlaceholderFamily::State, "", name.as_str());
        }
        if let Some(at) = self.since_at() {
            values.set(PlaceholderFamily::Since, "", at.0);
        }
        values
    }
}

fn section_page<'a>(rule: &'a ContactsRule, since: Option<&'a SinceRule>) -> &'a PageRule {
    since.and_then(|since| since.page.as_ref()).unwrap_or(&rule.page)
}
