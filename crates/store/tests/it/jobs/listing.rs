//! Listing and counting of jobs.

use probity_account::id::JobId;
use probity_store::ScopedFutureExt as _;
use probity_store::activity::timeline;
use probity_store::jobs::{self, NewJob};

use super::{NOW, new_job, org, submit};
use crate::databases::for_each_database;

#[tokio::test]
async fn lists_are_newest_first_and_filtered() {
    for_each_database(async |store| {
        let org = org(&store, 100).await;
        for n in 1..=5 {
            submit(&store, &new_job(org, n), 1).await.unwrap();
        }
        let mut conn = store.read().await.unwrap();
        let filter = jobs::JobFilter::default();
        let first = jobs::page(&mut conn, org, &filter, None, 3).await.unwrap();
        assert_eq!(first.len(), 3);
        let last = &first[2];
        let rest = jobs::page(&mut conn, org, &filter, Some((last.created_at, last.no)), 3).await.unwrap();
        assert_eq!(rest.len(), 2);
        assert!(first.iter().chain(&rest).is_sorted_by_key(|job| std::cmp::Reverse(job.no)));
        for (status, n) in [("queued", 5), ("processing", 0), ("completed", 0), ("cancelled", 0)] {
            let filter = jobs::JobFilter { status: Some(status.into()), ..jobs::JobFilter::default() };
            assert_eq!(jobs::page(&mut conn, org, &filter, None, 10).await.unwrap().len(), n, "{status}");
        }
        let test = jobs::JobFilter { test: true, ..jobs::JobFilter::default() };
        assert_eq!(jobs::page(&mut conn, org, &test, None, 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_time_are_counted_by_who_started_them() {
    // More than one read covers.
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
                    // Many at the same time, ordered by number.
                    jobs::accept(tx, &job, 1, None, NOW + n / 500).await?;
                }
                jobs::begin(tx, &NewJob { test: true, ..new_job(org, 200) }).await
            }
            .scope_boxed()
        });
        made.await.unwrap();
        let count = async |test, from, to| {
            let counted = timeline::count_jobs(&store, org, test, from, to).await.unwrap();
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
