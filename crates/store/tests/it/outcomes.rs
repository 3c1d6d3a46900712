//! Outcomes: each counts once, erasures and age remove them, and organizations and modes are isolated.

use std::collections::BTreeSet;

use probity_account::id::{ErasureId, OrgId};
use probity_account::outcome::{OutcomeClass, OutcomeSource};
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::outcomes::{self, NewOutcomes, OutcomeDetails, OutcomeKey};
use probity_store::privacy::erasures::{self, NewErasure};
use probity_store::privacy::suppressions::SuppressionTag;
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const ORG: (OrgNo, bool) = (OrgNo(7), false);
const NOW: Millis = Millis(1_800_000_000_000);
const DAY_MS: i64 = 24 * 3_600_000;

fn new(events: &[(u8, OutcomeClass, Millis)]) -> NewOutcomes {
    let one = |(n, class, at): &(u8, OutcomeClass, Millis)| {
        let key = OutcomeKey { tag: [*n; 16], class: *class, day: at.utc_day() };
        (key, OutcomeDetails { at: *at, domain: [9; 16], form: "a.a".into() })
    };
    events.iter().map(one).collect()
}

async fn add(
    store: &Store,
    whose: (OrgNo, bool),
    events: &[(u8, OutcomeClass, Millis)],
) -> Vec<(SuppressionTag, OutcomeClass)> {
    let new = new(events);
    let added = store.write(|tx| outcomes::add(tx, whose, OutcomeSource::Api, &new, NOW).scope_boxed());
    let mut added = added.await.unwrap();
    added.sort_unstable();
    added
}

/// Returns the classes of an address's outcomes.
async fn of(store: &Store, whose: (OrgNo, bool), n: u8) -> Vec<OutcomeClass> {
    let known = outcomes::known(&mut store.read().await.unwrap(), whose, &BTreeSet::from([[n; 16]])).await.unwrap();
    let mut classes: Vec<_> = known.into_iter().map(|(_, class)| class).collect();
    classes.sort_unstable();
    classes
}

#[tokio::test]
async fn an_event_counts_once_a_day_whoever_repeats_it() {
    use OutcomeClass::{Delivered, HardBounce, Opened};
    for_each_database(async |store| {
        assert_eq!(add(&store, ORG, &[]).await, []);
        let first = [(1, HardBounce, NOW), (1, Opened, NOW), (2, Delivered, NOW)];
        let added = add(&store, ORG, &first).await;
        assert_eq!(added, [([1; 16], HardBounce), ([1; 16], Opened), ([2; 16], Delivered)]);
        assert_eq!(add(&store, ORG, &first).await, [], "a repetition adds nothing");
        let later = [(1, HardBounce, NOW + 1), (1, HardBounce, NOW + DAY_MS), (2, Opened, NOW + 1)];
        assert_eq!(add(&store, ORG, &later).await, [([1; 16], HardBounce), ([2; 16], Opened)]);
        assert_eq!(of(&store, ORG, 1).await, [HardBounce, Opened]);
        for other in [(OrgNo(8), false), (OrgNo(7), true)] {
            assert_eq!(of(&store, other, 1).await, []);
            assert_eq!(add(&store, other, &first[..1]).await.len(), 1, "each counts its own");
        }
    })
    .await;
}

#[tokio::test]
async fn writers_of_the_same_outcomes_add_each_once() {
    for_each_database(async |store| {
        let writers = (0..4).map(|_| {
            let store = store.clone();
            let events: Vec<_> = (0..200).map(|n| (n, OutcomeClass::Delivered, NOW)).collect();
            tokio::spawn(async move { add(&store, ORG, &events).await.len() })
        });
        let mut added = 0;
        for writer in writers.collect::<Vec<_>>() {
            added += writer.await.unwrap();
        }
        assert_eq!(added, 200);
    })
    .await;
}

#[tokio::test]
async fn an_erasure_removes_what_was_reported_before_it_in_its_own_mode() {
    use OutcomeClass::{Delivered, Opened};
    for_each_database(async |store| {
        let org = OrgRecord::new(OrgId::new(NOW, [1; 10]), None, "metered".into(), NOW);
        store.write(|tx| organization::insert(tx, &org).scope_boxed()).await.unwrap();
        let (live, test) = ((org.no, false), (org.no, true));
        let erasure = |id: u8, at| NewErasure {
            org: org.no,
            id: ErasureId::new(NOW, [id; 10]),
            test: false,
            tags: vec![[1; 16]],
            webhook_url: None,
            requested_at: at,
        };
        let (early, late) = (erasure(1, NOW + -1), erasure(2, NOW));
        for new in [&early, &late] {
            assert!(store.write(|tx| erasures::request(tx, new, NOW).scope_boxed()).await.unwrap());
        }
        let events = [(1, Delivered, NOW + -5), (1, Opened, NOW), (2, Delivered, NOW)];
        for whose in [live, test] {
            add(&store, whose, &events).await;
        }
        let erase = async |new: &NewErasure| {
            let work = store.write(|tx| outcomes::erase(tx, live, new.id, new.requested_at, 1).scope_boxed());
            work.await.unwrap()
        };
        assert_eq!(erase(&early).await, 0, "what was reported later stays");
        assert_eq!([erase(&late).await, erase(&late).await, erase(&late).await], [1, 1, 0]);
        assert_eq!(of(&store, live, 1).await, []);
        assert_eq!((of(&store, live, 2).await.len(), of(&store, test, 1).await.len()), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn old_events_go_in_short_steps() {
    for_each_database(async |store| {
        let events: Vec<_> = (0..5).map(|n| (n, OutcomeClass::Delivered, NOW + i64::from(n) * DAY_MS)).collect();
        add(&store, ORG, &events).await;
        let purge = async || store.write(|tx| outcomes::purge(tx, NOW + 3 * DAY_MS, 2).scope_boxed()).await.unwrap();
        assert_eq!([purge().await, purge().await, purge().await], [2, 1, 0]);
        let left = [of(&store, ORG, 2).await.len(), of(&store, ORG, 3).await.len(), of(&store, ORG, 4).await.len()];
        assert_eq!(left, [0, 1, 1]);
    })
    .await;
}
