//! Windows on both databases: which calls get a verdict, and what the ledger contains afterwards.

use futures_util::future::join_all;
use probity_account::credits::CreditBucket;
use probity_account::id::OrgId;
use probity_mail::verdict::Reason;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::activity::reports;
use probity_store::credits::{CreditBooking, audit, available};
use probity_store::{DatabasePlace, StoreConfig};
use probity_telemetry::metrics::Start;
use probity_trialdb::postgres;

use super::*;

struct Trial {
    store: Store,
    clock: EngineClock,
    org: OrgNo,
    meter: Meter,
    windows: tokio::task::JoinHandle<()>,
}

impl Trial {
    /// Creates an organization with `amount` credits.
    async fn new(place: DatabasePlace, amount: i64) -> Self {
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        let clock = EngineClock::system();
        let at = clock.now();
        let org = OrgRecord::new(OrgId::new(at, [7; 10]), None, "metered".into(), at);
        let funded = store.write(|tx| {
            async {
                organization::insert(tx, &org).await?;
                let booking = CreditBooking { org: org.no, bucket: CreditBucket::Prepaid, amount, cause: "trial", at };
                credits::grant(tx, &booking, None).await
            }
            .scope_boxed()
        });
        funded.await.unwrap();
        let (meter, windows) = Meter::start(store.clone(), clock, Arc::new(metrics(at)));
        Self { store, clock, org: org.no, meter, windows }
    }

    /// Starts another node's meter on the same database.
    fn beside(&self) -> (Meter, tokio::task::JoinHandle<()>) {
        Meter::start(self.store.clone(), self.clock, Arc::new(metrics(self.clock.now())))
    }

    fn delta(&self, captured: bool) -> UsageDelta {
        delta(self.org, self.clock.now().utc_day(), captured)
    }

    /// Runs a whole call; returns whether it got its verdict.
    async fn call(&self, captured: bool) -> bool {
        self.call_at(&self.meter, captured).await
    }

    async fn call_at(&self, meter: &Meter, captured: bool) -> bool {
        let called = async {
            let reservation = meter.reserve(self.org).await?;
            meter.charge_check(Some(reservation), self.delta(captured), None).await
        };
        match called.await {
            Ok(()) => true,
            Err(CallRefused::InsufficientCredits) => false,
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Ends the windows and checks the ledger; returns the credits left and the number of counted verifications.
    async fn end(self) -> (i64, i64) {
        let Self { store, clock, org, meter, windows } = self;
        drop(meter);
        windows.await.unwrap();
        let mut conn = store.read().await.unwrap();
        assert_eq!(audit(&mut conn).await.unwrap(), []);
        let day = clock.now().utc_day();
        let verified = reports::verified_between(&mut conn, org, day - 1, day).await.unwrap();
        let left = available(&mut conn, org).await.unwrap().total();
        drop(conn);
        store.close().await;
        (left, verified)
    }
}

fn metrics(at: Millis) -> Metrics {
    Metrics::new(&Start { version: "0", at, providers: std::collections::BTreeSet::new() })
}

fn delta(org: OrgNo, day: i64, captured: bool) -> UsageDelta {
    let charged = i64::from(captured);
    UsageDelta {
        org,
        day,
        source: "api".into(),
        connection: None,
        key: None,
        domain: None,
        provider: None,
        reason: Reason::Valid,
        verified: 1,
        charged,
    }
}

async fn on_each_database(amount: i64, test: impl AsyncFn(Trial)) {
    let directory = tempfile::tempdir().unwrap();
    test(Trial::new(DatabasePlace::Sqlite(directory.path().join("probity.db")), amount).await).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    test(Trial::new(DatabasePlace::Postgres(database.url().to_owned()), amount).await).await;
}

#[tokio::test]
async fn as_many_calls_begin_as_the_account_covers() {
    on_each_database(50, async |trial| {
        let calls = join_all((0..200).map(|_| trial.call(true))).await;
        assert_eq!(calls.into_iter().filter(|got| *got).count(), 50);
        assert_eq!(trial.end().await, (0, 50));
    })
    .await;
}

#[tokio::test]
async fn two_nodes_spend_every_credit_and_no_more() {
    on_each_database(50, async |trial| {
        let (other, windows) = trial.beside();
        let meters = [&trial.meter, &other];
        let calls = join_all((0..200).map(|n| trial.call_at(meters[n % 2], true))).await;
        assert_eq!(calls.into_iter().filter(|got| *got).count(), 50);
        drop(other);
        windows.await.unwrap();
        assert_eq!(trial.end().await, (0, 50));
    })
    .await;
}

#[tokio::test]
async fn calls_under_way_are_counted_against_the_balance_until_they_end() {
    on_each_database(2, async |trial| {
        let [first, second] = [trial.meter.reserve(trial.org).await, trial.meter.reserve(trial.org).await];
        assert!(!trial.call(true).await, "two calls may cost what there is");
        // One ends without a price, the other is dropped.
        trial.meter.charge_check(Some(first.unwrap()), trial.delta(false), None).await.unwrap();
        drop(second.unwrap());
        assert!(trial.call(true).await && trial.call(true).await && !trial.call(true).await);
        assert_eq!(trial.end().await, (0, 3));
    })
    .await;
}

#[tokio::test]
async fn what_others_spend_meanwhile_is_refused_at_the_end() {
    on_each_database(1, async |trial| {
        let (other, windows) = trial.beside();
        let [here, there] = [trial.meter.reserve(trial.org).await, other.reserve(trial.org).await].map(Result::unwrap);
        other.charge_check(Some(there), trial.delta(true), None).await.unwrap();
        let late = trial.meter.charge_check(Some(here), trial.delta(true), None).await;
        assert!(matches!(late, Err(CallRefused::InsufficientCredits)), "{late:?}");
        assert!(!trial.call(true).await, "the node has learned of it");
        drop(other);
        windows.await.unwrap();
        assert_eq!(trial.end().await, (0, 1));
    })
    .await;
}

#[tokio::test]
async fn credits_that_come_in_are_there_at_once() {
    on_each_database(1, async |trial| {
        assert!(trial.call(true).await && !trial.call(true).await);
        let at = trial.clock.now();
        let booking =
            CreditBooking { org: trial.org, bucket: CreditBucket::Subscription, amount: 1, cause: "more", at };
        trial.store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await.unwrap();
        assert!(trial.call(true).await && !trial.call(true).await);
        assert_eq!(trial.end().await, (0, 2));
    })
    .await;
}

#[tokio::test]
async fn where_nothing_can_be_written_nobody_begins_and_no_verdict_is_given() {
    on_each_database(10, async |trial| {
        let reservation = trial.meter.reserve(trial.org).await.unwrap();
        trial.store.close().await;
        for captured in [true, false] {
            let charged = trial.meter.charge_check(None, trial.delta(captured), None).await;
            assert!(matches!(charged, Err(CallRefused::Unavailable(_))), "{charged:?}");
        }
        drop(reservation);
        // After a failed window, a balance that was read before does not count.
        assert!(matches!(trial.meter.reserve(trial.org).await, Err(CallRefused::Unavailable(_))));
    })
    .await;
}

/// Failures at the commits of windows, and before each repetition.
mod unanswered {
    use futures_util::FutureExt as _;
    use probity_store::failpoint::{ArmedFailpoint, Failpoint, FailpointAction, FailpointSide};

    use super::*;

    const COMMIT: &str = "commit/credits::usage::ADD_PARTS";

    fn fail(trial: &Trial, name: &str, when: FailpointSide, nth: u32) {
        let point = Failpoint { name: name.into(), when };
        trial.store.failpoints().arm(ArmedFailpoint { point, nth, action: FailpointAction::Error });
    }

    /// An unacknowledged commit may have taken effect or not, with the last credits and with free verdicts.
    #[tokio::test]
    async fn a_commit_charges_and_counts_once() {
        on_each_database(2, async |trial| {
            for (when, captured) in
                [FailpointSide::Before, FailpointSide::After].into_iter().flat_map(|when| [(when, true), (when, false)])
            {
                // A free verdict needs a credit to start, so the last one has no reservation.
                let reservation = trial.meter.reserve(trial.org).await.ok();
                fail(&trial, COMMIT, when, 1);
                let charged = trial.meter.charge_check(reservation, trial.delta(captured), None).await;
                assert!(charged.is_ok(), "{when:?} {captured}: {charged:?}");
                assert_eq!(trial.store.failpoints().disarm(), 1);
            }
            assert!(!trial.call(true).await, "both credits are spent");
            assert_eq!(trial.end().await, (0, 4));
        })
        .await;
    }

    /// If the database fails after the commit, the window waits until it responds again.
    #[tokio::test]
    async fn a_commit_is_asked_for_until_it_is_known() {
        on_each_database(1, async |trial| {
            let reservation = trial.meter.reserve(trial.org).await.unwrap();
            fail(&trial, COMMIT, FailpointSide::After, 1);
            // The second run fails at its start. The third finds that the first took effect, but cannot read its charges.
            fail(&trial, "credits::window::ACCOUNTS", FailpointSide::Before, 2);
            fail(&trial, "credits::window::CHARGED", FailpointSide::Before, 1);
            trial.meter.charge_check(Some(reservation), trial.delta(true), None).await.unwrap();
            assert_eq!(trial.store.failpoints().disarm(), 3);
            assert_eq!(trial.end().await, (0, 1));
        })
        .await;
    }

    /// As many calls of a window are paid as there were credits, also if the commit was not acknowledged.
    #[tokio::test]
    async fn the_calls_of_a_window_get_what_it_charged() {
        on_each_database(2, async |trial| {
            fail(&trial, COMMIT, FailpointSide::After, 1);
            let calls = join_all((0..3).map(|_| trial.meter.charge_check(None, trial.delta(true), None))).await;
            let paid: Vec<bool> = calls.iter().map(Result::is_ok).collect();
            assert_eq!(paid, [true, true, false], "{calls:?}");
            assert_eq!(trial.store.failpoints().disarm(), 1);
            assert_eq!(trial.end().await, (0, 2));
        })
        .await;
    }

    /// A window that no caller waits for does not delay the next ones.
    #[tokio::test]
    async fn a_window_is_given_up_when_its_callers_have_gone() {
        on_each_database(2, async |trial| {
            let failpoints = trial.store.failpoints();
            fail(&trial, COMMIT, FailpointSide::After, 1);
            (2..1_000).for_each(|nth| fail(&trial, "credits::window::ACCOUNTS", FailpointSide::Before, nth));
            failpoints.trace();
            let mut charge = Box::pin(trial.meter.charge_check(None, trial.delta(true), None));
            while !failpoints.has_passed(COMMIT) {
                assert!(charge.as_mut().now_or_never().is_none());
                tokio::task::yield_now().await;
            }
            drop(charge);
            let next = trial.meter.charge_check(None, trial.delta(true), None).await;
            assert!(matches!(next, Err(CallRefused::Unavailable(_))), "{next:?}");
            failpoints.disarm();
            assert_eq!(trial.end().await, (1, 1), "the commit stood");
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_whose_client_has_gone_is_not_charged() {
    use futures_util::FutureExt as _;
    on_each_database(2, async |trial| {
        let reservation = trial.meter.reserve(trial.org).await.unwrap();
        let gone = trial.meter.charge_check(Some(reservation), trial.delta(true), None);
        // It is queued, but there is no window yet, because the task runs on the same thread.
        assert!(gone.now_or_never().is_none());
        assert!(trial.meter.charge_check(None, trial.delta(false), None).now_or_never().is_none());
        assert!(trial.call(true).await);
        assert_eq!(trial.end().await, (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_window_waits_a_moment_for_as_many_as_the_last_one_had() {
    let ask = || MeterCall::Look { org: OrgNo(1), answer: oneshot::channel().0 };
    let (queue, mut calls) = mpsc::channel(8);
    let begun = EngineClock::starting_at(Millis(0));
    let mut batch = vec![ask()];
    // As many as before: no wait.
    gather(&mut calls, &mut batch, 1).await;
    assert_eq!((batch.len(), begun.elapsed()), (1, Duration::ZERO));
    // All calls arrive.
    queue.send(ask()).await.unwrap();
    queue.send(ask()).await.unwrap();
    gather(&mut calls, &mut batch, 3).await;
    assert_eq!((batch.len(), begun.elapsed()), (3, Duration::ZERO));
    // One of two arrives. It is kept, and the wait for the other is short.
    queue.send(ask()).await.unwrap();
    gather(&mut calls, &mut batch, 5).await;
    assert_eq!((batch.len(), begun.elapsed()), (4, Duration::from_millis(GATHER_MS)));
}
