//! Leases of a process whose clock was two hours or a year ahead, and the start of a process whose clock is behind.

use probity_account::id::NodeId;
use probity_mail::time::Millis;
use probity_store::accounts::people::attempts::{self, AttemptSlot, Backoff};
use probity_store::idempotency::{self, IdempotencyOutcome, IdempotentAttempt};
use probity_store::nodes::StoredNode;
use probity_store::nodes::ahead::{self, ClockCorrection, ClockLimits};
use probity_store::nodes::facts::{self, StoredDomainFact};
use probity_store::privacy::erasures;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, jobs, nodes};

use super::{LEASE_MS, NOW, chunk_at, claim, claim_import, import, new_job, org, settle, submit};
use crate::databases::for_each_database;

const DAY_MS: i64 = 86_400_000;
const YEAR_MS: i64 = 365 * DAY_MS;
const HOUR_MS: i64 = 3_600_000;
const LONGEST: ClockLimits =
    ClockLimits { node_ms: 30_000, work_ms: LEASE_MS, lock_ms: LEASE_MS, facts_ms: 90 * DAY_MS };

async fn correct_times(store: &Store, when: ClockCorrection) {
    ahead::correct_times(store, NOW, &LONGEST, when).await.unwrap();
}

#[tokio::test]
async fn a_list_is_gone_on_with() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let (org, ahead) = (org(&store, 10).await, NOW + YEAR_MS);
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        claim_import(&store, ahead).await.unwrap();
        assert!(claim_import(&store, NOW).await.is_none());
        correct_times(&store, ClockCorrection::Running).await;
        import(&store, &claim_import(&store, NOW).await.unwrap(), 6).await.unwrap();

        assert_eq!(claim(&store, org, no, ahead, 2).await.len(), 2);
        assert!(claim(&store, org, no, NOW, 2).await.is_empty());
        correct_times(&store, ClockCorrection::Running).await;
        let claimed = claim(&store, org, no, NOW, 2).await;
        assert_eq!(claimed.len(), 2);
        correct_times(&store, ClockCorrection::Running).await;
        assert!(claim(&store, org, no, NOW, 2).await.is_empty(), "these leases are as long as they may be");

        // Rows deferred until next year.
        let put_off =
            super::SettledPart { put_off: vec![chunk_at(ahead)], done: true, ..super::SettledPart::default() };
        settle(&store, &claimed[0], &put_off).await.unwrap();
        correct_times(&store, ClockCorrection::Running).await;
        assert_eq!(claim(&store, org, no, NOW, 2).await.len(), 1);
    })
    .await;
}

/// Records a heartbeat of a node whose clock reads `now`.
async fn beat(store: &Store, now: Millis) {
    let node = StoredNode {
        id: NodeId::from_bits(1),
        hostname: "one".into(),
        process: String::new(),
        roles: String::new(),
        version: String::new(),
        sources: String::new(),
        chunks: 0,
        imports: 0,
        started_at: now,
        seen_at: now,
        egress: String::new(),
        ahead_ms: 0,
    };
    store.write(|tx| nodes::beat(tx, &node).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn pauses_move_back_with_the_clock_once() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let (org, ahead) = (org(&store, 10).await, NOW + 2 * HOUR_MS);
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        let claimed = claim_import(&store, ahead).await.unwrap();
        let chunks = [chunk_at(ahead), chunk_at(ahead + HOUR_MS), chunk_at(NOW)];
        store
            .write(|tx| {
                async {
                    jobs::add_chunks(tx, &claimed, &chunks, &[], ahead, LEASE_MS).await?;
                    jobs::imported(tx, &claimed, 0, ahead).await
                }
                .scope_boxed()
            })
            .await
            .unwrap();
        beat(&store, ahead).await;
        // A node with a right clock does not hide that another's was ahead.
        beat(&store, NOW).await;
        for _ in 0..2 {
            correct_times(&store, ClockCorrection::AtStart).await;
        }
        assert_eq!(claim(&store, org, no, NOW, 9).await.len(), 2, "the chunk that was ready, and that of the past");
        assert!(
            claim(&store, org, no, NOW + HOUR_MS - 1, 9).await.len() == 2,
            "their leases have ended; the pause has not"
        );
        assert_eq!(claim(&store, org, no, NOW + HOUR_MS + LEASE_MS, 9).await.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_goes_on_moves_no_pause() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let org = org(&store, 10).await;
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        import(&store, &claim_import(&store, NOW).await.unwrap(), 6).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 9).await;
        let later =
            super::SettledPart { put_off: vec![chunk_at(NOW + HOUR_MS)], done: true, ..super::SettledPart::default() };
        for chunk in &claimed {
            settle(&store, chunk, &later).await.unwrap();
        }
        // Five seconds are within the tolerated difference between nodes and databases.
        for seen_at in [NOW + -2 * HOUR_MS, NOW + 5_000] {
            beat(&store, seen_at).await;
            correct_times(&store, ClockCorrection::AtStart).await;
            assert!(claim(&store, org, no, NOW + HOUR_MS - 1, 9).await.is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn beside_sqlite_a_start_ends_all_leases_on_work() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let org = org(&store, 10).await;
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        import(&store, &claim_import(&store, NOW).await.unwrap(), 6).await.unwrap();
        let first = claim(&store, org, no, NOW, 2).await;
        correct_times(&store, ClockCorrection::AtStart).await;
        let alone = store.dialect() == probity_store::SqlDialect::Sqlite;
        assert_eq!(claim(&store, org, no, NOW, 2).await.len(), if alone { first.len() } else { 0 });
    })
    .await;
}

fn attempt(run: &str, now: Millis) -> IdempotentAttempt {
    IdempotentAttempt {
        org: OrgNo(3),
        key_hash: [0xAB; 32],
        body_hash: [1; 32],
        run: run.into(),
        now,
        lease_ms: LEASE_MS,
        keep_ms: DAY_MS,
    }
}

async fn begin(store: &Store, attempt: &IdempotentAttempt) -> IdempotencyOutcome {
    store.write(|tx| idempotency::begin(tx, attempt).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn keys_and_the_leases_of_nodes_come_free() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let (ahead, right) = (attempt("ahead", NOW + YEAR_MS), attempt("right", NOW));
        assert_eq!(begin(&store, &ahead).await, IdempotencyOutcome::Run);
        assert_eq!(begin(&store, &right).await, IdempotencyOutcome::InProgress);
        let take = async |n: u128, now: Millis| {
            let holder = NodeId::from_bits(n);
            let taken = store.write(|tx| nodes::take(tx, "schedule", holder, now, now + 30_000).scope_boxed()).await;
            taken.unwrap().holder == holder
        };
        assert!(take(1, NOW + YEAR_MS).await && !take(2, NOW).await);
        correct_times(&store, ClockCorrection::Running).await;
        assert_eq!(begin(&store, &right).await, IdempotencyOutcome::Run);
        assert!(take(2, NOW).await);
        correct_times(&store, ClockCorrection::Running).await;
        assert_eq!(
            begin(&store, &attempt("another", NOW)).await,
            IdempotencyOutcome::InProgress,
            "this one is held rightly"
        );
        assert!(!take(1, NOW).await);
    })
    .await;
}

async fn answer(store: &Store, attempt: &IdempotentAttempt) {
    assert_eq!(begin(store, attempt).await, IdempotencyOutcome::Run);
    let kept = store.write(|tx| idempotency::keep_answer(tx, attempt.held(), 200, b"{}", true).scope_boxed());
    kept.await.unwrap();
}

#[tokio::test]
async fn a_start_whose_clock_is_behind_costs_nothing_that_has_happened() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let org = org(&store, 10).await;
        let job = new_job(org, 1);
        submit(&store, &job, 6).await.unwrap();
        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        answer(&store, &attempt("answered", NOW)).await;
        let slots = [AttemptSlot {
            no: 1,
            backoff: Backoff { free: 0, first_ms: 1_000, longest_ms: 300_000, forget_ms: 3_600_000 },
        }];
        let tries = async |at| store.write(|tx| attempts::begin(tx, &slots, at).scope_boxed()).await.unwrap();
        assert_eq!(tries(NOW).await, Ok(()));

        for when in [ClockCorrection::AtStart, ClockCorrection::Running] {
            for behind in [NOW + -60 * DAY_MS, Millis(0)] {
                ahead::correct_times(&store, behind, &LONGEST, when).await.unwrap();
            }
        }

        assert!(jobs::due(&mut store.read().await.unwrap(), NOW + DAY_MS, 30, 10).await.unwrap().is_empty());
        let purged = store.write(|tx| idempotency::purge(tx, NOW + -DAY_MS, 10).scope_boxed()).await.unwrap();
        assert_eq!((purged, store.write(|tx| attempts::purge(tx, NOW, 10).scope_boxed()).await.unwrap()), (0, 0));
        let repeated = begin(&store, &attempt("repeated", NOW + 1)).await;
        assert!(matches!(repeated, IdempotencyOutcome::Replay { status: 200, .. }), "{repeated:?}");
        assert_eq!(tries(NOW + 1).await, Err(NOW + 1_000), "a failure that counts still");
    })
    .await;
}

#[tokio::test]
async fn an_erasure_drops_answers_of_a_clock_that_was_ahead() {
    for_each_database(async |store| {
        answer(&store, &attempt("ahead", NOW + YEAR_MS)).await;
        let dropped = store.write(|tx| erasures::drop_kept_answers(tx, OrgNo(3), NOW, 10).scope_boxed()).await;
        assert_eq!(dropped.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn facts_are_believed_for_as_long_as_is_configured_and_no_longer() {
    for_each_database(async |store| {
        store.failpoints().go_by_callers_clock();
        let fact = |domain: &str, until| StoredDomainFact {
            domain: domain.into(),
            host: "mx.example".into(),
            catch_all: Some((true, until)),
            accepted_until: None,
        };
        let (longest, ahead) = (fact("a.example", NOW + 90 * DAY_MS), fact("b.example", NOW + YEAR_MS));
        let both = [longest.clone(), ahead];
        store.write(|tx| facts::remember(tx, &both).scope_boxed()).await.unwrap();
        correct_times(&store, ClockCorrection::Running).await;
        let wanted = [("a.example", "mx.example"), ("b.example", "mx.example")];
        let mut left = facts::recall(&mut store.read().await.unwrap(), &wanted).await.unwrap();
        left.retain(|fact| fact.catch_all.is_some_and(|(_, until)| until > NOW));
        assert_eq!(left, [longest]);
    })
    .await;
}
