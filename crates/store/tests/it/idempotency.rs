//! Idempotency keys: runs, waiting, and repeated responses.

use probity_mail::time::Millis;
use probity_store::idempotency::{self, IdempotencyOutcome, IdempotentAttempt, KEPT_MAX};
use probity_store::nodes::instance;
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;

const LEASE_MS: i64 = 60_000;
const KEEP_MS: i64 = 86_400_000;
const START: Millis = Millis(1_700_000_000_000);

fn attempt(run: &str, after_ms: i64) -> IdempotentAttempt {
    IdempotentAttempt {
        org: OrgNo(3),
        key_hash: [0xAB; 32],
        body_hash: [1; 32],
        run: run.into(),
        now: START + after_ms,
        lease_ms: LEASE_MS,
        keep_ms: KEEP_MS,
    }
}

async fn begin(store: &Store, attempt: &IdempotentAttempt) -> IdempotencyOutcome {
    store.write(|tx| idempotency::begin(tx, attempt).scope_boxed()).await.unwrap()
}

/// Stores a response in a transaction that does some work first: it sets a text named after the run.
async fn work_and_answer(store: &Store, attempt: &IdempotentAttempt, status: u16, answer: &[u8]) -> Result<()> {
    let done = store.write(|tx| {
        async move {
            instance::set_once(tx, &attempt.run, "worked").await?;
            idempotency::keep_answer(tx, attempt.held(), status, answer, false).await
        }
        .scope_boxed()
    });
    done.await
}

async fn has_worked(store: &Store, run: &str) -> bool {
    instance::value(&mut store.read().await.unwrap(), run).await.unwrap().is_some()
}

async fn release(store: &Store, attempt: &IdempotentAttempt) {
    store.write(|tx| idempotency::release(tx, attempt.held()).scope_boxed()).await.unwrap();
}

async fn purge(store: &Store, before: Millis, at_most: u32) -> u64 {
    store.write(|tx| idempotency::purge(tx, before, at_most).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn an_answer_is_replayed_until_its_time_is_over() {
    for_each_database(async |store| {
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run);
        assert_eq!(begin(&store, &attempt("two", 1)).await, IdempotencyOutcome::InProgress);
        work_and_answer(&store, &attempt("one", 0), 201, b"\0made\xff").await.unwrap();
        let replay = IdempotencyOutcome::Replay { status: 201, answer: b"\0made\xff".to_vec() };
        assert_eq!(begin(&store, &attempt("two", 2)).await, replay);
        assert_eq!(begin(&store, &attempt("two", KEEP_MS - 1)).await, replay);
        assert_eq!(begin(&store, &attempt("two", KEEP_MS)).await, IdempotencyOutcome::Run);
        // The old response was removed with the old run.
        assert_eq!(begin(&store, &attempt("three", KEEP_MS + 1)).await, IdempotencyOutcome::InProgress);
    })
    .await;
}

#[tokio::test]
async fn another_body_is_refused_in_flight_and_after() {
    for_each_database(async |store| {
        let other = |after_ms| IdempotentAttempt { body_hash: [2; 32], ..attempt("two", after_ms) };
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run);
        assert_eq!(begin(&store, &other(1)).await, IdempotencyOutcome::Reused);
        work_and_answer(&store, &attempt("one", 0), 200, b"").await.unwrap();
        assert_eq!(begin(&store, &other(KEEP_MS - 1)).await, IdempotencyOutcome::Reused);
        assert_eq!(begin(&store, &other(KEEP_MS)).await, IdempotencyOutcome::Run);
        assert_eq!(begin(&store, &attempt("three", KEEP_MS + 1)).await, IdempotencyOutcome::Reused);
    })
    .await;
}

#[tokio::test]
async fn keys_of_other_organizations_and_requests_are_others() {
    for_each_database(async |store| {
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run);
        assert_eq!(
            begin(&store, &IdempotentAttempt { org: OrgNo(4), ..attempt("two", 0) }).await,
            IdempotencyOutcome::Run
        );
        assert_eq!(
            begin(&store, &IdempotentAttempt { key_hash: [0; 32], ..attempt("three", 0) }).await,
            IdempotencyOutcome::Run
        );
        assert_eq!(
            begin(&store, &IdempotentAttempt { key_hash: [255; 32], ..attempt("four", 0) }).await,
            IdempotencyOutcome::Run
        );
    })
    .await;
}

#[tokio::test]
async fn a_released_key_is_free() {
    for_each_database(async |store| {
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run);
        release(&store, &attempt("two", 0)).await;
        assert_eq!(
            begin(&store, &attempt("two", 1)).await,
            IdempotencyOutcome::InProgress,
            "another's release changes nothing"
        );
        release(&store, &attempt("one", 0)).await;
        assert_eq!(begin(&store, &attempt("two", 2)).await, IdempotencyOutcome::Run);
        work_and_answer(&store, &attempt("two", 2), 200, b"x").await.unwrap();
        release(&store, &attempt("two", 2)).await;
        assert!(
            matches!(begin(&store, &attempt("three", 3)).await, IdempotencyOutcome::Replay { .. }),
            "an answer stays"
        );
    })
    .await;
}

#[tokio::test]
async fn a_run_that_lost_its_lease_leaves_no_work() {
    for_each_database(async |store| {
        let late = IdempotentAttempt { body_hash: [9; 32], ..attempt("two", LEASE_MS) };
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run);
        assert_eq!(begin(&store, &attempt("two", LEASE_MS - 1)).await, IdempotencyOutcome::InProgress);
        // Without a response, the key is free for any body.
        assert_eq!(begin(&store, &late).await, IdempotencyOutcome::Run);
        let lost = work_and_answer(&store, &attempt("one", 0), 200, b"x").await;
        assert!(matches!(lost, Err(StoreError::LeaseLost)), "{lost:?}");
        assert!(!has_worked(&store, "one").await);
        work_and_answer(&store, &late, 200, b"y").await.unwrap();
        assert!(has_worked(&store, "two").await);
        let twice = work_and_answer(&store, &late, 200, b"z").await;
        assert!(matches!(twice, Err(StoreError::LeaseLost)), "{twice:?}");
    })
    .await;
}

#[tokio::test]
async fn a_lease_that_ended_unclaimed_still_counts() {
    for_each_database(async |store| {
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run);
        work_and_answer(&store, &attempt("one", 0), 200, b"late").await.unwrap();
        let replay = IdempotencyOutcome::Replay { status: 200, answer: b"late".to_vec() };
        assert_eq!(begin(&store, &attempt("two", LEASE_MS + 1)).await, replay);
    })
    .await;
}

#[tokio::test]
async fn old_keys_are_purged_oldest_first() {
    for_each_database(async |store| {
        for n in 0..5u8 {
            let key = IdempotentAttempt { key_hash: [n; 32], ..attempt("one", i64::from(n)) };
            assert_eq!(begin(&store, &key).await, IdempotencyOutcome::Run);
        }
        assert_eq!(purge(&store, START + 4, 3).await, 3);
        let kept = IdempotentAttempt { key_hash: [3; 32], ..attempt("two", 5) };
        assert_eq!(begin(&store, &kept).await, IdempotencyOutcome::InProgress);
        assert_eq!(purge(&store, START + 4, 3).await, 1);
        assert_eq!(purge(&store, START + 4, 3).await, 0);
        assert_eq!(begin(&store, &kept).await, IdempotencyOutcome::Run);
    })
    .await;
}

#[tokio::test]
async fn an_organization_cannot_keep_keys_without_end() {
    for_each_database(async |store| {
        // Hashes of one part: those with the same first six bits.
        let part = usize::try_from(KEPT_MAX / 64).unwrap();
        let key = |n: usize| {
            let mut key_hash = [0xFC | u8::try_from(n % 4).unwrap(); 32];
            key_hash[24..].copy_from_slice(&n.to_be_bytes());
            IdempotentAttempt { key_hash, ..attempt("one", 0) }
        };
        let all: Vec<IdempotentAttempt> = (0..part).map(key).collect();
        let begun = store.write(|tx| {
            async {
                for attempt in &all {
                    assert_eq!(idempotency::begin(tx, attempt).await?, IdempotencyOutcome::Run);
                }
                Ok(())
            }
            .scope_boxed()
        });
        begun.await.unwrap();
        assert_eq!(begin(&store, &key(part)).await, IdempotencyOutcome::Full);
        assert_eq!(begin(&store, &key(0)).await, IdempotencyOutcome::InProgress, "those that are kept go on");
        assert_eq!(begin(&store, &IdempotentAttempt { org: OrgNo(4), ..key(part) }).await, IdempotencyOutcome::Run);
        assert_eq!(begin(&store, &attempt("one", 0)).await, IdempotencyOutcome::Run, "another part has room");
        release(&store, &key(0)).await;
        assert_eq!(begin(&store, &key(part)).await, IdempotencyOutcome::Run);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_at_once_one_runs() {
    for_each_database(async |store| {
        for after_ms in [0, LEASE_MS] {
            let tasks = (0..50).map(|task| {
                let store = store.clone();
                tokio::spawn(async move { begin(&store, &attempt(&format!("{after_ms} {task}"), after_ms)).await })
            });
            let begun = futures_util::future::try_join_all(tasks.collect::<Vec<_>>()).await.unwrap();
            assert_eq!(begun.iter().filter(|begun| **begun == IdempotencyOutcome::Run).count(), 1, "{begun:?}");
            assert_eq!(begun.iter().filter(|begun| **begun == IdempotencyOutcome::InProgress).count(), 49, "{begun:?}");
        }
    })
    .await;
}
