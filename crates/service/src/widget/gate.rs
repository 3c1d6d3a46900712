//! Leave for checks, many in one transaction.
//!
//! A check needs its nonce used up and a credit of its key's day taken, for all nodes. One task gathers what has come in while it
//! wrote and decides about it in its next transaction, as the meter does for credits ([`crate::meter`]): a flood of checks costs
//! the database no more transactions than a few. A [`Pass`] that is dropped without having been spent gives its credit back in
//! one of the next; where the process dies first, the key's day has one credit less.

use std::collections::BTreeMap;

use probity_store::widget::{self, Asked, KeyDay, Leave};
use probity_store::{ScopedFutureExt as _, Store};
use tokio::sync::{mpsc, oneshot};

/// Checks in one window at most.
const WINDOW_MAX: usize = 1_024;
/// Checks that wait for a window at most; more are refused.
const QUEUE_MAX: usize = 4_096;

/// Why a check may not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Its nonce was used before.
    Used,
    /// Its key has spent what it may today.
    Spent,
    /// The database cannot be written, more checks wait than can be taken, or the service ends.
    Unavailable,
}

/// Leave for a check: one credit of its key's day, until it is spent or given back.
pub struct Pass {
    of: KeyDay,
    gate: Gate,
    spent: bool,
}

impl Pass {
    /// The day on which the check counts.
    pub fn day(&self) -> i64 {
        self.of.day
    }

    /// The credit was captured: the day has lost it.
    pub fn spent(mut self) {
        self.spent = true;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.spent {
            // Where the queue is full the key's day has one credit less.
            let _ = self.gate.queue.try_send(Call::GiveBack(self.of));
        }
    }
}

type Answer = oneshot::Sender<Result<Pass, Closed>>;

enum Call {
    Ask(Asked, Answer),
    GiveBack(KeyDay),
}

/// The way to the next window. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    queue: mpsc::Sender<Call>,
}

impl Gate {
    /// Starts the task that decides; it ends when every [`Gate`] and [`Pass`] is gone.
    pub fn start(store: Store) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, calls) = mpsc::channel(QUEUE_MAX);
        let gate = Self { queue };
        // It hands out passes, which lead back to it: a weak way, so that it ends when all others are gone.
        let keeper = Keeper { store, way: gate.queue.downgrade() };
        (gate, tokio::spawn(keeper.run(calls)))
    }

    /// Leave for a check.
    pub async fn enter(&self, asked: Asked) -> Result<Pass, Closed> {
        let (answer, wait) = oneshot::channel();
        self.queue.try_send(Call::Ask(asked, answer)).map_err(|_| Closed::Unavailable)?;
        wait.await.unwrap_or(Err(Closed::Unavailable))
    }
}

struct Keeper {
    store: Store,
    way: mpsc::WeakSender<Call>,
}

impl Keeper {
    async fn run(self, mut calls: mpsc::Receiver<Call>) {
        let mut batch = Vec::with_capacity(64);
        while calls.recv_many(&mut batch, WINDOW_MAX).await > 0 {
            let (mut asked, mut answers, mut returned) = (Vec::new(), Vec::new(), BTreeMap::new());
            for call in batch.drain(..) {
                match call {
                    Call::Ask(ask, answer) => {
                        asked.push(ask);
                        answers.push(answer);
                    }
                    Call::GiveBack(of) => *returned.entry(of).or_insert(0) += 1,
                }
            }
            self.decide(&asked, answers, &returned).await;
        }
    }

    async fn decide(&self, asked: &[Asked], answers: Vec<Answer>, returned: &BTreeMap<KeyDay, i64>) {
        match self.store.write(|tx| widget::settle(tx, asked, returned).scope_boxed()).await {
            Ok(leaves) => {
                for ((ask, answer), leave) in asked.iter().zip(answers).zip(leaves) {
                    // A pass that nobody waits for any more is dropped here, and thereby given back.
                    let _ = answer.send(self.pass(ask.of, leave));
                }
            }
            Err(error) => {
                tracing::error!(%error, "cannot write a window of widget checks");
                for answer in answers {
                    let _ = answer.send(Err(Closed::Unavailable));
                }
            }
        }
    }

    fn pass(&self, of: KeyDay, leave: Leave) -> Result<Pass, Closed> {
        match leave {
            Leave::Used => Err(Closed::Used),
            Leave::Spent => Err(Closed::Spent),
            Leave::Granted => {
                // Nobody is left who could wait.
                let queue = self.way.upgrade().ok_or(Closed::Unavailable)?;
                Ok(Pass { of, gate: Gate { queue }, spent: false })
            }
        }
    }
}
