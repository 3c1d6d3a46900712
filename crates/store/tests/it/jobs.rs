//! Jobs: from the first block to the last result, who may settle, and what the books say.

mod standing;

use probity_core::credits::{Bucket, Split};
use probity_core::id::{JobId, OrgId};
use probity_core::time::Millis;
use probity_core::verdict::Reason;
use probity_store::credits::{self, Booking};
use probity_store::jobs::{self, Claimed, Head, ImportClaim, JobNo, Kind, NewChunk, NewJob, RowResult, Settled, State};
use probity_store::orgs::{self, Org};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, StoreError, audit};

use crate::databases::for_each_database;

mod chunks;
mod keeping;

const NOW: Millis = Millis(1_800_000_000_000);
const LEASE_MS: i64 = 60_000;

/// An organization with this many credits.
async fn org(store: &Store, prepaid: i64) -> OrgNo {
    nth_org(store, 9, prepaid).await
}

async fn nth_org(store: &Store, n: u8, prepaid: i64) -> OrgNo {
    let org = Org::new(OrgId::new(NOW, [n; 10]), None, "metered".into(), NOW);
    let booking = Booking { org: org.no, bucket: Bucket::Prepaid, amount: prepaid, cause: "first", at: NOW };
    let made = store.write(|tx| {
        async {
            orgs::insert(tx, &org).await?;
            credits::grant(tx, &booking, None).await
        }
        .scope_boxed()
    });
    made.await.unwrap();
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

/// A chunk of one address.
fn chunk_at(ready_at: Millis) -> NewChunk {
    NewChunk { ready_at, size: 1, body: vec![7], destination: String::new(), source: String::new() }
}

/// Imports `uniques` addresses in two chunks; the rows behind them repeat the first.
async fn import(store: &Store, claim: &ImportClaim, uniques: i64) -> Result<()> {
    let chunk = |size: i64| NewChunk { size, ..chunk_at(NOW) };
    let chunks = [chunk(uniques / 2), chunk(uniques - uniques / 2)];
    let duplicates: Vec<(i64, i64)> = (uniques..claim.rows).map(|idx| (idx, 0)).collect();
    let repeated = claim.rows - uniques;
    let imported = store.write(|tx| {
        async {
            jobs::restart_import(tx, claim).await?;
            jobs::add_chunks(tx, claim, &chunks, &duplicates, NOW, LEASE_MS).await?;
            jobs::imported(tx, claim, repeated, NOW).await
        }
        .scope_boxed()
    });
    imported.await
}

async fn claim(store: &Store, org: OrgNo, job: JobNo, now: Millis, at_most: i64) -> Vec<Claimed> {
    let head = Head { org, job, destination: String::new(), source: String::new() };
    store.write(|tx| jobs::claim_chunks(tx, &head, now, LEASE_MS, at_most).scope_boxed()).await.unwrap()
}

fn result(idx: i64, copies: i64, reason: Reason) -> RowResult {
    RowResult {
        idx,
        copies,
        kind: Kind {
            reason,
            findings: Some(reason).filter(|reason| *reason != Reason::Valid).into_iter().collect(),
            meta: "m".into(),
            rule: "rule".into(),
            smtp_code: Some(250),
            enhanced: Some("2.1.5".into()),
            host: Some("mx.example.org".into()),
            source: "smtp".into(),
            flags: 5,
            charged: reason == Reason::Valid,
        }
        .into(),
        suggestion: Some("jo@exämple.org".into()),
    }
}

async fn settle(store: &Store, claimed: &Claimed, settled: &Settled) -> Result<Option<jobs::Closed>> {
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
        let first = Settled { results, put_off: vec![late], done: true, ..Settled::default() };
        assert_eq!(settle(&store, &claimed[0], &first).await.unwrap(), None);
        let both = vec![result(2, 1, Reason::Nonexistent), result(3, 1, Reason::Unverified)];
        let second = Settled { results: both, done: true, ..Settled::default() };
        assert_eq!(settle(&store, &claimed[1], &second).await.unwrap(), None);
        assert!(claim(&store, org, no, NOW, 10).await.is_empty(), "put off");
        let last = claim(&store, org, no, NOW + 1_000, 10).await;
        let third = Settled { results: vec![result(1, 1, Reason::Valid)], done: true, ..Settled::default() };
        let closed = settle(&store, &last[0], &third).await.unwrap().unwrap();
        assert_eq!((closed.state, closed.released), (State::Completed, 0));

        let mut conn = store.read().await.unwrap();
        let read = jobs::by_id(&mut conn, org, job.id, false).await.unwrap();
        assert_eq!((read.state, read.rows, read.counts.processed, read.charged), (State::Completed, 6, 6, 2));
        assert_eq!((read.counts.passed, read.counts.undeliverable, read.counts.unknown), (4, 1, 1));
        let reasons = jobs::reasons(&mut conn, org, no).await.unwrap();
        assert_eq!(reasons.iter().map(|(_, n)| n).sum::<i64>(), 6);
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
        let half = Settled { results: vec![result(0, 1, Reason::Valid)], ..Settled::default() };
        settle(&store, &before[0], &half).await.unwrap();
        let after = claim(&store, org, no, NOW + LEASE_MS, 1).await;
        assert_eq!(after[0].fence.chunk, before[0].fence.chunk);
        assert!(matches!(settle(&store, &before[0], &half).await, Err(StoreError::LeaseLost)));
        let fences = [before[0].fence];
        let renew = store.write(|tx| jobs::extend(tx, &fences, NOW).scope_boxed()).await;
        assert!(matches!(renew, Err(StoreError::LeaseLost)));
        let standing = jobs::standing(&mut store.read().await.unwrap(), &after[0].fence).await.unwrap();
        assert_eq!(standing.into_iter().collect::<Vec<_>>(), [0]);
        // The same row again, from the holder that may: it stands already, and costs nothing.
        let again = Settled { results: vec![result(0, 1, Reason::Invalid)], part: 1, ..Settled::default() };
        settle(&store, &after[0], &again).await.unwrap();
        assert_eq!(balance(&store, org).await, [8, 1, 1]);
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
        let part = Settled { results: vec![result(0, 2, Reason::Valid)], ..Settled::default() };
        settle(&store, &claimed[0], &part).await.unwrap();
        let cancel = || store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed());
        assert_eq!(cancel().await.unwrap().unwrap().released, 3);
        assert_eq!(cancel().await.unwrap(), Err(State::Cancelled));
        assert!(matches!(settle(&store, &claimed[0], &part).await, Err(StoreError::LeaseLost)));
        assert_eq!(balance(&store, org).await, [4, 0, 1]);
        let foreign = store.write(|tx| jobs::cancel(tx, org, job.id, true, NOW).scope_boxed()).await;
        assert!(matches!(foreign, Err(StoreError::NotFound)), "test keys see no live jobs");
        audited(&store).await;
        let swept = store.write(|tx| jobs::sweep_unborn(tx, NOW + 1, 10).scope_boxed()).await.unwrap();
        assert_eq!(swept, 1, "the one that was not accepted");
    })
    .await;
}

#[tokio::test]
async fn lists_are_newest_first_and_filtered() {
    for_each_database(async |store| {
        let org = org(&store, 100).await;
        for n in 1..=5 {
            submit(&store, &new_job(org, n), 1).await.unwrap();
        }
        let mut conn = store.read().await.unwrap();
        let filter = jobs::Filter::default();
        let first = jobs::page(&mut conn, org, &filter, None, 3).await.unwrap();
        assert_eq!(first.len(), 3);
        let last = &first[2];
        let rest = jobs::page(&mut conn, org, &filter, Some((last.created_at, last.no)), 3).await.unwrap();
        assert_eq!(rest.len(), 2);
        assert!(first.iter().chain(&rest).is_sorted_by_key(|job| std::cmp::Reverse(job.no)));
        for (status, n) in [("queued", 5), ("processing", 0), ("completed", 0), ("cancelled", 0)] {
            let filter = jobs::Filter { status: Some(status.into()), ..jobs::Filter::default() };
            assert_eq!(jobs::page(&mut conn, org, &filter, None, 10).await.unwrap().len(), n, "{status}");
        }
        let test = jobs::Filter { test: true, ..jobs::Filter::default() };
        assert_eq!(jobs::page(&mut conn, org, &test, None, 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_time_are_counted_by_who_started_them() {
    // More than one read looks at.
    const MANY: i64 = 1_203;
    for_each_database(async |store| {
        let org = org(&store, 1).await;
        let made = store.write(|tx| {
            async {
                for n in 0..MANY {
                    let id = JobId::new(NOW + n, [7; 10]);
                    let started_by = if n % 3 == 0 { "cron" } else { "api" };
                    let job = NewJob { id, started_by, test: true, ..new_job(org, 0) };
                    jobs::begin(tx, &job).await?;
                    // Many of the same time: the number goes on where the time does not.
                    jobs::accept(tx, &job, 1, None, NOW + n / 500).await?;
                }
                jobs::begin(tx, &NewJob { test: true, ..new_job(org, 200) }).await
            }
            .scope_boxed()
        });
        made.await.unwrap();
        let mut conn = store.read().await.unwrap();
        let mut count = async |test, from, to| {
            let counted = jobs::starters(&mut conn, org, test, from, to).await.unwrap();
            counted.into_iter().map(|(name, n)| (name.unwrap(), n)).collect::<Vec<_>>()
        };
        let all = [("api".to_owned(), 802), ("cron".to_owned(), 401)];
        assert_eq!(count(true, NOW, NOW + 3).await, all, "the unborn one is not there");
        assert_eq!(count(true, NOW + 1, NOW + 2).await.iter().map(|(_, n)| n).sum::<u64>(), 500);
        assert_eq!(count(true, NOW + 3, NOW + 9).await, []);
        assert_eq!(count(false, NOW, NOW + 3).await, []);
    })
    .await;
}

/// A job of so many rows in one chunk, taken up.
async fn taken_up(store: &Store, org: OrgNo, rows: i64) -> (JobNo, Claimed) {
    let job = new_job(org, 1);
    let no = submit(store, &job, rows).await.unwrap();
    let import_claim = claim_import(store, NOW).await.unwrap();
    import(store, &import_claim, rows).await.unwrap();
    (no, claim(store, org, no, NOW, 1).await.remove(0))
}

fn of_rule(idx: i64, rule: &str) -> RowResult {
    let kind = Kind { rule: rule.into(), ..(*result(0, 1, Reason::Valid).kind).clone() };
    RowResult { kind: kind.into(), ..result(idx, 1, Reason::Valid) }
}

#[tokio::test]
async fn readers_see_each_part_once_it_stands_and_nothing_of_a_failed_one() {
    for_each_database(async |store| {
        let org = org(&store, 10).await;
        let (no, claimed) = taken_up(&store, org, 10).await;
        let part = |part, results| Settled { results, part, ..Settled::default() };
        let settled = [
            part(0, vec![of_rule(5, "a"), of_rule(1, "b"), of_rule(9, "a")]),
            part(1, vec![of_rule(3, "c"), of_rule(4, "b")]),
            // The last part again, by a holder that does not know whether it stands, with one row more.
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
            // The second reader remembers what the first has read; another process remembers nothing.
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
