//! One installation with several platforms, started, killed and checked together, because a start takes longer than a run.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use aho_corasick::AhoCorasick;
use probity_espworld::{EspContact, EspState};
use probity_mail::rng::Rng;

use super::drill::{ALIVE, Drill};
use super::drill_settings::{Meanwhile, file_of};
use super::verdict::Verdict;
use crate::serve::bench::account::{Account, audit};
use crate::serve::bench::node::{Installation, Node};

const GRANTED: u32 = 10_000;
/// Maximum number of calls to a platform between a start and a kill.
const CALLS: usize = 12;

pub(super) struct Ground {
    pub(super) installation: Installation,
    pub(super) drills: Vec<Drill>,
    dice: Rng,
}

impl Ground {
    /// Prepares a platform for each seed. Their slugs differ, because the seeds are consecutive.
    pub(super) fn new(installation: Installation, seeds: Range<u64>) -> Self {
        let dice = Rng::new(seeds.start ^ 0x6d0d);
        let mut drills: Vec<Drill> = seeds.map(Drill::new).collect();
        let is_reported = |one: &&EspContact| matches!(one.state, EspState::Bounced | EspState::Complained);
        let everyone = drills.iter().flat_map(|drill| &drill.contacts);
        let reported: BTreeSet<String> = everyone.filter(is_reported).map(|one| one.email.clone()).collect();
        for drill in &mut drills {
            drill.reported.clone_from(&reported);
        }
        let directory = installation.place.path("connectors");
        std::fs::create_dir(&directory).unwrap();
        for Drill { world, settings, .. } in &drills {
            let name = format!("{}.toml", settings.vendor.slug());
            std::fs::write(directory.join(name), file_of(world)).unwrap();
        }
        let made = installation.run_plainly(&["master-key", "new", "master.key"]);
        assert_eq!(made.code, Some(0), "{}", made.err);
        let master = installation.place.path("master.key");
        let hosts: Vec<String> = drills.iter().map(|drill| format!("\"{}\"", drill.world.host())).collect();
        let installation = installation.counted(GRANTED).set(&[
            "batch.lease=1s",
            "integrations.pause=100ms",
            "log.level=debug",
            &format!("secrets.master_key_file={}", master.display()),
            &format!("integrations.allow=[{}]", hosts.join(",")),
            &format!("integrations.directory={}", directory.display()),
        ]);
        Self { installation, drills, dice }
    }

    /// Runs everything, and checks the result.
    pub(super) fn whole(mut self) {
        let mut node = self.begin();
        for _ in 0..=self.dice.below(2) {
            node = self.killed(node);
        }
        if self.act(&node) {
            for _ in 0..=self.dice.below(2) {
                node = self.killed(node);
            }
        }
        for drill in &self.drills {
            drill.until(&node, &["finished", "cancelled", "needs_confirmation"]);
            drill.until_recorded(&node);
        }
        let verdicts: Vec<_> = self.drills.iter().map(|drill| Verdict::of(drill, &node)).collect();
        verdicts.iter().for_each(Verdict::check);
        node.stop();
        self.check(&verdicts);
    }

    /// Starts the service, connects the platforms, and starts their runs.
    pub(super) fn begin(&mut self) -> Node {
        let node = self.installation.start();
        let key = node.key("Live key");
        for drill in &mut self.drills {
            drill.key.clone_from(&key);
            drill.connect(&node);
        }
        self.drills.iter_mut().for_each(|drill| drill.start(&node));
        node
    }

    /// Confirms the runs that wait for it, starting with those that a user ends at once. Returns whether other runs act.
    fn act(&mut self, node: &Node) -> bool {
        let states = ["needs_confirmation", "finished"];
        let runs: Vec<_> = self.drills.iter().map(|drill| drill.until(node, &states)).collect();
        let mut waiting: Vec<_> =
            self.drills.iter_mut().zip(runs).filter(|(_, run)| run["state"] == "needs_confirmation").collect();
        waiting.sort_by_key(|(drill, _)| drill.settings.meanwhile == Meanwhile::Nothing);
        for (drill, run) in &mut waiting {
            drill.change();
            drill.confirm(node, run);
            drill.interfere(node);
        }
        waiting.iter().any(|(drill, _)| drill.settings.meanwhile == Meanwhile::Nothing)
    }

    /// Kills the service after some calls to the platforms or some time, and starts it again.
    fn killed(&mut self, node: Node) -> Node {
        self.killed_within(node, CALLS * self.drills.len(), ALIVE)
    }

    /// Kills the service before this many calls to the platforms and this time, and starts it again.
    pub(super) fn killed_within(&mut self, node: Node, calls: usize, alive: Duration) -> Node {
        let (calls, begun) = (self.calls() + self.dice.below(calls), Instant::now());
        let alive = alive.mul_f64(f64::from(u32::try_from(self.dice.below(100)).unwrap()) / 100.0);
        while self.calls() < calls && begun.elapsed() < alive {
            std::thread::sleep(Duration::from_millis(1));
        }
        node.kill();
        self.drills.iter_mut().for_each(Drill::forget);
        self.installation.start()
    }

    fn calls(&self) -> usize {
        self.drills.iter().map(|drill| drill.world.ledger().total()).sum()
    }

    /// Checks the common state of the platforms. The service must have ended.
    pub(super) fn check(&self, verdicts: &[Verdict<'_>]) {
        self.credits_add_up(verdicts);
        self.nothing_is_told(verdicts);
        verdicts.iter().for_each(Verdict::report);
    }

    fn credits_add_up(&self, verdicts: &[Verdict<'_>]) {
        audit(&self.installation);
        let account = Account::of(&self.installation);
        assert_eq!(account.held, 0, "{account:?}");
        let rows: usize = verdicts.iter().map(|verdict| verdict.rows.len()).sum();
        assert!(account.spent <= rows as u64, "{account:?}");
    }

    /// Asserts that no credential and no address is in the log, in the database, or in responses about runs.
    fn nothing_is_told(&self, verdicts: &[Verdict<'_>]) {
        let Self { installation, drills, .. } = self;
        let mut places = vec![("the log".to_owned(), installation.log().into_bytes())];
        for Verdict { run, .. } in verdicts {
            places.push(("the fault".to_owned(), run["fault"].to_string().into_bytes()));
            for example in run["examples"].as_array().unwrap() {
                places.push(("a message".to_owned(), example["message"].to_string().into_bytes()));
            }
        }
        let data = std::fs::read_dir(installation.place.path("data")).unwrap().map(|entry| entry.unwrap().path());
        places.extend(
            data.filter(|path| path.is_file()).map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())),
        );
        if let Some(rows) = installation.rows_in_postgresql() {
            let is_read = |drill: &Drill| rows.contains(drill.settings.vendor.slug());
            assert!(drills.iter().all(is_read), "rows are read");
            places.push(("PostgreSQL".to_owned(), rows.into_bytes()));
        }
        let secrets: Vec<String> = drills.iter().flat_map(Drill::secrets).collect();
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(&secrets).unwrap();
        for (place, bytes) in places {
            if let Some(found) = search.find(&bytes) {
                let before = &bytes[found.start().saturating_sub(200)..found.start()];
                panic!("{place} has a secret behind {:?}", String::from_utf8_lossy(before));
            }
        }
    }
}
