//! Log of requests: filtered, newest first, bounded in number and age.

use probity_account::id::KeyId;
use probity_mail::time::Millis;
use probity_store::activity::requests::{self, LoggedRequest, RequestFilter};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const ORG: OrgNo = OrgNo(i64::MIN + 1);

fn entry(at: i64, status: i64) -> LoggedRequest {
    LoggedRequest {
        org: ORG,
        key: KeyId::new(Millis(1), [1; 10]),
        test: false,
        at: Millis(at),
        id: format!("req_{at}_{status}"),
        method: "GET".into(),
        route: "/v1/jobs/{id}".into(),
        status,
        took_ms: 3,
    }
}

async fn add(store: &Store, entries: &[LoggedRequest]) {
    store.write(|tx| requests::add(tx, entries).scope_boxed()).await.unwrap();
}

async fn page(
    store: &Store,
    test: bool,
    filter: RequestFilter<'_>,
    after: Option<&LoggedRequest>,
    at_most: i64,
) -> Vec<LoggedRequest> {
    let after = after.map(|last| (last.at, last.id.clone()));
    requests::page(&mut store.read().await.unwrap(), ORG, test, &filter, after, at_most).await.unwrap()
}

#[tokio::test]
async fn requests_are_found_by_what_they_are() {
    for_each_database(async |store| {
        let other_key = LoggedRequest { key: KeyId::new(Millis(1), [2; 10]), ..entry(20, 201) };
        let post = LoggedRequest { method: "POST".into(), route: "/v1/batch-verify".into(), ..entry(30, 402) };
        let same_time = entry(30, 200);
        let of_test = LoggedRequest { test: true, ..entry(40, 500) };
        let all = [entry(10, 404), other_key.clone(), post.clone(), same_time.clone(), of_test.clone()];
        add(&store, &all).await;
        // An unacknowledged commit is repeated.
        add(&store, &all[..1]).await;
        add(&store, &[LoggedRequest { org: OrgNo(1), ..entry(50, 200) }]).await;

        let newest = [post.clone(), same_time, other_key.clone(), entry(10, 404)];
        assert_eq!(page(&store, false, RequestFilter::default(), None, 9).await, newest);
        assert_eq!(page(&store, false, RequestFilter::default(), None, 1).await, newest[..1]);
        assert_eq!(page(&store, false, RequestFilter::default(), Some(&newest[0]), 2).await, newest[1..3]);
        assert_eq!(page(&store, true, RequestFilter::default(), None, 9).await, [of_test]);
        let refused = RequestFilter { statuses: Some((400, 499)), ..RequestFilter::default() };
        assert_eq!(page(&store, false, refused, None, 9).await, [post.clone(), entry(10, 404)]);
        let key = other_key.key.to_string();
        let of_key = RequestFilter { key: Some(&key), ..RequestFilter::default() };
        assert_eq!(page(&store, false, of_key, None, 9).await, [other_key]);
        let posted =
            RequestFilter { method: Some("POST"), route: Some("/v1/batch-verify"), ..RequestFilter::default() };
        assert_eq!(page(&store, false, posted, None, 9).await, [post]);
    })
    .await;
}

#[tokio::test]
async fn an_organization_keeps_its_newest_requests_for_a_time() {
    for_each_database(async |store| {
        let mut all: Vec<_> = (0..50).map(|at| entry(at, 200)).collect();
        all.push(LoggedRequest { org: OrgNo(1), ..entry(0, 200) });
        add(&store, &all).await;
        let trim = async |newest| store.write(|tx| requests::trim(tx, ORG, newest).scope_boxed()).await.unwrap();
        assert_eq!((trim(50).await, trim(51).await, trim(20).await, trim(20).await), (0, 0, 30, 0));
        let left = page(&store, false, RequestFilter::default(), None, 99).await;
        assert_eq!((left.len(), left[0].at, left[19].at), (20, Millis(49), Millis(30)));
        let purge = async |before, at_most| {
            store.write(|tx| requests::purge(tx, Millis(before), at_most).scope_boxed()).await.unwrap()
        };
        assert_eq!((purge(40, 6).await, purge(40, 6).await, purge(40, 6).await), (6, 5, 0));
        assert_eq!(page(&store, false, RequestFilter::default(), None, 99).await.len(), 10);
    })
    .await;
}
