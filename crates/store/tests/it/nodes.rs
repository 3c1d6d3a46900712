//! Nodes and their leases.

use futures_util::future::join_all;
use probity_account::id::NodeId;
use probity_mail::time::Millis;
use probity_store::nodes::{self, NodeLease, StoredNode};
use probity_store::{ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

const NOW: Millis = Millis(1_700_000_000_000);
const LEASE_MS: i64 = 30_000;

fn id(n: u128) -> NodeId {
    NodeId::from_bits(n)
}

fn node(n: u128) -> StoredNode {
    StoredNode {
        id: id(n),
        hostname: format!("host{n}"),
        process: String::new(),
        roles: "api,worker".into(),
        version: "1.2.3".into(),
        sources: "192.0.2.1,unknown".into(),
        chunks: 0,
        imports: 0,
        started_at: NOW,
        seen_at: NOW,
        egress: r#"{"asks":true}"#.into(),
        ahead_ms: 0,
    }
}

async fn beat(store: &Store, node: &StoredNode) {
    store.write(|tx| nodes::beat(tx, node).scope_boxed()).await.unwrap();
}

async fn take(store: &Store, name: &'static str, holder: NodeId, now: Millis) -> NodeLease {
    store.write(|tx| nodes::take(tx, name, holder, now, now + LEASE_MS).scope_boxed()).await.unwrap()
}

async fn all(store: &Store) -> Vec<StoredNode> {
    nodes::all(&mut store.read().await.unwrap()).await.unwrap()
}

async fn names(store: &Store) -> Vec<(String, NodeId)> {
    let leases = nodes::leases(&mut store.read().await.unwrap()).await.unwrap();
    leases.into_iter().map(|lease| (lease.name, lease.holder)).collect()
}

#[tokio::test]
async fn a_node_is_listed_until_it_leaves_or_is_forgotten() {
    for_each_database(async |store| {
        let (one, other) = (node(1), StoredNode { started_at: NOW - 1, ..node(2) });
        beat(&store, &one).await;
        beat(&store, &other).await;
        let later = StoredNode {
            chunks: 3,
            imports: 1,
            egress: "{}".into(),
            ahead_ms: -7,
            seen_at: NOW + 5_000,
            ..one.clone()
        };
        beat(&store, &later).await;
        assert_eq!(all(&store).await, [other, later.clone()], "the oldest first, and as it was last seen");
        take(&store, "schedule", id(1), NOW).await;
        take(&store, "source:192.0.2.1", id(2), NOW).await;
        let forget = |before: Millis| store.write(move |tx| nodes::forget(tx, before).scope_boxed());
        assert_eq!(forget(NOW + 1).await.unwrap(), 1, "what was not seen since");
        assert_eq!(all(&store).await, [later]);
        store.write(|tx| nodes::leave(tx, id(1)).scope_boxed()).await.unwrap();
        assert_eq!(all(&store).await, []);
        assert_eq!(names(&store).await, [("source:192.0.2.1".to_owned(), id(2))], "its leases have gone with it");
        forget(NOW + LEASE_MS + 1).await.unwrap();
        assert_eq!(names(&store).await, []);
    })
    .await;
}

#[tokio::test]
async fn a_lease_has_one_holder_until_it_ends() {
    for_each_database(async |store| {
        let lease =
            |holder, epoch, now: Millis| NodeLease { name: "schedule".into(), holder, epoch, until: now + LEASE_MS };
        assert_eq!(take(&store, "schedule", id(1), NOW).await, lease(id(1), 1, NOW));
        assert_eq!(take(&store, "schedule", id(2), NOW + 10).await, lease(id(1), 1, NOW), "another has it");
        assert_eq!(take(&store, "other", id(2), NOW).await.holder, id(2), "others do not matter");
        let renewed = NOW + 20_000;
        assert_eq!(take(&store, "schedule", id(1), renewed).await, lease(id(1), 1, renewed));
        let just_before = renewed + LEASE_MS - 1;
        assert_eq!(take(&store, "schedule", id(2), just_before).await, lease(id(1), 1, renewed));
        let ended = renewed + LEASE_MS;
        assert_eq!(take(&store, "schedule", id(2), ended).await, lease(id(2), 2, ended));
        // The first node was cut off meanwhile, and detects it.
        assert_eq!(take(&store, "schedule", id(1), ended + 1).await, lease(id(2), 2, ended));
        // A lease that no other node has taken continues.
        let late = ended + LEASE_MS * 10;
        assert_eq!(take(&store, "schedule", id(2), late).await, lease(id(2), 2, late));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_want_a_lease_at_once_one_gets_it() {
    for_each_database(async |store| {
        for round in 0..20 {
            let now = NOW + round * LEASE_MS;
            let wanted = (1..=8).map(|n| {
                let store = store.clone();
                tokio::spawn(async move { take(&store, "schedule", id(n), now).await })
            });
            let holders = join_all(wanted).await.into_iter().map(|lease| lease.unwrap().holder);
            let holders: std::collections::BTreeSet<NodeId> = holders.collect();
            assert_eq!(holders.len(), 1, "{holders:?}");
        }
    })
    .await;
}
