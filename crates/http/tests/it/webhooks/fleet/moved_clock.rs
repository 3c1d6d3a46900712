//! Delivers for six days with one worker, whose clock is moved from each due delivery to the next.
//!
//! The test keeps its own record of due times. In each step, exactly the due deliveries are attempted, and the outcome of each
//! attempt follows the schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::{DeliveryId, EventId, WebhookId};
use probity_backend::webhooks::{DeliveryConfig, LaneConfig, SCHEDULE_MS, Worker};
use probity_engine::clock::EngineClock;
use probity_mail::time::Millis;
use probity_store::activity::events::{AccountChange, AccountEventKind, EventActor, EventSubject};
use probity_store::activity::timeline;
use probity_store::webhooks::outbox::{self, LoggedDelivery, OutboxState};

use super::super::delivery::{AllAtLoopback, START, header};
use super::super::receivers::{Manner, Receiver, guard_allowing};
use super::{Fleet, one_of_twenty, sort_of};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const WEBHOOKS: usize = 200;
/// Behavior of the bad webhooks, by position within 20. No two of them share a host.
const BAD: [(usize, &str); 4] = [(3, "failing"), (8, "busy"), (13, "gone"), (18, "recovering")];
/// Recovery time of failing webhooks: after five attempts of their first delivery.
const RECOVERED: Millis = Millis(START.0 + 3 * HOUR_MS);
/// Times at which deliveries are stored: each after the end of the previous one, the fourth shortly before five days have
/// passed.
const PUT_AT_MS: [i64; 5] = [0, 40 * HOUR_MS, 80 * HOUR_MS, 5 * DAY_MS - HOUR_MS / 2, 6 * DAY_MS];
/// Maximum duration of a step by the system's clock, which runs meanwhile, in milliseconds.
const STEP_MS: i64 = 60_000;

fn manner(request: &str) -> Manner {
    match sort_of(request) {
        "failing" => Manner::status(503),
        // An endpoint prolongs a pause up to an hour.
        "busy" => Manner::Say("HTTP/1.1 429 x\r\nretry-after: 86400\r\ncontent-length: 0\r\n\r\n".into()),
        "gone" => Manner::status(410),
        "recovering" => {
            let sent_s: i64 = header(request, "webhook-timestamp").parse().unwrap();
            Manner::status(if sent_s * 1_000 < RECOVERED.0 { 503 } else { 204 })
        }
        _ => Manner::status(204),
    }
}

/// Fleet with a worker, and the test's own record of it.
struct Watched {
    fleet: Fleet,
    receiver: Receiver,
    clock: EngineClock,
    worker: Worker,
    /// Pending deliveries with their due time and number of attempts.
    waiting: BTreeMap<DeliveryId, (Millis, i64)>,
    /// Disabled webhooks, which must receive nothing.
    disabled: BTreeSet<WebhookId>,
}

impl Watched {
    async fn new() -> Self {
        let receiver = Receiver::start(Manner::ByRequest(manner)).await;
        let fleet = Fleet::new(receiver.address.port(), WEBHOOKS, |n| one_of_twenty(n, &BAD)).await;
        let clock = EngineClock::starting_at(START);
        let lanes = LaneConfig::default();
        // Failing webhooks are not paused here: pauses would delay attempts by minutes, and are tested in `lanes`.
        let own_lanes = LaneConfig { silences: u32::MAX, ..DeliveryConfig::default().own_lanes };
        let config = DeliveryConfig { lanes, own_lanes, ..DeliveryConfig::default() };
        let guard = guard_allowing(&["127.0.0.0/8"], Arc::new(AllAtLoopback));
        let worker = fleet.outbox.worker_by(clock, guard, probity_backend::webhooks::SendLimits::default(), config);
        Self { fleet, receiver, clock, worker, waiting: BTreeMap::new(), disabled: BTreeSet::new() }
    }

    /// Stores the `n`th delivery of every webhook, as if each were active at that time.
    async fn put(&mut self, n: u128, at: Millis) {
        self.fleet.put(n, at, &self.fleet.webhooks).await;
        for webhook in &self.fleet.webhooks {
            self.waiting.insert(DeliveryId::from_bits(webhook.id.bits() * 10 + n), (at, 0));
        }
    }

    /// Takes all steps until this time.
    async fn until(&mut self, end: Millis) {
        while let Some(due) = self.waiting.values().map(|(due, _)| *due).min().filter(|due| *due < end) {
            self.step(due).await;
        }
        move_to(self.clock, end).await;
    }

    /// Moves the clock to a time, runs the worker, and compares the outcome with the record.
    async fn step(&mut self, to: Millis) {
        move_to(self.clock, to).await;
        self.worker.run_once().await;
        let now = self.clock.now();
        assert!(now.since(to) < STEP_MS, "a step took {} ms", now.since(to));
        // On a busy machine, the 5 s before the second attempt pass within one step.
        let mut asked: BTreeMap<DeliveryId, i64> = BTreeMap::new();
        for id in self.receiver.so_far().iter().map(|request| delivery_of(request)) {
            let (due, _) = self.waiting.get(&id).unwrap_or_else(|| panic!("{id} is not waiting"));
            assert!(*due <= now, "{id} was sent at {now:?} and is due at {due:?}");
            *asked.entry(id).or_default() += 1;
        }
        let due = self.waiting.iter().filter(|(_, (due, _))| *due <= to).map(|(id, _)| *id);
        for id in due.chain(asked.keys().copied()).collect::<BTreeSet<_>>() {
            let row = self.row(id).await;
            self.settle(&row, asked.get(&id).copied().unwrap_or(0), to);
        }
    }

    /// Records the outcome of a delivery that was due.
    fn settle(&mut self, row: &LoggedDelivery, asked: i64, step: Millis) {
        let (due, before) = self.waiting.remove(&row.id).unwrap();
        let webhook: WebhookId = row.signer.parse().unwrap();
        if self.disabled.contains(&webhook) {
            assert_eq!((asked, row.state, row.attempts), (0, OutboxState::Cancelled, before), "{}", row.url);
            return;
        }
        assert!(asked > 0, "{} was due at {due:?}: {row:?}", row.url);
        let at = row.last_at.unwrap();
        assert!(at >= due && at >= step && at.since(due) < STEP_MS, "{}: {at:?} instead of {due:?}", row.url);
        assert_eq!(row.attempts, before + asked);
        match row.state {
            OutboxState::Delivered => assert!(matches!(row.last_status, Some(204))),
            OutboxState::Waiting => {
                let asked_ms = if row.last_status == Some(429) { HOUR_MS } else { 0 };
                let promised_ms = SCHEDULE_MS[usize::try_from(row.attempts - 1).unwrap()].max(asked_ms);
                let pause_ms = row.next_at.since(at + row.last_took_ms.unwrap());
                assert!(
                    (promised_ms..=promised_ms + promised_ms / 10).contains(&pause_ms),
                    "{}: {pause_ms} ms",
                    row.attempts
                );
                self.waiting.insert(row.id, (row.next_at, row.attempts));
            }
            OutboxState::Exhausted if row.last_status == Some(410) => assert!(self.disabled.insert(webhook)),
            OutboxState::Exhausted => assert_eq!(usize::try_from(row.attempts).unwrap(), SCHEDULE_MS.len() + 1),
            OutboxState::Cancelled => panic!("{} was asked", row.url),
        }
        // Five days after the first failure, with three exhausted deliveries.
        let hopeless = matches!(row.last_status, Some(429 | 503)) && at.since(START) >= 5 * DAY_MS;
        if hopeless {
            assert!(self.disabled.insert(webhook), "{} was asked in vain again", row.url);
        }
    }

    async fn row(&self, id: DeliveryId) -> LoggedDelivery {
        let mut conn = self.fleet.outbox.store.read().await.unwrap();
        outbox::by_id(&mut conn, self.fleet.org, id).await.unwrap()
    }

    /// Returns the number of disabled webhooks of each sort.
    async fn disabled_by_sort(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for sort in self.fleet.disabled().await {
            *counts.entry(sort).or_default() += 1;
        }
        counts
    }

    /// Returns the times at which webhooks were disabled, from the timeline.
    async fn told(&self) -> Vec<Millis> {
        let mut conn = self.fleet.outbox.store.read().await.unwrap();
        let found =
            timeline::newest_events(&mut conn, self.fleet.org, Millis(0), Millis(i64::MAX), 1_000).await.unwrap();
        found
            .into_iter()
            .map(|event| {
                let AccountChange::Account(kind, Some(EventSubject::Webhook(_))) = event.what else {
                    panic!("{:?}", event.what);
                };
                assert_eq!((kind, event.actor), (AccountEventKind::WebhookDisabled, Some(EventActor::System)));
                event.at
            })
            .collect()
    }
}

/// Returns the delivery that a request belongs to.
fn delivery_of(request: &str) -> DeliveryId {
    let event: EventId = header(request, "webhook-id").parse().unwrap();
    DeliveryId::from_bits(event.bits())
}

/// Moves the clock forward to a time, unless it has passed.
async fn move_to(clock: EngineClock, to: Millis) {
    if let Ok(ms) = u64::try_from(to.since(clock.now())) {
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(ms)).await;
        tokio::time::resume();
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn retries_keep_their_times_and_their_order_over_days_of_a_moved_clock() {
    let each = WEBHOOKS / 20;
    let sorts = |sorts: &[&str]| sorts.iter().map(|sort| ((*sort).to_owned(), each)).collect::<BTreeMap<_, _>>();
    let mut watched = Watched::new().await;
    let mut told = 0;
    for ((n, after_ms), next_ms) in (0..).zip(PUT_AT_MS).zip(PUT_AT_MS.into_iter().skip(1).chain([7 * DAY_MS])) {
        watched.put(n, START + after_ms).await;
        watched.until(START + next_ms).await;
        // A `gone` webhook is disabled at the first attempt; failing ones after five days and not before.
        let off: &[&str] = if next_ms < 5 * DAY_MS { &["gone"] } else { &["busy", "failing", "gone"] };
        assert_eq!(watched.disabled_by_sort().await, sorts(off), "after {next_ms} ms");
        let events = watched.told().await;
        assert_eq!(events.len(), off.len() * each);
        for at in &events[..events.len() - told] {
            let expected_ms = if told == 0 { 0 } else { 5 * DAY_MS };
            assert!((expected_ms..expected_ms + 3 * HOUR_MS).contains(&at.since(START)), "{at:?}");
        }
        told = events.len();
    }
    assert!(watched.waiting.is_empty(), "nothing waits for ever: {:?}", watched.waiting);
    watched.ends().await;
}

impl Watched {
    /// Asserts the final state of all deliveries.
    async fn ends(&self) {
        let rows = self.fleet.rows().await;
        let (each, put) = (WEBHOOKS / 20, PUT_AT_MS.len());
        let count = |sort: &str, state: OutboxState, attempts: i64| {
            rows[sort].iter().filter(|row| (row.state, row.attempts) == (state, attempts)).count()
        };
        assert_eq!(count("good", OutboxState::Delivered, 1), rows["good"].len());
        // The sixth attempt is the first after the recovery.
        assert_eq!(count("recovering", OutboxState::Delivered, 6), each);
        assert_eq!(count("recovering", OutboxState::Delivered, 1), each * (put - 1));
        assert_eq!(count("gone", OutboxState::Exhausted, 1), each);
        assert_eq!(count("gone", OutboxState::Cancelled, 0), each * (put - 1));
        // The third retry of the fourth delivery comes after five days and disables the webhook, or the first one if the endpoint
        // asks for an hour. From then on, nothing is sent: the fifth delivery is never attempted.
        for (sort, attempts) in [("failing", 4), ("busy", 2)] {
            assert_eq!(count(sort, OutboxState::Exhausted, 8), each * 3, "{sort}");
            assert_eq!(count(sort, OutboxState::Cancelled, attempts), each, "{sort}");
            assert_eq!(count(sort, OutboxState::Cancelled, 0), each, "{sort}");
        }
    }
}
