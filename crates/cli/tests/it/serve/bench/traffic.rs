//! Clients that send requests as fast as they get responses, and count the outcomes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::serve::bench::client::{Answer, Client, Failed};
use crate::serve::bench::node::{Node, wait_for};

/// Addresses whose verdict costs a credit, is free, or takes 1 s; used in turn.
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

/// Outcomes seen by clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Verdicts that cost a credit.
    pub(crate) charged: u64,
    /// Free verdicts.
    pub(crate) free: u64,
    /// 402 responses.
    pub(crate) unpaid: u64,
    /// 5xx responses. The call may have been charged: its deadline can pass after settlement.
    pub(crate) failed: u64,
    /// Requests without a response, which may have been charged.
    pub(crate) lost: u64,
    /// All other responses; none are expected.
    pub(crate) odd: Vec<String>,
}

impl Seen {
    /// Counts the outcome of one call.
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

    /// Returns the calls that may have been charged although no verdict was seen.
    pub(crate) fn uncertain(&self) -> u64 {
        self.failed + self.lost
    }
}

/// A client that sends requests until it gets the expected response.
pub(crate) struct Asking {
    client: Client,
    /// Outcomes so far.
    pub(crate) seen: Seen,
}

impl Asking {
    pub(crate) fn new(node: &Node, key: &str) -> Self {
        Self { client: node.client(key), seen: Seen::default() }
    }

    /// Verifies an existing mailbox repeatedly until `is_it` holds; every request must get a response.
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&Answer) -> bool) {
        wait_for(what, || {
            let answered = self.client.verify("valid@sandbox.test");
            self.seen.note(&answered);
            is_it(&answered.unwrap()).then_some(())
        });
    }
}

/// Active clients.
pub(crate) struct Traffic {
    clients: Vec<JoinHandle<Seen>>,
    ending: Arc<AtomicBool>,
    counted: Arc<Counted>,
}

/// Counts of the clients while they work.
#[derive(Default)]
struct Counted {
    answers: AtomicU64,
    failed: AtomicU64,
}

impl Traffic {
    /// Starts clients on this server. Each ends with its first request without a response.
    pub(crate) fn start(address: SocketAddr, key: &str, clients: usize) -> Self {
        let (ending, counted) = (Arc::new(AtomicBool::new(false)), Arc::<Counted>::default());
        let client = |n: usize| {
            let (mut client, ending, counted) = (Client::new(address, key), ending.clone(), counted.clone());
            std::thread::spawn(move || ask(&mut client, n, &ending, &counted))
        };
        Self { clients: (0..clients).map(client).collect(), ending, counted }
    }

    /// Number of responses so far.
    pub(crate) fn answers(&self) -> u64 {
        self.counted.answers.load(Ordering::Relaxed)
    }

    /// Waits for a new 5xx response.
    pub(crate) fn fails(&self) {
        let before = self.counted.failed.load(Ordering::Relaxed);
        wait_for("a failure", || (self.counted.failed.load(Ordering::Relaxed) > before).then_some(()));
    }

    /// Lets every client finish its request; returns all outcomes.
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

/// Reports whether the contract makes this verdict free.
fn is_free(verdict: &serde_json::Value) -> bool {
    ["unverified", "failed_exchange"].contains(&verdict["reason"].as_str().unwrap())
}
