//! Automatic runs through kills: polls and nightly runs that continue while the service is killed find new contacts.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use probity_espworld::{EspFaults, EspState, judge};
use serde_json::{Value, json};

use super::drill::Drill;
use super::ground::Ground;
use super::verdict::{Verdict, email_of, rows_of};
use crate::serve::bench::node::{Node, wait_within};

/// Number of kills during polls.
const KILLS: usize = 3;
/// Maximum time between a start and its kill. The service checks for due runs every 5 s.
const ALIVE: Duration = Duration::from_secs(9);
/// Maximum number of calls between a start and its kill.
const CALLS: usize = 60;
/// Number of faults during polls. More could make a run fail, which pauses its schedule for 15 minutes.
const FAULTS: usize = 8;
/// Time for the last contacts to get their verdicts.
const VERIFIED_MAX: Duration = Duration::from_mins(3);

/// Whether there are nightly runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nights {
    None,
    /// One before each kill.
    Many,
}

impl Ground {
    /// Adds contacts to an account whose connection verifies new ones automatically, kills the service meanwhile, and checks the
    /// result. There is one platform.
    pub(super) fn polled(mut self, nights: Nights) {
        self.drill().prepare_for_polls();
        let mut node = self.begin();
        let is_confirmed = self.drill().confirm_perhaps(&node);
        self.drill().switch(&node, nights, true);
        self.drill().disturb();
        for _ in 0..KILLS {
            self.drill().add_some();
            self.fall_night(nights);
            node = self.killed_within(node, CALLS, ALIVE);
        }
        self.drill().world.disturb(EspFaults::none());
        self.drill().add_some();
        self.fall_night(nights);
        let drill = self.drill();
        drill.until_verified(&node);
        drill.switch(&node, nights, false);
        let runs = drill.until_still(&node);
        if !is_confirmed {
            let touched = judge::touched(&drill.world.effects());
            assert!(touched.is_empty(), "nobody has confirmed a run: {touched:?}");
        }
        self.count_nights(nights);
        let verdict = Verdict::over(&self.drills[0], &node, &runs);
        verdict.check_polled();
        node.stop();
        self.check(&[verdict]);
    }

    fn drill(&mut self) -> &mut Drill {
        &mut self.drills[0]
    }

    /// Makes the next night due.
    fn fall_night(&self, nights: Nights) {
        if nights == Nights::Many {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
            self.installation.sql(&format!(
                "UPDATE connection_schedule SET due_at = {now}, next_at = {now} WHERE cause = 'autofloss' RETURNING 1"
            ));
        }
    }

    fn count_nights(&self, nights: Nights) {
        if nights == Nights::Many {
            let began = self
                .installation
                .sql("SELECT COUNT(*) FROM connection_run WHERE cause = 'autofloss' AND state <> 'failed'");
            assert!(began.trim().parse::<usize>().unwrap() <= KILLS + 1, "a night had two runs: {began}");
        }
    }
}

impl Drill {
    /// Removes the faults until polls run.
    fn prepare_for_polls(&mut self) {
        self.world.disturb(EspFaults::none());
        // A later run would verify a corrected address, which belongs to no initial contact.
        self.settings.fixes = false;
    }

    /// Waits for the first run, and confirms it in three of four cases. Returns whether it did.
    fn confirm_perhaps(&mut self, node: &Node) -> bool {
        let first = self.until(node, &["needs_confirmation", "finished"]);
        let is_confirmed = first["state"] == "needs_confirmation" && self.dice.below(4) > 0;
        if is_confirmed {
            self.confirm(node, &first);
            self.until(node, &["finished"]);
        }
        is_confirmed
    }

    fn disturb(&self) {
        let max = self.world.ledger().faults() + FAULTS;
        self.world.disturb(EspFaults { errors_inside: 0, empties: 0, max, ..self.settings.options.faults });
    }

    fn switch(&mut self, node: &Node, nights: Nights, is_on: bool) {
        let mut client = node.client(&self.key);
        let settings = json!({ "instafloss": is_on, "autofloss": is_on && nights == Nights::Many });
        let patched = self.ask(&mut client, "PATCH", &self.connection.clone(), &settings);
        assert_eq!(patched.status, 200, "{patched:?}");
    }

    /// Adds contacts with existing and missing addresses.
    fn add_some(&mut self) {
        let lists = self.settings.options.lists;
        for _ in 0..=self.dice.below(4) {
            let list = 1 + u32::try_from(self.dice.below(lists as usize)).unwrap();
            let domain = ["sandbox.test", "catchall.sandbox.test"][self.dice.below(2)];
            self.world.account(|account| {
                let email = format!("new.comer{}@{domain}", account.added().len());
                account.add(&email, EspState::Subscribed, &[list])
            });
        }
    }

    fn runs(&self, node: &Node) -> Vec<Value> {
        let runs = node.client(&self.key).get(&format!("{}/runs", self.connection)).unwrap().json();
        runs["data"].as_array().unwrap_or_else(|| panic!("{runs}")).clone()
    }

    /// Waits until all contacts that were added are rows of a run.
    fn until_verified(&self, node: &Node) {
        wait_within(VERIFIED_MAX, "the verdicts of new contacts", || {
            let mut client = node.client(&self.key);
            let runs = self.runs(node);
            assert!(runs.iter().all(|run| run["state"] != "failed"), "{runs:#?}");
            let read = runs.iter().filter(|run| run["state"] != "reading" && has_rows(run));
            let rows = read.flat_map(|run| rows_of(&mut client, run["id"].as_str().unwrap()));
            let verified: BTreeSet<String> = rows.map(|row| email_of(&row)).collect();
            let added = self.world.account(|account| account.added().clone());
            added.values().all(|email| verified.contains(email)).then_some(())
        });
    }

    /// Waits until no run is in progress; returns the IDs of those that have rows.
    fn until_still(&self, node: &Node) -> Vec<String> {
        let runs = wait_within(VERIFIED_MAX, "the end of all runs", || {
            let runs = self.runs(node);
            let is_going = |run: &Value| ["reading", "verifying", "acting"].iter().any(|state| run["state"] == *state);
            (!runs.iter().any(is_going)).then_some(runs)
        });
        runs.iter().filter(|run| has_rows(run)).map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// Returns whether contacts have verdicts of a run. A run without contacts, or one that ended early, has no rows.
fn has_rows(run: &Value) -> bool {
    run["state"] != "failed" && run["state"] != "cancelled" && run["rows"] != 0
}
