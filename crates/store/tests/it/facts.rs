//! Facts about domains.

use probity_mail::time::Millis;
use probity_store::nodes::facts::{self, StoredDomainFact};
use probity_store::{ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

fn fact(domain: &str, catch_all: Option<(bool, i64)>, accepted_until: Option<i64>) -> StoredDomainFact {
    StoredDomainFact {
        domain: domain.into(),
        host: "mx.example".into(),
        catch_all: catch_all.map(|(is, until)| (is, Millis(until))),
        accepted_until: accepted_until.map(Millis),
    }
}

async fn remember(store: &Store, facts: Vec<StoredDomainFact>) {
    store.write(|tx| facts::remember(tx, &facts).scope_boxed()).await.unwrap();
}

async fn recall(store: &Store, domain: &str) -> Option<StoredDomainFact> {
    let mut facts = recall_all(store, &[(domain, "mx.example")]).await;
    assert!(facts.len() <= 1, "{facts:?}");
    facts.pop()
}

async fn recall_all(store: &Store, wanted: &[(&str, &str)]) -> Vec<StoredDomainFact> {
    let mut facts = facts::recall(&mut store.read().await.unwrap(), wanted).await.unwrap();
    facts.sort_by(|one, other| one.domain.cmp(&other.domain));
    facts
}

async fn purge(store: &Store, now: i64, at_most: u32) -> u64 {
    store.write(|tx| facts::purge(tx, Millis(now), at_most).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn parts_that_are_none_leave_what_is_known() {
    for_each_database(async |store| {
        assert_eq!(recall(&store, "a.example").await, None);
        remember(&store, vec![fact("a.example", Some((true, 70)), None)]).await;
        assert_eq!(recall(&store, "a.example").await, Some(fact("a.example", Some((true, 70)), None)));
        remember(&store, vec![fact("a.example", None, Some(50))]).await;
        assert_eq!(recall(&store, "a.example").await, Some(fact("a.example", Some((true, 70)), Some(50))));
        remember(&store, vec![fact("a.example", Some((false, 90)), None)]).await;
        assert_eq!(recall(&store, "a.example").await, Some(fact("a.example", Some((false, 90)), Some(50))));
        remember(&store, vec![]).await;
        assert_eq!(recall(&store, "b.example").await, None);
    })
    .await;
}

#[tokio::test]
async fn the_last_of_several_facts_counts_part_by_part() {
    for_each_database(async |store| {
        let facts = vec![
            fact("b.example", Some((false, 10)), None),
            fact("a.example", Some((true, 20)), Some(5)),
            fact("b.example", Some((true, 30)), None),
            fact("b.example", None, Some(40)),
        ];
        remember(&store, facts).await;
        assert_eq!(recall(&store, "a.example").await, Some(fact("a.example", Some((true, 20)), Some(5))));
        assert_eq!(recall(&store, "b.example").await, Some(fact("b.example", Some((true, 30)), Some(40))));
    })
    .await;
}

#[tokio::test]
async fn many_are_recalled_together() {
    for_each_database(async |store| {
        let (a, b) = (fact("a.example", Some((true, 20)), None), fact("b.example", None, Some(30)));
        remember(&store, vec![b.clone(), a.clone()]).await;
        let wanted = ["b.example", "c.example", "\"quoted\" 'name", "a.example"].map(|domain| (domain, "mx.example"));
        assert_eq!(recall_all(&store, &wanted).await, [a, b]);
        assert_eq!(recall_all(&store, &[]).await, []);
    })
    .await;
}

#[tokio::test]
async fn a_host_has_facts_of_its_own() {
    for_each_database(async |store| {
        remember(&store, vec![fact("a.example", Some((true, 20)), None)]).await;
        assert_eq!(recall_all(&store, &[("a.example", "other.example")]).await, []);
    })
    .await;
}

#[tokio::test]
async fn what_counts_no_more_is_purged_oldest_first() {
    for_each_database(async |store| {
        let facts = vec![
            fact("both.example", Some((true, 10)), Some(90)),
            fact("old.example", Some((true, 20)), Some(30)),
            fact("older.example", None, Some(25)),
            fact("nothing.example", None, None),
        ];
        remember(&store, facts).await;
        assert_eq!(purge(&store, 29, 1).await, 1);
        assert_eq!(recall(&store, "nothing.example").await, None);
        assert_eq!(purge(&store, 29, 9).await, 1);
        assert_eq!(recall(&store, "older.example").await, None);
        assert!(recall(&store, "old.example").await.is_some());
        assert_eq!(purge(&store, 30, 9).await, 1);
        assert_eq!(purge(&store, 89, 9).await, 0);
        // A later fact extends the life of the row; an earlier one does not shorten that of the other part.
        remember(&store, vec![fact("both.example", Some((true, 80)), None)]).await;
        assert_eq!(purge(&store, 89, 9).await, 0);
        assert_eq!(purge(&store, 90, 9).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_write_the_same_facts_in_any_order_do_not_collide() {
    for_each_database(async |store| {
        let names: Vec<String> = (0..40).map(|n| format!("d{n}.example")).collect();
        let nodes = (0..8).map(|node| {
            let store = store.clone();
            let mut names = names.clone();
            names.rotate_left(node * 5);
            tokio::spawn(async move {
                let facts: Vec<StoredDomainFact> =
                    names.iter().map(|name| fact(name, Some((true, 10)), None)).collect();
                for _ in 0..5 {
                    remember(&store, facts.clone()).await;
                }
            })
        });
        futures_util::future::try_join_all(nodes.collect::<Vec<_>>()).await.unwrap();
        assert_eq!(purge(&store, 10, 100).await, 40);
    })
    .await;
}
