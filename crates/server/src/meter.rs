//! What live calls cost: each holds one credit before it begins, and captures or releases it at its end.
//!
//! Calls do not write by themselves. One task gathers what has come in since its last transaction and writes it in the next
//! ([`credits::settle_window`]): an organization with thousands of calls a second costs as many transactions as one with a
//! few. A lone call is written at once; under load a window is at least [`WINDOW_MS`] long. A call waits for both of its
//! windows, so its answer is not given before its credit and its place in the usage are safe.
//!
//! Failures: when a window cannot be written, those who wanted credits get 503, and those who wanted to settle keep their
//! verdict for nothing, since their hold ends by itself. A [`Hold`] that is dropped is released: its caller has gone away.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;
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

/// The least time between two windows, in milliseconds.
const WINDOW_MS: u64 = 2;
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
    /// More calls wait than can be taken, or the service ends.
    Busy,
}

/// A credit that is set aside for one call.
pub(crate) struct Hold {
    org: OrgNo,
    id: HoldId,
    bucket: Bucket,
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
        Call::Settle { org: self.org, hold: self.id, bucket: self.bucket, captured, counted, done }
    }
}

type Done = oneshot::Sender<Result<(), Refused>>;

/// What a call wants of the next window.
enum Call {
    Hold { org: OrgNo, answer: oneshot::Sender<Result<Hold, Refused>> },
    Settle { org: OrgNo, hold: HoldId, bucket: Bucket, captured: bool, counted: Option<Delta>, done: Option<Done> },
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

/// The calls of one window, summed.
#[derive(Default)]
struct Gathered {
    asking: BTreeMap<OrgNo, VecDeque<oneshot::Sender<Result<Hold, Refused>>>>,
    settling: BTreeMap<(OrgNo, HoldId), (Split, Split)>,
    counted: Vec<((OrgNo, HoldId), Delta)>,
    done: Vec<Done>,
}

impl Writer {
    async fn run(self, mut calls: mpsc::Receiver<Call>) {
        let mut batch = Vec::with_capacity(64);
        while calls.recv_many(&mut batch, WINDOW_CALLS_MAX).await > 0 {
            let begun = self.clock.elapsed();
            let size = batch.len();
            let gathered = Gathered::of(batch.drain(..));
            let written = self.write(gathered).await;
            let took = self.clock.elapsed().saturating_sub(begun);
            self.metrics.accounts().window(u32::try_from(size).unwrap_or(u32::MAX), took, written);
            // What comes while this window is open goes into the next; an idle writer does not wait.
            if !calls.is_empty() {
                tokio::time::sleep(Duration::from_millis(WINDOW_MS).saturating_sub(took)).await;
            }
        }
    }

    async fn write(&self, gathered: Gathered) -> bool {
        let at = self.clock.now();
        let (window, counted) = (gathered.window(crate::random::id(at), at, at + self.hold_ms), &gathered.counted);
        let written = self
            .store
            .write(|tx| {
                async {
                    let done = credits::settle_window(tx, &window).await?;
                    usage::add(tx, &charged(counted, &done.lapsed)).await?;
                    Ok(done)
                }
                .scope_boxed()
            })
            .await;
        match written {
            Ok(done) => {
                self.count(&gathered, &done);
                self.hand_out(gathered, &window, &done);
                true
            }
            Err(error) => {
                tracing::error!(%error, source = ?std::error::Error::source(&error).map(ToString::to_string), "a window of credits was not written");
                refuse(gathered, &Arc::new(error));
                false
            }
        }
    }

    /// What has moved. Settlements of holds that had ended are among them; they are rare, and the audit knows better.
    fn count(&self, gathered: &Gathered, done: &WindowDone) {
        let held: i64 = done.granted.iter().map(|granted| granted.held.total()).sum();
        let asked: usize = gathered.asking.values().map(VecDeque::len).sum();
        let (captured, released) = gathered
            .settling
            .values()
            .fold((0, 0), |(taken, given), (captured, released)| (taken + captured.total(), given + released.total()));
        let count = |moved, credits: i64| self.metrics.accounts().credits(moved, u64::try_from(credits).unwrap_or(0));
        count(CreditMove::Held, held);
        count(CreditMove::Refused, i64::try_from(asked).unwrap_or(i64::MAX) - held);
        count(CreditMove::Captured, captured);
        count(CreditMove::Released, released);
    }

    fn hand_out(&self, gathered: Gathered, window: &Window, done: &WindowDone) {
        let mut asking = gathered.asking;
        let way = self.way.upgrade();
        for granted in &done.granted {
            let mut left = granted.held;
            for answer in asking.remove(&granted.org).into_iter().flatten() {
                let answered = match (next_bucket(&mut left), &way) {
                    (Some(bucket), Some(queue)) => {
                        let meter = Meter { queue: queue.clone() };
                        Ok(Hold { org: granted.org, id: window.id, bucket, meter, settled: false })
                    }
                    (Some(_), None) => Err(Refused::Busy),
                    (None, _) => Err(Refused::InsufficientCredits),
                };
                // A hold that nobody waits for any more is dropped here, and thereby released.
                let _ = answer.send(answered);
            }
        }
        for (org, hold) in &done.lapsed {
            tracing::warn!(org = org.0, %hold, "a call ended after its hold: it is not charged");
        }
        for done in gathered.done {
            let _ = done.send(Ok(()));
        }
    }
}

impl Gathered {
    fn of(calls: impl Iterator<Item = Call>) -> Self {
        let mut gathered = Self::default();
        for call in calls {
            match call {
                Call::Hold { org, answer } => gathered.asking.entry(org).or_default().push_back(answer),
                Call::Settle { org, hold, bucket, captured, counted, done } => {
                    let (taken, given) = gathered.settling.entry((org, hold)).or_default();
                    let part = if captured { taken } else { given };
                    *part = part.checked_add(Split::single(bucket)).expect("as many as there were calls");
                    gathered.counted.extend(counted.map(|counted| ((org, hold), counted)));
                    gathered.done.extend(done);
                }
            }
        }
        gathered
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
