//! Suppression lists: their addresses, times of addition, and counts.

use std::collections::BTreeSet;

use probity_account::suppression::SuppressionKind;
use probity_mail::time::Millis;
use probity_store::privacy::suppressions::{
    self, SuppressedAddress, SuppressionChanges, SuppressionListSize, SuppressionTag,
};
use probity_store::{OrgNo, ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const ORG: OrgNo = OrgNo(7);
const OTHER: OrgNo = OrgNo(8);
const NOW: Millis = Millis(1_800_000_000_000);

fn tags(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<SuppressionTag> {
    numbers.into_iter().map(tag).collect()
}

fn tag(number: u32) -> SuppressionTag {
    let mut tag = [0xfe; 16];
    tag[6..10].copy_from_slice(&number.to_be_bytes());
    tag
}

async fn add(
    store: &Store,
    org: OrgNo,
    list: SuppressionKind,
    tags: &BTreeSet<SuppressionTag>,
    now: Millis,
) -> SuppressionChanges {
    store.write(|tx| suppressions::add(tx, org, list, tags, now).scope_boxed()).await.unwrap()
}

async fn remove(store: &Store, list: SuppressionKind, tags: &BTreeSet<SuppressionTag>) -> SuppressionChanges {
    store.write(|tx| suppressions::remove(tx, ORG, list, tags, NOW + 9).scope_boxed()).await.unwrap()
}

async fn standing(store: &Store, org: OrgNo) -> Vec<(SuppressionKind, i64)> {
    let standing = suppressions::standing(&mut store.read().await.unwrap(), org).await.unwrap();
    standing.iter().map(|SuppressionListSize { list, listed, .. }| (*list, *listed)).collect()
}

async fn find(store: &Store, org: OrgNo, tags: &BTreeSet<SuppressionTag>) -> Vec<SuppressedAddress> {
    let mut conn = store.read().await.unwrap();
    let lists = suppressions::standing(&mut conn, org).await.unwrap();
    suppressions::find(&mut conn, org, &lists, tags).await.unwrap()
}

#[tokio::test]
async fn an_address_is_on_a_list_once_and_since_it_first_came() {
    for_each_database(async |store| {
        assert_eq!(standing(&store, ORG).await, []);
        assert_eq!(
            add(&store, ORG, SuppressionKind::Spam, &tags([]), NOW).await,
            SuppressionChanges { before: 0, after: 0 }
        );
        assert_eq!(standing(&store, ORG).await, [], "an empty list is none");
        assert_eq!(
            add(&store, ORG, SuppressionKind::Spam, &tags([1, 2]), NOW).await,
            SuppressionChanges { before: 0, after: 2 }
        );
        assert_eq!(
            add(&store, ORG, SuppressionKind::Spam, &tags([2, 3]), NOW + 5).await,
            SuppressionChanges { before: 2, after: 3 }
        );
        add(&store, ORG, SuppressionKind::Bounced, &tags([3]), NOW + 6).await;
        add(&store, OTHER, SuppressionKind::Complained, &tags([1, 3]), NOW).await;
        assert_eq!(standing(&store, ORG).await, [(SuppressionKind::Spam, 3), (SuppressionKind::Bounced, 1)]);

        let listed = |list, number, since| SuppressedAddress { list, tag: tag(number), since };
        let expected = [
            listed(SuppressionKind::Spam, 2, NOW),
            listed(SuppressionKind::Spam, 3, NOW + 5),
            listed(SuppressionKind::Bounced, 3, NOW + 6),
        ];
        assert_eq!(find(&store, ORG, &tags([2, 3, 4])).await, expected);
        assert_eq!(find(&store, OTHER, &tags([2])).await, []);
        assert_eq!(find(&store, OTHER, &tags([3])).await, [listed(SuppressionKind::Complained, 3, NOW)]);

        assert_eq!(
            remove(&store, SuppressionKind::Spam, &tags([3, 4])).await,
            SuppressionChanges { before: 3, after: 2 }
        );
        assert_eq!(remove(&store, SuppressionKind::Spam, &tags([3])).await, SuppressionChanges { before: 2, after: 2 });
        assert_eq!(find(&store, ORG, &tags([3])).await, [listed(SuppressionKind::Bounced, 3, NOW + 6)]);
        assert_eq!(standing(&store, OTHER).await, [(SuppressionKind::Complained, 2)]);
    })
    .await;
}

#[tokio::test]
async fn all_of_a_list_goes_in_short_steps() {
    for_each_database(async |store| {
        // As many as are removed at a time: a query plan that compares every pair would take minutes.
        add(&store, ORG, SuppressionKind::Spam, &tags(0..25_000), NOW).await;
        add(&store, ORG, SuppressionKind::Bounced, &tags(0..3), NOW).await;
        add(&store, OTHER, SuppressionKind::Spam, &tags(0..3), NOW).await;
        assert_eq!(find(&store, ORG, &tags(24_500..25_500)).await.len(), 500);
        let mut left = Vec::new();
        loop {
            let step =
                store.write(|tx| suppressions::remove_some(tx, ORG, SuppressionKind::Spam, 10_000, NOW).scope_boxed());
            let changed = step.await.unwrap();
            if changed.before == changed.after {
                break;
            }
            left.push(changed.after);
        }
        assert_eq!(left, [15_000, 5_000, 0]);
        assert_eq!(standing(&store, ORG).await, [(SuppressionKind::Bounced, 3)]);
        assert_eq!(standing(&store, OTHER).await, [(SuppressionKind::Spam, 3)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_one_list_lose_no_count() {
    for_each_database(async |store| {
        let writers = (0..6u32).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                // Each writer shares half of its addresses with the next.
                let own = tags(writer * 50..writer * 50 + 100);
                add(&store, ORG, SuppressionKind::Complained, &own, NOW).await
            })
        });
        let mut added = 0;
        for writer in writers.collect::<Vec<_>>() {
            let SuppressionChanges { before, after } = writer.await.unwrap();
            added += after - before;
        }
        assert_eq!(added, 350);
        assert_eq!(standing(&store, ORG).await, [(SuppressionKind::Complained, 350)]);
        assert_eq!(find(&store, ORG, &tags(0..400)).await.len(), 350);
    })
    .await;
}
