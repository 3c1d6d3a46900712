//! Final checks before an action: rules, settings, other runs, and the age of the verdict.

use futures_util::future::join_all;
use probity_account::connections::{ConnectionSettings, ContactAction, RuleKind};
use probity_mail::address::bare_address;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::connections::contacts::{self, DoneBefore};
use probity_store::connections::{actions, connection};
use probity_store::{ScopedFutureExt as _, work};

use super::slice::{ContactPlan, DueContact, DueSlice};
use crate::connections::effects::was_taken;
use crate::connections::planning::{rules_of, settings_of};
use crate::connections::runs::account::RunAccount;
use crate::connections::runs::held::{HeldRun, RunStop};
use crate::connections::runs::second_look::{self, SecondLook};
use crate::privacy::erasures;

/// Addresses verified concurrently.
const AT_ONCE: usize = 8;
/// Actions go by the contact's ID, and would apply to an address without a verdict.
const OTHER_ADDRESS: &str = "the contact has another address now";

impl DueSlice {
    /// Decides what to do with each contact.
    pub(super) async fn decide(&mut self, held: &HeldRun<'_>, account: &RunAccount<'_>) -> Result<(), RunStop> {
        self.follow_rules(held, account).await?;
        self.follow_settings(&account.connection.settings, &settings_of(&held.run)?);
        self.follow_marks(held, &account.connection.settings).await?;
        self.follow_other_connections(held).await?;
        self.look_again(held).await
    }

    /// Applies the current rules, because a contact may have been whitelisted since the settlement.
    async fn follow_rules(&mut self, held: &HeldRun<'_>, account: &RunAccount<'_>) -> Result<(), RunStop> {
        let has_rules = account.connection.blacklist_count + account.connection.whitelist_count > 0;
        let is_by_rule = |contact: &DueContact| contact.action.reason == Reason::Blacklisted;
        if !has_rules && !self.contacts.iter().any(is_by_rule) {
            return Ok(());
        }
        let rules = rules_of(&mut held.runs.store.read().await?, &held.run).await?;
        for contact in &mut self.contacts {
            match rules.judge(bare_address(&contact.email)) {
                Some(RuleKind::Whitelist) => contact.plan = ContactPlan::Ignore("a whitelist rule matches it"),
                None if is_by_rule(contact) => {
                    contact.plan = ContactPlan::Ignore("no blacklist rule matches it any longer");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Skips actions that the current settings no longer request. Actions that they newly request need another run, which then has
    /// the tag and the field of these settings.
    fn follow_settings(&mut self, settings: &ConnectionSettings, planned_by: &ConnectionSettings) {
        for contact in self.contacts.iter_mut().filter(|contact| contact.plan == ContactPlan::Act) {
            let lists = &contact.contact.lists;
            let is_chosen =
                settings.lists.is_empty() || lists.is_empty() || lists.iter().any(|list| settings.lists.contains(list));
            if !is_chosen || !settings.still_ask_for(contact.action.kind, contact.action.reason, planned_by) {
                contact.plan = ContactPlan::Ignore("the settings of the connection no longer ask for it");
            }
        }
    }

    /// Skips contacts on which another run has acted, or which have another address, since they were read.
    async fn follow_marks(&mut self, held: &HeldRun<'_>, settings: &ConnectionSettings) -> Result<(), RunStop> {
        let (org, connection) = (held.run.org, held.run.connection);
        let marks = self.contacts.iter().map(|contact| contact.mark);
        let marks = contacts::marks(&mut held.runs.store.read().await?, org, connection, marks).await?;
        for contact in self.contacts.iter_mut().filter(|contact| contact.plan == ContactPlan::Act) {
            let Some(mark) = marks.get(&contact.mark) else { continue };
            let is_other = mark.address != erasures::tag(&held.runs.secrets, org, &contact.email);
            let done = mark.done.filter(|(_, at)| *at >= contact.action.verified_at).map(|(done, _)| done);
            let is_fix = contact.action.kind == ContactAction::Fix;
            contact.plan = match done {
                Some(DoneBefore::Done(ContactAction::Delete)) => ContactPlan::Gone,
                // Another tag, or another value, is another effect.
                Some(DoneBefore::Done(kind))
                    if kind == contact.action.kind
                        && (kind.is_destructive() || mark.effect == Some(contact.effect)) =>
                {
                    ContactPlan::Gone
                }
                Some(DoneBefore::Done(ContactAction::Fix)) => ContactPlan::Ignore(OTHER_ADDRESS),
                _ if is_other => ContactPlan::Ignore(OTHER_ADDRESS),
                _ if is_fix && mark.job == held.run.job && was_taken(mark, contact.effect) => {
                    match settings.action_instead_of_fix(contact.action.reason) {
                        Some(instead) if instead.is_destructive() => ContactPlan::Instead(instead),
                        _ => ContactPlan::Act,
                    }
                }
                _ => ContactPlan::Act,
            };
        }
        Ok(())
    }

    /// Skips contacts that other connections to the same account have deleted, corrected or read with another address since.
    /// They may have other lists, so it does not matter here whether they have unsubscribed or tagged a contact.
    async fn follow_other_connections(&mut self, held: &HeldRun<'_>) -> Result<(), RunStop> {
        let HeldRun { run, runs, .. } = held;
        let mut conn = runs.store.read().await?;
        for other in connection::others_of_account(&mut conn, run.org, &run.account_tag, run.connection).await? {
            let mark_of = |contact: &DueContact| runs.secrets.contact_mark(run.org, other, &contact.contact.id);
            let marks = contacts::marks(&mut conn, run.org, other, self.contacts.iter().map(mark_of)).await?;
            for contact in self.contacts.iter_mut().filter(|contact| contact.plan == ContactPlan::Act) {
                let Some(mark) = marks.get(&mark_of(contact)) else { continue };
                let verified_at = contact.action.verified_at;
                let is_later = mark.seen_at >= verified_at;
                let is_other = mark.address != erasures::tag(&runs.secrets, run.org, &contact.email);
                contact.plan = match mark.done.filter(|(_, at)| *at >= verified_at) {
                    Some((DoneBefore::Done(ContactAction::Delete), _)) => ContactPlan::Gone,
                    Some((DoneBefore::Done(ContactAction::Fix), _)) => ContactPlan::Ignore(OTHER_ADDRESS),
                    _ if is_later && is_other => ContactPlan::Ignore(OTHER_ADDRESS),
                    _ => ContactPlan::Act,
                };
            }
        }
        Ok(())
    }

    /// Confirms verdicts that are older than 1 day before actions that cannot be undone.
    async fn look_again(&mut self, held: &HeldRun<'_>) -> Result<(), RunStop> {
        let now = held.now();
        let old = self.contacts.iter().filter(|contact| contact.plan == ContactPlan::Act);
        let old: Vec<&DueContact> = old.filter(|contact| second_look::is_due(&contact.action, now)).collect();
        if old.is_empty() {
            return Ok(());
        }
        let may_ask = held.test || held.runs.presence.may_ask(now);
        let mut looks = Vec::with_capacity(old.len());
        for part in old.chunks(AT_ONCE) {
            let looked = join_all(part.iter().map(|contact| look_at(held, contact, may_ask))).await;
            looks.extend(part.iter().map(|contact| contact.action.idx).zip(looked));
        }
        let rows = |wanted: fn(&SecondLook) -> bool| -> Vec<i64> {
            looks.iter().filter(|(_, look)| wanted(look)).map(|(idx, _)| *idx).collect()
        };
        note(held, &rows(|look| matches!(look, SecondLook::Holds)), now).await?;
        if may_ask {
            note_tried(held, &rows(|look| matches!(look, SecondLook::Later))).await?;
        }
        for contact in &mut self.contacts {
            match looks.iter().find(|(idx, _)| *idx == contact.action.idx) {
                Some((_, SecondLook::Differs(why))) => contact.plan = ContactPlan::Ignore(why),
                Some((_, SecondLook::Later)) => contact.plan = ContactPlan::Later,
                Some((_, SecondLook::Holds)) | None => {}
            }
        }
        Ok(())
    }
}

async fn look_at(held: &HeldRun<'_>, contact: &DueContact, may_ask: bool) -> SecondLook {
    let DueContact { action, email, suggestion, .. } = contact;
    if may_ask { second_look::look(held, action, email, suggestion.as_deref()).await } else { SecondLook::Later }
}

async fn note(held: &HeldRun<'_>, rows: &[i64], now: Millis) -> Result<(), RunStop> {
    let (org, job) = (held.run.org, held.run.job);
    let noted = held.runs.store.write(work!(|tx| {
        for idx in rows {
            actions::checked(tx, org, job, *idx, now).await?;
        }
        Ok(())
    }));
    Ok(noted.await?)
}

async fn note_tried(held: &HeldRun<'_>, rows: &[i64]) -> Result<(), RunStop> {
    let (org, job) = (held.run.org, held.run.job);
    Ok(held.runs.store.write(|tx| actions::tried(tx, org, job, rows).scope_boxed()).await?)
}
