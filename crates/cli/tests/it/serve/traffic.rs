//! Clients that ask as fast as they are answered, and count what they saw.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use super::client::{Client, Failed};

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

/// Clients at work.
pub(crate) struct Traffic {
    clients: Vec<JoinHandle<Seen>>,
    ending: Arc<AtomicBool>,
    answers: Arc<AtomicU64>,
}

impl Traffic {
    /// Lets so many clients ask this server. Each ends with the first request that gets no answer.
    pub(crate) fn start(address: SocketAddr, key: &str, clients: usize) -> Self {
        let (ending, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let client = |n: usize| {
            let (mut client, ending, answers) = (Client::new(address, key), ending.clone(), answers.clone());
            std::thread::spawn(move || ask(&mut client, n, &ending, &answers))
        };
        Self { clients: (0..clients).map(client).collect(), ending, answers }
    }

    /// Answers that came so far.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
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

fn ask(client: &mut Client, first: usize, ending: &AtomicBool, answers: &AtomicU64) -> Seen {
    let mut seen = Seen::default();
    for address in ADDRESSES.iter().cycle().skip(first) {
        if ending.load(Ordering::Relaxed) {
            break;
        }
        match client.verify(address) {
            Ok(answer) => {
                answers.fetch_add(1, Ordering::Relaxed);
                match answer.status {
                    200 if is_free(&answer.json()) => seen.free += 1,
                    200 => seen.charged += 1,
                    402 => seen.unpaid += 1,
                    500.. => seen.failed += 1,
                    _ => seen.odd.push(format!("{answer:?}")),
                }
            }
            Err(Failed::Lost) => {
                seen.lost += 1;
                break;
            }
            Err(Failed::Refused) => break,
        }
    }
    seen
}

/// What the contract says about verdicts that cost nothing.
fn is_free(verdict: &serde_json::Value) -> bool {
    ["unverified", "failed_exchange"].contains(&verdict["reason"].as_str().unwrap())
}
