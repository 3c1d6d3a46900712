//! Nodes: each starts due work and continues runs that it can claim, until it dies. The time of death depends on the number of
//! polls, so a seed does not repeat it exactly.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use probity_access::limits::RateLimits;
use probity_account::connections::RunCause;
use probity_account::plans::Plans;
use probity_backend::connections::scheduling::ScheduledStarts;
use probity_backend::connections::{PlatformConfig, Platforms};
use probity_backend::outbound::{NoNames, UrlGuard};
use probity_engine::clock::EngineClock;
use probity_engine::net::egress::{EgressGuard, GuardConfig};
use probity_mail::time::Millis;
use probity_store::connections::contacts::{self, ContactPage};
use probity_store::connections::runs::{self, ClaimedRun, RunSetback, RunState};
use probity_store::jobs::NewJob;
use probity_store::{ScopedFutureExt as _, Store, StoreError};
use probity_telemetry::metrics::{Metrics, Start};

use super::place::Place;

const LEASE_MS: i64 = 60_000;
/// Contacts of a page.
const PAGE: usize = 12;
/// Failed calls after which a run fails, and the pause after each.
const CALLS: i64 = 2;
const PAUSE_MS: i64 = 5 * 60_000;

/// Dependencies of the planner.
pub(super) struct Planner {
    store: Store,
    platforms: Platforms,
    plans: Arc<Plans>,
}

impl Planner {
    pub(super) fn new(store: &Store, plans: Plans) -> Self {
        let clock = EngineClock::system();
        let guard = UrlGuard::new(EgressGuard::new(GuardConfig::default()), Arc::new(NoNames), true);
        let metrics = Metrics::new(&Start { version: "0", at: clock.now(), providers: BTreeSet::new() });
        let limits = Arc::new(RateLimits::new(store));
        let platforms = Platforms::new(&PlatformConfig::default(), guard, limits, Arc::new(metrics), clock);
        Self { store: store.clone(), platforms, plans: Arc::new(plans) }
    }
}

/// Simulated node.
#[derive(Default)]
pub(super) struct Node {
    /// Number of polls after which it dies in the next step.
    doom: Option<usize>,
    dead: Option<(Millis, Millis)>,
    pub(super) deaths: usize,
}

impl Node {
    pub(super) fn kill(&mut self, now: Millis, polls: usize, back: Millis) {
        (self.doom, self.dead) = (Some(polls), Some((now, back)));
        self.deaths += 1;
    }

    /// Returns whether it is dead at the end of the step.
    pub(super) fn is_dead(&self, now: Millis) -> bool {
        self.dead.is_some_and(|(_, back)| now < back)
    }

    /// Runs due work, unless the node is dead. If it dies in this step, its work stops anywhere, even within a transaction.
    pub(super) async fn work(&mut self, planner: &Planner, (places, now): (&[Place], Millis)) {
        let doom = self.doom.take();
        if doom.is_none() && self.is_dead(now) {
            return;
        }
        polled(work(planner, places, now), doom).await;
    }
}

/// Polls a future at most this often, then drops it.
async fn polled<F: Future>(work: F, most: Option<usize>) {
    let mut work = pin!(work);
    let mut left = most;
    poll_fn(|context| match &mut left {
        Some(0) => Poll::Ready(()),
        left => {
            *left = left.map(|left| left - 1);
            work.as_mut().poll(context).map(drop)
        }
    })
    .await;
}

async fn work(planner: &Planner, places: &[Place], now: Millis) {
    let Planner { store, platforms, plans } = planner;
    let starts = ScheduledStarts { store, platforms, plans };
    starts.round(now).await.unwrap();
    while let Some(claimed) = claim(store, now).await {
        let place = places.iter().find(|place| place.id == claimed.run.connection).expect("a known connection");
        match claimed.run.state {
            RunState::Reading => read(store, place, &claimed, now).await,
            RunState::Verifying => {
                store.write(|tx| runs::conclude(tx, &claimed.fence, now).scope_boxed()).await.map(drop).unwrap();
            }
            state => panic!("a run is in {}", state.as_str()),
        }
    }
}

async fn claim(store: &Store, now: Millis) -> Option<ClaimedRun> {
    if !runs::any_due(&mut store.read().await.unwrap(), now, &[]).await.unwrap() {
        return None;
    }
    store.write(|tx| runs::claim(tx, now, LEASE_MS, &[]).scope_boxed()).await.unwrap()
}

/// Reads contacts from the last stored page on, and completes the reading.
async fn read(store: &Store, place: &Place, claimed: &ClaimedRun, now: Millis) {
    let (run, fence) = (&claimed.run, &claimed.fence);
    let from = claimed.position.as_deref().map_or(0, |position| serde_json::from_slice(position).unwrap());
    let there = place.there(run.since, from, now);
    for page in there.chunks(PAGE) {
        if place.dead.is_some_and(|dead| dead.has(now)) {
            return set_back(store, claimed, now).await;
        }
        let position = (page.last().expect("a contact").number + 1).to_string();
        let contacts: Vec<_> = page.iter().map(|person| person.contact()).collect();
        let read = i64::try_from(contacts.len()).unwrap();
        let page = ContactPage { contacts: &contacts, read, skipped: 0, position: position.as_bytes() };
        let stored = store.write(|tx| contacts::store_page(tx, fence, &page, now, now + LEASE_MS).scope_boxed());
        stored.await.unwrap();
    }
    let rows = runs::by_job(&mut store.read().await.unwrap(), run.org, run.job).await.unwrap().expect("a run").rows;
    // Only the nightly run moves the watermark, which its acceptance stores.
    if rows == 0 || run.cause == RunCause::DecayProtection {
        store.write(|tx| runs::finish_empty(tx, fence, now).scope_boxed()).await.unwrap();
        return;
    }
    let job = NewJob {
        org: run.org,
        id: run.id,
        test: false,
        source: "integration",
        started_by: run.cause.as_str(),
        source_action: "",
        actor: None,
        at: now,
    };
    let newest = there.iter().map(|person| person.said).max().map(|newest| Millis(newest.0.min(run.created_at.0)));
    match store.write(|tx| runs::accept(tx, fence, &job, (newest, None), now).scope_boxed()).await {
        Ok(is_accepted) => assert!(is_accepted),
        Err(StoreError::InsufficientCredits { .. }) => fail(store, claimed, now).await,
        Err(error) => panic!("{error}"),
    }
}

async fn set_back(store: &Store, claimed: &ClaimedRun, now: Millis) {
    let failures = claimed.run.failures + 1;
    if failures > CALLS {
        return fail(store, claimed, now).await;
    }
    let setback = RunSetback { next_at: now + PAUSE_MS, failures, refused_at: None, fault: None };
    store.write(|tx| runs::set_back(tx, &claimed.fence, &setback).scope_boxed()).await.unwrap();
}

async fn fail(store: &Store, claimed: &ClaimedRun, now: Millis) {
    store.write(|tx| runs::fail(tx, &claimed.fence, "the platform is dead", now).scope_boxed()).await.unwrap();
}
