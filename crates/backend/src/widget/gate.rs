//! Permissions for checks, granted in batches.
//!
//! A check uses up its nonce and takes a credit of its key's day, across all nodes. One task collects the checks that arrive
//! while it writes, and decides about them in its next transaction, like the meter ([`crate::meter`]). A flood of checks thus
//! costs as few transactions as a few checks. A [`Pass`] that is dropped unspent returns its credit in a later transaction, which
//! is repeated until it is known to be committed. If the process dies before, or cannot remember the credit, it returns at the
//! end of its row ([`widget::return_expired`]).

use std::collections::BTreeSet;
use std::time::Duration;

use probity_store::widget::{self, WidgetCheck, WidgetCreditName, WidgetLeave};
use probity_store::{ScopedFutureExt as _, Store};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of checks in a window.
const WINDOW_MAX: usize = 1_024;
/// Maximum number of queued checks; further ones are refused.
const QUEUE_MAX: usize = 4_096;
/// Maximum number of credits whose return failed and is repeated; further ones return at the end of their rows.
const OWED_MAX: usize = 4_096;
/// Maximum pause before a failed return is repeated. The next check repeats it sooner.
const RETURN_AGAIN: Duration = Duration::from_secs(1);

/// Reason why a check may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateClosed {
    /// Its nonce was used before.
    Used,
    /// Its key has spent its credits of the day.
    Spent,
    /// The database cannot be written, too many checks are queued, or the service is stopping.
    Unavailable,
}

/// Permission for a check: one credit of its key's day, until it is spent or returned.
pub struct Pass {
    credit: WidgetCreditName,
    day: i64,
    gate: WidgetGate,
    spent: bool,
}

impl Pass {
    /// Returns the day on which the check counts.
    pub fn day(&self) -> i64 {
        self.day
    }

    /// Returns the name of the credit. The transaction that charges for the check spends it.
    pub fn credit(&self) -> WidgetCreditName {
        self.credit.clone()
    }

    /// Marks the credit as spent, so that its return is not requested in vain.
    pub fn spent(mut self) {
        self.spent = true;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.spent {
            // If the queue is full, the credit returns at the end of its row.
            let _ = self.gate.queue.try_send(GateCall::GiveBack(self.credit()));
        }
    }
}

type PassSender = oneshot::Sender<Result<Pass, GateClosed>>;

enum GateCall {
    Ask(WidgetCheck, PassSender),
    GiveBack(WidgetCreditName),
}

/// Handle of the task. Cheap to clone.
#[derive(Clone)]
pub struct WidgetGate {
    queue: mpsc::Sender<GateCall>,
}

impl WidgetGate {
    /// Starts the task that decides. It ends when every [`WidgetGate`] and [`Pass`] is dropped.
    pub fn start(store: Store) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, calls) = mpsc::channel(QUEUE_MAX);
        let gate = Self { queue };
        // The task creates passes, which contain a sender. It keeps a weak one, so that it ends when all others are gone.
        let keeper = GateKeeper { store, way: gate.queue.downgrade() };
        (gate, tokio::spawn(keeper.run(calls)))
    }

    /// Requests permission for a check.
    pub async fn enter(&self, asked: WidgetCheck) -> Result<Pass, GateClosed> {
        let (answer, wait) = oneshot::channel();
        self.queue.try_send(GateCall::Ask(asked, answer)).map_err(|_| GateClosed::Unavailable)?;
        wait.await.unwrap_or(Err(GateClosed::Unavailable))
    }
}

struct GateKeeper {
    store: Store,
    way: mpsc::WeakSender<GateCall>,
}

impl GateKeeper {
    async fn run(self, mut calls: mpsc::Receiver<GateCall>) {
        let mut batch = Vec::with_capacity(64);
        let mut owed = BTreeSet::new();
        loop {
            let received = calls.recv_many(&mut batch, WINDOW_MAX);
            let ended = if owed.is_empty() {
                received.await == 0
            } else {
                tokio::time::timeout(RETURN_AGAIN, received).await == Ok(0)
            };
            self.settle(batch.drain(..), &mut owed).await;
            if ended {
                return;
            }
        }
    }

    /// Decides about checks, and returns owed credits.
    async fn settle(&self, calls: impl Iterator<Item = GateCall>, owed: &mut BTreeSet<WidgetCreditName>) {
        let (mut asked, mut answers) = (Vec::new(), Vec::new());
        let mut returned = std::mem::take(owed);
        for call in calls {
            match call {
                GateCall::Ask(ask, answer) => {
                    asked.push(ask);
                    answers.push(answer);
                }
                GateCall::GiveBack(credit) => drop(returned.insert(credit)),
            }
        }
        if asked.is_empty() && returned.is_empty() {
            return;
        }
        match self.store.write(|tx| widget::settle(tx, &asked, &returned).scope_boxed()).await {
            Ok(leaves) => {
                for ((ask, answer), leave) in asked.iter().zip(answers).zip(leaves) {
                    // If the caller has left, the pass is dropped here, which returns its credit.
                    let _ = answer.send(self.pass(ask, leave));
                }
            }
            Err(error) => {
                tracing::error!(%error, "cannot write a window of widget checks");
                owed.extend(returned.into_iter().take(OWED_MAX));
                for answer in answers {
                    let _ = answer.send(Err(GateClosed::Unavailable));
                }
            }
        }
    }

    fn pass(&self, ask: &WidgetCheck, leave: WidgetLeave) -> Result<Pass, GateClosed> {
        match leave {
            WidgetLeave::Used => Err(GateClosed::Used),
            WidgetLeave::Spent => Err(GateClosed::Spent),
            WidgetLeave::Granted => {
                // All handles are gone, so no caller waits.
                let queue = self.way.upgrade().ok_or(GateClosed::Unavailable)?;
                Ok(Pass { credit: ask.credit(), day: ask.of.day, gate: WidgetGate { queue }, spent: false })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use probity_account::id::KeyId;
    use probity_mail::time::Millis;
    use probity_store::widget::KeyDay;
    use probity_store::{DatabasePlace, OrgNo, StoreConfig};

    use super::*;
    use crate::widget::CHECK_MAX_MS;

    const NOW: Millis = Millis(1_800_000_000_000);
    const CAP: i64 = 2;
    /// Makes nonces unique.
    static COUNTED: AtomicU32 = AtomicU32::new(0);

    async fn on_each_database(test: impl AsyncFn(Store)) {
        let open = async |place| {
            let store = Store::open(&StoreConfig::new(place)).await.unwrap();
            store.migrate().await.unwrap();
            store
        };
        let directory = tempfile::tempdir().unwrap();
        test(open(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await).await;
        let Some(cluster) = probity_trialdb::postgres() else { return };
        let database = cluster.create_database();
        let store = open(DatabasePlace::Postgres(database.url().to_owned())).await;
        test(store.clone()).await;
        store.close().await;
    }

    fn check(nonce: &str) -> WidgetCheck {
        let of = KeyDay { org: OrgNo(1), key: KeyId::new(NOW, [1; 10]), day: 5 };
        WidgetCheck { of, cap: CAP, nonce: nonce.into(), expires_at: NOW + 600_000, held_until: NOW + CHECK_MAX_MS }
    }

    /// Requests permission, and again while the database is unavailable.
    async fn enter(gate: &WidgetGate, nonce: &str) -> Result<Pass, GateClosed> {
        loop {
            match gate.enter(check(nonce)).await {
                Err(GateClosed::Unavailable) => {}
                decided => return decided,
            }
        }
    }

    /// Returns the number of credits that the key's day has left.
    async fn left(store: &Store) -> i64 {
        let (gate, keeper) = WidgetGate::start(store.clone());
        let mut passes = Vec::new();
        while let Ok(pass) = enter(&gate, &format!("left {}", COUNTED.fetch_add(1, Ordering::Relaxed))).await {
            passes.push(pass);
        }
        let left = i64::try_from(passes.len()).unwrap();
        drop((passes, gate));
        keeper.await.unwrap();
        left
    }

    /// Failpoints fail the window in which a credit is returned, before or after its commit.
    #[tokio::test]
    async fn a_credit_comes_back_once_whatever_fails() {
        for point in [
            "credits::widget::RETURN:before:1",
            "credits::widget::MOVE:after:1",
            "commit/credits::widget::MOVE:after:1",
        ] {
            on_each_database(async |store| {
                let (gate, keeper) = WidgetGate::start(store.clone());
                let (kept, returned) = (enter(&gate, "a").await, enter(&gate, "b").await);
                assert!(kept.is_ok() && returned.is_ok());
                store.failpoints().arm(format!("{point}:error").parse().unwrap());
                store.failpoints().trace();
                drop(returned);
                // The window of the return must have begun, so that no check is part of it.
                while !store.failpoints().has_passed("credits::widget::RETURN") {
                    tokio::task::yield_now().await;
                }
                let next = enter(&gate, "c").await;
                assert_eq!(store.failpoints().disarm(), 1, "{point}");
                assert!(next.is_ok(), "{point}: the credit is back");
                assert_eq!(enter(&gate, "d").await.err(), Some(GateClosed::Spent), "{point}: once");
                drop((kept, next, gate));
                keeper.await.unwrap();
            })
            .await;
        }
    }

    #[tokio::test]
    async fn a_credit_comes_back_without_another_check() {
        on_each_database(async |store| {
            let (gate, keeper) = WidgetGate::start(store.clone());
            let returned = enter(&gate, "a").await;
            store.failpoints().arm("credits::widget::RETURN:before:1:error".parse().unwrap());
            drop(returned);
            drop(gate);
            keeper.await.unwrap();
            assert_eq!(store.failpoints().disarm(), 1);
            assert_eq!(left(&store).await, CAP);
        })
        .await;
    }

    /// A process that dies returns no credits.
    #[tokio::test]
    async fn credits_of_a_process_that_died_come_back_once() {
        on_each_database(async |store| {
            let (gate, keeper) = WidgetGate::start(store.clone());
            for nonce in ["a", "b"] {
                std::mem::forget(enter(&gate, nonce).await);
            }
            keeper.abort();
            let sweep = async |now| store.write(|tx| widget::return_expired(tx, now, 10).scope_boxed()).await.unwrap();
            assert_eq!((sweep(NOW + (CHECK_MAX_MS - 1)).await, left(&store).await), (0, 0));
            assert_eq!((sweep(NOW + CHECK_MAX_MS).await, left(&store).await), (2, CAP));
            assert_eq!((sweep(NOW + CHECK_MAX_MS).await, left(&store).await), (0, CAP));
        })
        .await;
    }
}
