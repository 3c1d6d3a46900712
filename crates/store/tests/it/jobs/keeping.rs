//! Closed jobs: their results are packed, and removed after the retention.

use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::settings;
use probity_store::failpoint::FailpointSide;
use probity_store::jobs::{self, JobNo, NewChunk, NewJob, SettledPart};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use super::{
    LEASE_MS, NOW, audited, chunk_at, claim, claim_import, import, new_job, org, result, settle, submit, taken_up,
};
use crate::databases::for_each_database;

/// Returns all outcomes of a job's first rows, in either storage form.
async fn outcomes(store: &Store, org: OrgNo, job: JobNo, from: i64, to: i64) -> Vec<(i64, jobs::SettledResult)> {
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
        // The last rows repeat the first one; the second half of the others has no results, because the job is canceled.
        let reasons = [Reason::Valid, Reason::Nonexistent, Reason::Unverified];
        let results = (0..6_000).zip(reasons.into_iter().cycle());
        let results = results.map(|(idx, reason)| result(idx, if idx == 0 { 301 } else { 1 }, reason));
        let settled = SettledPart { results: results.collect(), ..SettledPart::default() };
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
            // Every other holder dies before its step, or its successor repeats it.
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

/// Creates a job of ten rows, closed and packed.
async fn packed(store: &Store, org: OrgNo) -> (NewJob, JobNo) {
    let (no, claimed) = taken_up(store, org, 10).await;
    let job = new_job(org, 1);
    let settled = SettledPart { results: vec![result(0, 1, Reason::Valid)], ..SettledPart::default() };
    settle(store, &claimed, &settled).await.unwrap();
    store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
    let mut left = store.write(|tx| jobs::claim_packing(tx, NOW, LEASE_MS).scope_boxed()).await.unwrap();
    while let Some(packing) = left {
        left = jobs::pack(store, packing, NOW + LEASE_MS).await.unwrap();
    }
    (job, no)
}

async fn mark_due(store: &Store, now: Millis) -> usize {
    let due = jobs::due(&mut store.read().await.unwrap(), now, 30, 10).await.unwrap();
    let marked = store.write(|tx| jobs::mark_due(tx, &due, now, 30).scope_boxed()).await.unwrap();
    assert_eq!(marked, due.len());
    marked
}

#[tokio::test]
async fn rows_go_after_as_many_days_as_their_organization_wishes() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let (job, no) = packed(&store, org).await;
        assert_eq!(mark_due(&store, NOW + 30 * DAY_MS - 1).await, 0);
        let wish = |days| settings::OrgSettings { retention_days: days, ..settings::OrgSettings::default() };
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
        assert_eq!([purge().await.unwrap(), purge().await.unwrap()], [true, false]);
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

#[tokio::test]
async fn a_deleted_list_is_gone_at_once_and_its_rows_soon() {
    for_each_database(async |store| {
        let org = org(&store, 20).await;
        let delete = |id, now| store.write(move |tx| jobs::delete(tx, org, id, false, now).scope_boxed());
        let (job, no) = packed(&store, org).await;
        let open = new_job(org, 2);
        submit(&store, &open, 3).await.unwrap();
        assert_eq!(delete(open.id, NOW).await.unwrap(), Err(jobs::JobState::Queued), "it is verified");
        store.write(|tx| jobs::cancel(tx, org, open.id, false, NOW).scope_boxed()).await.unwrap().unwrap();

        delete(job.id, NOW).await.unwrap().unwrap();
        assert!(matches!(delete(job.id, NOW).await, Err(StoreError::NotFound)), "once");
        assert!(matches!(
            jobs::by_id(&mut store.read().await.unwrap(), org, job.id, false).await,
            Err(StoreError::NotFound)
        ));
        let listed =
            jobs::page(&mut store.read().await.unwrap(), org, &jobs::JobFilter::default(), None, 10).await.unwrap();
        assert_eq!(listed.iter().map(|job| job.id).collect::<Vec<_>>(), [open.id]);

        // An unpacked job must be packed first.
        delete(open.id, NOW).await.unwrap().unwrap();
        let deleted = jobs::deleted(&mut store.read().await.unwrap(), 10).await.unwrap();
        assert_eq!(deleted, [(org, no)]);
        assert_eq!(store.write(|tx| jobs::mark_deleted(tx, &deleted, NOW).scope_boxed()).await.unwrap(), 1);
        let purge = || store.write(|tx| jobs::purge_rows(tx).scope_boxed());
        assert_eq!([purge().await.unwrap(), purge().await.unwrap()], [true, false]);
        let mut conn = store.read().await.unwrap();
        assert_eq!(jobs::blocks(&mut conn, org, no, 0, 10).await.unwrap(), []);
        assert_eq!(jobs::deleted(&mut conn, 10).await.unwrap(), []);
        drop(conn);
        audited(&store).await;
    })
    .await;
}

#[tokio::test]
async fn what_an_organization_wishes_by_now_counts_when_a_job_is_marked() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        packed(&store, org).await;
        let now = NOW + 30 * DAY_MS;
        let due = jobs::due(&mut store.read().await.unwrap(), now, 30, 10).await.unwrap();
        assert_eq!(due.len(), 1);
        let longer = settings::OrgSettings { retention_days: Some(31), ..settings::OrgSettings::default() };
        store.write(|tx| settings::write(tx, org, &longer, now).scope_boxed()).await.unwrap();
        assert_eq!(store.write(|tx| jobs::mark_due(tx, &due, now, 30).scope_boxed()).await.unwrap(), 0);
    })
    .await;
}

/// Returns the number of stored address blocks of a job, and whether the job exists.
async fn blocks(store: &Store, org: OrgNo, job: JobNo) -> usize {
    jobs::blocks(&mut store.read().await.unwrap(), org, job, 0, 1_000).await.unwrap().len()
}

/// Stages a submission of this many blocks.
async fn unborn(store: &Store, job: &NewJob, blocks: i64) -> JobNo {
    let begun = store.write(|tx| {
        async {
            let no = jobs::begin(tx, job).await?;
            for first in 0..blocks {
                jobs::add_block(tx, job.org, no, first * 1_000, b"addresses").await?;
            }
            Ok(no)
        }
        .scope_boxed()
    });
    begun.await.unwrap()
}

#[tokio::test]
async fn no_transaction_removes_a_whole_list_that_came_to_nothing() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let (job, swept) = (new_job(org, 1), new_job(org, 2));
        let (no, swept_no) = (unborn(&store, &job, 120).await, unborn(&store, &swept, 60).await);
        store.write(|tx| jobs::discard(tx, org, no, NOW).scope_boxed()).await.unwrap();
        let left = blocks(&store, org, no).await;
        assert!((1..120).contains(&left), "{left} blocks");
        let accepted = store.write(|tx| jobs::accept(tx, &job, 1, None, NOW).scope_boxed()).await;
        assert!(matches!(accepted, Err(StoreError::NotFound)), "{accepted:?}");
        let added = store.write(|tx| jobs::add_block(tx, org, no, 200_000, b"more").scope_boxed()).await;
        assert!(matches!(added, Err(StoreError::NotFound)), "{added:?}");
        let both = [(org, no), (org, swept_no)];
        let sweep = || store.write(|tx| jobs::sweep(tx, &both, NOW + 1).scope_boxed());
        assert_eq!([sweep().await.unwrap(), sweep().await.unwrap()], [1, 0], "one of them is thrown away already");
        assert_eq!(blocks(&store, org, swept_no).await, 60, "however many are swept together");
        let mut steps = Vec::new();
        let mut before = left + 60;
        while store.write(|tx| jobs::purge_rows(tx).scope_boxed()).await.unwrap() {
            let left = blocks(&store, org, no).await + blocks(&store, org, swept_no).await;
            steps.push(before - left);
            before = left;
        }
        assert!(steps.iter().all(|removed| *removed <= 50), "{steps:?}");
        assert_eq!(before, 0);
        let accepted = store.write(|tx| jobs::accept(tx, &swept, 1, None, NOW).scope_boxed()).await;
        assert!(matches!(accepted, Err(StoreError::NotFound)), "{accepted:?}");
        audited(&store).await;
    })
    .await;
}

#[tokio::test]
async fn chunks_of_a_stopped_job_go_in_parts_when_it_is_packed() {
    for_each_database(async |store| {
        let org = org(&store, 200).await;
        let job = new_job(org, 1);
        let no = submit(&store, &job, 120).await.unwrap();
        let import_claim = claim_import(&store, NOW).await.unwrap();
        let chunks: Vec<NewChunk> = (0..120).map(|_| chunk_at(NOW)).collect();
        let left = async || jobs::chunks(&mut store.read().await.unwrap(), org, no, -1, 1_000).await.unwrap().len();
        let add = || store.write(|tx| jobs::add_chunks(tx, &import_claim, &chunks, &[], NOW, LEASE_MS).scope_boxed());
        add().await.unwrap();
        let mut removed = Vec::new();
        loop {
            let before = left().await;
            let restart = store.write(|tx| jobs::restart_import(tx, &import_claim, NOW, LEASE_MS).scope_boxed());
            if !restart.await.unwrap() {
                break;
            }
            removed.push(before - left().await);
        }
        assert_eq!(removed, [50, 50, 20], "an import that begins again");
        add().await.unwrap();
        store.write(|tx| jobs::imported(tx, &import_claim, 0, NOW).scope_boxed()).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 1).await;
        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        assert_eq!(left().await, 120, "who cancels does not wait for them");
        audited(&store).await;
        let fences = [claimed[0].fence];
        let extended = store.write(|tx| jobs::extend(tx, &fences, NOW + 1).scope_boxed()).await;
        assert!(matches!(extended, Err(StoreError::LeaseLost)), "{extended:?}");
        assert!(claim(&store, org, no, NOW + LEASE_MS, 9).await.is_empty());
        let mut removed = Vec::new();
        let mut packing = store.write(|tx| jobs::claim_packing(tx, NOW, LEASE_MS).scope_boxed()).await.unwrap();
        while let Some(next) = packing {
            let before = left().await;
            packing = jobs::pack(&store, next, NOW + LEASE_MS).await.unwrap();
            removed.push(before - left().await);
        }
        assert_eq!(removed, [0, 50, 50, 20, 0]);
        audited(&store).await;
    })
    .await;
}

/// Returns how often each statement of sheets was executed.
fn reads(store: &Store) -> Vec<(String, u32)> {
    let traced = store.failpoints().traced().into_iter();
    let reads = traced
        .filter(|(point, _)| point.when == FailpointSide::Before && point.name.starts_with("jobs::results::sheet::"));
    reads.map(|(point, passes)| (point.name.trim_start_matches("jobs::results::sheet::").to_owned(), passes)).collect()
}

#[tokio::test]
async fn rows_that_were_settled_lately_are_found_without_reading_the_whole_job() {
    for_each_database(async |store| {
        let org = org(&store, 100).await;
        let (no, claimed) = taken_up(&store, org, 60).await;
        for (part, idx) in (0..).zip(0..30) {
            let settled = SettledPart { results: vec![result(idx, 1, Reason::Valid)], part, ..SettledPart::default() };
            settle(&store, &claimed, &settled).await.unwrap();
        }
        let picked = async |rows: &[i64]| {
            let found = jobs::picked(&mut store.read().await.unwrap(), org, no, rows).await.unwrap();
            found.into_iter().map(|(idx, standing)| (idx, standing.result.idx)).collect::<Vec<_>>()
        };
        store.failpoints().trace();
        assert_eq!(picked(&[28, 25]).await, [(25, 25), (28, 28)]);
        assert_eq!(reads(&store), [("BEFORE".to_owned(), 1), ("SETTLED".to_owned(), 1)], "ten parts of thirty");
        store.failpoints().trace();
        assert_eq!(picked(&[0, 29, 40]).await, [(0, 0), (29, 29)], "a row without a result is left out");
        assert_eq!(reads(&store), [("BEFORE".to_owned(), 4), ("SETTLED".to_owned(), 1)]);
    })
    .await;
}
