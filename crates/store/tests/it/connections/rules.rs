//! Keyword rules: added as a whole, once, counted, and listed newest first.

use probity_account::connections::{KeywordMatch, KeywordParts, KeywordRule, RuleKind};
use probity_account::id::RuleId;
use probity_mail::time::Millis;
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::rules::{self, NewRule, StoredRule};
use probity_store::{ScopedFutureExt as _, Store};

use super::{NOW, by_id, insert, nth, org};
use crate::databases::for_each_database;

const MANY: i64 = 1_000;

/// Returns a rule whose ID and tag derive from its keyword.
fn new(keyword: &str) -> NewRule {
    let byte = keyword.bytes().next().unwrap();
    let rule = KeywordRule::new(keyword, KeywordMatch::Exact, KeywordParts::ALL).unwrap();
    NewRule { id: RuleId::new(NOW, [byte; 10]), tag: [byte.to_ascii_lowercase(); 16], rule }
}

async fn add_at(
    store: &Store,
    of: &StoredConnection,
    kind: RuleKind,
    keywords: &[&str],
    (at_most, at): (i64, Millis),
) -> Option<Vec<StoredRule>> {
    let fresh: Vec<NewRule> = keywords.iter().map(|keyword| new(keyword)).collect();
    let added = store.write(|tx| {
        async {
            let locked = connection::lock(tx, of.org, of.id, of.test).await?;
            let present = match kind {
                RuleKind::Blacklist => locked.blacklist_count,
                RuleKind::Whitelist => locked.whitelist_count,
            };
            rules::add(tx, (of.org, of.id, kind), &fresh, (present, at_most), at).await
        }
        .scope_boxed()
    });
    added.await.unwrap()
}

pub(super) async fn add(store: &Store, of: &StoredConnection, keywords: &[&str]) {
    assert!(add_at(store, of, RuleKind::Blacklist, keywords, (MANY, NOW)).await.is_some());
}

fn keywords(rules: &[StoredRule]) -> Vec<&str> {
    rules.iter().map(|stored| &*stored.rule.keyword).collect()
}

async fn counts(store: &Store, of: &StoredConnection) -> (i64, i64) {
    let one = by_id(store, of).await.unwrap();
    (one.blacklist_count, one.whitelist_count)
}

#[tokio::test]
async fn rules_are_stored_once_and_counted() {
    for_each_database(async |store| {
        let (one, other) = (nth(org(&store, 1).await, 1), nth(org(&store, 2).await, 2));
        insert(&store, &one).await;
        insert(&store, &other).await;
        let first = add_at(&store, &one, RuleKind::Blacklist, &["b@example.org", "a"], (MANY, NOW)).await.unwrap();
        assert_eq!(keywords(&first), ["b@example.org", "a"], "in the order in which they were sent");
        let second = add_at(&store, &one, RuleKind::Blacklist, &["c", "A", "c"], (MANY, NOW + 1)).await.unwrap();
        assert_eq!(keywords(&second), ["c", "a", "c"], "the rule that was there stays");
        assert!(second[0].id == second[2].id && second[1].id == first[1].id);
        assert_eq!(counts(&store, &one).await, (3, 0));
        let white = add_at(&store, &one, RuleKind::Whitelist, &["d"], (MANY, NOW)).await.unwrap();
        assert_eq!(keywords(&white), ["d"]);
        assert_eq!((counts(&store, &one).await, counts(&store, &other).await), ((3, 1), (0, 0)));
        let mut conn = store.read().await.unwrap();
        let mut all = rules::all(&mut conn, one.org, one.id).await.unwrap();
        all.sort_by_key(|stored| (stored.kind, stored.id));
        assert_eq!(keywords(&all), ["a", "b@example.org", "c", "d"]);
        assert!(rules::all(&mut conn, other.org, one.id).await.unwrap().is_empty(), "of another organization");
    })
    .await;
}

#[tokio::test]
async fn too_many_rules_are_not_added_at_all() {
    for_each_database(async |store| {
        let one = nth(org(&store, 1).await, 1);
        insert(&store, &one).await;
        let add =
            async |keywords: &[&str]| add_at(&store, &one, RuleKind::Whitelist, keywords, (2, NOW)).await.is_some();
        assert!(add(&["a"]).await);
        assert!(!add(&["b", "c"]).await);
        assert_eq!(counts(&store, &one).await, (0, 1));
        assert!(add(&["b", "a"]).await, "one of them is there already");
        assert_eq!(counts(&store, &one).await, (0, 2));
    })
    .await;
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_rules_removed() {
    for_each_database(async |store| {
        let one = nth(org(&store, 1).await, 1);
        insert(&store, &one).await;
        for (at, keyword) in (0..).zip(["a", "b", "c"]) {
            add_at(&store, &one, RuleKind::Blacklist, &[keyword], (MANY, NOW + at)).await.unwrap();
        }
        let list = (one.org, one.id, RuleKind::Blacklist);
        let page = async |after| {
            let mut conn = store.read().await.unwrap();
            rules::page(&mut conn, list, after, 2).await.unwrap()
        };
        let first = page(None).await;
        assert_eq!(keywords(&first), ["c", "b"]);
        assert_eq!(keywords(&page(Some((first[1].created_at, first[1].id))).await), ["a"]);
        let remove = async |kind, id| {
            store.write(|tx| rules::remove(tx, (one.org, one.id, kind), id).scope_boxed()).await.unwrap()
        };
        assert!(!remove(RuleKind::Whitelist, first[0].id).await, "it is on the other list");
        assert!(remove(RuleKind::Blacklist, first[0].id).await);
        assert!(!remove(RuleKind::Blacklist, first[0].id).await);
        assert_eq!(counts(&store, &one).await, (2, 0));
        let mut conn = store.read().await.unwrap();
        let found = rules::behind(&mut conn, (one.org, false), None, 1).await.unwrap();
        let [(of, stored)] = &found[..] else { panic!("one at a time") };
        assert_eq!((*of, keywords(std::slice::from_ref(stored))), (one.id, vec!["a"]));
        let rest = rules::behind(&mut conn, (one.org, false), Some(stored.id), 10).await.unwrap();
        assert_eq!(rest.len(), 1);
        assert!(rules::behind(&mut conn, (one.org, true), None, 10).await.unwrap().is_empty(), "of the other mode");
    })
    .await;
}
