//! Stops jobs by force: those that stalled for a week, and those of banned organizations.
//!
//! A ban stops the organization's jobs before its response ([`stop_jobs_of`]), one transaction per job. If that fails, or a job
//! was being accepted meanwhile, the rounds of maintenance stop the rest ([`stop_jobs`]).

use probity_mail::time::Millis;
use probity_store::jobs::JobNo;
use probity_store::{OrgNo, Result, Store, jobs, work};
use probity_telemetry::metrics::Metrics;

use crate::jobs::announce;
use crate::webhooks::Callbacks;

/// Time without progress after which a job is stopped although it is claimed ([`jobs::stalled`]), or although its organization
/// is paused or suspended, in milliseconds. Longer than the longest wait of an address.
const STALLED_MS: i64 = 7 * 24 * 3_600_000;
/// Jobs of each kind read at a time.
const AT_MOST: i64 = 100;

/// Stops jobs that stalled for a week and those of banned organizations. A job that cannot be stopped does not affect the
/// others: it is logged, counted, and retried in the next round.
pub async fn stop_jobs(store: &Store, metrics: &Metrics, callbacks: &Callbacks, now: Millis) -> Result<()> {
    let mut told = false;
    for (org, job) in to_stop(store, now).await? {
        match stop(store, org, job, now).await {
            Ok(false) => {}
            Ok(true) => told = true,
            Err(error) => {
                metrics.job_not_stopped();
                tracing::error!(%error, job = job.0, "cannot stop a job; retrying");
            }
        }
    }
    if told {
        callbacks.wake();
    }
    Ok(())
}

/// Stops all jobs of a banned organization. Fails if a job cannot be stopped: the ban remains, and the next round of
/// maintenance continues. Call [`Callbacks::wake`] afterwards.
pub async fn stop_jobs_of(store: &Store, org: OrgNo, now: Millis) -> Result<()> {
    let mut after = None;
    loop {
        let page = jobs::open_of(&mut store.read().await?, org, after, AT_MOST).await?;
        for (_, job) in &page {
            stop(store, org, *job, now).await?;
        }
        after = page.last().copied();
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn to_stop(store: &Store, now: Millis) -> Result<Vec<(OrgNo, JobNo)>> {
    let mut conn = store.read().await?;
    let mut to_stop = jobs::of_banned(&mut conn, AT_MOST).await?;
    to_stop.extend(jobs::stalled(&mut conn, now - STALLED_MS, now, AT_MOST).await?);
    Ok(to_stop)
}

/// Stops a job unless there is no longer a reason to; returns whether it did.
async fn stop(store: &Store, org: OrgNo, job: JobNo, now: Millis) -> Result<bool> {
    let stopped = store.write(work!(|tx| {
        if !jobs::is_to_stop(tx, org, job, now - STALLED_MS, now).await? {
            return Ok(false);
        }
        let closed = jobs::force_stop(tx, org, job, now).await?;
        if let Some(closed) = &closed {
            announce(tx, closed, now).await?;
        }
        Ok(closed.is_some())
    }));
    let stopped = stopped.await?;
    if stopped {
        tracing::warn!(job = job.0, "stopped a job because it stalled or its organization is banned");
    }
    Ok(stopped)
}

/// A job that cannot be stopped does not affect the others.
#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use probity_account::credits::CreditBucket;
    use probity_account::id::{JobId, OrgId};
    use probity_store::accounts::organization::{self, OrgRecord, OrgState};
    use probity_store::credits::{self, CreditBooking};
    use probity_store::failpoint::{ArmedFailpoint, Failpoint, FailpointAction, FailpointSide};
    use probity_store::jobs::{JobState, NewJob};
    use probity_store::{DatabasePlace, ScopedFutureExt as _, StoreConfig};
    use probity_telemetry::metrics::{ExpositionForm, Gauges, Observed, Start};
    use probity_trialdb::postgres;

    use super::*;
    use crate::webhooks::WebhookConfig;

    const NOW: Millis = Millis(1_800_000_000_000);

    struct NothingDone;

    impl Observed for NothingDone {
        fn look(&self) -> futures_util::future::BoxFuture<'_, Gauges> {
            Box::pin(std::future::ready(Gauges::default()))
        }
    }

    /// Creates a banned organization with `wanted` open jobs.
    async fn banned(store: &Store, wanted: u8) -> OrgNo {
        let org = OrgRecord::new(OrgId::new(NOW, [9; 10]), None, "metered".into(), NOW);
        let booking =
            CreditBooking { org: org.no, bucket: CreditBucket::Prepaid, amount: 1_000, cause: "first", at: NOW };
        let made = store.write(work!(|tx| {
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
            organization::set_status(tx, org.no, OrgState::Banned).await.map(drop)
        }));
        made.await.unwrap();
        org.no
    }

    async fn stopped(store: &Store, org: OrgNo) -> usize {
        let mut conn = store.read().await.unwrap();
        let page = jobs::page(&mut conn, org, &jobs::JobFilter::default(), None, 300).await.unwrap();
        page.iter().filter(|job| job.state == JobState::ForceStopped).count()
    }

    async fn one_that_cannot_be_stopped(place: DatabasePlace) {
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        let org = banned(&store, 3).await;
        let metrics = Metrics::new(&Start { version: "0", at: NOW, providers: BTreeSet::new() });
        let point = Failpoint { name: "jobs::close::CLOSE".into(), when: FailpointSide::Before };
        store.failpoints().arm(ArmedFailpoint { point, nth: 1, action: FailpointAction::Error });
        let callbacks = Callbacks::new(Arc::new(WebhookConfig::default().guard()));
        let waker = callbacks.waker();
        stop_jobs(&store, &metrics, &callbacks, NOW).await.unwrap();
        assert_eq!(store.failpoints().disarm(), 1);
        assert!(waker.notified().now_or_never().is_some(), "their messages go at once");
        assert_eq!(stopped(&store, org).await, 2, "the others are");
        let told = metrics.render(&NothingDone, ExpositionForm::Plain).await;
        assert!(told.lines().any(|line| line == "probity_jobs_stop_failures_total 1"), "{told}");
        stop_jobs(&store, &metrics, &callbacks, NOW).await.unwrap();
        assert_eq!(stopped(&store, org).await, 3, "and it is, in the next round");
        store.close().await;
    }

    #[tokio::test]
    async fn one_job_that_cannot_be_stopped_keeps_no_other_from_it() {
        let directory = tempfile::tempdir().unwrap();
        one_that_cannot_be_stopped(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
        let Some(cluster) = postgres() else { return };
        let database = cluster.create_database();
        one_that_cannot_be_stopped(DatabasePlace::Postgres(database.url().to_owned())).await;
    }

    async fn all_of_a_banned_one(place: DatabasePlace) {
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        // More jobs than are read at a time, accepted at the same time.
        let org = banned(&store, 230).await;
        let point = Failpoint { name: "jobs::close::CLOSE".into(), when: FailpointSide::Before };
        store.failpoints().arm(ArmedFailpoint { point, nth: 120, action: FailpointAction::Error });
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
        all_of_a_banned_one(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
        let Some(cluster) = postgres() else { return };
        let database = cluster.create_database();
        all_of_a_banned_one(DatabasePlace::Postgres(database.url().to_owned())).await;
    }

    async fn one_whose_account_goes_on(place: DatabasePlace) {
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        let org = banned(&store, 1).await;
        let (_, job) = to_stop(&store, NOW).await.unwrap()[0];
        store.write(|tx| organization::set_status(tx, org, OrgState::Active).scope_boxed()).await.unwrap();
        assert!(!stop(&store, org, job, NOW).await.unwrap());
        assert_eq!(stopped(&store, org).await, 0);
        // Nor a stalled job whose timer was restarted meanwhile.
        let late = NOW + (STALLED_MS + 1);
        store.write(|tx| organization::set_status(tx, org, OrgState::Paused).scope_boxed()).await.unwrap();
        assert_eq!(to_stop(&store, late).await.unwrap(), [(org, job)]);
        store.write(|tx| jobs::waits(tx, org, late).scope_boxed()).await.unwrap();
        assert!(!stop(&store, org, job, late).await.unwrap());
        assert!(stop(&store, org, job, late + (STALLED_MS + 1)).await.unwrap());
        store.close().await;
    }

    #[tokio::test]
    async fn what_was_lifted_before_the_stop_lets_the_job_go_on() {
        let directory = tempfile::tempdir().unwrap();
        one_whose_account_goes_on(DatabasePlace::Sqlite(directory.path().join("probity.db"))).await;
        let Some(cluster) = postgres() else { return };
        let database = cluster.create_database();
        one_whose_account_goes_on(DatabasePlace::Postgres(database.url().to_owned())).await;
    }
}
