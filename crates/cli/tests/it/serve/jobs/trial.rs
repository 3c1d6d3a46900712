//! An installation with active customers, and its invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use probity_account::webhook::Topic;
use probity_mail::verdict::Reason;
use serde_json::json;

use super::customer::{Customer, OrUnavailable as _, Seen, listed};
use super::receiver::{Receiver, Told};
use crate::serve::bench::account::{Account, audit};
use crate::serve::bench::node::{Installation, Node, PATIENCE, wait_for, wait_within};

const GRANTED: u32 = 10_000_000;
/// Row topics of the webhook.
const TOPICS: [&str; 3] = ["status.passed", "reason.nonexistent", "reason.failed_exchange"];
/// Time limit for the end of all work: leases of dead runs, deferred addresses, a busy machine.
const END_MAX: Duration = Duration::from_mins(4);
/// Additional time per start, whose process may have left work behind.
const END_MAX_EACH: Duration = Duration::from_secs(2);

/// A verdict in an event: topic, job, index, reason.
type Row = (String, String, u64, String);

/// An installation with customers.
pub(super) struct Trial {
    pub(super) installation: Installation,
    pub(super) key: String,
    pub(super) receiver: Receiver,
    pub(super) customers: Vec<Customer>,
    /// Duration of each start until the process listened.
    pub(super) starts: Vec<Duration>,
}

/// Customers at work, while something happens to the service.
pub(super) struct Work<'a> {
    pub(super) node: &'a mut Node,
    log: &'a dyn Fn() -> String,
    counted: &'a Counted,
}

/// Counts of the customers' outcomes while they work.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) answers: AtomicU64,
    pub(super) unavailable: AtomicU64,
    /// Customers that stopped because a request got no response.
    pub(super) left: AtomicU64,
}

impl Trial {
    /// Sets leases so short that abandoned work is reclaimed during a test. Callbacks go to this machine.
    pub(super) fn new(installation: Installation, customers: usize, seed: u64) -> Self {
        let installation = installation.counted(GRANTED).set(&[
            "batch.lease=1s",
            "server.request_timeout=3s",
            "database.acquire_timeout=1s",
            "allow.networks=127.0.0.0/8",
            "log.level=info",
        ]);
        let first = installation.start();
        let (key, receiver) = (first.key("Live key"), Receiver::start());
        let webhook = json!({ "name": "rows", "url": receiver.url_of_rows(), "events": TOPICS }).to_string();
        let made = first.client(&key).post("/v1/webhooks", "webhook", &webhook).unwrap();
        assert_eq!(made.status, 201, "{made:?}");
        first.kill();
        let customers = (0..customers).map(|name| Customer::new(name, seed, &receiver)).collect();
        Self { installation, key, receiver, customers, starts: Vec::new() }
    }

    /// Starts the service, and checks that every accepted job still exists, and none that was not submitted.
    pub(super) fn start(&mut self) -> Node {
        let begun = Instant::now();
        let node = self.installation.start();
        self.starts.push(begun.elapsed());
        self.check_listed(&node);
        node
    }

    /// Runs the customers against a service until `happening` returns.
    pub(super) fn at_work(&mut self, node: &mut Node, happening: impl FnOnce(Work<'_>)) {
        let (ending, counted) = (AtomicBool::new(false), Counted::default());
        let (address, key, installation) = (node.address, &self.key, &self.installation);
        std::thread::scope(|scope| {
            for customer in &mut self.customers {
                scope.spawn(|| customer.work(address, key, &ending, &counted));
            }
            let _end = OnDrop(&ending);
            happening(Work { node, log: &|| installation.log(), counted: &counted });
        });
    }

    /// Checks that every job whose ID a customer got exists; any other job must come from a customer waiting for a response.
    pub(super) fn check_listed(&self, node: &Node) {
        let listed = wait_for("the list of jobs", || listed(&mut node.client(&self.key)).or_unavailable());
        let known: BTreeSet<String> = self.customers.iter().flat_map(Customer::ids).collect();
        let unanswered =
            self.customers.iter().flat_map(|customer| &customer.jobs).filter(|job| job.id.is_none()).count();
        let missing: Vec<_> = known.difference(&listed).collect();
        assert!(missing.is_empty(), "accepted and gone: {missing:?}");
        assert!(listed.len() - known.len() <= unanswered, "{listed:?} {known:?} {unanswered}");
    }

    /// Audits the database, even while a service runs.
    pub(super) fn check_books(&self) {
        audit(&self.installation);
    }

    /// Waits for the end of every job, and checks all results.
    pub(super) fn end(mut self) -> Installation {
        let node = self.start();
        let patience = END_MAX + END_MAX_EACH * u32::try_from(self.starts.len()).unwrap();
        let mut client = node.client(&self.key);
        self.customers.iter_mut().for_each(|customer| customer.come_to_an_end(&mut client, patience));
        self.check_listed(&node);
        let jobs: Vec<_> = self.customers.iter().flat_map(|customer| &customer.jobs).collect();
        let expected = jobs.iter().filter(|job| job.told).count();
        let told = wait_within(patience, "the callbacks", || {
            let told = self.receiver.told();
            (told.len() >= expected).then_some(told)
        });
        wait_within(patience, "the messages about rows", || {
            (self.told_of_rows().len() >= self.verdicts_to_be_told().len()).then_some(())
        });
        node.stop();
        self.check_books();
        self.check_told_of_rows();
        self.check_told_of_jobs(&told);
        let spent = jobs.iter().map(|job| job.charged()).sum();
        let available = u64::from(GRANTED) - spent;
        assert_eq!(Account::of(&self.installation), Account { available, held: 0, spent });
        self.report(jobs.len(), spent);
        self.installation
    }

    /// Checks that the end of each job with a callback was one event, and that there was no other.
    fn check_told_of_jobs(&self, told: &BTreeMap<String, Vec<Told>>) {
        let mut events = BTreeSet::new();
        for job in self.customers.iter().flat_map(|customer| &customer.jobs) {
            let messages = told.get(job.id.as_ref().unwrap()).map_or(&[][..], Vec::as_slice);
            assert_eq!(messages.is_empty(), !job.told, "{job:?}");
            let Some(first) = messages.first() else { continue };
            assert!(messages.iter().all(|message| message == first), "two events of one job: {messages:?}");
            assert!(events.insert(&first.event), "one event of two jobs: {first:?}");
            job.check_told(&first.job);
        }
        assert_eq!(events.len(), told.len(), "told of jobs that nobody submitted");
    }

    /// Returns each verdict that the webhook subscribes to: topic, job, row, reason.
    fn verdicts_to_be_told(&self) -> BTreeSet<Row> {
        let mut all = BTreeSet::new();
        for job in self.customers.iter().flat_map(|customer| &customer.jobs) {
            let id = job.id.as_ref().unwrap();
            for (index, reason) in job.first_verdicts() {
                let known = *Reason::ALL.iter().find(|known| known.as_str() == reason).unwrap();
                let wanted = TOPICS.iter().filter(|topic| topic.parse::<Topic>().unwrap().has_row(known));
                all.extend(wanted.map(|topic| (topic.to_string(), id.clone(), index, reason.to_owned())));
            }
        }
        all
    }

    /// Returns each verdict that was sent, with its events.
    fn told_of_rows(&self) -> BTreeMap<Row, BTreeSet<String>> {
        let mut all: BTreeMap<Row, BTreeSet<String>> = BTreeMap::new();
        for told in self.receiver.told_of_rows() {
            for (index, reason) in told.rows {
                let row = (told.topic.clone(), told.job.clone(), index, reason);
                all.entry(row).or_default().insert(told.event.clone());
            }
        }
        all
    }

    /// Checks that every subscribed verdict was sent in one event, and nothing else: results under an expired lease are never sent.
    fn check_told_of_rows(&self) {
        let (expected, told) = (self.verdicts_to_be_told(), self.told_of_rows());
        let keys: BTreeSet<Row> = told.keys().cloned().collect();
        let missing: Vec<_> = expected.difference(&keys).take(3).collect();
        let invented: Vec<_> = keys.difference(&expected).take(3).collect();
        assert!(missing.is_empty() && invented.is_empty(), "not told: {missing:?}, not so: {invented:?}");
        let twice = told.iter().find(|(_, events)| events.len() > 1);
        assert!(twice.is_none(), "one verdict, several events: {twice:?}");
        println!("{} verdicts were told", told.len());
    }

    fn report(&self, jobs: usize, spent: u64) {
        let slowest = self.starts.iter().max().unwrap();
        let mean = self.starts.iter().sum::<Duration>() / u32::try_from(self.starts.len()).unwrap();
        let seen: Vec<Seen> = self.customers.iter().map(|customer| customer.seen).collect();
        println!("{jobs} jobs, {spent} credits spent; a start took {mean:?}, at most {slowest:?}; {seen:?}");
    }
}

/// Stops the customers, even if a test fails, since their threads are joined.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Work<'_> {
    /// Waits for this many more responses; if they do not arrive, reports the counts and the log.
    pub(super) fn answers(&self, more: u64) {
        let begun = Instant::now();
        let before = self.counted.answers.load(Ordering::Relaxed);
        while self.counted.answers.load(Ordering::Relaxed) < before + more {
            std::thread::sleep(Duration::from_millis(5));
            assert!(
                begun.elapsed() < PATIENCE,
                "{more} answers after {before}: {:?}\n{}",
                self.counted,
                self.last_words()
            );
        }
    }

    /// Checks that no customer was left without a response, which only a dying process may do.
    pub(super) fn nobody_has_left(&self) {
        assert_eq!(self.counted.left.load(Ordering::Relaxed), 0, "connections broke:\n{}", self.last_words());
    }

    /// Returns the end of the service's log.
    fn last_words(&self) -> String {
        let log = (self.log)();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}
