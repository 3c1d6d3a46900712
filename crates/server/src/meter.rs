//! What live calls cost: each holds one credit before it begins, and captures or releases it at its end.
//!
//! Calls do not write by themselves. One task gathers what has come in since its last transaction and writes it in the next
//! ([`credits::settle_window`]): an organization with thousands of calls a second costs as many transactions as one with a
//! few. A lone call is written at once; after a window of several, the next waits up to [`GATHER_MS`] for as many to come.
//!
//! A call begins when its hold is among what its window commits, while that is still being synced to the disk: what it
//! finds out can then be settled in the very next window. Its answer waits for that one, and windows are written one after
//! the other, so no answer is given before its credit and its place in the usage are safe.
//!
//! Failures: when a window cannot be written, those who wanted credits get 503, also those who had begun by then; those who
//! wanted to settle keep their verdict for nothing, since their hold ends by itself. A [`Hold`] that is dropped is released:
//! its caller has gone away.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use probity_core::credits::{Bucket, Split};
use probity_core::id::HoldId;
use probity_core::time::Millis;
use probity_engine::clock::Clock;
use probity_store::credits::{Asked, Settlement, Window, WindowDone};
use probity_store::usage::Delta;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, credits, usage};
use tokio::sync::{mpsc, oneshot};

use crate::ops::metrics::{CreditMove, Metrics};

/// How long a window waits, at most, until it has as many calls as the one before, in milliseconds. Who was just answered
/// comes back within it; a window that began at once would leave them to wait for the one after.
const GATHER_MS: u64 = 1;
/// Calls in one window at most.
const WINDOW_CALLS_MAX: usize = 4_096;
/// Calls that wait for a window at most; more are refused.
const QUEUE_MAX: usize = 16_384;

/// Why no credit was set aside.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The account does not cover it.
    InsufficientCredits,
    /// The database cannot be written.
    Unavailable(Arc<StoreError>),
    /// The database could not be written when the credit was to be set aside, which the call learns at its end: it must not
    /// be answered.
    NeverHeld(Arc<StoreError>),
    /// More calls wait than can be taken, or the service ends.
    Busy,
}

/// Why a window was not committed; empty where it was. The writer fills it in before it gathers any end of its holds.
type Failure = Arc<OnceLock<Arc<StoreError>>>;

/// Which credit it is that was set aside for a call.
#[derive(Clone)]
struct Held {
    org: OrgNo,
    id: HoldId,
    bucket: Bucket,
    failure: Failure,
}

/// A credit that is set aside for one call.
pub(crate) struct Hold {
    held: Held,
    meter: Meter,
    settled: bool,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.settled {
            // Where the queue is full the hold ends by its time.
            let _ = self.meter.queue.try_send(self.settlement(false, None, None));
        }
    }
}

impl Hold {
    /// Captures the credit or gives it back, and counts the verification; returns when that is safe.
    pub(crate) async fn settle(mut self, captured: bool, counted: Delta) -> Result<(), Refused> {
        let (done, wait) = oneshot::channel();
        let settlement = self.settlement(captured, Some(counted), Some(done));
        self.settled = true;
        self.meter.queue.send(settlement).await.map_err(|_| Refused::Busy)?;
        wait.await.unwrap_or(Err(Refused::Busy))
    }

    fn settlement(&self, captured: bool, counted: Option<Delta>, done: Option<Done>) -> Call {
        Call::Settle { held: self.held.clone(), captured, counted, done }
    }
}

type Done = oneshot::Sender<Result<(), Refused>>;

/// What a call wants of the next window.
enum Call {
    Hold { org: OrgNo, answer: oneshot::Sender<Result<Hold, Refused>> },
    Settle { held: Held, captured: bool, counted: Option<Delta>, done: Option<Done> },
}

/// The way to the next window. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Meter {
    queue: mpsc::Sender<Call>,
}

impl Meter {
    /// Starts the task that writes windows; it ends when every [`Meter`] and [`Hold`] is gone.
    pub(crate) fn start(
        store: Store,
        clock: Clock,
        hold_ms: i64,
        metrics: Arc<Metrics>,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, calls) = mpsc::channel(QUEUE_MAX);
        let meter = Self { queue };
        // The writer hands out holds, which lead back to it: a weak way, so that it ends when all others are gone.
        let writer = Writer { store, clock, hold_ms, metrics, way: meter.queue.downgrade() };
        (meter, tokio::spawn(writer.run(calls)))
    }

    /// Sets one credit aside.
    pub(crate) async fn hold(&self, org: OrgNo) -> Result<Hold, Refused> {
        let (answer, wait) = oneshot::channel();
        self.queue.try_send(Call::Hold { org, answer }).map_err(|_| Refused::Busy)?;
        wait.await.unwrap_or(Err(Refused::Busy))
    }

    /// Calls that wait for a window now.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

struct Writer {
    store: Store,
    clock: Clock,
    hold_ms: i64,
    metrics: Arc<Metrics>,
    way: mpsc::WeakSender<Call>,
}

/// Who waits for a credit.
type Asking = BTreeMap<OrgNo, VecDeque<oneshot::Sender<Result<Hold, Refused>>>>;

/// The calls of one window, summed.
#[derive(Default)]
struct Gathered {
    asking: Asking,
    settling: BTreeMap<(OrgNo, HoldId), (Split, Split)>,
    counted: Vec<((OrgNo, HoldId), Delta)>,
    done: Vec<Done>,
}

impl Writer {
    async fn run(self, mut calls: mpsc::Receiver<Call>) {
        let mut batch = Vec::with_capacity(64);
        let mut before = 1;
        while calls.recv_many(&mut batch, WINDOW_CALLS_MAX).await > 0 {
            gather(&mut calls, &mut batch, before).await;
            before = batch.len();
            let begun = self.clock.elapsed();
            let gathered = Gathered::of(batch.drain(..));
            let written = self.write(gathered).await;
            let took = self.clock.elapsed().saturating_sub(begun);
            self.metrics.accounts().window(u32::try_from(before).unwrap_or(u32::MAX), took, written);
        }
    }

    async fn write(&self, mut gathered: Gathered) -> bool {
        let at = self.clock.now();
        let window = gathered.window(crate::random::id(at), at, at + self.hold_ms);
        let counted = &gathered.counted;
        let asking = Mutex::new(std::mem::take(&mut gathered.asking));
        let failure = Failure::default();
        let written = self
            .store
            .write(|tx| {
                async {
                    let done = credits::settle_window(tx, &window).await?;
                    usage::add(tx, &charged(counted, &done.lapsed)).await?;
                    // Nothing but the commit is left. Should it have to be run again, those who went on have what they need.
                    self.hand_out(
                        &mut asking.lock().unwrap_or_else(PoisonError::into_inner),
                        &failure,
                        window.id,
                        &done,
                    );
                    Ok(done)
                }
                .scope_boxed()
            })
            .await;
        gathered.asking = asking.into_inner().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(done) => {
                self.count(&window, &done);
                finish(gathered, &done);
                true
            }
            Err(error) => {
                tracing::error!(%error, source = ?std::error::Error::source(&error).map(ToString::to_string), "a window of credits was not written");
                let error = Arc::new(error);
                let _ = failure.set(error.clone());
                refuse(gathered, &error);
                false
            }
        }
    }

    /// What has moved. Settlements of holds that had ended are among them; they are rare, and the audit knows better.
    fn count(&self, window: &Window, done: &WindowDone) {
        let held: i64 = done.granted.iter().map(|granted| granted.held.total()).sum();
        let asked: i64 = window.asked.iter().map(|asked| asked.credits).sum();
        let captured: i64 = window.settled.iter().map(|settled| settled.captured.total()).sum();
        let released: i64 = window.settled.iter().map(|settled| settled.released.total()).sum();
        let count = |moved, credits: i64| self.metrics.accounts().credits(moved, u64::try_from(credits).unwrap_or(0));
        count(CreditMove::Held, held);
        count(CreditMove::Refused, asked - held);
        count(CreditMove::Captured, captured);
        count(CreditMove::Released, released);
    }

    /// Gives out the credits that a window holds, as far as they go.
    fn hand_out(&self, asking: &mut Asking, failure: &Failure, id: HoldId, done: &WindowDone) {
        // Nobody is left who could wait.
        let Some(queue) = self.way.upgrade() else { return };
        for granted in &done.granted {
            let Some(waiting) = asking.get_mut(&granted.org) else { continue };
            let mut left = granted.held;
            while let Some(bucket) = waiting.front().and_then(|_| next_bucket(&mut left)) {
                let held = Held { org: granted.org, id, bucket, failure: failure.clone() };
                let credit = Hold { held, meter: Meter { queue: queue.clone() }, settled: false };
                // A hold that nobody waits for any more is dropped here, and thereby released.
                let _ = waiting.pop_front().map(|answer| answer.send(Ok(credit)));
            }
        }
    }
}

/// Waits until so many calls are there, for a moment.
async fn gather(calls: &mut mpsc::Receiver<Call>, batch: &mut Vec<Call>, expected: usize) {
    let all =
        async { while batch.len() < expected && calls.recv_many(batch, WINDOW_CALLS_MAX - batch.len()).await > 0 {} };
    // What has come until then is in the batch either way.
    let _ = tokio::time::timeout(Duration::from_millis(GATHER_MS), all).await;
}

/// Answers those who have waited for the end of a window.
fn finish(gathered: Gathered, done: &WindowDone) {
    for answer in gathered.asking.into_values().flatten() {
        let _ = answer.send(Err(Refused::InsufficientCredits));
    }
    for (org, hold) in &done.lapsed {
        tracing::warn!(org = org.0, %hold, "a call ended after its hold: it is not charged");
    }
    for done in gathered.done {
        let _ = done.send(Ok(()));
    }
}

impl Gathered {
    fn of(calls: impl Iterator<Item = Call>) -> Self {
        let mut gathered = Self::default();
        for call in calls {
            match call {
                Call::Hold { org, answer } => gathered.asking.entry(org).or_default().push_back(answer),
                Call::Settle { held, captured, counted, done } => match held.failure.get() {
                    None => gathered.settle(&held, captured, counted, done),
                    Some(error) => {
                        let _ = done.map(|done| done.send(Err(Refused::NeverHeld(error.clone()))));
                    }
                },
            }
        }
        gathered
    }

    fn settle(&mut self, held: &Held, captured: bool, counted: Option<Delta>, done: Option<Done>) {
        let key = (held.org, held.id);
        let (taken, given) = self.settling.entry(key).or_default();
        let part = if captured { taken } else { given };
        *part = part.checked_add(Split::single(held.bucket)).expect("as many as there were calls");
        self.counted.extend(counted.map(|counted| (key, counted)));
        self.done.extend(done);
    }

    fn window(&self, id: HoldId, at: Millis, expires_at: Millis) -> Window {
        let asked = |(org, answers): (&OrgNo, &VecDeque<_>)| Asked {
            org: *org,
            credits: i64::try_from(answers.len()).unwrap_or(i64::MAX),
        };
        let settled = |((org, hold), (captured, released)): (&(OrgNo, HoldId), &(Split, Split))| Settlement {
            org: *org,
            hold: *hold,
            captured: *captured,
            released: *released,
        };
        Window {
            id,
            at,
            expires_at,
            asked: self.asking.iter().map(asked).collect(),
            settled: self.settling.iter().map(settled).collect(),
        }
    }
}

/// What is counted: calls whose hold had ended cost nothing, since its credits were given back.
fn charged(counted: &[((OrgNo, HoldId), Delta)], lapsed: &[(OrgNo, HoldId)]) -> Vec<Delta> {
    let charged = |(of, delta): &((OrgNo, HoldId), Delta)| {
        let charged = if lapsed.contains(of) { 0 } else { delta.charged };
        Delta { charged, ..delta.clone() }
    };
    counted.iter().map(charged).collect()
}

/// Takes one credit out of what was granted, the subscription's first.
fn next_bucket(left: &mut Split) -> Option<Bucket> {
    if left.subscription > 0 {
        left.subscription -= 1;
        Some(Bucket::Subscription)
    } else if left.prepaid > 0 {
        left.prepaid -= 1;
        Some(Bucket::Prepaid)
    } else {
        None
    }
}

fn refuse(gathered: Gathered, error: &Arc<StoreError>) {
    for answer in gathered.asking.into_values().flatten() {
        let _ = answer.send(Err(Refused::Unavailable(error.clone())));
    }
    for done in gathered.done {
        let _ = done.send(Err(Refused::Unavailable(error.clone())));
    }
}

#[cfg(test)]
mod tests;
