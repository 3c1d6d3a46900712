//! What live calls cost: a credit for each verdict that found something out, charged before the verdict is given.
//!
//! Calls do not write by themselves. One task gathers what has come in since its last transaction and writes it in the next
//! ([`credits::charge`]): an organization with thousands of calls a second costs as many transactions as one with a few. A
//! lone call is written at once; after a window of several, the next waits up to [`GATHER_MS`] for as many to come.
//!
//! A call begins if the account covers it as far as this node knows ([`Balances`]); if it does not know, the same task looks.
//! Nothing is set aside, so a call has one transaction on its path, and a process that dies leaves nothing to repair. The
//! charge decides: where another node or a job was faster, the verdict is withheld and the call refused.
//!
//! Failures: a verdict whose charge cannot be written is not given (503), and what was found out stays in the engine's cache.
//! If the commit was not answered, the window runs again under its id until the database says what stands: the ledger books
//! an id once, and tells what it has charged. Nobody is answered before, except those that waited for [`ASKED_MAX`].
//! A call whose client has gone when its window is made is left out; one whose client goes later is charged.

pub mod balances;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_engine::clock::Clock;
use probity_mail::time::Millis;
use probity_store::credits::{Charged, Charges, Window};
use probity_store::usage::Delta;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, credits};
use tokio::sync::{mpsc, oneshot};

use crate::error::ApiError;
use crate::meter::balances::Balances;
use crate::ops::metrics::{CreditMove, Metrics};

pub use crate::meter::balances::Reservation;

/// How long a window waits, at most, until it has as many calls as the one before, in milliseconds. Who was just answered
/// comes back within it; a window that began at once would leave them to wait for the one after.
const GATHER_MS: u64 = 1;
/// Calls in one window at most.
const WINDOW_CALLS_MAX: usize = 4_096;
/// Calls that wait for a window at most; more are refused.
const QUEUE_MAX: usize = 16_384;

/// The first pause before a window runs again of which nobody knows whether it stands; it doubles up to the longest.
const ASK_AGAIN: Duration = Duration::from_millis(20);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(1);
/// How long such a window runs again. Its rows stand alone for much longer than that, and so its id books once.
const ASKED_MAX: Duration = Duration::from_secs(30);

/// Why a call does not begin, or gets no verdict.
#[derive(Debug)]
pub enum Refused {
    /// The account does not cover it.
    InsufficientCredits,
    /// The database cannot be read or written, or does not say whether it was.
    Unavailable(Arc<StoreError>),
    /// More calls wait than can be taken, or the service ends.
    Busy,
}

type Looking = oneshot::Sender<Result<Reservation, Refused>>;

/// What a call wants of the task.
enum Call {
    Look { org: OrgNo, answer: Looking },
    Charge(Ending),
}

/// A call whose verdict is there.
struct Ending {
    reservation: Option<Reservation>,
    counted: Delta,
    done: oneshot::Sender<Result<(), Refused>>,
}

/// The way to the next window. Cheap to clone.
#[derive(Clone)]
pub struct Meter {
    queue: mpsc::Sender<Call>,
    balances: Arc<Balances>,
}

impl Meter {
    /// Starts the task that writes windows; it ends when every [`Meter`] is gone.
    pub fn start(store: Store, clock: Clock, metrics: Arc<Metrics>) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, calls) = mpsc::channel(QUEUE_MAX);
        let balances = Balances::new(clock);
        let writer = Writer { store, clock, metrics, balances: balances.clone() };
        (Self { queue, balances }, tokio::spawn(writer.run(calls)))
    }

    /// Lets a call begin if its organization has a credit for it.
    pub async fn reserve(&self, org: OrgNo) -> Result<Reservation, Refused> {
        if let Some(reservation) = self.balances.reserve(org) {
            return Ok(reservation);
        }
        let (answer, wait) = oneshot::channel();
        self.queue.try_send(Call::Look { org, answer }).map_err(|_| Refused::Busy)?;
        wait.await.unwrap_or(Err(Refused::Busy))
    }

    /// Charges what a verdict costs and counts it; returns when that is safe.
    pub async fn charge(&self, reservation: Option<Reservation>, counted: Delta) -> Result<(), Refused> {
        let (done, wait) = oneshot::channel();
        let ending = Ending { reservation, counted, done };
        self.queue.send(Call::Charge(ending)).await.map_err(|_| Refused::Busy)?;
        wait.await.unwrap_or(Err(Refused::Busy))
    }

    /// Calls that wait for a window now.
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

struct Writer {
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    balances: Arc<Balances>,
}

/// The calls of one window.
#[derive(Default)]
struct Gathered {
    looking: BTreeMap<OrgNo, Vec<Looking>>,
    /// Those that cost a credit, in the order in which they came.
    paying: BTreeMap<OrgNo, Vec<Ending>>,
    free: Vec<Ending>,
}

impl Writer {
    async fn run(self, mut calls: mpsc::Receiver<Call>) {
        let mut batch = Vec::with_capacity(64);
        let mut before = 1;
        while calls.recv_many(&mut batch, WINDOW_CALLS_MAX).await > 0 {
            gather(&mut calls, &mut batch, before).await;
            before = batch.len();
            let Gathered { looking, paying, free } = Gathered::of(batch.drain(..));
            let charged = self.settle(paying, free).await;
            self.look(looking, &charged).await;
        }
    }

    /// Charges and counts; says what the accounts have left.
    async fn settle(&self, paying: BTreeMap<OrgNo, Vec<Ending>>, free: Vec<Ending>) -> Charges {
        let calls = free.len() + paying.values().map(Vec::len).sum::<usize>();
        if calls == 0 {
            return Charges::new();
        }
        let begun = self.clock.elapsed();
        let written = self.write(&paying, &free).await;
        let took = self.clock.elapsed().saturating_sub(begun);
        self.metrics.accounts().window(u32::try_from(calls).unwrap_or(u32::MAX), took, written.is_ok());
        match written {
            Ok(charged) => {
                self.finish(paying, free, &charged);
                charged
            }
            Err(error) => {
                tracing::error!(%error, source = ?std::error::Error::source(&error).map(ToString::to_string), "cannot write a window of credits to the ledger");
                self.refuse(paying, free, &Arc::new(error));
                BTreeMap::new()
            }
        }
    }

    /// Writes a window. Once a commit was not answered, nobody knows whether it stands: the same window runs again until the
    /// database says so, as long as somebody waits for it.
    async fn write(&self, paying: &BTreeMap<OrgNo, Vec<Ending>>, free: &[Ending]) -> Result<Charges, StoreError> {
        let Some(window) = window(self.clock.now(), paying, free) else { return Ok(BTreeMap::new()) };
        let is_awaited = || paying.values().flatten().chain(free).any(|ending| !ending.done.is_closed());
        let begun = self.clock.elapsed();
        let mut pause = ASK_AGAIN;
        let mut may_stand = false;
        loop {
            let (written, was_committing) = self.write_once(&window, paying, free).await;
            let failed = match written {
                // The commit stands that was not answered.
                Err(StoreError::Conflict) if may_stand => match self.charged(&window).await {
                    Err(error) => error,
                    charged => return charged,
                },
                Err(error) => error,
                written => return written,
            };
            may_stand |= was_committing;
            if !may_stand {
                return Err(failed);
            }
            if !is_awaited() || self.clock.elapsed().saturating_sub(begun) > ASKED_MAX {
                tracing::error!(window = %window.id, "unknown whether a window of credits was written to the ledger");
                return Err(failed);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(ASK_AGAIN_MAX);
        }
    }

    /// Writes a window if it does not stand; the other value says whether only the commit is left that can have failed.
    async fn write_once(
        &self,
        window: &Window,
        paying: &BTreeMap<OrgNo, Vec<Ending>>,
        free: &[Ending],
    ) -> (Result<Charges, StoreError>, bool) {
        let was_committing = AtomicBool::new(false);
        let written = self.store.write(|tx| {
            was_committing.store(false, Ordering::Relaxed);
            async {
                let charged = credits::charge(tx, window, |charged| counted(paying, free, charged)).await?;
                was_committing.store(true, Ordering::Relaxed);
                Ok(charged)
            }
            .scope_boxed()
        });
        let written = written.await;
        (written, was_committing.into_inner())
    }

    async fn charged(&self, window: &Window) -> Result<Charges, StoreError> {
        credits::charged(&mut self.store.read().await?, window).await
    }

    /// Answers the calls of a window that is written.
    fn finish(&self, paying: BTreeMap<OrgNo, Vec<Ending>>, free: Vec<Ending>, charged: &Charges) {
        let (mut captured, mut refused) = (0, 0);
        for (org, mut endings) in paying {
            let Charged { spent, available } = charged.get(&org).copied().unwrap_or_default();
            let ended = endings.iter_mut().filter_map(|ending| ending.reservation.take());
            self.balances.read(org, available.total(), ended, 0);
            let paid = usize::try_from(spent.total()).unwrap_or(0);
            for (nth, ending) in endings.into_iter().enumerate() {
                let outcome = if nth < paid { Ok(()) } else { Err(Refused::InsufficientCredits) };
                *(if nth < paid { &mut captured } else { &mut refused }) += 1;
                let _ = ending.done.send(outcome);
            }
        }
        for Ending { reservation, done, .. } in free {
            drop(reservation);
            let _ = done.send(Ok(()));
        }
        self.metrics.accounts().credits(CreditMove::Captured, captured);
        self.metrics.accounts().credits(CreditMove::Refused, refused);
    }

    fn refuse(&self, paying: BTreeMap<OrgNo, Vec<Ending>>, free: Vec<Ending>, error: &Arc<StoreError>) {
        for org in paying.keys() {
            self.balances.doubt(*org);
        }
        for Ending { reservation, done, .. } in paying.into_values().flatten().chain(free) {
            drop(reservation);
            let _ = done.send(Err(Refused::Unavailable(error.clone())));
        }
    }

    /// Looks at accounts for calls that want to begin. What was just charged says what is left.
    async fn look(&self, looking: BTreeMap<OrgNo, Vec<Looking>>, charged: &Charges) {
        let unknown: Vec<OrgNo> = looking.keys().filter(|org| !charged.contains_key(org)).copied().collect();
        let read = if unknown.is_empty() { Ok(BTreeMap::new()) } else { self.available(&unknown).await };
        let mut refused = 0;
        match read.map_err(Arc::new) {
            Ok(read) => {
                for (org, answers) in looking {
                    let charged = charged.get(&org).map(|charged| charged.available);
                    let available = charged.or_else(|| read.get(&org).copied()).unwrap_or_default().total();
                    let mut there = self.balances.read(org, available, std::iter::empty(), answers.len()).into_iter();
                    for answer in answers {
                        let reservation = there.next().ok_or(Refused::InsufficientCredits);
                        refused += u64::from(reservation.is_err());
                        let _ = answer.send(reservation);
                    }
                }
            }
            Err(error) => {
                for answer in looking.into_values().flatten() {
                    let _ = answer.send(Err(Refused::Unavailable(error.clone())));
                }
            }
        }
        self.metrics.accounts().credits(CreditMove::Refused, refused);
    }

    async fn available(&self, orgs: &[OrgNo]) -> Result<BTreeMap<OrgNo, probity_account::credits::Split>, StoreError> {
        credits::balances(&mut self.store.read().await?, orgs).await
    }
}

/// Waits until so many calls are there, for a moment.
async fn gather(calls: &mut mpsc::Receiver<Call>, batch: &mut Vec<Call>, expected: usize) {
    if batch.len() >= expected {
        return;
    }
    let all =
        async { while batch.len() < expected && calls.recv_many(batch, WINDOW_CALLS_MAX - batch.len()).await > 0 {} };
    // What has come until then is in the batch either way.
    let _ = tokio::time::timeout(Duration::from_millis(GATHER_MS), all).await;
}

impl Gathered {
    fn of(calls: impl Iterator<Item = Call>) -> Self {
        let mut gathered = Self::default();
        for call in calls {
            match call {
                // Nobody would learn the verdict.
                Call::Charge(ending) if ending.done.is_closed() => {}
                Call::Look { org, answer } => gathered.looking.entry(org).or_default().push(answer),
                Call::Charge(ending) if ending.counted.charged > 0 => {
                    gathered.paying.entry(ending.counted.org).or_default().push(ending);
                }
                Call::Charge(ending) => gathered.free.push(ending),
            }
        }
        gathered
    }
}

/// None without calls.
fn window(at: Millis, paying: &BTreeMap<OrgNo, Vec<Ending>>, free: &[Ending]) -> Option<Window> {
    let calls = |(org, endings): (&OrgNo, &Vec<_>)| (*org, i64::try_from(endings.len()).unwrap_or(i64::MAX));
    // Of those that pay if there are any: their rows are booked in any case, mostly.
    let witness = *paying.keys().next().or_else(|| Some(&free.first()?.counted.org))?;
    Some(Window { id: crate::random::id(at), at, calls: paying.iter().map(calls).collect(), witness })
}

/// What is counted: every free verdict, and of the others those that were paid for.
fn counted(paying: &BTreeMap<OrgNo, Vec<Ending>>, free: &[Ending], charged: &Charges) -> Vec<Delta> {
    let paid = paying.iter().flat_map(|(org, endings)| {
        let paid = charged.get(org).map_or(0, |charged| charged.spent.total());
        endings.iter().take(usize::try_from(paid).unwrap_or(0))
    });
    paid.chain(free).map(|ending| ending.counted.clone()).collect()
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::InsufficientCredits => Self::insufficient_credits(),
            Refused::Unavailable(error) => Self::unavailable(error),
            Refused::Busy => Self::unavailable("too many calls are waiting for the ledger"),
        }
    }
}

#[cfg(test)]
mod tests;
