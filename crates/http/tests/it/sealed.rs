//! Tests of the master key. With it, files contain no address of a list, and everything reads as without it. An encrypted
//! database opens only with its key.

use std::sync::Arc;
use std::time::Duration;

use probity_access::secrets::sealing::MasterKey;
use probity_account::id::{DeliveryId, EventId, UploadId};
use probity_backend::nodes::instance::{Instance, OpenError};
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_store::privacy::sealing::earlier::{SealingProgress, find};
use probity_store::privacy::sealing::{self, SealedField, unseal};
use probity_store::uploads::{self, ArrivedUpload, ColumnChoice, ColumnContent, NewUpload};
use probity_store::webhooks::outbox::{self, AttemptResult, DeliveryContent, NewDelivery, OutboxState, SenderCapacity};
use probity_store::{DatabasePlace, OrgNo, ScopedFutureExt as _, Store, StoreConfig, StoreError, jobs};
use probity_telemetry::log_capture::holds;
use probity_trialdb::postgres;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::test_app::{Call, PEPPER, TestApp, file_in, pass, real_moment, upkeep};

const CANARY: &str = "kanarienvogel-7h2k@käfig.example";
/// Address with a mistyped domain, so that the row gets a suggestion: an address that was never submitted.
const MISTYPED: &str = "kanarienvogel-9x4m@gmial.com";
const SUGGESTED: &str = "kanarienvogel-9x4m@gmail.com";
const ORG: OrgNo = OrgNo(7);

fn canaries_in(app: &TestApp) -> Vec<&'static str> {
    let files = app.files();
    let found = |text: &&str| files.iter().any(|(_, bytes)| holds(bytes, text));
    [CANARY, SUGGESTED].into_iter().filter(found).collect()
}

async fn is_packed(app: &TestApp) -> bool {
    let later = probity_mail::time::Millis(i64::MAX / 2);
    app.store.write(|tx| jobs::claim_packing(tx, later, -i64::MAX / 2).scope_boxed()).await.unwrap().is_none()
}

/// Sends a list through everything that stores it. Returns its rows, and the canaries found in the files before and after
/// packing.
async fn through(app: &TestApp) -> (Vec<Value>, Vec<Vec<&'static str>>) {
    let (_, key) = app.tester().await;
    let body = json!({"emails": [CANARY, MISTYPED, CANARY, "valid@sandbox.test"]}).to_string();
    let submitted = app.send(Call::post("/v1/batch-verify", body).key(&key)).await.ok(200);
    let path = format!("/v1/batch-verify/{}", submitted["id"].as_str().unwrap());
    while app.get(&key, &format!("{path}/status")).await.ok(200)["processed"] != true {
        real_moment().await;
    }
    let mut found = vec![canaries_in(app)];
    while !is_packed(app).await {
        pass(Duration::from_secs(6)).await;
    }
    found.push(canaries_in(app));
    let page = app.get(&key, &format!("{path}/results")).await.ok(200);
    let mut rows = page["data"].as_array().unwrap().clone();
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("completed_at");
    }
    (rows, found)
}

#[tokio::test]
async fn with_a_master_key_no_file_tells_an_address_of_a_list() {
    let plain = TestApp::start().await;
    let (rows, found) = through(&plain).await;
    assert_eq!(found, [[CANARY, SUGGESTED]; 2], "without one they do: else this test would show nothing");
    plain.stop().await;

    let sealed = TestApp::sealed(ServiceConfig::default(), [3; 32]).await;
    let (sealed_rows, found) = through(&sealed).await;
    assert_eq!(found, [[""; 0]; 2]);
    assert_eq!(sealed_rows, rows, "customers see no difference");
    assert_eq!(rows[1]["suggestion"], SUGGESTED);
    sealed.stop().await;
}

/// Last and earlier response of the receiver.
const ANSWERS: [&[u8]; 2] = [b"\xff\xff\xff\xff\x01no", CANARY.as_bytes()];

/// Stores a delivery that was attempted twice.
async fn told_twice(store: &Store, org: OrgNo, now: Millis) -> DeliveryId {
    let id = DeliveryId::new(now, [1; 10]);
    let (kind, url, content) =
        ("job.finished".into(), "http://127.0.0.1:1/".into(), DeliveryContent::Bytes(b"{}".to_vec()));
    let event = EventId::new(now, [1; 10]);
    let message = NewDelivery { org, id, event, kind, url, content, job: None, signer: String::new(), created_at: now };
    store.write(|tx| outbox::put(tx, &message).scope_boxed()).await.unwrap();
    for (answer, state) in ANSWERS.into_iter().zip([OutboxState::Waiting, OutboxState::Delivered]) {
        let sent = store.write(|tx| {
            async move {
                let [claimed] = &outbox::claim(tx, now, 1, "sender", SenderCapacity::of(1)).await?[..] else {
                    panic!("it is due")
                };
                let (answer, status, error) = (answer.to_vec(), Some(200), None);
                let attempt = AttemptResult { at: now, took_ms: 1, status, error, answer, state, next_at: now };
                outbox::record(tx, claimed, &attempt).await
            }
            .scope_boxed()
        });
        sent.await.unwrap();
    }
    id
}

/// Stores an uploaded file with one row and all its metadata.
async fn put_up(store: &Store, org: OrgNo, at: Millis) -> UploadId {
    let id = UploadId::new(at, [2; 10]);
    let content = ColumnContent { addresses: 1, domains: CANARY.into(), ..ColumnContent::default() };
    let arrived = store.write(|tx| {
        async {
            let no = uploads::begin(tx, &NewUpload { org, id, test: false, source: "csv", user: None, at }, 10).await?;
            uploads::add_block(tx, org, no, 0, CANARY.as_bytes()).await?;
            let choice = ColumnChoice { column: Some(0), header: false };
            let about = CANARY.as_bytes();
            let arrived = ArrivedUpload { about, rows: 1, size: 1, choice, content: Some(&content), replaces: None };
            uploads::finish(tx, org, no, &arrived, at).await
        }
        .scope_boxed()
    });
    arrived.await.unwrap();
    id
}

/// Returns the number of unencrypted bodies in each column.
async fn unsealed_bodies(store: &Store) -> Vec<usize> {
    let (mut behind, mut counts) = (Some(SealingProgress::nothing()), Vec::new());
    while let Some(at) = behind {
        let (found, next) = find(&mut store.read().await.unwrap(), &at, 10_000).await.unwrap();
        counts.push(found.len());
        behind = next;
    }
    counts
}

/// Stores lists in every column without a master key. Then checks that they are encrypted once there is one, and still read the
/// same.
async fn what_was_there_is_sealed(plain: TestApp) {
    const MASTER_KEY: [u8; 32] = [3; 32];
    let (org, live) = plain.customer().await;
    let body = json!({"emails": [CANARY, MISTYPED, "waits-for-ever@honest-mail.com"]}).to_string();
    let open_job = plain.send(Call::post("/v1/batch-verify", body).key(&live)).await.ok(200);
    let path = format!("/v1/batch-verify/{}", open_job["id"].as_str().unwrap());
    while plain.get(&live, &format!("{path}/status")).await.ok(200)["emailsProcessed"] != 2 {
        pass(Duration::from_millis(500)).await;
    }
    let (_, _) = through(&plain).await;
    let now = plain.now(&org).await;
    // Nothing else sends this delivery: it is due in the future.
    let message = told_twice(&plain.store, org.no, now + 3_600_000).await;
    let upload = put_up(&plain.store, org.no, now).await;
    let before = unsealed_bodies(&plain.store).await;
    // This test stores no connections: their rules, positions and contacts (columns 7 to 9) stay empty.
    let (there, connections): (Vec<_>, Vec<_>) = before.iter().enumerate().partition(|(at, _)| !(7..10).contains(at));
    assert!(connections.len() == 3 && there.len() == 9, "columns: {before:?}");
    assert!(there.iter().all(|(_, count)| **count > 0), "of each column something: {before:?}");
    let read = async |app: &TestApp, store: &Store| {
        let mut conn = store.read().await.unwrap();
        let logged = outbox::by_id(&mut conn, org.no, message).await.unwrap().last_answer;
        let tried = outbox::before_the_last(&mut conn, org.no, &[message]).await.unwrap();
        let there = uploads::by_id(&mut conn, org.no, upload, false).await.unwrap();
        let rows = uploads::blocks(&mut conn, org.no, there.no, 0, 9).await.unwrap();
        let results = app.get(&live, &format!("{path}/results")).await.ok(200);
        (logged, format!("{tried:?}"), there, rows, results)
    };
    let told = read(&plain, &plain.store).await;

    let sealed = plain.sealed_from_here(ServiceConfig::default(), MASTER_KEY).await;
    let store = sealed.sealing_store(MASTER_KEY).await;
    for _ in 0..50 {
        if unsealed_bodies(&store).await == [0; 9] {
            break;
        }
        pass(Duration::from_secs(6)).await;
    }
    assert_eq!(unsealed_bodies(&store).await, [0; 12]);
    assert!(read(&sealed, &store).await == told, "it reads as before");
    sealed.live.gate.add_permits(10);
    while sealed.get(&live, &format!("{path}/status")).await.ok(200)["processed"] != true {
        pass(Duration::from_secs(6)).await;
    }
    upkeep().await;
    assert_eq!(canaries_in(&sealed), [""; 0], "nor does the log tell what was there");
    store.close().await;
    sealed.stop().await;
}

#[tokio::test]
async fn what_was_stored_before_there_was_a_master_key_is_sealed_afterwards() {
    what_was_there_is_sealed(TestApp::start().await).await;
    if let Some(app) = TestApp::on_postgres(ServiceConfig::default()).await {
        what_was_there_is_sealed(app).await;
    }
}

async fn open(place: &DatabasePlace, master_key: Option<[u8; 32]>) -> Instance {
    let sealing = master_key.map(|key| Arc::new(MasterKey::of(&key)) as _);
    Instance::open(&StoreConfig { sealing, ..StoreConfig::new(place.clone()) }, &PEPPER).await.unwrap()
}

/// Stores a body and returns it in stored form.
async fn seal(store: &Store, org: OrgNo, row: i64) -> Result<Vec<u8>, StoreError> {
    let place = SealedField::numbered("job_block.body", 1, row);
    store
        .write(|tx| {
            async move { Ok(sealing::seal(tx, org, place, b"ann@example.org").await?.into_owned()) }.scope_boxed()
        })
        .await
}

async fn unsealed(store: &Store, org: OrgNo, row: i64, stored: &[u8]) -> Result<Vec<u8>, StoreError> {
    unseal(&mut store.read().await?, org, SealedField::numbered("job_block.body", 1, row), stored.to_vec()).await
}

#[tokio::test]
async fn a_sealed_database_is_opened_with_its_key_only_and_the_key_can_be_changed() {
    let directory = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Sqlite(file_in(directory.path()));
    let without = open(&place, None).await;
    without.prepare().await.unwrap();
    let plain = seal(without.store(), ORG, 0).await.unwrap();
    assert_eq!(plain, b"ann@example.org");
    without.close().await;

    let with = open(&place, Some([1; 32])).await;
    with.prepare().await.unwrap();
    let sealed = seal(with.store(), ORG, 0).await.unwrap();
    assert!(!holds(&sealed, "ann"));
    assert_eq!(unsealed(with.store(), ORG, 0, &sealed).await.unwrap(), b"ann@example.org");
    assert_eq!(
        unsealed(with.store(), ORG, 0, &plain).await.unwrap(),
        b"ann@example.org",
        "what was there stays readable"
    );
    assert!(unsealed(with.store(), ORG, 1, &sealed).await.is_err(), "in another row");
    seal(with.store(), OrgNo(8), 0).await.unwrap();
    assert!(unsealed(with.store(), OrgNo(8), 0, &sealed).await.is_err(), "as another organization's");

    let refused = |prepared: Result<usize, OpenError>| prepared.unwrap_err().to_string();
    assert!(refused(open(&place, None).await.prepare().await).contains("none is configured"));
    assert!(refused(open(&place, Some([2; 32])).await.prepare().await).contains("wrong master key"));
    assert!(unsealed(open(&place, None).await.store(), ORG, 0, &sealed).await.is_err(), "nor does it read as empty");

    let (old, new) = (MasterKey::of(&[1; 32]), MasterKey::of(&[2; 32]));
    assert!(matches!(with.rewrap(&new, &old).await, Err(OpenError::OtherMasterKey)));
    assert_eq!(with.rewrap(&old, &new).await.unwrap(), 2);
    let late = seal(with.store(), OrgNo(9), 0).await.unwrap_err();
    assert!(
        format!("{late:?}").contains("the master key was replaced"),
        "who still runs with the old one makes no key: {late:?}"
    );
    with.close().await;

    let changed = open(&place, Some([2; 32])).await;
    changed.prepare().await.unwrap();
    assert_eq!(unsealed(changed.store(), ORG, 0, &sealed).await.unwrap(), b"ann@example.org");
    changed.close().await;
    assert!(refused(open(&place, Some([1; 32])).await.prepare().await).contains("wrong master key"));
}

#[tokio::test]
async fn a_data_key_of_a_transaction_that_was_undone_seals_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Sqlite(file_in(directory.path()));
    let instance = open(&place, Some([1; 32])).await;
    instance.prepare().await.unwrap();
    let row = SealedField::numbered("job_block.body", 1, 0);
    let undone = instance.store().write(|tx| {
        async move {
            let stored = sealing::seal(tx, ORG, row, b"first").await?.into_owned();
            assert_eq!(unseal(tx, ORG, row, stored).await?, b"first");
            Err::<(), _>(StoreError::NotFound)
        }
        .scope_boxed()
    });
    undone.await.unwrap_err();
    let sealed = seal(instance.store(), ORG, 0).await.unwrap();
    instance.close().await;
    // Another process has an empty cache.
    let again = open(&place, Some([1; 32])).await;
    again.prepare().await.unwrap();
    assert_eq!(unsealed(again.store(), ORG, 0, &sealed).await.unwrap(), b"ann@example.org");
    again.close().await;
}

#[tokio::test]
async fn a_key_made_while_all_are_rewrapped_is_rewrapped_too() {
    // SQLite has only one writer at a time.
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let place = DatabasePlace::Postgres(database.url().to_owned());
    let (running, rewrapping) = (open(&place, Some([1; 32])).await, open(&place, Some([1; 32])).await);
    running.prepare().await.unwrap();
    let (made, commit) = (Notify::new(), Notify::new());
    let making = running.store().write(|tx| {
        async {
            let stored = sealing::seal(tx, ORG, SealedField::numbered("job_block.body", 1, 0), b"ann@example.org")
                .await?
                .into_owned();
            made.notify_one();
            commit.notified().await;
            Ok(stored)
        }
        .scope_boxed()
    });
    let (old, new) = (MasterKey::of(&[1; 32]), MasterKey::of(&[2; 32]));
    let beside = async {
        made.notified().await;
        let late = async {
            for _ in 0..50 {
                real_moment().await;
            }
            commit.notify_one();
        };
        tokio::join!(rewrapping.rewrap(&old, &new), late).0.unwrap()
    };
    let (stored, wrapped) = tokio::join!(making, beside);
    assert_eq!(wrapped, 1);
    running.close().await;
    rewrapping.close().await;
    let changed = open(&place, Some([2; 32])).await;
    changed.prepare().await.unwrap();
    assert_eq!(unsealed(changed.store(), ORG, 0, &stored.unwrap()).await.unwrap(), b"ann@example.org");
    changed.close().await;
}
