//! One that cannot be stopped, and the others.
#![cfg(debug_assertions)]

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use probity_account::credits::Bucket;
use probity_account::id::{JobId, OrgId};
use probity_store::credits::{self, Booking};
use probity_store::failpoint::{Action, Armed, Point, When};
use probity_store::jobs::{NewJob, State};
use probity_store::organization::{self, Org, OrgStatus};
use probity_store::{Place, StoreConfig};
use probity_trialdb::postgres;

use super::*;
use crate::ops::metrics::{Form, Gauges, Observed, Start};
use crate::webhooks::WebhookConfig;

const NOW: Millis = Millis(1_800_000_000_000);

struct Nothing;

impl Observed for Nothing {
    fn look(&self) -> futures_util::future::BoxFuture<'_, Gauges> {
        Box::pin(std::future::ready(Gauges::default()))
    }
}

/// A banned organization with so many open jobs.
async fn banned(store: &Store, wanted: u8) -> OrgNo {
    let org = Org::new(OrgId::new(NOW, [9; 10]), None, "metered".into(), NOW);
    let booking = Booking { org: org.no, bucket: Bucket::Prepaid, amount: 1_000, cause: "first", at: NOW };
    let made = store.write(|tx| {
        async {
            organization::insert(tx, &org).await?;
            credits::grant(tx, &booking, None).await?;
            for n in 1..=wanted {
                let (id, by) = (JobId::new(NOW, [n; 10]), "api");
                let (org, at) = (org.no, NOW);
                let new =
                    NewJob { org, id, test: false, source: by, started_by: by, source_action: by, actor: None, at };
                jobs::begin(tx, &new).await?;
                jobs::accept(tx, &new, 1, None, NOW).await?;
            }
            organization::set_status(tx, org.no, OrgStatus::Banned).await.map(drop)
        }
        .scope_boxed()
    });
    made.await.unwrap();
    org.no
}

async fn stopped(store: &Store, org: OrgNo) -> usize {
    let mut conn = store.read().await.unwrap();
    let page = jobs::page(&mut conn, org, &jobs::Filter::default(), None, 300).await.unwrap();
    page.iter().filter(|job| job.state == State::ForceStopped).count()
}

async fn one_that_cannot_be_stopped(place: Place) {
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    let org = banned(&store, 3).await;
    let metrics = Metrics::new(&Start { version: "0", at: NOW, providers: BTreeSet::new() });
    let point = Point { name: "jobs::close::CLOSE".into(), when: When::Before };
    store.failpoints().arm(Armed { point, nth: 1, action: Action::Error });
    let callbacks = Callbacks::new(Arc::new(WebhookConfig::default().guard()));
    let waker = callbacks.waker();
    stop_jobs(&store, &metrics, &callbacks, NOW).await.unwrap();
    assert_eq!(store.failpoints().disarm(), 1);
    assert!(waker.notified().now_or_never().is_some(), "their messages go at once");
    assert_eq!(stopped(&store, org).await, 2, "the others are");
    let told = metrics.render(&Nothing, Form::Plain).await;
    assert!(told.lines().any(|line| line == "probity_jobs_stop_failures_total 1"), "{told}");
    stop_jobs(&store, &metrics, &callbacks, NOW).await.unwrap();
    assert_eq!(stopped(&store, org).await, 3, "and it is, in the next round");
    store.close().await;
}

#[tokio::test]
async fn one_job_that_cannot_be_stopped_keeps_no_other_from_it() {
    let directory = tempfile::tempdir().unwrap();
    one_that_cannot_be_stopped(Place::Sqlite(directory.path().join("probity.db"))).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    one_that_cannot_be_stopped(Place::Postgres(database.url().to_owned())).await;
}

async fn all_of_a_banned_one(place: Place) {
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    // More than are read at a time, and accepted at the same time.
    let org = banned(&store, 230).await;
    let point = Point { name: "jobs::close::CLOSE".into(), when: When::Before };
    store.failpoints().arm(Armed { point, nth: 120, action: Action::Error });
    stop_jobs_of(&store, org, NOW).await.unwrap_err();
    assert_eq!(stopped(&store, org).await, 119, "each is a transaction of its own");
    assert_eq!(store.failpoints().disarm(), 1);
    let metrics = Metrics::new(&Start { version: "0", at: NOW, providers: BTreeSet::new() });
    let callbacks = Callbacks::new(Arc::new(WebhookConfig::default().guard()));
    stop_jobs(&store, &metrics, &callbacks, NOW).await.unwrap();
    assert_eq!(stopped(&store, org).await, 219, "a round of upkeep goes on with a hundred");
    stop_jobs_of(&store, org, NOW).await.unwrap();
    assert_eq!(stopped(&store, org).await, 230);
    let balance = credits::balance(&mut store.read().await.unwrap(), org).await.unwrap();
    assert_eq!((balance.available.total(), balance.held.total()), (1_000, 0));
    store.close().await;
}

#[tokio::test]
async fn all_jobs_of_a_banned_organization_are_stopped_however_many() {
    let directory = tempfile::tempdir().unwrap();
    all_of_a_banned_one(Place::Sqlite(directory.path().join("probity.db"))).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    all_of_a_banned_one(Place::Postgres(database.url().to_owned())).await;
}

async fn one_whose_account_goes_on(place: Place) {
    let store = Store::open(&StoreConfig::new(place)).await.unwrap();
    store.migrate().await.unwrap();
    let org = banned(&store, 1).await;
    let (_, job) = to_stop(&store, NOW).await.unwrap()[0];
    store.write(|tx| organization::set_status(tx, org, OrgStatus::Active).scope_boxed()).await.unwrap();
    assert!(!stop(&store, org, job, NOW).await.unwrap());
    assert_eq!(stopped(&store, org).await, 0);
    // Nor one that stood still, and was taken up by the time.
    let late = NOW + (STALLED_MS + 1);
    store.write(|tx| organization::set_status(tx, org, OrgStatus::Paused).scope_boxed()).await.unwrap();
    assert_eq!(to_stop(&store, late).await.unwrap(), [(org, job)]);
    store.write(|tx| jobs::waits(tx, org, late).scope_boxed()).await.unwrap();
    assert!(!stop(&store, org, job, late).await.unwrap());
    assert!(stop(&store, org, job, late + (STALLED_MS + 1)).await.unwrap());
    store.close().await;
}

#[tokio::test]
async fn what_was_lifted_before_the_stop_lets_the_job_go_on() {
    let directory = tempfile::tempdir().unwrap();
    one_whose_account_goes_on(Place::Sqlite(directory.path().join("probity.db"))).await;
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    one_whose_account_goes_on(Place::Postgres(database.url().to_owned())).await;
}
