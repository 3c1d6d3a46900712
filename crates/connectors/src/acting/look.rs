//! Look at a contact before it is unsubscribed, deleted or corrected by its ID: the verdict is about an address, and since it was
//! read, a contact may have corrected its address, or have unsubscribed.

use serde_json::Value;

use super::{Acting, ActionOutcome, ActionTarget, Settled, Stage};
use crate::answer::{Fault, Judged};
use crate::file::{ActionKind, ContactState, MembershipRule, OneContactRule};
use crate::reading::state;
use crate::request::Response;
use crate::source::Found;

impl<'a> Acting<'a> {
    pub(super) fn one_rule(&self) -> Option<&'a OneContactRule> {
        self.file.contacts.as_ref()?.one.as_ref()
    }

    /// Returns the first contact of a call that still needs a look.
    pub(super) fn unseen(&self, group: &[usize]) -> Option<usize> {
        group.iter().copied().find(|index| !self.seen[*index])
    }

    /// Whether the last request reads a contact before the action.
    pub fn is_looking(&self) -> bool {
        self.stage == Stage::Look
    }

    /// Leaves out the contact about which the last request failed, and goes on with the others. Returns its
    /// index; `None` if the request was about no single contact.
    pub fn leave_out(&mut self, message: &str) -> Option<usize> {
        let group = self.group();
        let index = match (self.stage, &group[..]) {
            (Stage::Find(_) | Stage::Make(_), _) => None,
            (Stage::Look, group) => self.unseen(group),
            (_, [index]) => Some(*index),
            _ => None,
        }?;
        self.outcomes[index] = Some(ActionOutcome::Refused { message: message.to_owned() });
        self.restart();
        Some(index)
    }

    /// Halves the contacts of the next calls. Returns false if the last call was about one contact, or about none.
    pub fn narrow(&mut self) -> bool {
        let contacts = self.group().len();
        let is_batch = self.stage == Stage::Main && contacts > 1;
        if is_batch {
            self.width = contacts / 2;
        }
        is_batch
    }

    /// Returns whether a refusal is in doubt, and reads the contact next: the response to an earlier deletion may have been lost.
    /// The deletion itself is not repeated.
    pub(super) fn doubts(&mut self, index: usize, message: &str) -> bool {
        let is_open = self.stage == Stage::Main && self.order.kind == ActionKind::Delete;
        if !is_open || self.one_rule().is_none() {
            return false;
        }
        (self.doubted[index], self.seen[index]) = (Some(message.to_owned()), false);
        self.restart();
        true
    }

    /// Processes what the platform says of a contact now.
    pub(super) fn looked(
        &mut self,
        group: &[usize],
        judged: Result<Judged, Fault>,
        response: &Response,
    ) -> Result<Vec<Settled>, Fault> {
        let Some(index) = self.unseen(group) else { return Err(Fault::invalid("nothing was asked")) };
        let judged = match judged {
            Ok(judged) => judged,
            Err(fault) => return self.failed(&[index], fault),
        };
        let email = self.current_email(&judged, response)?;
        let found = Found { body: &judged.body, headers: &response.headers, key: None };
        let target = &self.order.targets[index];
        if let Some(outcome) = self.outcome_by(target, email.as_deref(), self.has_left(target, found)) {
            return Ok(self.settle(vec![Settled { index, outcome, before: None }]));
        }
        if let Some(message) = self.doubted[index].take() {
            return Ok(self.settle(vec![Settled { index, outcome: ActionOutcome::Refused { message }, before: None }]));
        }
        self.seen[index] = true;
        self.stage = self.begin();
        Ok(Vec::new())
    }

    /// Returns the contact's address; `None` if it has none now.
    pub(super) fn current_email(&self, judged: &Judged, response: &Response) -> Result<Option<String>, Fault> {
        let found = Found { body: &judged.body, headers: &response.headers, key: None };
        let record = self.one_rule().and_then(|one| one.record.within(found)).filter(|record| record.is_object());
        let record =
            record.ok_or_else(|| Fault::unreadable("the response has no contact where the connector expects it"))?;
        let found = Found { body: record, headers: &[], key: None };
        let Some(fields) = self.file.contacts.as_ref().map(|rule| &rule.fields) else { return Ok(None) };
        let email = fields.email.text(found);
        // A contact without an address has an ID. An error under the status of a success has neither.
        if email.is_none() && fields.id.text(found).is_none() {
            return Err(Fault::unreadable("the response has neither the contact's address nor its ID"));
        }
        Ok(email)
    }

    /// Returns whether a contact has unsubscribed or is archived: in the account, or in all lists that the action is about.
    fn has_left(&self, target: &ActionTarget, found: Found<'_>) -> bool {
        let Some((rule, one)) = self.file.contacts.as_ref().and_then(|rule| Some((rule, rule.one.as_ref()?))) else {
            return false;
        };
        let record = one.record.within(found).map(|body| Found { body, headers: &[], key: None });
        if let Some(ContactState::Unsubscribed | ContactState::Archived) = record.and_then(|found| state(rule, found)) {
            return true;
        }
        let lists = self.order.list.as_ref().map_or(&target.lists[..], std::slice::from_ref);
        !lists.is_empty() && one.lists.as_ref().is_some_and(|rule| lists.iter().all(|list| rule.has_left(list, found)))
    }

    /// Returns the outcome for a contact with this address; `None` if the action is to be performed.
    fn outcome_by(&self, target: &ActionTarget, email: Option<&str>, has_left: bool) -> Option<ActionOutcome> {
        let is = |wanted: &str| email.is_some_and(|email| email.trim().to_lowercase() == wanted.trim().to_lowercase());
        let suggestion = target.verdict.suggestion.as_deref();
        // The response to an earlier request may have been lost.
        if self.order.kind == ActionKind::Fix && suggestion.is_some_and(is) {
            return Some(ActionOutcome::Done { id: None });
        }
        if !is(&target.email) {
            return Some(ActionOutcome::Changed);
        }
        // It is as wanted, perhaps by an earlier request whose response was lost.
        let if_left =
            if self.order.kind == ActionKind::Unsubscribe { ActionOutcome::Gone } else { ActionOutcome::Changed };
        has_left.then_some(if_left)
    }
}

impl MembershipRule {
    fn has_left(&self, list: &str, found: Found<'_>) -> bool {
        let items = self.records.within(found).and_then(Value::as_array).into_iter().flatten();
        let mut items = items.map(|item| Found { body: item, headers: &[], key: None });
        let item = items.find(|item| self.id.text(*item).as_deref() == Some(list));
        item.and_then(|item| self.at.text(item)).is_some_and(|state| self.left.contains(&state))
    }
}
