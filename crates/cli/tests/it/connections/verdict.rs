//! Invariants at the end of a drill.

use std::collections::{BTreeMap, BTreeSet};

use probity_connectors::{Catalog, ContactScope};
use probity_espworld::{EspContact, EspEffect, EspEffectKind, EspFault, EspRecord, EspState, judge};
use serde_json::Value;

use super::drill::Drill;
use super::drill_settings::Meanwhile;
use super::slips::is_nobody;
use crate::serve::bench::client::Client;
use crate::serve::bench::node::Node;

/// Calls over a limit that a busy machine may delay by more than the margin, which is 50 ms for a limit per second.
const DELAYED_MAX: usize = 2;

pub(super) struct Verdict<'a> {
    drill: &'a Drill,
    pub(super) run: Value,
    pub(super) rows: Vec<Value>,
    /// Contacts that were added while the run read.
    late: BTreeMap<u32, String>,
}

impl<'a> Verdict<'a> {
    pub(super) fn of(drill: &'a Drill, node: &Node) -> Self {
        let id = drill.run.rsplit('/').next().unwrap().to_owned();
        Self::over(drill, node, &[id])
    }

    /// Returns the verdict over the rows of several runs.
    pub(super) fn over(drill: &'a Drill, node: &Node, runs: &[String]) -> Self {
        let mut client = node.client(&drill.key);
        let run = client.get(&drill.run).unwrap().json();
        let mut late = drill.world.account(|account| account.added().clone());
        let came = |effect: &EspEffect| effect.call == 0 && effect.kind == EspEffectKind::Added;
        let came: BTreeSet<_> = drill.world.effects().iter().filter(|one| came(one)).map(|one| one.contact).collect();
        late.retain(|number, _| came.contains(&Some(*number)));
        let rows = runs.iter().flat_map(|id| rows_of(&mut client, id)).collect();
        Self { drill, run, rows, late }
    }

    pub(super) fn check(&self) {
        self.everybody_is_in_the_result_once();
        self.nothing_was_done_twice_or_without_leave();
        self.only_misspelled_addresses_were_corrected();
        self.the_platform_is_as_the_rows_say();
    }

    /// Checks all runs of a connection that verifies new contacts automatically.
    pub(super) fn check_polled(&self) {
        self.everybody_is_verified_once();
        self.nothing_was_done_twice_or_without_leave();
        let unshown = self.unshown();
        assert!(unshown.is_empty(), "{unshown:?} were touched and are not shown so");
    }

    pub(super) fn report(&self) {
        let (Drill { world, settings, spared, .. }, ledger) = (self.drill, self.drill.world.ledger());
        println!(
            "{} {:?} {:?}: {} rows, {} calls, {} faults, {} touched, {} spared, {}",
            settings.action,
            settings.vendor,
            settings.meanwhile,
            self.rows.len(),
            ledger.total(),
            ledger.faults(),
            judge::touched(&world.effects()).len(),
            spared.len(),
            self.run["actions"],
        );
    }

    fn everybody_is_in_the_result_once(&self) {
        let others = self.count_rows();
        let late: BTreeSet<&String> = self.late.values().collect();
        assert!(others.iter().all(|(email, count)| late.contains(email) && *count == 1), "{others:?}");
        assert_eq!(self.run["rows"].as_u64(), Some(self.rows.len() as u64));
    }

    fn everybody_is_verified_once(&self) {
        let others = self.count_rows();
        let late: BTreeMap<String, usize> = self.late.values().map(|email| (email.clone(), 1)).collect();
        assert_eq!(others, late);
    }

    /// Asserts that the rows contain all initial contacts once; returns the numbers of the others.
    fn count_rows(&self) -> BTreeMap<String, usize> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for row in &self.rows {
            *counts.entry(email_of(row)).or_default() += 1;
        }
        let left = [EspState::Unsubscribed, EspState::Archived];
        for one in self.drill.contacts.iter().filter(|one| !left.contains(&one.state)) {
            let count = counts.remove(&one.email).unwrap_or(0);
            assert_eq!(count, self.ids(one), "{} is in the result {count} times: {:#}", one.number, self.run);
        }
        counts
    }

    /// Returns the number of IDs of a contact at the platform: some assign one per list.
    fn ids(&self, one: &EspContact) -> usize {
        let Drill { world, .. } = self.drill;
        let file = Catalog::embedded().get(world.vendor().slug()).unwrap();
        if file.contacts.as_ref().unwrap().scope == ContactScope::Account {
            return 1;
        }
        let ids = one.lists.keys().map(|list| world.contact_id(one, Some(*list)));
        ids.collect::<BTreeSet<_>>().len()
    }

    fn nothing_was_done_twice_or_without_leave(&self) {
        let Drill { world, .. } = self.drill;
        let effects = world.effects();
        assert_eq!(judge::doubled(&effects), []);
        let excesses = judge::excesses(world);
        assert!(excesses <= DELAYED_MAX, "{excesses} calls over a limit of {:?}", world.vendor());
        // A node killed after a response has used the stored cursor.
        let after_kill = |blame: &String| blame.ends_with("was used before");
        let malformed: Vec<_> = judge::malformed(world).into_iter().filter(|blame| !after_kill(blame)).collect();
        assert_eq!(malformed, Vec::<String>::new());
        let allowed: BTreeSet<u32> = self.allowed().collect();
        let strayed = judge::strayed(&effects, |effect| effect.contact.is_none_or(|number| allowed.contains(&number)));
        assert_eq!(strayed, [], "{:?}", self.drill.spared);
    }

    /// Returns contacts that may be acted on: their address has no mailbox, or a platform reports a bounce. A contact with a
    /// changed address is acted on only if the platform is not read first.
    fn allowed(&self) -> impl Iterator<Item = u32> {
        let Drill { contacts, reported, spared, corrected, settings, .. } = self.drill;
        let has_no_look = move |number| settings.action.starts_with("update_") && self.right(number).is_none();
        let may = move |one: &&EspContact| {
            (is_nobody(&one.email) || reported.contains(&one.email))
                && !spared.contains(&one.email)
                && (has_no_look(one.number) || !corrected.contains(&one.number))
        };
        let late = self.late.iter().filter(|(_, email)| is_nobody(email)).map(|(number, _)| *number);
        contacts.iter().filter(may).map(|one| one.number).chain(late)
    }

    /// Returns the address to which a contact's address is to be corrected.
    fn right(&self, number: u32) -> Option<&'a String> {
        self.drill.slips.get(&number)?.as_ref().filter(|_| self.drill.settings.fixes)
    }

    /// Returns the address of a contact at the start of the run, or when it was added.
    fn email(&self, number: u32) -> Option<&String> {
        let known = self.drill.contacts.iter().find(|one| one.number == number).map(|one| &one.email);
        known.or_else(|| self.late.get(&number))
    }

    /// Returns the addresses of rows that show the action.
    fn done(&self) -> BTreeSet<String> {
        self.showing(match self.drill.settings.action {
            "unsubscribe" => "unsubscribed",
            "delete" => "deleted",
            "update_tags" => "tagged",
            _ => "updated",
        })
    }

    /// Returns the addresses of rows that show a change.
    fn showing(&self, change: &str) -> BTreeSet<String> {
        self.rows.iter().filter(|row| row[change] == true).map(email_of).collect()
    }

    /// Returns contacts that were changed without being shown so. If a user ends a run whose last response was lost, or forgotten
    /// by a killed service, its outcome is never read again.
    pub(super) fn unshown(&self) -> Vec<u32> {
        let Drill { world, settings, forgotten, .. } = self.drill;
        let is_lost =
            |call: &&EspRecord| matches!(call.fault, Some(EspFault::LostReply | EspFault::Cut | EspFault::Empty));
        let lost: BTreeSet<usize> = if settings.meanwhile == Meanwhile::Nothing {
            BTreeSet::new()
        } else {
            let lost = world.ledger().calls().iter().filter(is_lost).map(|call| call.number).collect();
            forgotten.union(&lost).copied().collect()
        };
        let is_known = |effect: &EspEffect| !lost.contains(&effect.call) && !is_prepared(effect);
        let known: Vec<_> = world.effects().into_iter().filter(is_known).collect();
        let (done, fixed) = (self.done(), self.showing("fixed"));
        let is_shown = |number: &u32| {
            let shown = if self.right(*number).is_some() { &fixed } else { &done };
            self.email(*number).is_some_and(|email| shown.contains(email))
        };
        judge::touched(&known).into_iter().filter(|number| !is_shown(number)).collect()
    }

    /// Asserts that misspelled addresses are corrected to right ones that exist, and that nothing else is done to their contacts.
    fn only_misspelled_addresses_were_corrected(&self) {
        let Drill { world, contacts, .. } = self.drill;
        let is_asked = |effect: &EspEffect| match (&effect.kind, effect.contact.and_then(|number| self.right(number))) {
            (EspEffectKind::Readdressed(to), right) => right == Some(to),
            (_, right) => right.is_none() || is_prepared(effect),
        };
        assert_eq!(judge::strayed(&world.effects(), is_asked), []);
        let fixed = self.showing("fixed");
        for one in contacts.iter().filter(|one| fixed.contains(&one.email)) {
            let now = world.account(|account| account.contact(one.number)).map(|now| now.email);
            assert_eq!(now.as_ref(), self.right(one.number), "{} is shown as corrected", one.number);
        }
    }

    fn the_platform_is_as_the_rows_say(&self) {
        let Drill { world, settings, .. } = self.drill;
        let (done, touched, unshown) = (self.done(), judge::touched(&world.effects()), self.unshown());
        assert!(unshown.is_empty(), "{unshown:?} were touched and are not shown so: {:#}", self.run);
        for one in self.drill.contacts.iter().filter(|one| done.contains(&one.email)) {
            let is_gone = world.account(|account| account.contact(one.number)).is_none();
            // To a platform that finds contacts by address, a contact with a changed address has left.
            let has_left = one.state != EspState::Subscribed || self.drill.corrected.contains(&one.number);
            assert!(touched.contains(&one.number) || is_gone || has_left, "{} is shown as done", one.number);
        }
        if settings.meanwhile == Meanwhile::Nothing {
            assert_eq!(self.run["state"], "finished", "{:#}", self.run);
            let Drill { spared, removed, corrected, .. } = self.drill;
            let changed: Vec<_> = removed.iter().chain(corrected).filter_map(|number| self.email(*number)).collect();
            let is_spared = |one: &String| spared.contains(one) || changed.contains(&one);
            let fixed = self.showing("fixed");
            let is_left = |one: &&EspContact| {
                let shown = if self.right(one.number).is_some() { &fixed } else { &done };
                !is_spared(&one.email) && !shown.contains(&one.email)
            };
            let left: Vec<_> = self.drill.doomed().filter(is_left).map(|one| &one.email).collect();
            assert!(left.is_empty(), "not done: {left:?} {:#}", self.run);
        }
    }
}

/// Returns whether a correction is only prepared: Mailman registers and verifies the new address first.
fn is_prepared(effect: &EspEffect) -> bool {
    matches!(&effect.kind, EspEffectKind::Written(name, _) if name.starts_with('('))
}

/// Returns all rows of a run.
pub(super) fn rows_of(client: &mut Client, id: &str) -> Vec<Value> {
    let (mut rows, mut next) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/batch-verify/{id}/results?per_page=1000{next}")).unwrap().json();
        rows.extend(page["data"].as_array().unwrap_or_else(|| panic!("{page}")).iter().cloned());
        match page["pagination"]["next_cursor"].as_str() {
            Some(cursor) => next = format!("&next={cursor}"),
            None => return rows,
        }
    }
}

pub(super) fn email_of(row: &Value) -> String {
    row["email"].as_str().unwrap().to_owned()
}
