//! Tests of the tombstone file: erasing again after a restore, and behavior if the file cannot be written.

use std::collections::BTreeSet;
use std::path::Path;

use futures_util::future::join_all;
use probity_account::id::{DeliveryId, EventId};
use probity_backend::nodes::instance::Instance;
use probity_backend::privacy::erasures::restore;
use probity_mail::time::Millis;
use probity_store::privacy::erasures::{self, ErasureRequest, ErasureTurn, NewErasure};
use probity_store::webhooks::outbox::{self, DeliveryContent, NewDelivery};
use probity_store::{DatabasePlace, ScopedFutureExt as _, Store, StoreConfig};
use serde_json::{Value, json};

use super::{CANARY, MISTYPED, SUGGESTED, WAITING, completed, config, done, erase, found_in, list, submit, when};
use crate::test_app::{Call, PEPPER, TestApp, file_in, real_moment};

/// Returns the only erasure request.
async fn wished(store: &Store) -> NewErasure {
    let mut conn = store.read().await.unwrap();
    let all = erasures::known_since(&mut conn, &(Millis(i64::MIN), String::new()), 2).await.unwrap();
    let [ErasureRequest { org, id, test, requested_at, .. }] = all[..] else { panic!("{all:?}") };
    let tags = erasures::tags(&mut conn, org, id).await.unwrap().into_iter().collect();
    NewErasure { org, id, test, tags, webhook_url: None, requested_at }
}

async fn open(place: &DatabasePlace) -> Instance {
    let instance = Instance::open(&StoreConfig::new(place.clone()), &PEPPER).await.unwrap();
    instance.prepare().await.unwrap();
    instance
}

#[tokio::test]
async fn a_restored_backup_is_erased_again_before_it_is_served() {
    let (beside, restored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tombstones = beside.path().join("erasures");
    let app = TestApp::with(config(tombstones.clone())).await;
    let (_, key) = app.customer().await;
    let id = submit(&app, &key, list(&[CANARY, MISTYPED])).await;
    done(&app, &key, &id).await;
    let backup = file_in(restored.path());
    while !app.store.empty_log().await.unwrap() {
        real_moment().await;
    }
    std::fs::copy(&app.files().iter().find(|(path, _)| path.ends_with("probity.db")).unwrap().0, &backup).unwrap();
    let erased = erase(&app, &key, &[CANARY, SUGGESTED]).await;
    completed(&app, &key, &erased).await;
    let wished = wished(&app.store).await;
    app.stop().await;

    // A start that was killed while it repeated erasures has already stored the request.
    let died = tempfile::tempdir().unwrap();
    std::fs::copy(&backup, file_in(died.path())).unwrap();
    let instance = open(&DatabasePlace::Sqlite(file_in(died.path()))).await;
    let claimed = instance.store().write(|tx| {
        async {
            let at = wished.requested_at;
            erasures::request(tx, &wished, at + 1).await?;
            erasures::claim(tx, at, 1, "died", ErasureTurn::FIRST).await
        }
        .scope_boxed()
    });
    assert!(claimed.await.unwrap().is_some());
    assert_eq!(restore(&instance, &tombstones).await.unwrap(), 0);
    assert_eq!(found_in(died.path(), &[CANARY, SUGGESTED]), [""; 0]);
    instance.close().await;

    assert_eq!(found_in(restored.path(), &[CANARY, SUGGESTED]).len(), 2);
    let place = DatabasePlace::Sqlite(backup);
    let instance = open(&place).await;
    assert_eq!(restore(&instance, &tombstones).await.unwrap(), 1);
    assert_eq!(found_in(restored.path(), &[CANARY, SUGGESTED]), [""; 0]);
    assert_eq!(restore(&instance, &tombstones).await.unwrap(), 0, "it is known now");
    instance.close().await;
    assert_eq!(found_in(restored.path(), &[CANARY, SUGGESTED]), [""; 0]);
}

/// Returns the IDs of the erasure requests in a file, in line order.
fn wishes_in(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some(line["id"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn a_wish_beside_submissions_is_one_line_and_no_start_does_it_again() {
    let beside = tempfile::tempdir().unwrap();
    let path = beside.path().join("erasures");
    TestApp::each(config(path.clone()), async |app| {
        let _ = std::fs::remove_file(&path);
        let (_, key) = app.customer().await;
        let calls = (0..54).map(async |n| {
            let call = if n % 3 == 0 {
                list(&[CANARY])
            } else {
                Call::post("/v1/erasures", json!({ "emails": [CANARY] }).to_string())
            };
            let id = submit(app, &key, call).await;
            (n % 3 != 0).then_some(id)
        });
        let answered: BTreeSet<String> = join_all(calls).await.into_iter().flatten().collect();
        assert_eq!(answered.len(), 36);
        let written = wishes_in(&path);
        assert_eq!((written.len(), written.into_iter().collect::<BTreeSet<_>>()), (36, answered.clone()));
        let place = (Millis(i64::MIN), String::new());
        let known = erasures::known_since(&mut app.store.read().await.unwrap(), &place, 100).await.unwrap();
        assert_eq!(known.iter().map(|one| one.id.to_string()).collect::<BTreeSet<_>>(), answered);
    })
    .await;
}

#[tokio::test]
async fn every_nodes_file_says_that_an_erasure_is_completed() {
    let beside = tempfile::tempdir().unwrap();
    let files = ["one", "two", "late"].map(|name| beside.path().join(name));
    let app = TestApp::with(config(files[0].clone())).await;
    let other = app.beside(config(files[1].clone())).await;
    let (_, key) = app.customer().await;
    let id = erase(&app, &key, &[CANARY]).await;
    completed(&app, &key, &id).await;
    // This node was not running.
    let late = app.beside(config(files[2].clone())).await;
    let end = format!("{{\"completed\":\"{id}\"");
    for file in files {
        when("written", async || std::fs::read_to_string(&file).is_ok_and(|text| text.contains(&end))).await;
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!((text.lines().count(), text.matches(&end).count()), (2, 1), "{text}");
    }
    for node in [late, other, app] {
        node.stop().await;
    }
}

#[tokio::test]
async fn the_file_has_the_time_that_an_erasure_reaches() {
    const AHEAD_MS: i64 = 700_000;
    let beside = tempfile::tempdir().unwrap();
    let path = beside.path().join("erasures");
    let app = TestApp::with(config(path.clone())).await;
    let (org, key) = app.customer().await;
    // Stored by a node with a faster clock.
    let ahead = app.now(&org).await + AHEAD_MS;
    let message = NewDelivery {
        org: org.no,
        id: DeliveryId::from_bits(1),
        event: EventId::from_bits(1),
        kind: "job.finished".into(),
        url: "http://127.0.0.1:1/".into(),
        content: DeliveryContent::Bytes(b"{}".to_vec()),
        job: None,
        signer: String::new(),
        created_at: ahead,
    };
    assert!(app.store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap());
    erase(&app, &key, &[CANARY]).await;
    let by_operator = app.admin.erase(&org, WAITING).await.unwrap();
    assert!(by_operator.requested_at >= ahead);
    let place = (Millis(i64::MIN), String::new());
    let all = erasures::known_since(&mut app.store.read().await.unwrap(), &place, 10).await.unwrap();
    let mut known: Vec<_> = all.iter().map(|one| (one.id.to_string(), one.requested_at.0)).collect();
    let lines = std::fs::read_to_string(&path).unwrap();
    let mut written: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["completed"].is_null())
        .map(|line| (line["id"].as_str().unwrap().to_owned(), line["at"].as_i64().unwrap()))
        .collect();
    known.sort();
    written.sort();
    assert_eq!(known, written);
    assert!(known.len() == 2 && known.iter().all(|(_, at)| *at >= ahead.0), "{known:?}");
    app.stop().await;
}

#[tokio::test]
async fn a_node_that_cannot_write_its_file_forgets_all_the_same() {
    let beside = tempfile::tempdir().unwrap();
    let app = TestApp::with(config(beside.path().join("erasures"))).await;
    // A directory cannot be written like a file.
    let broken = app.beside(config(beside.path().to_owned())).await;
    let (_, key) = app.customer().await;
    let source = async |email: &str| {
        broken.verify(&key, &format!("{email}&explain=true")).await.ok(200)["evidence"]["source"].clone()
    };
    let both = [CANARY, "another.2c6m@takes-all.com"];
    for email in both {
        source(email).await;
        assert_eq!(source(email).await, "cache");
    }
    for email in both {
        erase(&app, &key, &[email]).await;
    }
    when("forgotten", async || {
        let mut cached = false;
        for email in both {
            cached |= source(email).await == "cache";
        }
        !cached
    })
    .await;
    broken.stop().await;
    app.stop().await;
}
