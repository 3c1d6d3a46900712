//! Links to a job's summary.

use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgState};
use probity_store::jobs::{self, JobShare, SharedJob};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use super::{NOW, new_job, nth_org, org, submit};
use crate::databases::for_each_database;

const LIFE_MS: i64 = 1_000;

fn until(named: bool) -> JobShare {
    JobShare { named, created_at: NOW, expires_at: NOW + LIFE_MS }
}

async fn by_token(store: &Store, token: u8, now: Millis) -> Option<SharedJob> {
    jobs::by_share(&mut store.read().await.unwrap(), &[token; 32], now).await.unwrap()
}

async fn share(store: &Store, org: OrgNo, job: jobs::JobNo, token: u8, share: JobShare) {
    store.write(|tx| async move { jobs::share(tx, org, job, &[token; 32], &share).await }.scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn a_job_has_one_link_until_its_time_is_over_or_it_is_revoked() {
    for_each_database(async |store| {
        let (org, other) = (org(&store, 20).await, nth_org(&store, 8, 20).await);
        let job = new_job(org, 1);
        let no = submit(&store, &job, 3).await.unwrap();
        share(&store, org, no, 1, until(false)).await;
        share(&store, org, no, 2, until(true)).await;
        assert_eq!(by_token(&store, 1, NOW).await, None, "the later one replaces it");
        let expected = SharedJob { org, id: job.id, test: false, share: until(true) };
        assert_eq!(by_token(&store, 2, NOW + LIFE_MS - 1).await, Some(expected));
        assert_eq!(by_token(&store, 2, NOW + LIFE_MS).await, None, "its time is over");
        let of_job = async |org, now| jobs::share_of(&mut store.read().await.unwrap(), org, no, now).await.unwrap();
        assert_eq!(of_job(org, NOW).await, Some(until(true)));
        assert_eq!((of_job(org, NOW + LIFE_MS).await, of_job(other, NOW).await), (None, None));

        let unshare = async |org| store.write(|tx| jobs::unshare(tx, org, no).scope_boxed()).await.unwrap();
        assert_eq!((unshare(other).await, unshare(org).await, unshare(org).await), (false, true, false));
        assert_eq!(by_token(&store, 2, NOW).await, None);
    })
    .await;
}

#[tokio::test]
async fn a_link_goes_with_its_list_and_shows_nothing_of_a_stopped_organization() {
    for_each_database(async |store| {
        let org = org(&store, 20).await;
        let job = new_job(org, 1);
        let no = submit(&store, &job, 3).await.unwrap();
        share(&store, org, no, 1, until(false)).await;
        let set = async |state| {
            store.write(|tx| organization::set_status(tx, org, state).scope_boxed()).await.unwrap();
        };
        set(OrgState::Suspended).await;
        assert_eq!(by_token(&store, 1, NOW).await, None);
        set(OrgState::Active).await;
        assert!(by_token(&store, 1, NOW).await.is_some());
        store.write(|tx| jobs::cancel(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        assert!(by_token(&store, 1, NOW).await.is_some());
        store.write(|tx| jobs::delete(tx, org, job.id, false, NOW).scope_boxed()).await.unwrap().unwrap();
        assert_eq!(by_token(&store, 1, NOW).await, None);
    })
    .await;
}
