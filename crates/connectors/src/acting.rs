//! Performs an action on contacts: ensures the tag or field that it needs, then sends one request per contact or per batch.
//!
//! Every request can be repeated if its response was lost. After a crash, the caller builds another machine for the
//! contacts without an outcome. A fault settles nothing: the caller waits or gives up, and `next` returns the same request.
//! A contact named by its ID may have another address by now, so it is read first, if the file says how. If a deletion is refused,
//! it is read too: some platforms refuse to delete a contact that is gone.
//! Requests that create something are preceded by a search on repetition, because many platforms would create a duplicate.
//! If a platform refuses a batch without naming a contact, each contact is sent separately.

mod evidence;
mod group;
mod look;
mod order;
mod replace;

use std::collections::BTreeMap;

use probity_mail::time::Millis;
use serde_json::Value;

pub use order::{ActionOrder, ActionOutcome, ActionTarget, Settled, VerdictFacts};

use crate::answer::{AnswerJudge, Fault, Judged, RawRecord, records};
use crate::file::{ActionRule, ConnectorFile, ContactScope, EnsureRule, ErrorClass, ErrorRule, FindRule, MakeRule};
use crate::reading::{Advance, PageWalk};
use crate::request::{Credentials, Rendering, Request, Response, Values, next_address};
use crate::source::Found;
use crate::template::PlaceholderFamily;
use evidence::Emptiness;

/// Maximum number of contacts per machine.
const TARGETS_MAX: usize = 10_000;
/// Maximum number of pages searched for a tag or a field.
const FIND_PAGES_MAX: u32 = 200;

/// Next step of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActStep {
    Send(Request),
    /// All contacts have an outcome.
    Done,
}

/// Stage of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Find(usize),
    Make(usize),
    /// Reads a contact, which may have changed.
    Look,
    Before(usize),
    Read,
    Main,
}

/// Performs one action on contacts.
#[derive(Clone)]
pub struct Acting<'a> {
    file: &'a ConnectorFile,
    credentials: &'a Credentials,
    rule: &'a ActionRule,
    order: ActionOrder,
    stage: Stage,
    /// Position of [`Stage::Find`].
    finding: PageWalk,
    /// Contacts per call; reduced to 1 if a batch fails.
    width: usize,
    outcomes: Vec<Option<ActionOutcome>>,
    /// Contacts that need no look, or had it.
    seen: Vec<bool>,
    /// Messages of refused deletions, which are in doubt until the contact has been read.
    doubted: Vec<Option<String>>,
    /// IDs of tags and fields that were found or created, by [`Acting::memory_key`].
    memory: BTreeMap<String, String>,
    /// Value read for a change, with the values to keep.
    replaced: Option<(Value, BTreeMap<String, Value>)>,
    /// Value before the change.
    before: Option<Value>,
    /// Whether a creating call was returned, so its response may have been lost.
    has_made: bool,
}

impl<'a> Acting<'a> {
    /// Starts an action. `memory` has the IDs that earlier machines of the same run found or created. Those of an earlier run may
    /// be of tags that somebody has deleted since.
    pub fn new(
        file: &'a ConnectorFile,
        credentials: &'a Credentials,
        order: ActionOrder,
        memory: BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        let rule = file.actions.rule(order.kind);
        let rule =
            rule.ok_or_else(|| Fault::invalid(format!("{} has no {}", file.provider.name, order.kind.name())))?;
        if rule.scope == ContactScope::List && order.list.is_none() {
            return Err(Fault::invalid("the action requires a list"));
        }
        order.check()?;
        if order.targets.len() > TARGETS_MAX {
            return Err(Fault::invalid(format!("at most {TARGETS_MAX} contacts at a time")));
        }
        let width = rule.batch.as_ref().map_or(1, |batch| batch.max);
        let outcomes = vec![None; order.targets.len()];
        let seen = vec![!file.looks_before(order.kind); order.targets.len()];
        let doubted = vec![None; order.targets.len()];
        let stage = Stage::Find(0);
        let finding = PageWalk::default();
        let mut acting = Self {
            file,
            credentials,
            rule,
            order,
            stage,
            finding,
            width,
            outcomes,
            seen,
            doubted,
            memory,
            replaced: None,
            before: None,
            has_made: false,
        };
        acting.stage = acting.after_ensured(0);
        Ok(acting)
    }

    /// Returns the IDs found or created, to be passed to the next machine.
    pub fn memory(&self) -> &BTreeMap<String, String> {
        &self.memory
    }

    /// Returns the outcomes, in the order of the contacts.
    pub fn outcomes(&self) -> &[Option<ActionOutcome>] {
        &self.outcomes
    }

    /// Returns the next step. Repeated calls return the same request with fresh tokens, except that a creating call is
    /// replaced by a search.
    pub fn next(&mut self, now: Millis) -> Result<ActStep, Fault> {
        if let Stage::Make(number) = self.stage
            && self.has_made
            && self.find_rule(number).is_some()
        {
            self.stage = Stage::Find(number);
            self.finding = PageWalk::default();
        }
        loop {
            let group = self.group();
            if group.is_empty() {
                return Ok(ActStep::Done);
            }
            let rendering = Rendering { file: self.file, now };
            match self.request(&rendering, &group) {
                Ok(request) => {
                    self.has_made = matches!(self.stage, Stage::Make(_));
                    return Ok(ActStep::Send(request));
                }
                // Only this contact's values do not fit into the request.
                Err(fault) if fault.class == ErrorClass::Refused && !self.ensures() => {
                    let unfit = self.unfit(&group);
                    self.outcomes[unfit] = Some(ActionOutcome::Refused { message: fault.message });
                    self.restart();
                }
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Processes the response to the last request, and returns the contacts that it settled.
    pub fn answer(&mut self, response: &Response) -> Result<Vec<Settled>, Fault> {
        let group = self.group();
        if group.is_empty() {
            return Err(Fault::invalid("nothing was asked"));
        }
        let judge = AnswerJudge { file: self.file, credentials: self.credentials, first: self.errors(), hidden: &[] };
        let judged = judge.judge(response);
        match self.stage {
            Stage::Find(number) => self.found(number, &judged?, response),
            Stage::Make(number) => self.made(number, judged, response),
            Stage::Look => self.looked(&group, judged, response),
            Stage::Before(number) => match judged {
                Err(fault) if fault.class != ErrorClass::Gone => self.failed(&group, fault),
                judged => {
                    if let Ok(judged) = &judged {
                        evidence::check(judged, response, Emptiness::Bodiless)?;
                    }
                    self.stage = self.after_before(number + 1);
                    Ok(Vec::new())
                }
            },
            Stage::Read => match judged {
                Ok(judged) => {
                    // The values that another response lacks would be lost with the write.
                    self.current_email(&judged, response)?;
                    self.replaced = Some(self.change(&judged.body, group[0])?);
                    self.before = self.old_value(&judged.body);
                    self.stage = Stage::Main;
                    Ok(Vec::new())
                }
                Err(fault) => self.failed(&group, fault),
            },
            Stage::Main => match judged {
                Ok(judged) => {
                    let may_be = if self.rule.bare { Emptiness::Empty } else { Emptiness::Forbidden };
                    evidence::check(&judged, response, may_be)?;
                    Ok(self.succeeded(&group, &judged, response))
                }
                Err(fault) => self.failed(&group, fault),
            },
        }
    }

    fn ensures(&self) -> bool {
        matches!(self.stage, Stage::Find(_) | Stage::Make(_))
    }

    /// Returns the error rules that precede those of the file.
    fn errors(&self) -> &'a [ErrorRule] {
        match self.stage {
            Stage::Find(_) => &[],
            Stage::Make(number) => {
                self.ensure_rule(number).and_then(|(_, rule)| rule.make.as_ref()).map_or(&[], |make| &make.errors)
            }
            Stage::Look => self.one_rule().map_or(&[], |one| &one.errors),
            Stage::Before(number) => self.rule.before.get(number).map_or(&[], |step| &step.errors),
            Stage::Read | Stage::Main => &self.rule.errors,
        }
    }

    fn request(&self, rendering: &Rendering<'_>, group: &[usize]) -> Result<Request, Fault> {
        let none = BTreeMap::new();
        let values = self.values(Some(group[0]));
        let missing = || Fault::invalid("the connector's file no longer defines this");
        let rule = match self.stage {
            Stage::Find(number) => {
                return self.find_request(rendering, self.find_rule(number).ok_or_else(missing)?, values);
            }
            Stage::Make(number) => &self.make_rule(number).ok_or_else(missing)?.request,
            Stage::Look => {
                let values = self.values(self.unseen(group));
                return Ok(rendering.request(&self.one_rule().ok_or_else(missing)?.request, &none, &values)?);
            }
            Stage::Before(number) => &self.rule.before.get(number).ok_or_else(missing)?.request,
            Stage::Read => &self.rule.replace.as_ref().ok_or_else(missing)?.read,
            Stage::Main => match &self.rule.batch {
                Some(batch) => {
                    let each: Vec<_> = group.iter().map(|index| self.values(Some(*index))).collect();
                    return Ok(rendering.batch(&self.rule.request, batch, (&self.values(None), &each))?);
                }
                None => &self.rule.request,
            },
        };
        Ok(rendering.request(rule, &none, &values)?)
    }

    fn ensure_rule(&self, number: usize) -> Option<(&'a String, &'a EnsureRule)> {
        self.file.ensure.get_key_value(self.rule.ensure.get(number)?)
    }

    fn find_rule(&self, number: usize) -> Option<&'a FindRule> {
        self.ensure_rule(number)?.1.find.as_ref()
    }

    fn make_rule(&self, number: usize) -> Option<&'a MakeRule> {
        self.ensure_rule(number)?.1.make.as_ref()
    }

    /// Returns the key under which an ensured ID is stored; fields of different lists have different keys.
    fn memory_key(&self, name: &str) -> String {
        let list = self.order.list.as_deref().filter(|_| self.rule.scope == ContactScope::List).unwrap_or_default();
        format!("{name}:{list}:{}", self.order.subject())
    }

    /// Returns the stage that ensures the first missing tag or field from `number` on, or the first call if none is
    /// missing.
    fn after_ensured(&self, number: usize) -> Stage {
        for number in number..self.rule.ensure.len() {
            if let Some((name, rule)) = self.ensure_rule(number)
                && !self.memory.contains_key(&self.memory_key(name))
            {
                return if rule.find.is_some() { Stage::Find(number) } else { Stage::Make(number) };
            }
        }
        self.begin()
    }

    /// Returns the first stage of the calls for the next contacts.
    fn begin(&self) -> Stage {
        if self.unseen(&self.group()).is_some() { Stage::Look } else { self.after_before(0) }
    }

    fn after_before(&self, number: usize) -> Stage {
        if number < self.rule.before.len() {
            Stage::Before(number)
        } else if self.rule.replace.is_some() && self.replaced.is_none() {
            Stage::Read
        } else {
            Stage::Main
        }
    }

    /// Starts the calls for the next contacts.
    fn restart(&mut self) {
        (self.replaced, self.before) = (None, None);
        self.stage = self.begin();
    }

    fn find_request(
        &self,
        rendering: &Rendering<'_>,
        rule: &FindRule,
        mut values: Values<'_>,
    ) -> Result<Request, Fault> {
        if let Some(url) = self.finding.next_url(&rule.page) {
            let url = next_address(&rendering.base(&values)?, url).map_err(Fault::unreadable)?;
            return Ok(rendering.next_url(url, &values)?);
        }
        self.finding.fill(&rule.page, &mut values);
        Ok(rendering.request(&rule.request, &BTreeMap::new(), &values)?)
    }

    fn found(&mut self, number: usize, judged: &Judged, response: &Response) -> Result<Vec<Settled>, Fault> {
        let (Some(rule), Some((name, _))) = (self.find_rule(number), self.ensure_rule(number)) else {
            return Ok(Vec::new());
        };
        let found = Found { body: &judged.body, headers: &response.headers, key: None };
        let wanted = rule.is.fill(&self.values(None), &|text| Ok(text.to_owned()))?.unwrap_or_default();
        let all = records((&rule.records, rule.form), false, found, &response.body)?;
        let is_it = |name: &String| name.to_lowercase() == wanted.to_lowercase();
        let known = all.iter().find(|record| rule.at.text(record.found()).as_ref().is_some_and(is_it));
        if let Some(id) = known.and_then(|record| rule.id.text(record.found())) {
            self.remember(number, name, id);
        } else if self.find_on(rule, &all, found)? {
            // Continue with the next page.
        } else if self.make_rule(number).is_some() {
            self.stage = Stage::Make(number);
        } else {
            return Err(Fault::invalid(format!("{} has no {name} of this name", self.file.provider.name)));
        }
        Ok(Vec::new())
    }

    /// Advances to the next page. Returns false if there is none.
    fn find_on(&mut self, rule: &FindRule, all: &[RawRecord<'_>], found: Found<'_>) -> Result<bool, Fault> {
        let base = Rendering { file: self.file, now: Millis(0) }.base(&self.values(None))?;
        let page = Advance { page: &rule.page, total: None, found, records: all, id: &rule.id, base: &base };
        let mut walk = self.finding.clone();
        let more = walk.advance(&page)?;
        if more && walk.pages() >= FIND_PAGES_MAX {
            // Creating it without a complete search could create a duplicate.
            return Err(Fault::unreadable(format!("not found on the first {FIND_PAGES_MAX} pages")));
        }
        self.finding = walk;
        Ok(more)
    }

    fn made(
        &mut self,
        number: usize,
        judged: Result<Judged, Fault>,
        response: &Response,
    ) -> Result<Vec<Settled>, Fault> {
        let (Some(rule), Some((name, _))) = (self.make_rule(number), self.ensure_rule(number)) else {
            return Ok(Vec::new());
        };
        let id = match (judged, &rule.id) {
            (Ok(judged), Some(at)) => {
                let found = Found { body: &judged.body, headers: &response.headers, key: None };
                at.text(found).ok_or_else(|| Fault::unreadable(format!("the created {name} has no ID")))?
            }
            (Ok(judged), None) => {
                evidence::check(&judged, response, Emptiness::Bodiless)?;
                self.order.subject().to_owned()
            }
            (Err(fault), None) if fault.class == ErrorClass::Gone => self.order.subject().to_owned(),
            (Err(fault), _) => return Err(fault),
        };
        self.remember(number, name, id);
        Ok(Vec::new())
    }

    fn remember(&mut self, number: usize, name: &str, id: String) {
        self.memory.insert(self.memory_key(name), id);
        self.finding = PageWalk::default();
        self.stage = self.after_ensured(number + 1);
    }

    fn values(&self, index: Option<usize>) -> Values<'a> {
        let mut values = Values::new(self.credentials);
        self.order.fill(index, &mut values);
        for name in &self.rule.ensure {
            if let Some(id) = self.memory.get(&self.memory_key(name)) {
                values.set(PlaceholderFamily::Ensured, name, id.as_str());
            }
        }
        if let Some((replaced, kept)) = &self.replaced {
            values.set(PlaceholderFamily::Replaced, "", replaced.clone());
            for (name, value) in kept {
                values.set(PlaceholderFamily::Read, name, value.clone());
            }
        }
        values
    }
}

#[cfg(test)]
mod tests;
