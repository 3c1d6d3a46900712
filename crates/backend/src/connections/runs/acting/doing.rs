//! Sends the requests of a slice, grouped as the platform accepts them, and collects the outcome of each contact.

use std::collections::BTreeMap;

use probity_account::connections::{ConnectionSettings, ContactAction, tag_text};
use probity_connectors::{
    ActStep, Acting, ActionOrder, ActionOutcome, ActionTarget, ContactScope, ErrorClass, Fault, Request, Response,
    Settled,
};
use probity_store::connections::actions::ActionState;
use probity_store::connections::runs::RunWatch;
use serde_json::Value;

use super::settling::UnsettledActions;
use super::slice::{ContactPlan, DueContact, DueSlice, unusable};
use super::{Carried, DecidedSlice};
use crate::connections::CallFault;
use crate::connections::effects::kind_of;
use crate::connections::planning::settings_of;
use crate::connections::runs::account::RunAccount;
use crate::connections::runs::held::{HeldRun, RunStop};

/// Consecutive requests that the platform rejects as invalid, after which the run waits for a user.
const REJECTED_MAX: usize = 5;
/// Consecutive failed calls after which the contact of the next one is suspected, and others are tried.
const SUSPECTED_AFTER: i64 = 3;
/// Contacts suspected at a time. If more fail, the platform is at fault.
const SUSPECTS_MAX: usize = 4;
/// Outcomes settled at a time, unless fewer remain or they have waited for some time.
const SETTLED_MAX: usize = 20;

/// Properties that contacts of one request share: action, list, tag.
type GroupKey = (ContactAction, Option<String>, Option<String>);

pub(super) struct Doing<'a> {
    pub(super) held: &'a HeldRun<'a>,
    account: &'a RunAccount<'a>,
    slice: &'a DueSlice,
    /// State from which the plans were made.
    seen: &'a RunWatch,
    /// Whether that has changed since.
    has_changed: bool,
    /// IDs of tags and fields at the platform.
    memory: &'a mut BTreeMap<String, String>,
    unsettled: &'a mut UnsettledActions,
    /// Number of lists in which a contact still needs an action, by its index in the slice.
    open: BTreeMap<usize, usize>,
    rejected: Rejections,
    /// Contacts that the platform failed to handle several times. Whether it handles the next one shows what is to blame.
    suspects: Vec<Suspect>,
}

/// Contact that the platform may be unable to handle.
struct Suspect {
    /// Index in the slice.
    place: usize,
    fault: Fault,
    /// Whether it was to be read, and not changed.
    is_look: bool,
}

/// Consecutive requests that the platform rejected as invalid. Contacts may be readable where none can be changed, and the other way
/// round, so these are counted separately.
#[derive(Default)]
struct Rejections {
    looks: usize,
    acts: usize,
}

impl<'a> Doing<'a> {
    pub(super) fn new(held: &'a HeldRun<'a>, slice: &'a DecidedSlice<'a>, carried: &'a mut Carried) -> Self {
        let DecidedSlice { account, due: slice, seen, .. } = slice;
        let Carried { memory, unsettled } = carried;
        unsettled.begin_slice();
        let (open, rejected) = (BTreeMap::new(), Rejections::default());
        Self { held, account, slice, seen, has_changed: false, memory, unsettled, open, rejected, suspects: Vec::new() }
    }

    /// Performs all actions. Returns false if something has changed meanwhile.
    pub(super) async fn all(&mut self) -> Result<bool, RunStop> {
        self.settle_undone();
        let settings = settings_of(&self.held.run)?;
        for ((action, list, tag), places) in self.groups(&settings)? {
            let order = ActionOrder {
                kind: kind_of(action),
                list,
                tag,
                field: Some(settings.field.clone()),
                targets: Vec::new(),
            };
            self.group(order, places).await?;
            if self.has_changed {
                return Ok(false);
            }
        }
        match self.suspects.pop() {
            // No other contact has shown that the platform works.
            Some(Suspect { fault, .. }) => Err(RunStop::Call(fault, self.account.access.token_version)),
            None => Ok(true),
        }
    }

    /// Settles the contacts without an action.
    fn settle_undone(&mut self) {
        let now = self.held.now();
        for idx in &self.slice.missing {
            self.unsettled.add_missing(*idx, now);
        }
        for contact in &self.slice.contacts {
            let (state, message) = match &contact.plan {
                ContactPlan::Ignore(why) => (ActionState::Ignored, *why),
                ContactPlan::Gone => (ActionState::Gone, "another run has done it"),
                ContactPlan::Instead(action) => {
                    self.unsettled.replace(contact.action.idx, *action, now);
                    continue;
                }
                ContactPlan::Act | ContactPlan::Later => continue,
            };
            self.unsettled.close(contact, (state, Some(message.to_owned())), now);
        }
    }

    /// Groups the contacts that can share requests, as indexes in the slice.
    fn groups(&mut self, settings: &ConnectionSettings) -> Result<BTreeMap<GroupKey, Vec<usize>>, RunStop> {
        let mut groups: BTreeMap<GroupKey, Vec<usize>> = BTreeMap::new();
        // A list that the customer no longer selects is left alone.
        let now = &self.account.connection.settings.lists;
        let chosen = |list: &String| now.is_empty() || now.contains(list);
        for (place, contact) in self.slice.contacts.iter().enumerate() {
            if contact.plan != ContactPlan::Act {
                continue;
            }
            let action = contact.action.kind;
            let rule = self.account.access.file.actions.rule(kind_of(action));
            let by_list = rule.is_some_and(|rule| rule.scope == ContactScope::List);
            let tag = match action {
                ContactAction::UpdateTags => {
                    let text = tag_text(&settings.tag, contact.reason.status(), contact.reason);
                    Some(text.map_err(|_| unusable("the tag of a connection"))?)
                }
                _ => None,
            };
            let lists = if by_list && !contact.contact.lists.is_empty() {
                contact.contact.lists.iter().filter(|list| chosen(list)).cloned().map(Some).collect()
            } else {
                vec![None]
            };
            self.open.insert(place, lists.len());
            for list in lists {
                groups.entry((action, list, tag.clone())).or_default().push(place);
            }
        }
        Ok(groups)
    }

    /// Performs one action on contacts that can share requests.
    async fn group(&mut self, order: ActionOrder, mut places: Vec<usize>) -> Result<(), RunStop> {
        // A contact that is parked in one list is left alone in the others, too.
        places.retain(|place| self.open.contains_key(place));
        if places.is_empty() {
            return Ok(());
        }
        let targets = places.iter().map(|place| target(&self.slice.contacts[*place])).collect();
        let order = ActionOrder { targets, ..order };
        let (file, credentials) = (self.account.access.file, &self.account.access.credentials);
        let fault = match Acting::new(file, credentials, order, self.memory.clone()) {
            Ok(acting) => self.drive(acting, &mut places).await?,
            Err(fault) => Some(fault),
        };
        match fault {
            None => Ok(()),
            Some(fault) if fault.class == ErrorClass::Invalid => self.reject(&places, fault),
            Some(fault) => Err(RunStop::Call(fault, self.account.access.token_version)),
        }
    }

    /// Sends the requests of a machine. `places` keeps the contacts without an outcome. Returns the fault that stopped it,
    /// if any.
    async fn drive(&mut self, mut acting: Acting<'a>, places: &mut Vec<usize>) -> Result<Option<Fault>, RunStop> {
        let (held, account) = (self.held, self.account);
        let all = places.clone();
        let end = loop {
            let request = match acting.next(held.now()) {
                Ok(ActStep::Send(request)) => request,
                Ok(ActStep::Done) => break Ok(None),
                Err(fault) => break Ok(Some(fault)),
            };
            let (called, flushed) = self.flushing(call(held, account, self.seen, &request)).await;
            let Some(answer) = called? else {
                self.has_changed = true;
                break Ok(None);
            };
            let answered = match answer {
                Ok(response) => self.answer(&mut acting, &response, (&all, &mut *places)),
                Err(call) => {
                    Ok(self.suspect(&mut acting, call.fault(&account.access.file.provider.name), (&all, &mut *places)))
                }
            };
            match answered {
                Ok(None) => {}
                end => break end,
            }
            // After the response, which may report a change at the platform.
            flushed?;
        };
        // Contacts whose values fit no request have an outcome without a response.
        let outcomes = acting.outcomes().iter().enumerate();
        let silent = outcomes.filter_map(|(index, outcome)| {
            let is_open = places.contains(&all[index]);
            outcome.clone().filter(|_| is_open).map(|outcome| Settled { index, outcome, before: None })
        });
        let silent: Vec<Settled> = silent.collect();
        self.take(&all, places, silent);
        self.memory.clone_from(acting.memory());
        end
    }

    /// Processes a response. Returns the fault that stops the machine, if any: a contact that alone is rejected is left out.
    fn answer(
        &mut self,
        acting: &mut Acting<'_>,
        response: &Response,
        (all, places): (&[usize], &mut Vec<usize>),
    ) -> Result<Option<Fault>, RunStop> {
        let is_look = acting.is_looking();
        match acting.answer(response) {
            Ok(settled) => {
                if is_look {
                    self.rejected.looks = 0;
                }
                // What is looked up first may be allowed to credentials that may change nothing.
                let has_settled = !settled.is_empty();
                if has_settled {
                    self.held.succeed();
                }
                self.take(all, places, settled);
                if has_settled {
                    self.blame(is_look);
                }
                Ok(None)
            }
            Err(fault) if fault.class == ErrorClass::Invalid => match acting.leave_out(&fault.message) {
                Some(index) => {
                    places.retain(|place| *place != all[index]);
                    self.park(all[index], &fault.message);
                    let rejected = if is_look { &mut self.rejected.looks } else { &mut self.rejected.acts };
                    *rejected += 1;
                    if *rejected >= REJECTED_MAX { Err(RunStop::Unable(fault.message)) } else { Ok(None) }
                }
                None => Ok(Some(fault)),
            },
            Err(fault) => Ok(self.suspect(acting, fault, (all, places))),
        }
    }

    /// Processes a failure of the platform. If it is the one after which the run has waited several times, the contact is suspected, and
    /// the next one is tried. Returns the fault if it stops the machine.
    fn suspect(
        &mut self,
        acting: &mut Acting<'_>,
        fault: Fault,
        (all, places): (&[usize], &mut Vec<usize>),
    ) -> Option<Fault> {
        let held = self.held;
        let is_failure = matches!(fault.class, ErrorClass::Transient | ErrorClass::Unreadable);
        let is_repeated = held.failures() >= SUSPECTED_AFTER && held.run.fault.as_deref() == Some(&*fault.message);
        if !is_failure || !is_repeated || self.suspects.len() >= SUSPECTS_MAX {
            return Some(fault);
        }
        let is_look = acting.is_looking();
        let Some(index) = acting.leave_out(&fault.message) else {
            return if acting.narrow() { None } else { Some(fault) };
        };
        let place = all[index];
        places.retain(|other| *other != place);
        self.open.remove(&place);
        self.suspects.push(Suspect { place, fault, is_look });
        None
    }

    /// Gives up the suspected contacts, because the platform has read or changed another one.
    fn blame(&mut self, was_look: bool) {
        let (blamed, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.suspects).into_iter().partition(|one| one.is_look || !was_look);
        self.suspects = rest;
        for Suspect { place, fault, .. } in blamed {
            let end = (ActionState::Refused, Some(fault.message));
            self.unsettled.close(&self.slice.contacts[place], end, self.held.now());
        }
    }

    /// Processes a request about no single contact that is rejected as invalid, such as one for a tag. Contacts that share it are
    /// parked if they are few; otherwise the run waits for a user with them.
    fn reject(&mut self, places: &[usize], fault: Fault) -> Result<(), RunStop> {
        self.rejected.acts += places.len();
        if self.rejected.acts >= REJECTED_MAX {
            return Err(RunStop::Unable(fault.message));
        }
        for place in places {
            self.park(*place, &fault.message);
        }
        Ok(())
    }

    /// Makes a call, and settles earlier outcomes meanwhile: at once if they are many, otherwise when they have waited for some
    /// time. A call may wait long for its turn, and a run that ends would forget them.
    async fn flushing<T>(&mut self, call: impl Future<Output = T>) -> (T, Result<(), RunStop>) {
        let mut call = std::pin::pin!(call);
        if self.unsettled.len() < SETTLED_MAX {
            tokio::select! {
                biased;
                called = &mut call => return (called, Ok(())),
                () = self.unsettled.grown_old(self.held.now()) => {}
            }
        }
        tokio::join!(call, Box::pin(self.unsettled.flush(self.held)))
    }

    /// Collects the outcomes of contacts, given by their indexes in the order.
    fn take(&mut self, all: &[usize], places: &mut Vec<usize>, settled: Vec<Settled>) {
        if !settled.is_empty() {
            self.unsettled.arrived(self.held.now());
        }
        for Settled { index, outcome, before } in settled {
            let place = all[index];
            places.retain(|other| *other != place);
            self.rejected.acts = 0;
            let contact = &self.slice.contacts[place];
            let left = self.open.get_mut(&place).map_or(0, |open| {
                *open = open.saturating_sub(1);
                *open
            });
            let before = before.and_then(|before| serde_json::to_vec(&before).ok());
            self.unsettled.take(contact, outcome, before, left == 0);
        }
    }

    /// Leaves a contact to the operator: a fault of this program or of the connector file.
    fn park(&mut self, place: usize, message: &str) {
        tracing::error!(run = %self.held.run.id, fault = message, "a platform rejects an action as invalid");
        self.open.remove(&place);
        let contact = &self.slice.contacts[place];
        let end = (ActionState::Parked, Some(message.to_owned()));
        self.unsettled.close(contact, end, self.held.now());
    }
}

/// Sends a request once the limits allow it. Returns `None` if something has changed since `seen` was read.
async fn call(
    held: &HeldRun<'_>,
    account: &RunAccount<'_>,
    seen: &RunWatch,
    request: &Request,
) -> Result<Option<Result<Response, CallFault>>, RunStop> {
    let platforms = &held.runs.platforms;
    match platforms.turn(&account.access.budget, request).await {
        Ok(_) if !held.may_still(seen).await? => Ok(None),
        Ok(turn) => Ok(Some(platforms.send_in(turn, request).await)),
        Err(fault) => Ok(Some(Err(fault))),
    }
}

fn target(contact: &DueContact) -> ActionTarget {
    let facts = &contact.verdict;
    let value = Value::String(format!("{}: {}", facts.status, facts.reason));
    ActionTarget {
        id: contact.contact.id.clone(),
        email: contact.email.clone(),
        lists: contact.contact.lists.clone(),
        verdict: facts.clone(),
        value: Some(value),
    }
}

/// Maps an outcome to the state of an action, with the platform's message.
pub(super) fn state_of(outcome: ActionOutcome) -> (ActionState, Option<String>) {
    match outcome {
        ActionOutcome::Done { .. } => (ActionState::Done, None),
        ActionOutcome::Gone => (ActionState::Gone, None),
        ActionOutcome::Taken => (ActionState::Taken, None),
        ActionOutcome::Changed => (ActionState::Ignored, Some("changed at the platform".to_owned())),
        ActionOutcome::Refused { message } => (ActionState::Refused, Some(message)),
    }
}
