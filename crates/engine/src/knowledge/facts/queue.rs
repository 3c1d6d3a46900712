//! Write-behind: facts wait in a bounded queue, and one task writes them in batches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::layered::{LayeredConfig, LayeredCounters, LearnedFact, SharedFacts};
use crate::knowledge::facts::DomainFacts;
use crate::locked;

enum QueueOrder {
    Write(LearnedFact),
    /// Completes when everything before it was written or lost.
    Tell(oneshot::Sender<()>),
}

/// Sender to the writing task. The task ends when this is dropped and the rest is written.
pub(super) struct FactQueue {
    orders: mpsc::Sender<QueueOrder>,
    tally: Arc<Mutex<LayeredCounters>>,
}

impl FactQueue {
    pub(crate) fn start(
        shared: Arc<dyn SharedFacts>,
        config: LayeredConfig,
        tally: Arc<Mutex<LayeredCounters>>,
    ) -> Self {
        let (orders, waiting) = mpsc::channel(config.queue_max.max(1));
        tokio::spawn(write_behind(shared, config, tally.clone(), waiting));
        Self { orders, tally }
    }

    /// Queues a fact; it is lost if the queue is full.
    pub(crate) fn push(&self, learned: LearnedFact) {
        if self.orders.try_send(QueueOrder::Write(learned)).is_err() {
            locked(&self.tally).dropped += 1;
        }
    }

    /// Waits until everything queued so far is written or lost, at most `timeout`.
    pub(crate) async fn flush(&self, timeout: Duration) {
        let flushed = async {
            let (tell, told) = oneshot::channel();
            if self.orders.send(QueueOrder::Tell(tell)).await.is_ok() {
                // An error means that the task has ended, so there is nothing to wait for.
                let _ = told.await;
            }
        };
        let _ = tokio::time::timeout(timeout, flushed).await;
    }
}

async fn write_behind(
    shared: Arc<dyn SharedFacts>,
    config: LayeredConfig,
    tally: Arc<Mutex<LayeredCounters>>,
    mut waiting: mpsc::Receiver<QueueOrder>,
) {
    let batch_max = config.batch_max.max(1);
    let mut failing = false;
    let mut orders = Vec::with_capacity(batch_max);
    while waiting.recv_many(&mut orders, batch_max).await > 0 {
        let hurried = orders.iter().any(|order| matches!(order, QueueOrder::Tell(_)));
        if !hurried && orders.len() < batch_max && !waiting.is_closed() {
            tokio::time::sleep(Duration::from_millis(config.linger_ms)).await;
            while orders.len() < batch_max
                && let Ok(order) = waiting.try_recv()
            {
                orders.push(order);
            }
        }
        let (facts, count, tells) = sorted(orders.drain(..));
        if count > 0 {
            let written = write(shared.as_ref(), facts, config.write_ms, &mut failing).await;
            let mut tally = locked(&tally);
            let counter = if written { &mut tally.written } else { &mut tally.failed };
            *counter += count;
        }
        for tell in tells {
            // The waiting caller may be gone.
            let _ = tell.send(());
        }
    }
}

/// Facts merged by domain and host, their original number, and the waiting callers.
fn sorted(orders: impl Iterator<Item = QueueOrder>) -> (Vec<LearnedFact>, u64, Vec<oneshot::Sender<()>>) {
    let mut facts: BTreeMap<(Box<str>, Box<str>), DomainFacts> = BTreeMap::new();
    let (mut count, mut tells) = (0, Vec::new());
    for order in orders {
        match order {
            QueueOrder::Write(learned) => {
                count += 1;
                facts.entry((learned.domain, learned.host)).or_default().learn(learned.facts);
            }
            QueueOrder::Tell(tell) => tells.push(tell),
        }
    }
    (facts.into_iter().map(|((domain, host), facts)| LearnedFact { domain, host, facts }).collect(), count, tells)
}

/// Whether the store accepted them. Logs the first failure after a success, and the first success after a failure.
async fn write(shared: &dyn SharedFacts, facts: Vec<LearnedFact>, write_ms: u64, failing: &mut bool) -> bool {
    let error = match tokio::time::timeout(Duration::from_millis(write_ms), shared.remember(facts)).await {
        Ok(Ok(())) => {
            if std::mem::take(failing) {
                tracing::info!("facts about domains can be written again");
            }
            return true;
        }
        Ok(Err(error)) => error,
        Err(late) => late.into(),
    };
    if !std::mem::replace(failing, true) {
        tracing::warn!(%error, "cannot write facts about domains; they are lost");
    }
    false
}
