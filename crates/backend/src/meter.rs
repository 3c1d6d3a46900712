//! Charges live calls: one credit for each conclusive verdict, before the verdict is returned.
//!
//! One task collects the calls that ended since its last transaction, and charges them in the next ([`credits::charge`]).
//! Thousands of calls per second thus cost as few transactions as a few. A lone call is charged immediately; after a window of
//! several, the next waits up to [`GATHER_MS`] for as many. A call starts if the balance that this node last read covers it
//! ([`Balances`]). Nothing is held, so that a crash leaves nothing to repair. If a job or another node has spent the credits by
//! then, the charge fails and the verdict is withheld.
//!
//! If a charge cannot be written, the call fails (503) and the verdict stays in the engine's cache. If a commit is not
//! acknowledged, the window runs again under its ID, which the ledger books once, for at most [`ASKED_MAX`]. A call is not
//! charged if its client left before the window began.

pub mod balances;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_contract::error::ApiError;
use probity_engine::clock::EngineClock;
use probity_mail::facts::lists::Lists;
use probity_mail::time::Millis;
use probity_mail::verdict::Evidence;
use probity_store::credits::usage::UsageDelta;
use probity_store::credits::{ChargeWindow, ChargedVerifications, ChargesByOrg, CountedCalls};
use probity_store::widget::WidgetCreditName;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, credits};
use probity_telemetry::metrics::{CreditMove, Metrics};
use tokio::sync::{mpsc, oneshot};

use crate::meter::balances::Balances;
use crate::privacy::mailbox::normal_form;

pub use crate::meter::balances::Reservation;

/// Maximum time that a window waits for as many calls as the previous one had, in milliseconds. Clients that just got a response
/// call again within it; a window that began immediately would miss them.
const GATHER_MS: u64 = 1;
/// Maximum number of calls in a window.
const WINDOW_CALLS_MAX: usize = 4_096;
/// Maximum number of queued calls; further ones are refused.
const QUEUE_MAX: usize = 16_384;

/// First pause before a window with an unacknowledged commit runs again, and the longest. The pause doubles each time.
const ASK_AGAIN: Duration = Duration::from_millis(20);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(1);
/// Time for which such a window runs again. Its ledger rows are folded much later, so its ID is booked only once.
const ASKED_MAX: Duration = Duration::from_secs(30);

/// Returns the domain under which an address is counted in the usage; `None` if it has none that can be read.
pub fn counted_domain(address: &str) -> Option<Arc<str>> {
    let (_, domain) = normal_form(address);
    (!domain.is_empty()).then(|| domain.into())
}

/// Returns the ID of the provider under which a verdict is counted: that of the domain's MX hosts. If none were found or looked
/// up, the domain's name alone decides, as in a forecast.
pub fn counted_provider(address: &str, evidence: &Evidence) -> Option<String> {
    match &evidence.domain {
        Some(domain) if !domain.mx.is_empty() => domain.provider.as_deref().map(Into::into),
        _ => {
            let lists = Lists::embedded();
            let host = lists.exchanger_of(&counted_domain(address)?)?;
            lists.provider(host).map(|provider| provider.id.clone())
        }
    }
}

/// Reason why a call does not start or gets no verdict.
#[derive(Debug)]
pub enum CallRefused {
    /// The balance does not cover it.
    InsufficientCredits,
    /// The database cannot be read or written, or did not report whether it was.
    Unavailable(Arc<StoreError>),
    /// Too many calls are queued, or the service is stopping.
    Busy,
}

type Looking = oneshot::Sender<Result<Reservation, CallRefused>>;

/// Request to the task.
enum MeterCall {
    Look { org: OrgNo, answer: Looking },
    Charge(Box<CallCharge>),
}

/// Call that has its verdict.
struct CallCharge {
    reservation: Option<Reservation>,
    counted: UsageDelta,
    /// Credit of the widget's day that the charge spends.
    widget: Option<WidgetCreditName>,
    done: oneshot::Sender<Result<(), CallRefused>>,
}

/// Handle of the task. Cheap to clone.
#[derive(Clone)]
pub struct Meter {
    queue: mpsc::Sender<MeterCall>,
    balances: Arc<Balances>,
}

impl Meter {
    /// Starts the task that writes windows. It ends when every [`Meter`] is dropped.
    pub fn start(store: Store, clock: EngineClock, metrics: Arc<Metrics>) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, calls) = mpsc::channel(QUEUE_MAX);
        let balances = Balances::new(clock);
        let writer = Writer { store, clock, metrics, balances: balances.clone() };
        (Self { queue, balances }, tokio::spawn(writer.run(calls)))
    }

    /// Lets a call start if its organization has a credit for it.
    pub async fn reserve(&self, org: OrgNo) -> Result<Reservation, CallRefused> {
        if let Some(reservation) = self.balances.reserve(org) {
            return Ok(reservation);
        }
        let (answer, wait) = oneshot::channel();
        self.queue.try_send(MeterCall::Look { org, answer }).map_err(|_| CallRefused::Busy)?;
        wait.await.unwrap_or(Err(CallRefused::Busy))
    }

    /// Charges and counts a verdict. Returns once that is committed. The charge of a widget's check also spends a credit of the
    /// widget's day, in the same transaction.
    pub async fn charge_check(
        &self,
        reservation: Option<Reservation>,
        counted: UsageDelta,
        widget: Option<WidgetCreditName>,
    ) -> Result<(), CallRefused> {
        let (done, wait) = oneshot::channel();
        let ending = CallCharge { reservation, counted, widget, done };
        self.queue.send(MeterCall::Charge(Box::new(ending))).await.map_err(|_| CallRefused::Busy)?;
        wait.await.unwrap_or(Err(CallRefused::Busy))
    }

    /// Returns the number of queued calls.
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

struct Writer {
    store: Store,
    clock: EngineClock,
    metrics: Arc<Metrics>,
    balances: Arc<Balances>,
}

/// Calls of one window.
#[derive(Default)]
struct Gathered {
    looking: BTreeMap<OrgNo, Vec<Looking>>,
    ended: EndedCalls,
}

/// Calls of one window that have their verdicts.
#[derive(Default)]
struct EndedCalls {
    /// Calls that cost a credit, in order of arrival.
    paying: BTreeMap<OrgNo, Vec<CallCharge>>,
    free: Vec<CallCharge>,
}

impl EndedCalls {
    fn all(&self) -> impl Iterator<Item = &CallCharge> {
        self.paying.values().flatten().chain(&self.free)
    }
}

impl Writer {
    async fn run(self, mut calls: mpsc::Receiver<MeterCall>) {
        let mut batch = Vec::with_capacity(64);
        let mut before = 1;
        while calls.recv_many(&mut batch, WINDOW_CALLS_MAX).await > 0 {
            gather(&mut calls, &mut batch, before).await;
            before = batch.len();
            let Gathered { looking, ended } = Gathered::of(batch.drain(..));
            let charged = self.settle(ended).await;
            self.look(looking, &charged).await;
        }
    }

    /// Charges and counts calls; returns the charges with the remaining balances.
    async fn settle(&self, ended: EndedCalls) -> ChargesByOrg {
        let calls = ended.all().count();
        if calls == 0 {
            return ChargesByOrg::new();
        }
        let begun = self.clock.elapsed();
        let written = self.write(&ended).await;
        let took = self.clock.elapsed().saturating_sub(begun);
        self.metrics.accounts().window(u32::try_from(calls).unwrap_or(u32::MAX), took, written.is_ok());
        match written {
            Ok(charged) => {
                self.finish(ended, &charged);
                charged
            }
            Err(error) => {
                tracing::error!(%error, source = ?std::error::Error::source(&error).map(ToString::to_string), "cannot write a window of credits to the ledger");
                self.refuse(ended, &Arc::new(error));
                BTreeMap::new()
            }
        }
    }

    /// Writes a window. After an unacknowledged commit, the same window runs again until the database reports its fate, as long
    /// as a call waits for it.
    async fn write(&self, ended: &EndedCalls) -> Result<ChargesByOrg, StoreError> {
        let Some(window) = window(self.clock.now(), ended) else { return Ok(BTreeMap::new()) };
        let is_awaited = || ended.all().any(|ending| !ending.done.is_closed());
        let begun = self.clock.elapsed();
        let mut pause = ASK_AGAIN;
        let mut may_stand = false;
        loop {
            let (written, was_committing) = self.write_once(&window, ended).await;
            let failed = match written {
                // The unacknowledged commit took effect.
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

    /// Writes a window unless it was written before. The flag is set if only the commit can have failed.
    async fn write_once(&self, window: &ChargeWindow, ended: &EndedCalls) -> (Result<ChargesByOrg, StoreError>, bool) {
        let was_committing = AtomicBool::new(false);
        let written = self.store.write(|tx| {
            was_committing.store(false, Ordering::Relaxed);
            async {
                let charged = credits::charge(tx, window, |charged| counted(ended, charged)).await?;
                was_committing.store(true, Ordering::Relaxed);
                Ok(charged)
            }
            .scope_boxed()
        });
        let written = written.await;
        (written, was_committing.into_inner())
    }

    async fn charged(&self, window: &ChargeWindow) -> Result<ChargesByOrg, StoreError> {
        credits::charged(&mut self.store.read().await?, window).await
    }

    /// Responds to the calls of a written window.
    fn finish(&self, ended: EndedCalls, charged: &ChargesByOrg) {
        let (mut captured, mut refused) = (0, 0);
        for (org, mut endings) in ended.paying {
            let ChargedVerifications { spent, available } = charged.get(&org).copied().unwrap_or_default();
            let reserved = endings.iter_mut().filter_map(|ending| ending.reservation.take());
            self.balances.read(org, available.total(), reserved, 0);
            let paid = usize::try_from(spent.total()).unwrap_or(0);
            for (nth, ending) in endings.into_iter().enumerate() {
                let outcome = if nth < paid { Ok(()) } else { Err(CallRefused::InsufficientCredits) };
                *(if nth < paid { &mut captured } else { &mut refused }) += 1;
                let _ = ending.done.send(outcome);
            }
        }
        for CallCharge { reservation, done, .. } in ended.free {
            drop(reservation);
            let _ = done.send(Ok(()));
        }
        self.metrics.accounts().credits(CreditMove::Captured, captured);
        self.metrics.accounts().credits(CreditMove::Refused, refused);
    }

    fn refuse(&self, ended: EndedCalls, error: &Arc<StoreError>) {
        for org in ended.paying.keys() {
            self.balances.doubt(*org);
        }
        for CallCharge { reservation, done, .. } in ended.paying.into_values().flatten().chain(ended.free) {
            drop(reservation);
            let _ = done.send(Err(CallRefused::Unavailable(error.clone())));
        }
    }

    /// Reads accounts for calls that are about to start. Accounts charged just now need no read.
    async fn look(&self, looking: BTreeMap<OrgNo, Vec<Looking>>, charged: &ChargesByOrg) {
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
                        let reservation = there.next().ok_or(CallRefused::InsufficientCredits);
                        refused += u64::from(reservation.is_err());
                        let _ = answer.send(reservation);
                    }
                }
            }
            Err(error) => {
                for answer in looking.into_values().flatten() {
                    let _ = answer.send(Err(CallRefused::Unavailable(error.clone())));
                }
            }
        }
        self.metrics.accounts().credits(CreditMove::Refused, refused);
    }

    async fn available(&self, orgs: &[OrgNo]) -> Result<BTreeMap<OrgNo, probity_account::credits::Split>, StoreError> {
        credits::balances(&mut self.store.read().await?, orgs).await
    }
}

/// Waits a moment for `expected` calls.
async fn gather(calls: &mut mpsc::Receiver<MeterCall>, batch: &mut Vec<MeterCall>, expected: usize) {
    if batch.len() >= expected {
        return;
    }
    let all =
        async { while batch.len() < expected && calls.recv_many(batch, WINDOW_CALLS_MAX - batch.len()).await > 0 {} };
    // Calls that arrived until then are in the batch either way.
    let _ = tokio::time::timeout(Duration::from_millis(GATHER_MS), all).await;
}

impl Gathered {
    fn of(calls: impl Iterator<Item = MeterCall>) -> Self {
        let mut gathered = Self::default();
        for call in calls {
            match call {
                // The client has left, so nobody would receive the verdict.
                MeterCall::Charge(ending) if ending.done.is_closed() => {}
                MeterCall::Look { org, answer } => gathered.looking.entry(org).or_default().push(answer),
                MeterCall::Charge(ending) if ending.counted.charged > 0 => {
                    gathered.ended.paying.entry(ending.counted.org).or_default().push(*ending);
                }
                MeterCall::Charge(ending) => gathered.ended.free.push(*ending),
            }
        }
        gathered
    }
}

/// Builds a window; `None` without calls.
fn window(at: Millis, EndedCalls { paying, free }: &EndedCalls) -> Option<ChargeWindow> {
    let calls = |(org, endings): (&OrgNo, &Vec<_>)| (*org, i64::try_from(endings.len()).unwrap_or(i64::MAX));
    // Prefers an organization that pays, because it usually has a ledger row anyway.
    let witness = *paying.keys().next().or_else(|| Some(&free.first()?.counted.org))?;
    Some(ChargeWindow {
        id: probity_access::secrets::random::id(at),
        at,
        calls: paying.iter().map(calls).collect(),
        witness,
    })
}

/// Counts the verdicts that are returned: all free ones, and those that were paid for.
fn counted(EndedCalls { paying, free }: &EndedCalls, charged: &ChargesByOrg) -> CountedCalls {
    let paid = paying.iter().flat_map(|(org, endings)| {
        let paid = charged.get(org).map_or(0, |charged| charged.spent.total());
        endings.iter().take(usize::try_from(paid).unwrap_or(0))
    });
    CountedCalls {
        usage: paid.clone().chain(free).map(|ending| ending.counted.clone()).collect(),
        widget: paid.filter_map(|ending| ending.widget.clone()).collect(),
    }
}

impl From<CallRefused> for ApiError {
    fn from(refused: CallRefused) -> Self {
        match refused {
            CallRefused::InsufficientCredits => Self::insufficient_credits(),
            CallRefused::Unavailable(error) => Self::unavailable(error),
            CallRefused::Busy => Self::unavailable("too many calls are waiting for the ledger"),
        }
    }
}

#[cfg(test)]
mod tests;
