//! Contacts of one call, and the meaning of a response for each.

use super::{Acting, ActionOutcome, Settled};
use crate::answer::{Fault, Judged, RawRecord, records};
use crate::file::{ErrorClass, PartialRule};
use crate::request::Response;
use crate::source::Found;

impl Acting<'_> {
    /// Returns the contacts of the next call: the first ones without an outcome.
    pub(super) fn group(&self) -> Vec<usize> {
        let open = self.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_none());
        open.map(|(index, _)| index).take(self.width).collect()
    }

    /// Returns the first contact of a call whose values do not fit into the request.
    pub(super) fn unfit(&self, group: &[usize]) -> usize {
        if let Some(unseen) = self.unseen(group) {
            return unseen;
        }
        let each = self.rule.batch.as_ref().map(|batch| &batch.each);
        let fails = |index: &&usize| each.is_some_and(|each| each.fill(&self.values(Some(**index))).is_err());
        group.iter().find(fails).copied().unwrap_or(group[0])
    }

    /// Settles a successful call, except for the contacts that the response reports as failed.
    pub(super) fn succeeded(&mut self, group: &[usize], judged: &Judged, response: &Response) -> Vec<Settled> {
        let found = Found { body: &judged.body, headers: &response.headers, key: None };
        let id = self.rule.id.as_ref().and_then(|at| at.text(found));
        let partial = self.rule.batch.as_ref().and_then(|batch| batch.partial.as_ref());
        // If no failures can be read, there are none: many platforms omit the member.
        let failed = partial
            .map(|rule| (rule, records((&rule.records, rule.form), true, found, &response.body).unwrap_or_default()));
        let outcome = |index: usize| match &failed {
            Some((rule, failed)) if failed.iter().any(|record| self.is_about(rule, record, index)) => {
                outcome_of(rule.class, "the platform reports a failure for this contact")
            }
            _ => ActionOutcome::Done { id: id.clone() },
        };
        let before = self.before.clone();
        let settled = |index: &usize| Settled { index: *index, outcome: outcome(*index), before: before.clone() };
        let settled = group.iter().map(settled).collect();
        self.width = self.rule.batch.as_ref().map_or(1, |batch| (self.width * 2).min(batch.max));
        self.settle(settled)
    }

    /// Settles a fault that is about contacts, and returns any other fault.
    pub(super) fn failed(&mut self, group: &[usize], fault: Fault) -> Result<Vec<Settled>, Fault> {
        let is_about_contacts =
            matches!(fault.class, ErrorClass::Gone | ErrorClass::Taken | ErrorClass::Refused | ErrorClass::Invalid);
        if group.len() > 1 && is_about_contacts {
            // Halves find a bad contact in few calls, where a call for each would use up a small limit.
            self.width = group.len() / 2;
            return Ok(Vec::new());
        }
        if !is_about_contacts || fault.class == ErrorClass::Invalid {
            return Err(fault);
        }
        if fault.class == ErrorClass::Refused && self.doubts(group[0], &fault.message) {
            return Ok(Vec::new());
        }
        let outcome = outcome_of(fault.class, &fault.message);
        Ok(self.settle(
            group.iter().map(|index| Settled { index: *index, outcome: outcome.clone(), before: None }).collect(),
        ))
    }

    pub(super) fn settle(&mut self, settled: Vec<Settled>) -> Vec<Settled> {
        for Settled { index, outcome, .. } in &settled {
            self.outcomes[*index] = Some(outcome.clone());
        }
        self.restart();
        settled
    }

    fn is_about(&self, rule: &PartialRule, record: &RawRecord<'_>, index: usize) -> bool {
        let found = record.found();
        let target = &self.order.targets[index];
        let failed = rule
            .failed
            .as_ref()
            .is_none_or(|failed| failed.at.text(found).is_some_and(|text| failed.is.contains(&text)));
        let by_id = rule.id.as_ref().is_some_and(|at| at.text(found).as_deref() == Some(target.id.as_str()));
        let by_email = rule
            .email
            .as_ref()
            .and_then(|at| at.text(found))
            .is_some_and(|email| email.eq_ignore_ascii_case(&target.email));
        failed && (by_id || by_email)
    }
}

fn outcome_of(class: ErrorClass, message: &str) -> ActionOutcome {
    match class {
        ErrorClass::Gone => ActionOutcome::Gone,
        ErrorClass::Taken => ActionOutcome::Taken,
        _ => ActionOutcome::Refused { message: message.to_owned() },
    }
}
