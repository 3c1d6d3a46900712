//! One platform and one run, whose service is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use probity_espworld::{EspContact, EspRecord, EspState, EspWorld};
use probity_mail::rng::Rng;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::drill_settings::{DrillSettings, Meanwhile};
use super::slips::{is_nobody, misspell};
use super::verdict::Verdict;
use crate::serve::bench::client::{Answer, Client};
use crate::serve::bench::node::{Node, PATIENCE, wait_within};

/// Maximum time between a start and its kill.
pub(super) const ALIVE: Duration = Duration::from_millis(700);
/// Time in which the service stores the outcomes of calls, which it gathers for 200 ms, in milliseconds.
const STORED_MS: i64 = 1_000;
/// Time for a run that a user ended to record its actions.
const RECORDED_MAX: Duration = Duration::from_secs(10);
/// Interval between two reads of a run. A response costs the service as much as a call to the platform.
const LOOK: Duration = Duration::from_millis(150);
/// Time for a run to reach its next stop: the platform's limits, its faults, leases of dead nodes.
const RUN_MAX: Duration = Duration::from_mins(3);

pub(super) struct Drill {
    seed: u64,
    pub(super) world: EspWorld,
    pub(super) settings: DrillSettings,
    /// Runs the platform.
    _runtime: Runtime,
    /// Initial contacts.
    pub(super) contacts: Vec<EspContact>,
    /// Contacts whose addresses are misspelled, with the right ones, if those exist.
    pub(super) slips: BTreeMap<u32, Option<String>>,
    /// Bounced addresses reported by any platform of the installation, because reports apply to the whole organization.
    pub(super) reported: BTreeSet<String>,
    /// Addresses with whitelist rules.
    pub(super) spared: Vec<String>,
    /// Contacts that were removed, and contacts that got another address, while the run waited.
    pub(super) removed: Vec<u32>,
    pub(super) corrected: Vec<u32>,
    /// Calls whose outcome a killed service may have lost.
    pub(super) forgotten: BTreeSet<usize>,
    pub(super) key: String,
    /// Path of the connection, and of its run.
    pub(super) connection: String,
    pub(super) run: String,
    pub(super) dice: Rng,
    asked: usize,
}

impl Drill {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Rng::new(seed ^ 0xd811);
        let settings = DrillSettings::drawn(seed, &mut dice);
        let fixes = if settings.fixes { "fix or " } else { "" };
        println!("PROBITY_ESP_SEED={seed} {fixes}{} {:?} {:?}", settings.action, settings.vendor, settings.meanwhile);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let world = runtime.block_on(EspWorld::open(settings.vendor, settings.options.clone())).unwrap();
        let slips = world.account(misspell);
        let contacts = world.account(|account| {
            let all = account.everyone().to_vec();
            all.into_iter().filter_map(|number| account.contact(number)).collect()
        });
        Self {
            seed,
            world,
            settings,
            _runtime: runtime,
            contacts,
            slips,
            reported: BTreeSet::new(),
            spared: Vec::new(),
            removed: Vec::new(),
            corrected: Vec::new(),
            forgotten: BTreeSet::new(),
            key: String::new(),
            connection: String::new(),
            run: String::new(),
            dice,
            asked: 0,
        }
    }

    /// Returns credentials and addresses, which must not be disclosed.
    pub(super) fn secrets(&self) -> Vec<String> {
        let entered = self.world.credentials();
        let secrets = entered.iter().filter(|(_, value)| value.len() >= 16 && !value.contains("://"));
        let addresses = self.contacts.iter().map(|one| &one.email).chain(self.slips.values().flatten());
        secrets.map(|(_, value)| value).chain(addresses).cloned().collect()
    }

    pub(super) fn ask(&mut self, client: &mut Client, method: &str, path: &str, body: &Value) -> Answer {
        self.asked += 1;
        let body = body.to_string();
        let fields = format!(
            "Idempotency-Key: {}-{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            self.seed,
            self.asked,
            body.len()
        );
        client.exchange(method, path, &fields, &body).unwrap()
    }

    /// Connects the platform, and adds a whitelist rule.
    pub(super) fn connect(&mut self, node: &Node) {
        let mut client = node.client(&self.key);
        let all = format!("/v1/integrations/{}/connections", self.settings.vendor.slug());
        // The platform may fail while it is being connected.
        let made = wait_within(PATIENCE, "the connection", || {
            let made = self.ask(&mut client, "POST", &all, &json!({ "credentials": self.world.credentials() }));
            (made.status == 201).then(|| made.json())
        });
        self.connection = format!("{all}/{}", made["id"].as_str().unwrap());
        let mut settings = json!({ "action": self.settings.action });
        if self.settings.fixes {
            settings["fix_typos"] = json!(true);
        }
        let patched = self.ask(&mut client, "PATCH", &self.connection.clone(), &settings);
        assert_eq!(patched.status, 200, "{patched:?}");
        self.spare(&mut client);
    }

    pub(super) fn start(&mut self, node: &Node) {
        let mut client = node.client(&self.key);
        let started = self.ask(&mut client, "POST", &format!("{}/runs", self.connection), &json!({}));
        assert_eq!(started.status, 201, "{started:?}");
        self.run = format!("{}/runs/{}", self.connection, started.json()["id"].as_str().unwrap());
    }

    /// Adds a whitelist rule for a contact that would be acted on.
    fn spare(&mut self, client: &mut Client) {
        let emails = self.doomed().map(|one| one.email.clone());
        let doomed: Vec<String> = emails.filter(|one| !self.spared.contains(one)).collect();
        let Some(email) = doomed.get(self.dice.below(doomed.len().max(1))) else { return };
        let rules = json!({ "rules": [{ "keyword": email, "applies_to": { "email": true } }] });
        let added = self.ask(client, "POST", &format!("{}/keywords/whitelist", self.connection), &rules);
        assert_eq!(added.status, 201, "{added:?}");
        self.spared.push(email.clone());
    }

    /// Returns subscribed contacts whose addresses do not exist.
    pub(super) fn doomed(&self) -> impl Iterator<Item = &EspContact> {
        self.contacts.iter().filter(|one| is_doomed(one))
    }

    pub(super) fn until(&self, node: &Node, states: &[&str]) -> Value {
        let mut client = node.client(&self.key);
        wait_within(RUN_MAX, "the run", || {
            let run = client.get(&self.run).unwrap().json();
            let is_over = run["state"] == "failed";
            assert!(!is_over, "{run:#}\n{:#?}", self.world.ledger().calls().last_chunk::<4>());
            let is_there = states.iter().any(|state| run["state"] == *state);
            if !is_there {
                std::thread::sleep(LOOK);
            }
            is_there.then_some(run)
        })
    }

    /// Waits until the rows show the completed actions, because a user may have ended the run before it could record them.
    /// Actions that are never recorded are checked later.
    pub(super) fn until_recorded(&self, node: &Node) {
        let begun = Instant::now();
        while begun.elapsed() < RECORDED_MAX && !Verdict::of(self, node).unshown().is_empty() {
            std::thread::sleep(LOOK);
        }
    }

    /// Confirms with a wrong number, adds another whitelist rule, and confirms with the right number.
    pub(super) fn confirm(&mut self, node: &Node, run: &Value) {
        let mut client = node.client(&self.key);
        let planned = run["actions"]["planned"].as_i64().unwrap();
        assert_eq!(run["held_by"], "first_run");
        let touched = probity_espworld::judge::touched(&self.world.effects());
        assert!(touched.is_empty(), "nothing is done before a person confirms: {touched:?}");
        let path = format!("{}/confirm", self.run);
        let wrong = self.ask(&mut client, "POST", &path, &json!({ "actions": planned + 1 }));
        assert_eq!(wrong.status, 409, "{wrong:?}");
        self.spare(&mut client);
        let right = self.ask(&mut client, "POST", &path, &json!({ "actions": planned }));
        assert_eq!(right.status, 200, "{right:?}");
    }

    /// Removes contacts at the platform and corrects addresses of others, after the run has planned to act on them.
    pub(super) fn change(&mut self) {
        let mut doomed = self.contacts.iter().filter(|one| is_doomed(one)).map(|one| one.number).collect::<Vec<_>>();
        for place in 0..4.min(doomed.len()) {
            let number = doomed.swap_remove(self.dice.below(doomed.len()));
            let changed = if place % 2 == 0 { &mut self.removed } else { &mut self.corrected };
            changed.push(number);
        }
        self.world.account(|account| {
            for number in &self.removed {
                assert!(account.remove(*number));
            }
            for number in &self.corrected {
                assert!(account.correct(*number, &format!("right.{number}@catchall.sandbox.test")));
            }
        });
    }

    /// Records that the service has just been killed.
    pub(super) fn forget(&mut self) {
        let since = self.world.clock().now() - STORED_MS;
        let is_late = |call: &&EspRecord| call.at >= since;
        self.forgotten.extend(self.world.ledger().calls().iter().filter(is_late).map(|call| call.number));
    }

    /// Performs the user's acts while the run acts.
    pub(super) fn interfere(&mut self, node: &Node) {
        if self.settings.meanwhile == Meanwhile::Nothing {
            return;
        }
        let calls = self.world.ledger().total() + 1 + self.dice.below(8);
        let begun = Instant::now();
        while self.world.ledger().total() < calls && begun.elapsed() < ALIVE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut client = node.client(&self.key);
        let (method, path) = match self.settings.meanwhile {
            Meanwhile::Cancels => ("POST", format!("{}/cancel", self.run)),
            _ => ("DELETE", self.connection.clone()),
        };
        let answer = self.ask(&mut client, method, &path, &json!({}));
        assert_eq!(answer.status, 200, "{answer:?}");
        let calls = self.world.ledger().total();
        // One call may be in progress. A deleted connection is not read again.
        std::thread::sleep(Duration::from_millis(300));
        let later = self.world.ledger().total();
        assert!(later <= calls + 1, "{} calls after a person had {:?}", later - calls, self.settings.meanwhile);
    }
}

fn is_doomed(one: &EspContact) -> bool {
    one.state == EspState::Subscribed && is_nobody(&one.email)
}

/// Adds the platform's log to the message of a panic.
impl Drop for Drill {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for call in self.world.ledger().calls() {
                println!("{call:?}");
            }
            for effect in self.world.effects() {
                println!("{effect:?}");
            }
        }
    }
}
