//! Feeds addresses to the engine, and deferred addresses again when they are due.
//!
//! The engine limits the work in flight. The feed limits how much of the list is in memory: some tens of thousands of addresses,
//! until their answers are stored. Each address releases its slot with its own answer, so that a call waiting for one slow server
//! holds one slot instead of all. Calls of one large domain take only a few slots, so that a slow domain does not block the others.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use probity_backend::nodes::verifier::Verifier;
use probity_engine::{AddressOutcome, JobAddress, OutcomeSink, PriorAttempts};
use probity_mail::address::bare_address;
use probity_mail::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::answer::PutOff;
use super::order::{CALL_MAX, Order};
use super::workfile::FrameReader;
use super::writer::WriterEvent;

/// Addresses handed to the engine whose answers are not stored yet. An answer with its evidence takes about 1 KB.
const IN_FLIGHT_MAX: usize = 12 * CALL_MAX as usize;
/// Concurrent lanes and groups of deferred rows. Most of them may be waiting for one slow address, which costs little.
const LANES_MAX: usize = 1_024;
/// Lanes and groups that may wait for slots. The number is small, so that deferred rows do not queue behind half of the list.
const AT_DOOR_MAX: usize = 16;
/// Concurrent calls of one large domain.
const CALLS_PER_DOMAIN: usize = 8;
/// Time for addresses in flight to finish when a run stops.
const DRAIN: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The user stopped the run; running work may finish.
    Interrupted,
    /// The user stopped the run again, to end it at once.
    AtOnce,
    /// No mail server can be reached.
    Unreachable,
    /// DNS does not work.
    Nameless,
    /// An answer could not be stored.
    Broken,
}

/// Inputs and outputs of the feed.
pub(crate) struct Feed {
    pub verifier: Arc<dyn Verifier>,
    pub order: Arc<Order>,
    pub reader: FrameReader,
    pub writer: Sender<WriterEvent>,
    pub halt: watch::Receiver<Option<Halt>>,
}

/// A row to verify, with its earlier attempts.
type Wanted = (u32, PriorAttempts);

/// Deferred rows with their earlier attempts, earliest first; rows due together keep the order.
#[derive(Default)]
struct DeferredRows(BTreeMap<(Millis, u32), PriorAttempts>);

impl DeferredRows {
    fn add(&mut self, put_off: PutOff) {
        self.0.insert((put_off.not_before, put_off.row), put_off.tries);
    }

    fn is_due(&self, now: Millis) -> bool {
        self.earliest().is_some_and(|at| at <= now)
    }

    fn earliest(&self) -> Option<Millis> {
        self.0.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the rows that are due, at most one call's worth.
    fn due(&mut self, now: Millis) -> Vec<Wanted> {
        let mut due = Vec::new();
        while due.len() < CALL_MAX as usize && self.is_due(now) {
            due.extend(self.0.pop_first().map(|((_, row), tries)| (row, tries)));
        }
        due
    }
}

impl Feed {
    /// Verifies all `lanes` and deferred rows until each has an answer or the run is halted.
    pub(crate) async fn run(self, lanes: Vec<Vec<Range<u32>>>, open: Arc<Vec<bool>>, put_off: Vec<PutOff>) {
        let (again, mut to_wait) = mpsc::unbounded_channel();
        let shared =
            Arc::new(SharedFeed { in_flight: Arc::new(Semaphore::new(IN_FLIGHT_MAX)), again, feed: self, open });
        let door = Arc::new(Semaphore::new(AT_DOOR_MAX));
        let mut halt = shared.feed.halt.clone();
        let mut waiting = DeferredRows::default();
        for row in put_off {
            waiting.add(row);
        }
        let mut lanes = lanes.into_iter();
        let mut running = JoinSet::new();
        while halt.borrow().is_none() {
            while let Ok(row) = to_wait.try_recv() {
                waiting.add(row);
            }
            if running.is_empty() && waiting.0.is_empty() && lanes.len() == 0 {
                break;
            }
            let now = shared.feed.verifier.now();
            let next = waiting.earliest().filter(|at| *at > now);
            let may_start = running.len() < LANES_MAX && (waiting.is_due(now) || lanes.len() > 0);
            tokio::select! {
                _ = halt.changed() => {}
                Some(row) = to_wait.recv() => waiting.add(row),
                Some(_) = running.join_next() => {}
                Ok(turn) = door.clone().acquire_owned(), if may_start => {
                    let (shared, due) = (shared.clone(), waiting.due(now));
                    if !due.is_empty() {
                        running.spawn(shared.call(due, Some(turn)));
                    } else if let Some(lane) = lanes.next() {
                        running.spawn(shared.lane(lane, turn));
                    }
                }
                () = wait(&*shared.feed.verifier, next) => {}
            }
        }
        drain(&mut running, &mut halt).await;
        let _ = shared.feed.writer.send(WriterEvent::End);
    }
}

async fn wait(verifier: &dyn Verifier, until: Option<Millis>) {
    match until {
        Some(at) => verifier.wait_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits a while for running work to finish, unless the user insists on stopping.
async fn drain(running: &mut JoinSet<()>, halt: &mut watch::Receiver<Option<Halt>>) {
    if *halt.borrow() == Some(Halt::Interrupted) {
        let all = async { while running.join_next().await.is_some() {} };
        let insisted = halt.wait_for(|halt| *halt != Some(Halt::Interrupted));
        tokio::select! {
            _ = tokio::time::timeout(DRAIN, all) => {}
            _ = insisted => {}
        }
    }
    running.abort_all();
}

struct SharedFeed {
    in_flight: Arc<Semaphore>,
    again: mpsc::UnboundedSender<PutOff>,
    feed: Feed,
    /// For each place in the order: the row has no answer and is not deferred.
    open: Arc<Vec<bool>>,
}

impl SharedFeed {
    /// Verifies the pieces of one lane, a few concurrently. Releases `turn` when the first piece has its slots.
    async fn lane(self: Arc<Self>, lane: Vec<Range<u32>>, turn: OwnedSemaphorePermit) {
        use futures_util::StreamExt;
        let mut turn = Some(turn);
        let calls = futures_util::stream::iter(lane).map(|range| {
            let shared = self.clone();
            let asked = range.filter(|at| shared.open[*at as usize]);
            let wanted: Vec<Wanted> =
                asked.map(|at| (shared.feed.order.ask[at as usize], PriorAttempts::default())).collect();
            shared.call(wanted, turn.take())
        });
        calls.buffer_unordered(CALLS_PER_DOMAIN).collect::<()>().await;
    }

    /// Waits for slots, releases `turn`, then verifies the rows.
    async fn call(self: Arc<Self>, wanted: Vec<Wanted>, turn: Option<OwnedSemaphorePermit>) {
        if wanted.is_empty() || self.feed.halt.borrow().is_some() {
            return;
        }
        let places = u32::try_from(wanted.len()).expect("a call has at most CALL_MAX addresses");
        let places = self.in_flight.clone().acquire_many_owned(places).await.expect("the semaphore is never closed");
        drop(turn);
        let shared = self.clone();
        let items = tokio::task::spawn_blocking(move || shared.items(wanted)).await;
        match items.map_err(anyhow::Error::from).and_then(|items| items) {
            Ok(items) => self.feed.verifier.verify_many(items, self.sink(places)).await,
            Err(error) => {
                let _ = self.feed.writer.send(WriterEvent::Failed(error));
            }
        }
    }

    fn items(&self, wanted: Vec<Wanted>) -> Result<Vec<JobAddress>> {
        let mut buffer = Vec::new();
        let item = |(row, tries): Wanted| {
            let email = self.feed.reader.email(self.feed.order.places[row as usize], &mut buffer)?;
            let email = match bare_address(&email) {
                address if address.len() == email.len() => email,
                address => address.into(),
            };
            Ok(JobAddress { key: u64::from(row), email, customer: 0, tries })
        };
        wanted.into_iter().map(item).collect()
    }

    /// Sends each outcome with its slot to the writer, so that the writer's pace limits the work in flight.
    fn sink(&self, places: OwnedSemaphorePermit) -> OutcomeSink {
        let places = Mutex::new(places);
        let (writer, again) = (self.feed.writer.clone(), self.again.clone());
        Arc::new(move |outcomes| {
            for (key, outcome) in &outcomes {
                if let (Ok(row), AddressOutcome::PutOff { not_before, tries, .. }) = (u32::try_from(*key), outcome) {
                    let _ = again.send(PutOff { row, not_before: *not_before, tries: tries.clone() });
                }
            }
            let freed = places.lock().unwrap_or_else(PoisonError::into_inner).split(outcomes.len());
            // Both ends live until the run is over; later outcomes are unused.
            let _ = writer.send(WriterEvent::Outcomes(outcomes, freed));
        })
    }
}
