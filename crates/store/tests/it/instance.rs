//! Texts of the installation.

use probity_store::nodes::instance;
use probity_store::{ScopedFutureExt as _, Store};

use crate::databases::for_each_database;

async fn set_once(store: &Store, text: &str) -> String {
    store.write(|tx| instance::set_once(tx, "pepper", text).scope_boxed()).await.unwrap()
}

#[tokio::test]
async fn the_first_text_stands() {
    for_each_database(async |store| {
        let mut conn = store.read().await.unwrap();
        assert_eq!(instance::value(&mut conn, "pepper").await.unwrap(), None);
        assert_eq!(set_once(&store, "first").await, "first");
        assert_eq!(set_once(&store, "second").await, "first");
        assert_eq!(instance::value(&mut conn, "pepper").await.unwrap().as_deref(), Some("first"));
        assert_eq!(instance::value(&mut conn, "other").await.unwrap(), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_agree() {
    for_each_database(async |store| {
        let nodes = (0..8).map(|node| {
            let store = store.clone();
            tokio::spawn(async move { set_once(&store, &node.to_string()).await })
        });
        let told = futures_util::future::try_join_all(nodes.collect::<Vec<_>>()).await.unwrap();
        assert!(told.iter().all(|text| *text == told[0]), "{told:?}");
    })
    .await;
}
