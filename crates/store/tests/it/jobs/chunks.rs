//! Chunks that wait: for their destination, for their source, for our own limits.

use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::jobs::{self, ChunkGroup, ChunkRelease, ClaimedChunk, JobNo, NewChunk, SettledPart};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use super::{LEASE_MS, NOW, chunk_at, claim, claim_import, import, new_job, org, result, settle, submit};
use crate::databases::for_each_database;

/// Adds chunks after a completed import, like a settlement.
async fn put_off(store: &Store, claimed: &ClaimedChunk, put_off: Vec<NewChunk>) {
    let settled = SettledPart { put_off, done: true, ..SettledPart::default() };
    settle(store, claimed, &settled).await.unwrap();
}

async fn heads(store: &Store, org: OrgNo, job: JobNo, sources: &[&str], without: &[&str], now: Millis) -> Vec<String> {
    let sources: Vec<std::sync::Arc<str>> = sources.iter().map(|name| (*name).into()).collect();
    let mut conn = store.read().await.unwrap();
    let heads = jobs::heads(&mut conn, (org, job), &sources, without, now, 10).await.unwrap();
    heads.into_iter().map(|head| format!("{}/{}", head.destination, head.source)).collect()
}

#[tokio::test]
async fn chunks_are_found_by_their_destination_and_kept_for_their_source() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        import(&store, &claim_import(&store, NOW).await.unwrap(), 6).await.unwrap();
        assert_eq!(heads(&store, org, no, &[], &[], NOW).await, ["/"]);
        let claimed = claim(&store, org, no, NOW, 2).await;
        assert!(heads(&store, org, no, &[], &[], NOW).await.is_empty(), "both are held");
        let chunk = |after_ms: i64, destination: &str, source: &str| NewChunk {
            destination: destination.into(),
            source: source.into(),
            ..chunk_at(NOW + after_ms)
        };
        let chunks = vec![chunk(2, "google", ""), chunk(1, "@example.org", ""), chunk(3, "", "192.0.2.7")];
        put_off(&store, &claimed[0], chunks).await;
        let later = NOW + 3;
        assert_eq!(heads(&store, org, no, &[], &[], later).await, ["@example.org/", "google/"]);
        assert_eq!(heads(&store, org, no, &["192.0.2.7"], &["google "], later).await, ["@example.org/", "/192.0.2.7"]);
        assert!(claim(&store, org, no, later, 9).await.is_empty(), "what is asked for decides");
        let kept = ChunkGroup { org, job: no, destination: String::new(), source: "192.0.2.7".into() };
        let after = later + jobs::SOURCE_MS;
        let early = heads(&store, org, no, &["192.0.2.8"], &["google ", "@example.org "], after - 1).await;
        assert_eq!(early, ["/"], "its hour is not over; the first chunk's lease is");
        assert_eq!(
            heads(&store, org, no, &["192.0.2.8"], &["google ", "@example.org ", " ", " 192.0.2.7"], after).await,
            [] as [&str; 0]
        );
        assert_eq!(
            heads(&store, org, no, &["192.0.2.8"], &["google ", "@example.org "], after).await,
            ["/", "/192.0.2.7"]
        );
        let taken = store.write(|tx| jobs::claim_chunks(tx, &kept, after, LEASE_MS, 9).scope_boxed()).await.unwrap();
        assert_eq!(taken.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn kinds_behind_many_chunks_show_when_those_have_no_room() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        import(&store, &claim_import(&store, NOW).await.unwrap(), 3).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 2).await;
        let chunk = |destination: &str| NewChunk { destination: destination.into(), ..chunk_at(NOW) };
        let many = usize::try_from(jobs::HEADS_AMONG).unwrap();
        let mut chunks = vec![chunk("google"); many];
        chunks.extend([chunk("@example.org"), chunk("google")]);
        put_off(&store, &claimed[0], chunks).await;
        assert_eq!(heads(&store, org, no, &[], &[], NOW).await, ["google/"]);
        assert_eq!(heads(&store, org, no, &[], &["google "], NOW).await, ["@example.org/"]);
        let google = ChunkGroup { org, job: no, destination: "google".into(), source: String::new() };
        let first = store.write(|tx| jobs::claim_chunks(tx, &google, NOW, LEASE_MS, 1).scope_boxed()).await.unwrap();
        assert_eq!(
            heads(&store, org, no, &[], &[], NOW).await,
            ["google/", "@example.org/"],
            "one less stands before it"
        );
        let next = store.write(|tx| jobs::claim_chunks(tx, &google, NOW, LEASE_MS, 2).scope_boxed()).await.unwrap();
        let numbers: Vec<i64> = first.iter().chain(&next).map(|claimed| claimed.fence.chunk).collect();
        assert!(numbers.is_sorted() && numbers.len() == 3, "the first are taken up first: {numbers:?}");
    })
    .await;
}

#[tokio::test]
async fn what_is_held_back_stays_where_it_is_and_remembers_since_when() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let no = submit(&store, &new_job(org, 1), 6).await.unwrap();
        import(&store, &claim_import(&store, NOW).await.unwrap(), 6).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 2).await;
        assert_eq!((claimed[0].held_since, &claimed[0].left_rows), (None, &None));
        let stay = |ready_at: Millis, since: Millis| SettledPart {
            results: vec![result(0, 1, Reason::Valid)],
            stay: Some(ChunkRelease { ready_at, size: 2, left_rows: vec![0b110], since }),
            ..SettledPart::default()
        };
        assert_eq!(settle(&store, &claimed[0], &stay(NOW + 500, NOW - 7)).await.unwrap(), None);
        assert!(claim(&store, org, no, NOW + 499, 9).await.is_empty());
        let again = claim(&store, org, no, NOW + 500, 9).await;
        assert_eq!((again[0].held_since, again[0].size), (Some(NOW - 7), 2));
        assert_eq!((again[0].left_rows.as_deref(), &again[0].body), (Some(&[0b110][..]), &claimed[0].body));
        assert!(matches!(settle(&store, &claimed[0], &stay(NOW, NOW)).await, Err(StoreError::LeaseLost)));
        settle(&store, &again[0], &stay(NOW + 900, NOW + 900)).await.unwrap();
        let third = claim(&store, org, no, NOW + 900, 9).await;
        assert_eq!(third[0].held_since, Some(NOW - 7), "the earlier time counts");
    })
    .await;
}

#[tokio::test]
async fn a_list_that_is_to_be_finished_waits_for_nothing() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let job = new_job(org, 1);
        let no = submit(&store, &job, 6).await.unwrap();
        import(&store, &claim_import(&store, NOW).await.unwrap(), 6).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 2).await;
        let later = NOW + 60_000;
        put_off(&store, &claimed[0], vec![chunk_at(later), chunk_at(later + 5_000)]).await;
        let waiting = async |now| jobs::waiting(&mut store.read().await.unwrap(), org, no, now).await.unwrap();
        let deferred = jobs::WaitingRows { addresses: 2, first_at: later, last_at: later + 5_000 };
        assert_eq!(waiting(NOW).await, [Some(deferred), None]);
        assert_eq!(waiting(later + 5_000).await, [None, None]);

        let hurry = || store.write(|tx| jobs::hurry(tx, org, job.id, false, NOW).scope_boxed());
        assert!(hurry().await.unwrap());
        assert_eq!(waiting(NOW).await, [None, None]);
        assert_eq!(claim(&store, org, no, NOW, 9).await.len(), 2);
        // The worker that began before defers more rows, which no longer wait either.
        let held = ChunkRelease { ready_at: later, size: 2, left_rows: vec![0b110], since: NOW };
        let stay = SettledPart { stay: Some(held), ..SettledPart::default() };
        settle(&store, &claimed[1], &stay).await.unwrap();
        assert_eq!(waiting(NOW).await, [None, None]);
        assert_eq!(claim(&store, org, no, NOW, 9).await.len(), 1);
        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        assert!(!hurry().await.unwrap(), "it is over");
    })
    .await;
}
