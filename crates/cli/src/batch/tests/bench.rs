//! A verifier that answers by the local part, and a directory to run batches in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::AtomicI64;

use probity_engine::net::BoxFuture;
use probity_engine::{AddressOutcome, EngineCounters, JobAddress, LiveCall, OutcomeSink, PriorAttempts};
use probity_mail::time::Millis;
use probity_mail::verdict::{Evidence, Finding, Flags, Reason, Verdict, Verification};

use super::super::*;
use crate::args::{Cli, Command};

/// Answers by the local part: `none...` does not exist, `later...` is deferred twice, `stuck...` is answered once `stuck_until`
/// other addresses were verified, everything else is valid.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) asked: Mutex<BTreeMap<String, u32>>,
    pub(super) calls: Mutex<Vec<Vec<String>>>,
    pub(super) clock: AtomicI64,
    /// Number of answers after which the engine falls silent.
    pub(super) silent_after: Option<usize>,
    pub(super) stuck_until: usize,
    pub(super) unstuck: watch::Sender<bool>,
    pub(super) counters: EngineCounters,
}

impl Fake {
    pub(super) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(super) fn verdict(email: &str) -> Verification {
        let missing = Finding { reason: Reason::Nonexistent, meta: "smtp_550".into(), rule: "fake".into() };
        let findings = if email.starts_with("none") { vec![missing] } else { vec![] };
        Verification {
            email: email.into(),
            domain: email.rsplit_once('@').map_or("", |(_, domain)| domain).to_lowercase().into(),
            verdict: Verdict::of(findings, &"fake".into()),
            flags: Flags::default(),
            gibberish_score: 0.0,
            suggestion: email.starts_with("sug").then(|| "right@x.org".to_owned()),
            evidence: Evidence::default(),
        }
    }

    pub(super) fn outcome(&self, item: &JobAddress) -> Option<AddressOutcome> {
        let mut asked = self.asked.lock().unwrap();
        if self.silent_after.is_some_and(|most| asked.len() >= most) {
            return None;
        }
        *asked.entry(item.email.to_string()).or_default() += 1;
        if asked.len() == self.stuck_until {
            self.unstuck.send_replace(true);
        }
        if item.email.starts_with("later") && item.tries.count < 2 {
            let tries = PriorAttempts {
                count: item.tries.count + 1,
                since: Some(Millis(1)),
                source: Some("192.0.2.1".into()),
                last: false,
            };
            return Some(AddressOutcome::PutOff {
                not_before: self.now() + 60_000,
                tries,
                why: "greylisted",
                held: None,
            });
        }
        Some(AddressOutcome::Settled(Self::verdict(&item.email)))
    }
}

impl Verifier for Fake {
    fn verify<'a>(&'a self, email: &'a str, _: LiveCall) -> BoxFuture<'a, Verification> {
        Box::pin(async { Self::verdict(email) })
    }

    fn verify_many(&self, items: Vec<JobAddress>, sink: OutcomeSink) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(items.iter().map(|item| item.email.to_string()).collect());
            let (stuck, items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.email.starts_with("stuck"));
            for item in items {
                match self.outcome(&item) {
                    Some(outcome) => sink(vec![(item.key, outcome)]),
                    None => std::future::pending().await,
                }
            }
            for item in stuck {
                self.unstuck.subscribe().wait_for(|unstuck| *unstuck).await.expect("the fake has the sender");
                sink(vec![(item.key, AddressOutcome::Settled(Self::verdict(&item.email)))]);
            }
        })
    }

    fn source_names(&self) -> Vec<Arc<str>> {
        vec!["192.0.2.1".into()]
    }

    fn now(&self) -> Millis {
        Millis(self.clock.load(Ordering::Relaxed))
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // The clock jumps straight to the awaited time, but other work runs first.
            tokio::task::yield_now().await;
            self.clock.fetch_max(at.0, Ordering::Relaxed);
        })
    }

    fn counters(&self) -> EngineCounters {
        self.counters
    }

    fn close(&self, _: u64) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

pub(super) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new(name: &str, content: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(name), content).unwrap();
        Self { directory }
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    pub(super) fn args(&self, input: &str, output: &str, more: &[&str]) -> BatchArgs {
        let (input, output) = (self.path(input), self.path(output));
        let words = ["probity", "batch", &input, "-o", &output, "--quiet"];
        match Cli::parse_line(words.iter().chain(more)).unwrap().command {
            Command::Batch(args) => args,
            _ => unreachable!("it says batch"),
        }
    }

    pub(super) async fn run(&self, fake: &Arc<Fake>, input: &str, output: &str, more: &[&str]) -> Result<Exit> {
        run(&self.args(input, output, more), fake.clone()).await
    }

    /// Runs until the engine falls silent, then drops the run as a crash would.
    pub(super) async fn crash(&self, after: usize, input: &str, output: &str) -> usize {
        let fake = Arc::new(Fake { silent_after: Some(after), ..Fake::default() });
        let args = self.args(input, output, &[]);
        let running = tokio::spawn({
            let fake = fake.clone();
            async move { run(&args, fake).await }
        });
        while fake.asked() < after {
            tokio::task::yield_now().await;
        }
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        // The writer closes the file after storing its last event.
        let work = self.path(&format!("{output}.probity-work"));
        while WorkFile::open(Path::new(&work)).is_err() {
            tokio::task::yield_now().await;
        }
        fake.asked()
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

pub(super) fn csv(rows: usize) -> String {
    let mut text = "id,email,note\r\n".to_owned();
    for n in 0..rows {
        let local = match n % 7 {
            0 => "none",
            1 => "later",
            2 => "sug",
            _ => "ok",
        };
        write!(text, "{n},{local}{}@d{}.org,\"a, \"\"b\"\"\"\r\n", n / 2, n % 13).unwrap();
    }
    text
}
