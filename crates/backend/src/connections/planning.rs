//! Plans actions when rows of a run are settled.
//!
//! Keyword rules and the platform's reports change the verdict of a row like suppression lists: the price stays. The plan
//! is written in the transaction that settles the row, so each contact with a verdict has one decision. Actions follow
//! later, after another check of the whitelist.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_access::secrets::Secrets;
use probity_account::connections::{ConnectionSettings, ContactAction, ContactStanding, JudgedContact, RuleSet};
use probity_connectors::{ActionKind, Catalog};
use probity_mail::address::{bare_address, names_one_address};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::connections::actions::{self, ActionDoubt, PlannedAction};
use probity_store::connections::changes::{self, FreshVerdict};
use probity_store::connections::contacts::{self, ContactReport};
use probity_store::connections::rules;
use probity_store::connections::runs::{self, ConnectionRun};
use probity_store::jobs::{JobNo, RowResult};
use probity_store::{Conn, OrgNo, StoreError, Tx, jobs};

use super::effects::{self, ContactEffect};
use crate::privacy::erasures;

/// Plan for the rows of a run.
#[derive(Clone)]
pub(crate) struct RunPlan {
    run: ConnectionRun,
    /// Whether a test key created the connection.
    test: bool,
    settings: Arc<ConnectionSettings>,
    /// Whether the platform can change addresses.
    can_fix: bool,
    /// Actions that the platform performs in each list separately.
    by_list: Vec<ContactAction>,
}

/// Known facts about the contacts of a part.
pub(crate) struct KnownContacts {
    rules: RuleSet,
    reports: BTreeMap<i64, ContactReport>,
}

pub(crate) struct SettledContact<'a> {
    pub(crate) email: &'a str,
    pub(crate) result: &'a RowResult,
    pub(crate) standing: ContactStanding,
    /// All findings that the organization does not ignore.
    pub(crate) findings: &'a [Reason],
}

/// Returns the settings stored with a run.
pub(crate) fn settings_of(run: &ConnectionRun) -> Result<ConnectionSettings, StoreError> {
    serde_json::from_str(&run.settings).map_err(|error| StoreError::Corrupt(error.into()))
}

/// Returns the current rules of a run's connection.
pub(crate) async fn rules_of(conn: &mut Conn, run: &ConnectionRun) -> Result<RuleSet, StoreError> {
    let stored = rules::all(conn, run.org, run.connection).await?;
    Ok(RuleSet::new(stored.iter().map(|stored| (stored.kind, &stored.rule))))
}

impl RunPlan {
    /// Returns the plan of a job; `None` if the job is not a run.
    pub(crate) async fn of_job(
        conn: &mut Conn,
        catalog: &Catalog,
        org: OrgNo,
        job: JobNo,
    ) -> Result<Option<Self>, StoreError> {
        let Some(run) = runs::by_job(conn, org, job).await? else { return Ok(None) };
        let job = jobs::by_no(conn, org, job).await?;
        let file = job.integration.as_deref().and_then(|name| catalog.get(name));
        let can_fix = file.is_some_and(|file| file.capabilities().has(ActionKind::Fix));
        let by_list = file.map(effects::by_list).unwrap_or_default();
        Ok(Some(Self { settings: Arc::new(settings_of(&run)?), can_fix, by_list, run, test: job.test }))
    }

    /// Returns the known facts about the contacts of these rows.
    pub(crate) async fn known(
        &self,
        conn: &mut Conn,
        rows: impl Iterator<Item = i64>,
    ) -> Result<KnownContacts, StoreError> {
        let reports = contacts::reports(conn, self.run.org, self.run.job, rows).await?;
        Ok(KnownContacts { rules: rules_of(conn, &self.run).await?, reports })
    }

    /// Plans the actions of rows settled in this transaction, and stores which verdicts changed. Contacts with the same address
    /// each get their own action, unless it is because of a report about one of them.
    pub(crate) async fn put<'a>(
        &self,
        tx: &mut Tx,
        secrets: &Secrets,
        settled: impl Iterator<Item = SettledContact<'a>>,
        now: Millis,
    ) -> Result<(), StoreError> {
        let (org, job) = (self.run.org, self.run.job);
        let (mut wanted, mut shared, mut fresh) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for contact in settled {
            let (idx, reason) = (contact.result.idx, contact.result.kind.reason);
            fresh.push(FreshVerdict { idx, tag: erasures::tag(secrets, org, contact.email), reason });
            let Some((kind, reason)) = self.action_on(&contact) else { continue };
            let (idx, result) = (contact.result.idx, contact.result);
            let is_unclear = reason == Reason::Invalid && kind.is_destructive() && !names_one_address(contact.email);
            let doubt = is_unclear.then_some(ActionDoubt::UnclearAddress);
            wanted.insert(idx, (PlannedAction { idx, kind, reason, verified_at: now, doubt }, result));
            if result.copies > 1 {
                shared.insert(idx, report_behind(&contact, reason));
            }
        }
        for (idx, first) in self.copies(tx, &shared).await? {
            let copy = wanted.get(&first).map(|(action, result)| (PlannedAction { idx, ..*action }, *result));
            wanted.extend(copy.map(|copy| (idx, copy)));
        }
        self.follow_marks(tx, secrets, &mut wanted).await?;
        let planned: Vec<PlannedAction> = wanted.into_values().map(|(action, _)| action).collect();
        actions::plan(tx, (org, job), self.run.connection, &planned).await?;
        changes::note(tx, (org, job, self.test), &fresh, now).await
    }

    /// Returns the rows that get the actions of these ones, whose addresses they have: each row, and the row that it repeats. If
    /// the platform's report about a contact is the reason of an action, another contact gets it only with the same report.
    async fn copies(
        &self,
        conn: &mut Conn,
        shared: &BTreeMap<i64, Option<ContactReport>>,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        let (org, job) = (self.run.org, self.run.job);
        let firsts: Vec<i64> = shared.keys().copied().collect();
        let mut copies = actions::copies(conn, org, job, &firsts).await?;
        if shared.values().any(Option::is_some) {
            let rows: Vec<i64> = copies.iter().map(|(idx, _)| *idx).collect();
            let own = contacts::reports(conn, org, job, rows.into_iter()).await?;
            copies.retain(|(idx, first)| match shared.get(first) {
                Some(Some(report)) => own.get(idx) == Some(report),
                _ => true,
            });
        }
        Ok(copies)
    }

    /// Drops actions that an earlier run has done, leaves those that somebody has reversed to a person, and plans what will replace a
    /// fix whose address is taken.
    async fn follow_marks(
        &self,
        conn: &mut Conn,
        secrets: &Secrets,
        wanted: &mut BTreeMap<i64, (PlannedAction, &RowResult)>,
    ) -> Result<(), StoreError> {
        let (org, job) = (self.run.org, self.run.job);
        let rows: Vec<i64> = wanted.keys().copied().collect();
        let marks = contacts::acted(conn, org, job, &rows).await?;
        if marks.is_empty() {
            return Ok(());
        }
        let rows: Vec<i64> = marks.keys().copied().collect();
        let known = contacts::contacts(conn, org, job, &rows).await?;
        let reports = contacts::reports(conn, org, job, rows.into_iter()).await?;
        wanted.retain(|idx, (action, result)| {
            let (Some(mark), Some(contact)) = (marks.get(idx), known.get(idx)) else { return true };
            let PlannedAction { kind, reason, .. } = *action;
            let effect_of = |kind| {
                let lists = if self.by_list.contains(&kind) { &contact.lists[..] } else { &[] };
                let (address, suggestion) = (mark.address, result.suggestion.as_deref());
                let effect = ContactEffect { kind, address, reason: result.kind.reason, suggestion, lists };
                effect.tag(secrets, self.run.connection, &self.settings)
            };
            let effect = effect_of(kind);
            let instead = self.settings.action_instead_of_fix(reason).filter(|action| action.is_destructive());
            match kind {
                ContactAction::Fix if effects::was_taken(mark, effect) => action.kind = instead.unwrap_or(kind),
                ContactAction::UpdateTags | ContactAction::UpdateCustomFields => {
                    return !effects::is_repetition(mark, kind, effect);
                }
                ContactAction::Unsubscribe if reports.contains_key(idx) => {
                    return !effects::is_repetition(mark, kind, effect);
                }
                // Whoever receives mail again was subscribed again, which is for a person to decide about.
                ContactAction::Unsubscribe | ContactAction::Delete if !reports.contains_key(idx) => {
                    let again = effects::subscribed_again(mark, effect_of(ContactAction::Unsubscribe));
                    action.doubt = action.doubt.or(again.map(ActionDoubt::SubscribedAgain));
                }
                _ => {}
            }
            true
        });
        Ok(())
    }

    fn action_on(&self, contact: &SettledContact<'_>) -> Option<(ContactAction, Reason)> {
        let SettledContact { result, standing, findings, .. } = contact;
        let may_be_fixed = self.can_fix && result.suggestion.is_some();
        let judged = JudgedContact { standing: *standing, reason: result.kind.reason, findings, may_be_fixed };
        self.settings.action_on(judged)
    }
}

/// Returns the platform's report that an action on a contact is because of, if it is. A suppression list may give the same reason,
/// which then decides the verdict.
fn report_behind(contact: &SettledContact<'_>, reason: Reason) -> Option<ContactReport> {
    let SettledContact { result, standing, .. } = contact;
    let report = match reason {
        Reason::Bounced if standing.bounced => ContactReport::Bounced,
        Reason::Complained if standing.complained => ContactReport::Complained,
        _ => return None,
    };
    let is_of_list = result.kind.reason == reason && !result.kind.rule.starts_with("connection.");
    (!is_of_list).then_some(report)
}

impl KnownContacts {
    /// Returns what rules and platform report about a row.
    pub(crate) fn standing(&self, idx: i64, email: &str) -> ContactStanding {
        let report = self.reports.get(&idx);
        ContactStanding {
            judgment: self.rules.judge(bare_address(email)),
            bounced: report == Some(&ContactReport::Bounced),
            complained: report == Some(&ContactReport::Complained),
        }
    }
}
