//! Waiting jobs: those whose turn has not come, stalled ones, and ones to be stopped.

use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgState};
use probity_store::jobs::{self, ChunkFence, JobNo, NewChunk, SettledPart};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use super::{LEASE_MS, NOW, claim, claim_import, import, new_job, nth_org, org, result, submit};
use crate::databases::for_each_database;

const LATER: Millis = Millis(NOW.0 + 3_600_000);
const DAY: i64 = 24 * 3_600_000;
const WEEK: i64 = 7 * DAY;

/// Creates a job of two rows in two chunks.
async fn ready(store: &Store, org: OrgNo, n: u8) -> JobNo {
    let no = submit(store, &new_job(org, n), 2).await.unwrap();
    let claim = claim_import(store, NOW).await.unwrap();
    import(store, &claim, 2).await.unwrap();
    no
}

async fn open(store: &Store, at_most: i64) -> Vec<JobNo> {
    let open = jobs::open(&mut store.read().await.unwrap(), NOW, at_most).await.unwrap();
    open.iter().map(|open| open.job).collect()
}

/// Returns the jobs stalled for a week at a time, by number.
async fn stalled(store: &Store, now: Millis) -> Vec<JobNo> {
    let stalled = jobs::stalled(&mut store.read().await.unwrap(), now - WEEK, now, 10).await.unwrap();
    let mut stalled: Vec<JobNo> = stalled.into_iter().map(|(_, job)| job).collect();
    stalled.sort_unstable();
    stalled
}

async fn settle(store: &Store, fence: ChunkFence, settled: SettledPart, now: Millis) {
    store.write(|tx| jobs::settle(tx, &fence, &settled, now).scope_boxed()).await.unwrap();
}

/// Returns a job of each kind in progress: a worker died at the first chunk of one, an importer at the other.
async fn in_hand(store: &Store) -> (OrgNo, [JobNo; 2]) {
    let org = org(store, 100).await;
    let imported = ready(store, org, 1).await;
    let importing = submit(store, &new_job(org, 2), 2).await.unwrap();
    claim(store, org, imported, NOW, 1).await;
    assert_eq!(claim_import(store, NOW).await.unwrap().job, importing);
    (org, [imported, importing])
}

async fn set_status(store: &Store, org: OrgNo, status: OrgState, now: Millis) {
    let set = store.write(|tx| {
        async {
            organization::set_status(tx, org, status).await?;
            jobs::waits(tx, org, now).await
        }
        .scope_boxed()
    });
    set.await.unwrap();
}

#[tokio::test]
async fn jobs_of_stopped_organizations_wait_and_are_in_nobodys_way() {
    for_each_database(async |store| {
        let mut running = Vec::new();
        for (n, status) in
            (1..).zip([OrgState::Banned, OrgState::Paused, OrgState::Suspended].iter().chain(&OrgState::ALL))
        {
            let org = nth_org(&store, n, 100).await;
            store.write(|tx| organization::set_status(tx, org, *status).scope_boxed()).await.unwrap();
            let job = ready(&store, org, n).await;
            if !status.is_stopped() {
                running.push(job);
            }
        }
        assert_eq!(open(&store, 3).await, running);
        assert_eq!(open(&store, 100).await, running);
    })
    .await;
}

#[tokio::test]
async fn an_organization_with_many_jobs_hides_no_other() {
    for_each_database(async |store| {
        let (many, few) = (nth_org(&store, 1, 100).await, nth_org(&store, 2, 100).await);
        for n in 1..=40 {
            ready(&store, many, n).await;
        }
        let last = ready(&store, few, 41).await;
        assert!(open(&store, 20).await.contains(&last));
    })
    .await;
}

#[tokio::test]
async fn only_what_comes_on_counts_as_progress() {
    for_each_database(async |store| {
        let (org, both) = in_hand(&store).await;
        let [imported, importing] = both;
        // Another importer and another worker every hour; one settles nothing.
        let mut now = NOW;
        while now < NOW + WEEK {
            assert_eq!(stalled(&store, now).await, [], "it is not over");
            now = now + 3_600_000;
            let import = claim_import(&store, now).await.unwrap();
            let chunk =
                [NewChunk { ready_at: NOW, size: 2, body: vec![7], destination: String::new(), source: String::new() }];
            store.write(|tx| jobs::add_chunks(tx, &import, &chunk, &[], now, LEASE_MS).scope_boxed()).await.unwrap();
            let claimed = claim(&store, org, imported, now, 1).await.remove(0);
            settle(&store, claimed.fence, SettledPart::default(), now).await;
        }
        now = now + 3_600_000;
        let mut expected = both;
        expected.sort_unstable();
        assert_eq!(stalled(&store, now).await, expected);
        // A result counts as progress, and so does a deferred address.
        let claimed = claim(&store, org, imported, now, 1).await.remove(0);
        let part =
            SettledPart { results: vec![result(0, 1, probity_mail::verdict::Reason::Valid)], ..SettledPart::default() };
        settle(&store, claimed.fence, part, now).await;
        assert_eq!(stalled(&store, now).await, [importing]);
    })
    .await;
}

#[tokio::test]
async fn while_nobody_is_there_no_job_stands_still() {
    for_each_database(async |store| {
        let (org, [imported, _]) = in_hand(&store).await;
        let waiting = ready(&store, org, 3).await;
        submit(&store, &new_job(org, 4), 2).await.unwrap();
        let back = NOW + 3 * WEEK;
        assert_eq!(stalled(&store, back).await, [], "the first look after three weeks");
        assert_eq!(claim(&store, org, imported, back, 2).await.len(), 2);
        claim(&store, org, waiting, back, 2).await;
        for _ in 0..2 {
            claim_import(&store, back).await.unwrap();
        }
        assert_eq!(stalled(&store, back + 1_000).await, [], "nothing has come of it yet");
        assert_eq!(stalled(&store, back + DAY).await, []);
    })
    .await;
}

#[tokio::test]
async fn a_job_that_waits_for_its_turn_does_not_stand_still() {
    for_each_database(async |store| {
        let org = org(&store, 100).await;
        let job = ready(&store, org, 1).await;
        let first = claim(&store, org, job, NOW, 1).await.remove(0);
        let part =
            SettledPart { results: vec![result(0, 1, probity_mail::verdict::Reason::Valid)], ..SettledPart::default() };
        settle(&store, first.fence, SettledPart { done: true, ..part }, NOW).await;
        // Other jobs are served first, for longer than the stall limit.
        let turn = NOW + 2 * WEEK;
        assert_eq!(stalled(&store, turn).await, []);
        let second = claim(&store, org, job, turn, 1).await.remove(0);
        assert_eq!(stalled(&store, turn).await, [], "its turn has just come");
        // All workers die at this chunk.
        let mut now = turn;
        while now <= turn + WEEK {
            assert_eq!(stalled(&store, now).await, []);
            now = now + DAY / 2;
            assert_eq!(claim(&store, org, job, now, 1).await.remove(0).fence.chunk, second.fence.chunk);
        }
        assert_eq!(stalled(&store, now).await, [job]);
    })
    .await;
}

#[tokio::test]
async fn the_time_of_a_stopped_organizations_jobs_begins_with_the_stop() {
    for_each_database(async |store| {
        for (n, status) in (1..).zip([OrgState::Paused, OrgState::Suspended]) {
            let org = nth_org(&store, n, 100).await;
            let job = ready(&store, org, n).await;
            let stop = NOW + 6 * DAY;
            set_status(&store, org, status, stop).await;
            assert_eq!(stalled(&store, stop + WEEK).await, []);
            assert_eq!(stalled(&store, stop + WEEK + 1).await, [job]);
            set_status(&store, org, OrgState::Active, stop + WEEK + 1).await;
            assert_eq!(stalled(&store, stop + 3 * WEEK).await, []);
        }
    })
    .await;
}

#[tokio::test]
async fn a_block_that_comes_after_its_job_was_swept_leaves_nothing() {
    for_each_database(async |store| {
        let new = new_job(org(&store, 100).await, 1);
        let no = store.write(|tx| jobs::begin(tx, &new).scope_boxed()).await.unwrap();
        let broken_off = jobs::broken_off(&mut store.read().await.unwrap(), LATER, 10).await.unwrap();
        assert_eq!(store.write(|tx| jobs::sweep(tx, &broken_off, LATER).scope_boxed()).await.unwrap(), 1);
        let late: Result<()> =
            store.write(|tx| jobs::add_block(tx, new.org, no, 0, b"ann@example.org").scope_boxed()).await;
        assert!(matches!(late, Err(StoreError::NotFound)), "{late:?}");
        assert_eq!(jobs::blocks(&mut store.read().await.unwrap(), new.org, no, 0, 10).await.unwrap(), []);
    })
    .await;
}
