//! Jobs: from the first block to the last result, permitted settlements, and the ledger.

mod ahead;
mod chunks;
mod keeping;
mod listing;
mod mail;
mod sharing;
mod standing;

use probity_account::credits::Split;
use probity_account::id::JobId;
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::activity::{reports, timeline};
use probity_store::credits::audit;
use probity_store::jobs::{
    self, ChunkGroup, ClaimedChunk, ImportClaim, JobCounts, JobNo, JobState, NewChunk, NewJob, OutcomeKind, RowResult,
    SettledPart,
};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError, credits};

use crate::databases::for_each_database;
use crate::organizations;

const NOW: Millis = Millis(1_800_000_000_000);
const LEASE_MS: i64 = 60_000;

/// Creates an organization with this many credits.
async fn org(store: &Store, prepaid: i64) -> OrgNo {
    nth_org(store, 9, prepaid).await
}

async fn nth_org(store: &Store, n: u8, prepaid: i64) -> OrgNo {
    let org = organizations::nth(n, NOW);
    organizations::add_with(store, &org, prepaid).await.unwrap();
    org.no
}

fn new_job(org: OrgNo, n: u8) -> NewJob {
    let id = JobId::new(NOW, [n; 10]);
    NewJob { org, id, test: false, source: "api", started_by: "api", source_action: "test", actor: None, at: NOW }
}

/// Submits a job of `rows` rows.
async fn submit(store: &Store, job: &NewJob, rows: i64) -> Result<JobNo> {
    let submitted = store.write(|tx| {
        async {
            let no = jobs::begin(tx, job).await?;
            jobs::add_block(tx, job.org, no, 0, b"addresses").await?;
            Ok(no)
        }
        .scope_boxed()
    });
    let no = submitted.await?;
    store.write(|tx| jobs::accept(tx, job, rows, None, NOW).scope_boxed()).await?;
    Ok(no)
}

async fn claim_import(store: &Store, now: Millis) -> Option<ImportClaim> {
    store.write(|tx| jobs::claim_import(tx, now, LEASE_MS).scope_boxed()).await.unwrap()
}

/// Returns a chunk of one address.
fn chunk_at(ready_at: Millis) -> NewChunk {
    NewChunk { ready_at, size: 1, body: vec![7], destination: String::new(), source: String::new() }
}

/// Imports `uniques` addresses in two chunks; the rows after them repeat the first.
async fn import(store: &Store, claim: &ImportClaim, uniques: i64) -> Result<()> {
    let chunk = |size: i64| NewChunk { size, ..chunk_at(NOW) };
    let chunks = [chunk(uniques / 2), chunk(uniques - uniques / 2)];
    let duplicates: Vec<(i64, i64)> = (uniques..claim.rows).map(|idx| (idx, 0)).collect();
    let repeated = claim.rows - uniques;
    let imported = store.write(|tx| {
        async {
            while jobs::restart_import(tx, claim, NOW, LEASE_MS).await? {}
            jobs::add_chunks(tx, claim, &chunks, &duplicates, NOW, LEASE_MS).await?;
            jobs::imported(tx, claim, repeated, NOW).await
        }
        .scope_boxed()
    });
    imported.await
}

async fn claim(store: &Store, org: OrgNo, job: JobNo, now: Millis, at_most: i64) -> Vec<ClaimedChunk> {
    let head = ChunkGroup { org, job, destination: String::new(), source: String::new() };
    store.write(|tx| jobs::claim_chunks(tx, &head, now, LEASE_MS, at_most).scope_boxed()).await.unwrap()
}

fn result(idx: i64, copies: i64, reason: Reason) -> RowResult {
    RowResult {
        idx,
        copies,
        kind: OutcomeKind {
            reason,
            findings: Some(reason).filter(|reason| *reason != Reason::Valid).into_iter().collect(),
            meta: "m".into(),
            rule: "rule".into(),
            smtp_code: Some(250),
            enhanced: Some("2.1.5".into()),
            host: Some("mx.example.org".into()),
            provider: (idx % 2 == 0).then(|| "google".into()),
            source: "smtp".into(),
            flags: 5,
            charged: reason == Reason::Valid,
        }
        .into(),
        suggestion: Some("jo@exämple.org".into()),
    }
}

async fn settle(store: &Store, claimed: &ClaimedChunk, settled: &SettledPart) -> Result<Option<jobs::ClosedJob>> {
    store.write(|tx| jobs::settle(tx, &claimed.fence, settled, NOW).scope_boxed()).await
}

async fn balance(store: &Store, org: OrgNo) -> [i64; 3] {
    let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
    assert!(balance.holds(), "{balance:?}");
    [balance.available, balance.held, balance.spent].map(Split::total)
}

async fn audited(store: &Store) {
    assert_eq!(audit::everything(store).await.unwrap(), []);
}

#[tokio::test]
async fn a_job_goes_from_its_first_block_to_its_last_result() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let job = new_job(org, 1);
        let no = submit(&store, &job, 6).await.unwrap();
        assert_eq!(balance(&store, org).await, [4, 6, 0]);
        let import_claim = claim_import(&store, NOW).await.unwrap();
        assert_eq!((import_claim.job, import_claim.rows), (no, 6));
        assert_eq!(claim_import(&store, NOW).await, None, "one holder");
        import(&store, &import_claim, 4).await.unwrap();
        assert_eq!(balance(&store, org).await, [6, 4, 0], "repeated rows cost nothing");

        let open = jobs::open(&mut store.read().await.unwrap(), NOW, 10).await.unwrap();
        assert_eq!(open.iter().map(|open| open.job).collect::<Vec<_>>(), [no]);
        let claimed = claim(&store, org, no, NOW, 10).await;
        assert_eq!(claimed.iter().map(|claimed| claimed.size).collect::<Vec<_>>(), [2, 2]);
        assert!(claim(&store, org, no, NOW, 10).await.is_empty(), "each chunk has one holder");

        let late = chunk_at(NOW + 1_000);
        let results = vec![result(0, 3, Reason::Valid)];
        let first = SettledPart { results, put_off: vec![late], done: true, ..SettledPart::default() };
        assert_eq!(settle(&store, &claimed[0], &first).await.unwrap(), None);
        let both = vec![result(2, 1, Reason::Nonexistent), result(3, 1, Reason::Unverified)];
        let second = SettledPart { results: both, done: true, ..SettledPart::default() };
        assert_eq!(settle(&store, &claimed[1], &second).await.unwrap(), None);
        assert_eq!(jobs::set_aside(&mut store.read().await.unwrap(), org, job.id).await.unwrap(), 1);
        assert!(claim(&store, org, no, NOW, 10).await.is_empty(), "put off");
        let last = claim(&store, org, no, NOW + 1_000, 10).await;
        let third = SettledPart { results: vec![result(1, 1, Reason::Valid)], done: true, ..SettledPart::default() };
        let closed = settle(&store, &last[0], &third).await.unwrap().unwrap();
        assert_eq!((closed.state, closed.released), (JobState::Completed, 0));

        let mut conn = store.read().await.unwrap();
        let read = jobs::by_id(&mut conn, org, job.id, false).await.unwrap();
        assert_eq!((read.state, read.rows, read.counts.processed, read.charged), (JobState::Completed, 6, 6, 2));
        assert_eq!((read.counts.passed, read.counts.undeliverable, read.counts.unknown), (4, 1, 1));
        let reasons = jobs::reasons(&mut conn, org, no).await.unwrap();
        assert_eq!(reasons.iter().map(|(_, n)| n).sum::<i64>(), 6);
        // Rows 0 (three times) and 2 belong to a known provider.
        let providers = jobs::providers(&mut conn, org, no).await.unwrap();
        let known = JobCounts { processed: 4, passed: 3, undeliverable: 1, risky: 0, unknown: 0 };
        let others = JobCounts { processed: 2, passed: 1, undeliverable: 0, risky: 0, unknown: 1 };
        assert_eq!(providers, [(Some("google".into()), known), (None, others)]);
        let used = reports::by_provider(&mut conn, org, 0, i64::MAX).await.unwrap();
        assert_eq!(
            used.iter().map(|of| (of.verified, of.unknown)).collect::<Vec<_>>(),
            [(2, 1), (2, 0)],
            "of as many, those of no provider first"
        );
        assert_eq!(jobs::set_aside(&mut conn, org, job.id).await.unwrap(), 0);
        let standing = jobs::results(&mut conn, org, no, 0, 100).await.unwrap();
        assert_eq!(standing.len(), 4);
        assert_eq!(standing[0].result, result(0, 3, Reason::Valid));
        let rows = jobs::outcomes(&mut conn, org, no, 0, 100).await.unwrap();
        assert_eq!(rows.iter().map(|(idx, _)| *idx).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(rows[4].1, rows[0].1, "repeated rows share the first one's");
        assert_eq!(balance(&store, org).await, [8, 0, 2]);
        audited(&store).await;
    })
    .await;
}

#[tokio::test]
async fn only_the_last_holder_settles_and_each_row_once() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let job = new_job(org, 1);
        let no = submit(&store, &job, 2).await.unwrap();
        let first_import = claim_import(&store, NOW).await.unwrap();
        let second_import = claim_import(&store, NOW + LEASE_MS).await.unwrap();
        assert!(matches!(import(&store, &first_import, 2).await, Err(StoreError::LeaseLost)));
        import(&store, &second_import, 2).await.unwrap();

        let before = claim(&store, org, no, NOW, 1).await;
        let half = SettledPart { results: vec![result(0, 1, Reason::Valid)], ..SettledPart::default() };
        settle(&store, &before[0], &half).await.unwrap();
        let after = claim(&store, org, no, NOW + LEASE_MS, 1).await;
        assert_eq!(after[0].fence.chunk, before[0].fence.chunk);
        assert!(matches!(settle(&store, &before[0], &half).await, Err(StoreError::LeaseLost)));
        let fences = [before[0].fence];
        let renew = store.write(|tx| jobs::extend(tx, &fences, NOW).scope_boxed()).await;
        assert!(matches!(renew, Err(StoreError::LeaseLost)));
        let standing = jobs::standing(&mut store.read().await.unwrap(), &after[0].fence).await.unwrap();
        assert_eq!(standing.into_iter().collect::<Vec<_>>(), [0]);
        // The same row again, from the current holder: it exists already, and costs nothing.
        let again = SettledPart { results: vec![result(0, 1, Reason::Invalid)], part: 1, ..SettledPart::default() };
        settle(&store, &after[0], &again).await.unwrap();
        assert_eq!(balance(&store, org).await, [8, 1, 1]);
        audited(&store).await;
    })
    .await;
}

#[tokio::test]
async fn an_import_that_is_let_go_is_taken_up_at_once() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let job = new_job(org, 1);
        submit(&store, &job, 6).await.unwrap();
        let first = claim_import(&store, NOW).await.unwrap();
        let add = |claim: ImportClaim| {
            let chunks = [chunk_at(NOW)];
            let store = store.clone();
            async move {
                store.write(|tx| jobs::add_chunks(tx, &claim, &chunks, &[], NOW, LEASE_MS).scope_boxed()).await
            }
        };
        add(first.clone()).await.unwrap();
        let free = async |claim: &ImportClaim| {
            store.write(|tx| jobs::free_import(tx, claim).scope_boxed()).await.unwrap();
        };
        free(&first).await;
        assert!(matches!(add(first.clone()).await, Err(StoreError::LeaseLost)), "it has let go");
        assert!(jobs::any_import(&mut store.read().await.unwrap(), NOW).await.unwrap());
        let second = claim_import(&store, NOW).await.unwrap();
        free(&first).await;
        assert_eq!(claim_import(&store, NOW).await, None, "what another has taken up is not let go");
        import(&store, &second, 6).await.unwrap();
        free(&second).await;
        let read = jobs::by_id(&mut store.read().await.unwrap(), org, job.id, false).await.unwrap();
        assert_eq!(read.state, JobState::Ready);
        audited(&store).await;
    })
    .await;
}

#[tokio::test]
async fn a_stopped_job_gives_its_rest_back_once() {
    for_each_database(async |store| {
        let org = org(&store, 5).await;
        let short = submit(&store, &new_job(org, 1), 6).await;
        assert!(matches!(short, Err(StoreError::InsufficientCredits { needed: 6, available: 5 })), "{short:?}");
        let job = new_job(org, 2);
        let no = submit(&store, &job, 5).await.unwrap();
        let import_claim = claim_import(&store, NOW).await.unwrap();
        import(&store, &import_claim, 4).await.unwrap();
        let claimed = claim(&store, org, no, NOW, 1).await;
        let part = SettledPart { results: vec![result(0, 2, Reason::Valid)], ..SettledPart::default() };
        settle(&store, &claimed[0], &part).await.unwrap();
        let cancel = || store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed());
        assert_eq!(cancel().await.unwrap().unwrap().released, 3);
        assert_eq!(cancel().await.unwrap(), Err(JobState::Cancelled));
        assert!(matches!(settle(&store, &claimed[0], &part).await, Err(StoreError::LeaseLost)));
        assert_eq!(balance(&store, org).await, [4, 0, 1]);
        let foreign = store.write(|tx| jobs::cancel(tx, org, job.id, true, NOW).scope_boxed()).await;
        assert!(matches!(foreign, Err(StoreError::NotFound)), "test keys see no live jobs");
        audited(&store).await;
        let broken_off = jobs::broken_off(&mut store.read().await.unwrap(), NOW + 1, 10).await.unwrap();
        assert_eq!(broken_off, [(org, JobNo::of_id(new_job(org, 1).id))], "the one that was not accepted");
    })
    .await;
}

#[tokio::test]
async fn a_job_stands_where_it_began_however_long_it_waited() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let late = submit(&store, &new_job(org, 1), 2).await.unwrap();
        let early = submit(&store, &new_job(org, 2), 2).await.unwrap();
        let waiting = submit(&store, &NewJob { started_by: "cron", ..new_job(org, 3) }, 2).await.unwrap();
        for _ in 0..2 {
            import(&store, &claim_import(&store, NOW).await.unwrap(), 2).await.unwrap();
        }
        for (job, began) in [(early, NOW + 3), (late, NOW + 5)] {
            assert!(!claim(&store, org, job, began, 1).await.is_empty());
        }
        let mut conn = store.read().await.unwrap();
        for (from, to, at_most, expected) in [
            (NOW, NOW + 9, 9, vec![late, early, waiting]),
            (NOW, NOW + 9, 1, vec![late]),
            (NOW + 4, NOW + 9, 9, vec![late]),
            (NOW + 1, NOW + 5, 9, vec![early]),
            (NOW, NOW + 1, 9, vec![waiting]),
        ] {
            let begun = timeline::newest_jobs(&mut conn, org, false, (from, to), at_most).await.unwrap();
            assert_eq!(begun.iter().map(|job| job.no).collect::<Vec<_>>(), expected);
            if at_most > 1 {
                let counted = timeline::count_jobs(&store, org, false, from, to).await.unwrap();
                assert_eq!(counted.values().sum::<u64>(), u64::try_from(expected.len()).unwrap());
            }
        }
    })
    .await;
}

/// Creates a job of this many rows in one claimed chunk.
async fn taken_up(store: &Store, org: OrgNo, rows: i64) -> (JobNo, ClaimedChunk) {
    let job = new_job(org, 1);
    let no = submit(store, &job, rows).await.unwrap();
    let import_claim = claim_import(store, NOW).await.unwrap();
    import(store, &import_claim, rows).await.unwrap();
    (no, claim(store, org, no, NOW, 1).await.remove(0))
}

fn of_rule(idx: i64, rule: &str) -> RowResult {
    let kind = OutcomeKind { rule: rule.into(), ..(*result(0, 1, Reason::Valid).kind).clone() };
    RowResult { kind: kind.into(), ..result(idx, 1, Reason::Valid) }
}

#[tokio::test]
async fn readers_see_each_part_once_it_stands_and_nothing_of_a_failed_one() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let (no, claimed) = taken_up(&store, org, 10).await;
        let part = |part, results| SettledPart { results, part, ..SettledPart::default() };
        let settled = [
            part(0, vec![of_rule(5, "a"), of_rule(1, "b"), of_rule(9, "a")]),
            part(1, vec![of_rule(3, "c"), of_rule(4, "b")]),
            // The last part again, by a holder that does not know whether it was committed, with one more row.
            part(2, vec![of_rule(4, "b"), of_rule(3, "d"), of_rule(0, "e")]),
        ];
        let expected = [&[(1, "b"), (5, "a"), (9, "a")][..], &[(1, "b"), (3, "c"), (4, "b"), (5, "a"), (9, "a")]];
        let all = [(0, "e"), (1, "b"), (3, "c"), (4, "b"), (5, "a"), (9, "a")];
        let lost = part(9, vec![of_rule(8, "lost")]);
        for (part, expected) in settled.iter().zip(expected.into_iter().chain([&all[..]])) {
            let failed: Result<()> = store
                .write(|tx| {
                    async {
                        jobs::settle(tx, &claimed.fence, &lost, NOW).await?;
                        Err(StoreError::LeaseLost)
                    }
                    .scope_boxed()
                })
                .await;
            failed.unwrap_err();
            settle(&store, &claimed, part).await.unwrap();
            // The second reader uses the cache of the first; another process has no cache.
            for _ in 0..2 {
                let results = jobs::results(&mut store.read().await.unwrap(), org, no, 0, 10).await.unwrap();
                let rules: Vec<_> =
                    results.iter().map(|standing| (standing.result.idx, standing.result.kind.rule.as_str())).collect();
                assert_eq!(rules, expected);
            }
        }
        assert_eq!(balance(&store, org).await, [0, 4, 6]);
        audited(&store).await;
    })
    .await;
}
