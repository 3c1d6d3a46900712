//! Windows against both databases: what calls get, and what the books say afterwards.

use futures_util::future::join_all;
use probity_core::id::OrgId;
use probity_core::verdict::Reason;
use probity_store::credits::{Booking, audit, available, release_expired};
use probity_store::organization::{self, Org};
use probity_store::reports;
use probity_store::{Place, StoreConfig};
use probity_trialdb::postgres;

use super::*;
use crate::ops::metrics::Start;

const HOLD_MS: i64 = 120_000;

struct Trial {
    store: Store,
    clock: Clock,
    org: OrgNo,
    meter: Meter,
    windows: tokio::task::JoinHandle<()>,
}

impl Trial {
    /// An organization with so many credits.
    async fn new(place: Place, amount: i64) -> Self {
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        let clock = Clock::system();
        let at = clock.now();
        let org = Org::new(OrgId::new(at, [7; 10]), None, "metered".into(), at);
        let funded = store.write(|tx| {
            async {
                organization::insert(tx, &org).await?;
                let booking = Booking { org: org.no, bucket: Bucket::Prepaid, amount, cause: "trial", at };
                credits::grant(tx, &booking, None).await
            }
            .scope_boxed()
        });
        funded.await.unwrap();
        let metrics = Metrics::new(&Start { version: "0", at, providers: std::collections::BTreeSet::new() });
        let (meter, windows) = Meter::start(store.clone(), clock, HOLD_MS, Arc::new(metrics));
        Self { store, clock, org: org.no, meter, windows }
    }

    fn delta(&self, captured: bool) -> Delta {
        delta(self.org, self.clock.now().utc_day(), captured)
    }

    /// A call from its beginning to its end; whether it got a credit.
    async fn call(&self, captured: bool) -> bool {
        match self.meter.hold(self.org).await {
            Ok(hold) => hold.settle(captured, self.delta(captured)).await.is_ok(),
            Err(Refused::InsufficientCredits) => false,
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Ends the windows; what is left to spend, and how many verifications were counted. The books must agree.
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

fn delta(org: OrgNo, day: i64, captured: bool) -> Delta {
    let charged = i64::from(captured);
    Delta {
        org,
        day,
        source: "api".into(),
        connection: None,
        provider: None,
        reason: Reason::Valid,
        verified: 1,
        charged,
    }
}

async fn on_each_database(amount: i64, test: impl AsyncFn(Trial)) {
    let directory = tempfile::tempdir().unwrap();
    test(Trial::new(Place::Sqlite(directory.path().join("probity.db")), amount).await).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    test(Trial::new(Place::Postgres(database.url().to_owned()), amount).await).await;
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
async fn what_is_released_or_left_is_there_again() {
    on_each_database(50, async |trial| {
        assert!(join_all((0..30).map(|n| trial.call(n % 3 == 0))).await.into_iter().all(|got| got));
        // Callers who go away before their window, and with their hold.
        drop(trial.meter.hold(trial.org));
        drop(trial.meter.hold(trial.org).await.unwrap());
        assert_eq!(trial.end().await, (40, 30));
    })
    .await;
}

#[tokio::test]
async fn a_call_that_outlives_its_hold_is_counted_and_costs_nothing() {
    on_each_database(10, async |trial| {
        let hold = trial.meter.hold(trial.org).await.unwrap();
        // The next window is written after the one that the hold came out of.
        assert!(trial.call(true).await);
        let later = trial.clock.now() + HOLD_MS + 1;
        let ended = trial.store.write(|tx| release_expired(tx, later, 10).scope_boxed()).await.unwrap();
        assert_eq!(ended.holds, 1);
        hold.settle(true, trial.delta(true)).await.unwrap();
        assert_eq!(trial.end().await, (9, 2));
    })
    .await;
}

#[tokio::test]
async fn where_nothing_can_be_written_nobody_begins() {
    on_each_database(10, async |trial| {
        let hold = trial.meter.hold(trial.org).await.unwrap();
        trial.store.close().await;
        let settled = hold.settle(true, trial.delta(true)).await;
        assert!(matches!(settled, Err(Refused::Unavailable(_))), "{settled:?}");
        assert!(matches!(trial.meter.hold(trial.org).await, Err(Refused::Unavailable(_))));
    })
    .await;
}

#[test]
fn a_call_whose_credit_was_never_held_learns_it_at_its_end() {
    let settle = |failure, done| {
        let held = Held { org: OrgNo(1), id: HoldId::new(Millis(0), [7; 10]), bucket: Bucket::Prepaid, failure };
        Call::Settle { held, captured: true, counted: Some(delta(OrgNo(1), 0, true)), done }
    };
    let failure = Failure::default();
    failure.set(Arc::new(StoreError::NotFound)).unwrap();
    let (done, mut wait) = oneshot::channel();
    let gathered = Gathered::of([settle(failure, Some(done)), settle(Failure::default(), None)].into_iter());
    assert!(matches!(wait.try_recv(), Ok(Err(Refused::NeverHeld(_)))));
    assert_eq!((gathered.settling.len(), gathered.counted.len()), (1, 1), "the other is settled");
}

#[tokio::test(start_paused = true)]
async fn a_window_waits_a_moment_for_as_many_as_the_last_one_had() {
    let ask = || Call::Hold { org: OrgNo(1), answer: oneshot::channel().0 };
    let (queue, mut calls) = mpsc::channel(8);
    let begun = Clock::starting_at(Millis(0));
    let mut batch = vec![ask()];
    // As many as before: at once.
    gather(&mut calls, &mut batch, 1).await;
    assert_eq!((batch.len(), begun.elapsed()), (1, Duration::ZERO));
    // All come back.
    queue.send(ask()).await.unwrap();
    queue.send(ask()).await.unwrap();
    gather(&mut calls, &mut batch, 3).await;
    assert_eq!((batch.len(), begun.elapsed()), (3, Duration::ZERO));
    // One of two comes: it is not lost, and the other is not waited for long.
    queue.send(ask()).await.unwrap();
    gather(&mut calls, &mut batch, 5).await;
    assert_eq!((batch.len(), begun.elapsed()), (4, Duration::from_millis(GATHER_MS)));
}
