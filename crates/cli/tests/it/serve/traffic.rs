//! Clients that ask as fast as they are answered, and count what they saw.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use super::client::{Answer, Client, Failed};
use super::node::{Node, wait_for};

/// Addresses whose verdict costs a credit, costs none, and takes a second; asked in turn.
const ADDRESSES: [&str; 9] = [
    "valid@sandbox.test",
    "nonexistent@sandbox.test",
    "failed_exchange@sandbox.test",
    "info@sandbox.test",
    "invalid@sandbox.test",
    "valid+delay-1s@sandbox.test",
    "unverified@sandbox.test",
    "anybody@catchall.sandbox.test",
    "disposable@sandbox.test",
];

/// What clients saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Verdicts that cost a credit.
    pub(crate) charged: u64,
    /// Verdicts that cost nothing.
    pub(crate) free: u64,
    /// Answers of 402.
    pub(crate) unpaid: u64,
    /// Answers of 5xx, whose call may have been charged all the same: its deadline was over after it had been settled.
    pub(crate) failed: u64,
    /// Requests without an answer, which may have been charged.
    pub(crate) lost: u64,
    /// Every other answer, which there should be none of.
    pub(crate) odd: Vec<String>,
}

impl Seen {
    /// Counts what became of one call.
    pub(crate) fn note(&mut self, answered: &Result<Answer, Failed>) {
        match answered {
            Ok(answer) => match answer.status {
                200 if is_free(&answer.json()) => self.free += 1,
                200 => self.charged += 1,
                402 => self.unpaid += 1,
                500.. => self.failed += 1,
                _ => self.odd.push(format!("{answer:?}")),
            },
            Err(Failed::Lost) => self.lost += 1,
            Err(Failed::Refused) => {}
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.charged += other.charged;
        self.free += other.free;
        self.unpaid += other.unpaid;
        self.failed += other.failed;
        self.lost += other.lost;
        self.odd.extend(other.odd);
    }

    /// Calls that may have been charged although nobody saw a verdict.
    pub(crate) fn uncertain(&self) -> u64 {
        self.failed + self.lost
    }
}

/// One client that asks until it gets the answer that it waits for.
pub(crate) struct Asking {
    client: Client,
    /// What it has seen so far.
    pub(crate) seen: Seen,
}

impl Asking {
    pub(crate) fn new(node: &Node, key: &str) -> Self {
        Self { client: node.client(key), seen: Seen::default() }
    }

    /// Asks about a mailbox that exists, again and again; every time there must be an answer.
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&Answer) -> bool) {
        wait_for(what, || {
            let answered = self.client.verify("valid@sandbox.test");
            self.seen.note(&answered);
            is_it(&answered.unwrap()).then_some(())
        });
    }
}

/// Clients at work.
pub(crate) struct Traffic {
    clients: Vec<JoinHandle<Seen>>,
    ending: Arc<AtomicBool>,
    counted: Arc<Counted>,
}

/// What is known of clients while they work.
#[derive(Default)]
struct Counted {
    answers: AtomicU64,
    failed: AtomicU64,
}

impl Traffic {
    /// Lets so many clients ask this server. Each ends with the first request that gets no answer.
    pub(crate) fn start(address: SocketAddr, key: &str, clients: usize) -> Self {
        let (ending, counted) = (Arc::new(AtomicBool::new(false)), Arc::<Counted>::default());
        let client = |n: usize| {
            let (mut client, ending, counted) = (Client::new(address, key), ending.clone(), counted.clone());
            std::thread::spawn(move || ask(&mut client, n, &ending, &counted))
        };
        Self { clients: (0..clients).map(client).collect(), ending, counted }
    }

    /// Answers that came so far.
    pub(crate) fn answers(&self) -> u64 {
        self.counted.answers.load(Ordering::Relaxed)
    }

    /// Waits until a client sees an answer of 5xx that none has seen yet.
    pub(crate) fn fails(&self) {
        let before = self.counted.failed.load(Ordering::Relaxed);
        wait_for("a failure", || (self.counted.failed.load(Ordering::Relaxed) > before).then_some(()));
    }

    /// Lets every client finish its request, and says what all of them saw.
    pub(crate) fn end(self) -> Seen {
        self.ending.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for client in self.clients {
            all.add(client.join().unwrap());
        }
        all
    }
}

fn ask(client: &mut Client, first: usize, ending: &AtomicBool, counted: &Counted) -> Seen {
    let mut seen = Seen::default();
    for address in ADDRESSES.iter().cycle().skip(first) {
        if ending.load(Ordering::Relaxed) {
            break;
        }
        let (failed, answered) = (seen.failed, client.verify(address));
        seen.note(&answered);
        if answered.is_err() {
            break;
        }
        counted.answers.fetch_add(1, Ordering::Relaxed);
        counted.failed.fetch_add(seen.failed - failed, Ordering::Relaxed);
    }
    seen
}

/// What the contract says about verdicts that cost nothing.
fn is_free(verdict: &serde_json::Value) -> bool {
    ["unverified", "failed_exchange"].contains(&verdict["reason"].as_str().unwrap())
}
