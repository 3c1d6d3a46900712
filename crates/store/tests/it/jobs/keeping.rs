//! What becomes of closed jobs: their results are packed, and in time removed.

use probity_core::time::Millis;
use probity_core::verdict::Reason;
use probity_store::jobs::{self, JobNo, NewJob, Settled};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, settings};

use super::{LEASE_MS, NOW, audited, claim, claim_import, import, new_job, org, result, settle, submit, taken_up};
use crate::databases::for_each_database;

/// Everything of a job's first rows, in whatever form it is kept.
async fn outcomes(store: &Store, org: OrgNo, job: JobNo, from: i64, to: i64) -> Vec<(i64, jobs::Standing)> {
    jobs::outcomes(&mut store.read().await.unwrap(), org, job, from, to).await.unwrap()
}

#[tokio::test]
async fn packed_results_read_as_the_rows_did_after_each_step() {
    for_each_database(async |store| {
        let org = org(&store, 30_000).await;
        let job = new_job(org, 1);
        let (rows, uniques) = (12_300, 12_000);
        let no = submit(&store, &job, rows).await.unwrap();
        let import_claim = claim_import(&store, NOW).await.unwrap();
        import(&store, &import_claim, uniques).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 1).await;
        // The first row is repeated by the last ones; the second half of the others has no results, because the job is cancelled.
        let reasons = [Reason::Valid, Reason::Nonexistent, Reason::Unverified];
        let results = (0..6_000).zip(reasons.into_iter().cycle());
        let results = results.map(|(idx, reason)| result(idx, if idx == 0 { 301 } else { 1 }, reason));
        let settled = Settled { results: results.collect(), ..Settled::default() };
        settle(&store, &claimed[0], &settled).await.unwrap();
        let packing = store.write(|tx| jobs::claim_packing(tx, NOW, LEASE_MS).scope_boxed());
        assert_eq!(packing.await.unwrap(), None, "the job is open");
        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();

        let ranges = [(0, 1_000), (950, 1_050), (5_990, 6_010), (11_900, rows), (rows - 1, rows)];
        let mut before = Vec::new();
        for (from, to) in ranges {
            before.push(outcomes(&store, org, no, from, to).await);
        }
        assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [1_000, 100, 10, 300, 1]);
        let take = |now: Millis| store.write(move |tx| jobs::claim_packing(tx, now, LEASE_MS).scope_boxed());
        let mut steps = 0;
        let mut left = take(NOW).await.unwrap();
        assert_eq!(take(NOW).await.unwrap(), None, "one holder");
        while let Some(packing) = left {
            steps += 1;
            // Every other holder dies before its step, or has it done again by its follower.
            left = jobs::pack(&store, packing, NOW + LEASE_MS).await.unwrap();
            if steps % 2 == 0 {
                jobs::pack(&store, packing, NOW + LEASE_MS).await.unwrap();
                left = take(NOW + LEASE_MS).await.unwrap();
            }
            for ((from, to), expected) in ranges.into_iter().zip(&before) {
                assert_eq!(&outcomes(&store, org, no, from, to).await, expected, "step {steps}, {from}..{to}");
            }
            assert!(steps < 50, "it comes to an end");
        }
        assert!(steps > 3, "several steps: {steps}");
        assert_eq!(take(Millis(i64::MAX)).await.unwrap(), None, "done once");
        let own = jobs::results(&mut store.read().await.unwrap(), org, no, 0, rows).await.unwrap();
        assert_eq!(own.len(), 6_000);
    })
    .await;
}

const DAY_MS: i64 = 86_400_000;

/// A job of ten rows, closed and packed.
async fn packed(store: &Store, org: OrgNo) -> (NewJob, JobNo) {
    let (no, claimed) = taken_up(store, org, 10).await;
    let job = new_job(org, 1);
    let settled = Settled { results: vec![result(0, 1, Reason::Valid)], ..Settled::default() };
    settle(store, &claimed, &settled).await.unwrap();
    store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
    let mut left = store.write(|tx| jobs::claim_packing(tx, NOW, LEASE_MS).scope_boxed()).await.unwrap();
    while let Some(packing) = left {
        left = jobs::pack(store, packing, NOW + LEASE_MS).await.unwrap();
    }
    (job, no)
}

async fn mark_due(store: &Store, now: Millis) -> usize {
    store.write(|tx| jobs::mark_due(tx, now, 30, 10).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn rows_go_after_as_many_days_as_their_organization_wishes() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let (job, no) = packed(&store, org).await;
        assert_eq!(mark_due(&store, NOW + 30 * DAY_MS - 1).await, 0);
        let wish = |days| settings::Settings { retention_days: days, ..settings::Settings::default() };
        let week = wish(Some(7));
        store.write(|tx| settings::write(tx, org, &week, NOW).scope_boxed()).await.unwrap();
        assert_eq!(mark_due(&store, NOW + 7 * DAY_MS - 1).await, 0);
        let long = wish(Some(31));
        store.write(|tx| settings::write(tx, org, &long, NOW).scope_boxed()).await.unwrap();
        assert_eq!(mark_due(&store, NOW + 30 * DAY_MS).await, 0);
        assert_eq!(mark_due(&store, NOW + 31 * DAY_MS).await, 1);
        assert_eq!(mark_due(&store, NOW + 32 * DAY_MS).await, 0, "once");

        let read = async || jobs::by_id(&mut store.read().await.unwrap(), org, job.id, false).await;
        assert_eq!(read().await.unwrap().purged_at, Some(NOW + 31 * DAY_MS));
        let purge = || store.write(|tx| jobs::purge_rows(tx).scope_boxed());
        assert_eq!([purge().await.unwrap(), purge().await.unwrap(), purge().await.unwrap()], [true, true, false]);
        let mut conn = store.read().await.unwrap();
        assert_eq!(jobs::blocks(&mut conn, org, no, 0, 10).await.unwrap(), []);
        assert_eq!(jobs::outcomes(&mut conn, org, no, 0, 10).await.unwrap(), []);
        assert_eq!(read().await.unwrap().counts.passed, 1, "what came out in numbers stays");

        let forget = |before| store.write(move |tx| jobs::forget(tx, before, 10).scope_boxed());
        assert_eq!(forget(NOW - 1).await.unwrap(), 0);
        assert_eq!(forget(NOW).await.unwrap(), 1);
        assert!(matches!(read().await, Err(StoreError::NotFound)));
        audited(&store).await;
    })
    .await;
}
