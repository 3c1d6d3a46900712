//! Jobs that stand still: whose turn it is not, and which ones are to be stopped.

use probity_core::time::Millis;
use probity_store::jobs::{self, Fence, JobNo, NewChunk, Settled};
use probity_store::orgs::{self, OrgStatus};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError};

use super::{LEASE_MS, NOW, claim, claim_import, import, new_job, nth_org, org, result, submit};
use crate::databases::for_each_database;

const LATER: Millis = Millis(NOW.0 + 3_600_000);

/// A job of two rows in two chunks.
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

/// Those that have not come on for a while, an hour after the beginning.
async fn stalled(store: &Store) -> Vec<JobNo> {
    let stalled = jobs::stalled(&mut store.read().await.unwrap(), LATER, 10).await.unwrap();
    stalled.into_iter().map(|(_, job)| job).collect()
}

async fn settle(store: &Store, fence: Fence, settled: Settled) {
    store.write(|tx| jobs::settle(tx, &fence, &settled, LATER).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn jobs_of_stopped_organizations_wait_and_are_in_nobodys_way() {
    for_each_database(async |store| {
        let mut running = Vec::new();
        for (n, status) in
            (1..).zip([OrgStatus::Banned, OrgStatus::Paused, OrgStatus::Suspended].iter().chain(&OrgStatus::ALL))
        {
            let org = nth_org(&store, n, 100).await;
            store.write(|tx| orgs::set_status(tx, org, *status).scope_boxed()).await.unwrap();
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
        let org = org(&store, 100).await;
        let imported = ready(&store, org, 1).await;
        // Its importers die, one after the other.
        let importing = submit(&store, &new_job(org, 2), 2).await.unwrap();
        let import = claim_import(&store, LATER).await.unwrap();
        let chunk =
            [NewChunk { ready_at: NOW, size: 2, body: vec![7], destination: String::new(), source: String::new() }];
        store.write(|tx| jobs::add_chunks(tx, &import, &chunk, &[], LATER, LEASE_MS).scope_boxed()).await.unwrap();
        // Its workers die, one after the other, and one settles nothing.
        claim(&store, org, imported, NOW, 1).await;
        let claimed = claim(&store, org, imported, LATER, 1).await.remove(0);
        settle(&store, claimed.fence, Settled::default()).await;
        let mut both = [imported, importing];
        both.sort_unstable();
        let mut found = stalled(&store).await;
        found.sort_unstable();
        assert_eq!(found, both);
        // A result is progress, and so is an address that is put off.
        let part = Settled { results: vec![result(0, 1, probity_core::verdict::Reason::Valid)], ..Settled::default() };
        settle(&store, claimed.fence, part).await;
        assert_eq!(stalled(&store).await, [importing]);
    })
    .await;
}

#[tokio::test]
async fn a_block_that_comes_after_its_job_was_swept_leaves_nothing() {
    for_each_database(async |store| {
        let new = new_job(org(&store, 100).await, 1);
        let no = store.write(|tx| jobs::begin(tx, &new).scope_boxed()).await.unwrap();
        assert_eq!(store.write(|tx| jobs::sweep_unborn(tx, LATER, 10).scope_boxed()).await.unwrap(), 1);
        let late: Result<()> =
            store.write(|tx| jobs::add_block(tx, new.org, no, 0, b"ann@example.org").scope_boxed()).await;
        assert!(matches!(late, Err(StoreError::NotFound)), "{late:?}");
        assert_eq!(jobs::blocks(&mut store.read().await.unwrap(), new.org, no, 0, 10).await.unwrap(), []);
    })
    .await;
}
