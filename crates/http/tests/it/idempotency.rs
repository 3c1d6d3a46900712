//! Tests of POSTs with an `Idempotency-Key`: each takes effect once, after any failure.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::future::join_all;
use futures_util::stream;
use probity_access::minting::KeyRequest;
use probity_access::secrets::Secrets;
use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::idempotency::{self, IdempotencyOutcome, IdempotentAttempt};
use serde_json::json;

use crate::people::{self, signed_in};
use crate::test_app::{Answer, Call, PEPPER, PLENTY, TestApp, pass, real_moment, upkeep};

const ROUTE: &str = "/v1/api-keys";

fn body(name: &str) -> String {
    json!({"name": name, "kind": "live"}).to_string()
}

fn make(key: &str, name: &str) -> Call {
    Call::post(ROUTE, body(name)).key(key)
}

/// Returns the number of keys with this name.
async fn named(app: &TestApp, org: &probity_store::accounts::organization::OrgRecord, name: &str) -> usize {
    app.admin.list_keys(org).await.unwrap().iter().filter(|key| key.name == name).count()
}

fn replayed(answer: &Answer) -> bool {
    match answer.header("idempotent-replayed") {
        None => false,
        Some(value) => {
            assert_eq!(value, "true");
            true
        }
    }
}

#[tokio::test]
async fn a_hundred_at_once_have_one_effect() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let answers = join_all((0..100).map(|_| app.send(make(&key, "made").once("one")))).await;
        let first: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 201 && !replayed(answer)).collect();
        assert_eq!(first.len(), 1, "one did the work");
        for answer in &answers {
            match answer.status {
                201 => assert_eq!(answer.body, first[0].body),
                _ => drop(answer.error(409, "idempotency_in_progress")),
            }
        }
        assert_eq!(named(app, &org, "made").await, 1);
        let later = app.send(make(&key, "made").once("one")).await;
        assert!(replayed(&later));
        assert_eq!((later.status, &later.body), (201, &first[0].body));
        assert_eq!(later.header("content-type"), first[0].header("content-type"));
        assert_ne!(later.header("x-request-id"), first[0].header("x-request-id"));
        assert!(later.headers.contains_key("x-ratelimit-remaining"));
    })
    .await;
}

#[tokio::test]
async fn a_key_belongs_to_one_body_one_organization_and_one_kind_of_key() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let first = app.send(make(&key, "first").once("shared")).await;
        first.ok(201);
        // The bytes count, not their meaning.
        let spaced = Call::post(ROUTE, body("first") + " ").key(&key).once("shared");
        for call in [make(&key, "second").once("shared"), spaced, Call::post(ROUTE, "").key(&key).once("shared")] {
            app.send(call).await.error(422, "idempotency_key_reused");
        }
        assert_eq!(named(app, &org, "second").await, 0);
        let (_, stranger) = app.customer().await;
        let theirs = app.send(make(&stranger, "first").once("shared")).await;
        assert!(theirs.status == 201 && !replayed(&theirs) && theirs.body != first.body);
        let other = app.key(&org, KeyKind::Live).await;
        let colleague = app.send(make(&other, "first").once("shared")).await;
        assert!(replayed(&colleague), "the organization's other keys");
        let test = app.key(&org, KeyKind::Test).await;
        let body = json!({"name": "first", "kind": "test"}).to_string();
        let trial = app.send(Call::post(ROUTE, body).key(&test).once("shared")).await;
        assert!(trial.status == 201 && !replayed(&trial), "test keys are apart");
        let without = app.send(make(&key, "first")).await;
        assert!(without.status == 201 && !replayed(&without));
    })
    .await;
}

#[tokio::test]
async fn a_secret_is_not_replayed_to_a_key_that_may_less() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    app.send(make(&key, "made").once("guessed")).await.ok(201);
    let restricted = app.restricted(&org, [Scope::WriteKeys]).await;
    app.send(make(&restricted, "made").once("guessed")).await.error(422, "idempotency_key_reused");
    // Nor is it replayed to a key that expires or has a lower rate limit: the handler would also have rejected such a key.
    let end = Some(app.now(&org).await + 3_600_000);
    let live = || KeyRequest::plain("Live", KeyKind::Live);
    for lesser in [KeyRequest { expires_at: end, ..live() }, KeyRequest { rate_limit_per_minute: Some(600), ..live() }]
    {
        let (_, lesser) = app.new_key(&org, lesser).await;
        app.send(make(&lesser, "made").once("guessed")).await.error(422, "idempotency_key_reused");
    }
    let (_, equal) = app.new_key(&org, live()).await;
    assert!(replayed(&app.send(make(&equal, "made").once("guessed")).await));
    let alike = json!({"name": "b", "kind": "rk", "scopes": ["write:keys"]}).to_string();
    let first = app.send(Call::post(ROUTE, alike.clone()).key(&restricted).once("own")).await;
    first.ok(201);
    let again = app.send(Call::post(ROUTE, alike).key(&restricted).once("own")).await;
    assert!(replayed(&again) && again.body == first.body);
    app.stop().await;
}

/// A rotation gives the old key an expiry. Clients that still use it can repeat what they sent before.
#[tokio::test]
async fn a_rotated_key_gets_what_it_got_before() {
    TestApp::each(people::config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (known, old) = app.new_key(&org, KeyRequest::plain("Live", KeyKind::Live)).await;
        let list = json!({"emails": ["nobody@null-mx.com"]}).to_string();
        let webhook =
            json!({"name": "crm", "url": "https://hooks.example.com/x", "events": ["job.finished"]}).to_string();
        let calls = || {
            [("/v1/batch-verify", &list), ("/v1/webhooks", &webhook)]
                .map(|(path, body)| Call::post(path, body.clone()).key(&old).once("before"))
        };
        let mut firsts = Vec::new();
        for call in calls() {
            let first = app.send(call).await;
            assert!([200, 201].contains(&first.status) && !replayed(&first), "{}", first.text());
            firsts.push(first);
        }
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let path = format!("/app/keys/{}/rotate", known.id);
        let rotated = ann.post(&path, &json!({"overlap_hours": 24})).await.ok(201);
        assert!(rotated["replaces"]["expires_at"].is_string(), "{rotated}");
        for (call, first) in calls().into_iter().zip(&firsts) {
            let again = app.send(call).await;
            assert!(replayed(&again) && again.body == first.body, "{}", again.text());
        }
        for path in ["/v1/jobs", "/v1/webhooks"] {
            let made = app.get(&old, path).await.ok(200);
            assert_eq!(made["data"].as_array().unwrap().len(), 1, "{path}");
        }
        app.settled().await;
        assert_eq!(app.balance(&org).await.spent.total(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_was_refused_can_be_tried_again() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let refused = [
        (Call::post(ROUTE, "{").key(&key), 400),
        (Call::post(ROUTE, "").key(&key), 400),
        (Call::post(ROUTE, json!({"name": "", "kind": "live"}).to_string()).key(&key), 400),
        (Call::new("POST", ROUTE).key(&key), 400),
        (Call::post(ROUTE, vec![b' '; (1 << 20) + 1]).key(&key), 413),
        (Call::post(ROUTE, body("made")).header("content-encoding", "gzip").key(&key), 415),
        (make("garbage", "made"), 401),
        (Call::post(ROUTE, body("made")), 401),
        (make(&app.restricted(&org, []).await, "made"), 403),
        (make(&app.key(&org, KeyKind::Test).await, "made"), 403),
    ];
    for (call, status) in refused {
        app.send(call.once("again")).await.assert_status(status);
    }
    let done = app.send(make(&key, "made").once("again")).await;
    assert!(done.status == 201 && !replayed(&done), "the key was free each time");
    // Only an authorized caller gets the stored response.
    let restricted = app.restricted(&org, []).await;
    app.send(make(&restricted, "made").once("again")).await.error(403, "forbidden_scope");
    assert_eq!(named(&app, &org, "made").await, 1);
    app.stop().await;
}

#[tokio::test]
async fn keys_have_one_to_255_printable_characters() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    for bad in [String::new(), "x".repeat(256), "a\tb".to_owned(), "é".to_owned(), "\u{a0}".to_owned()] {
        let message = app.send(make(&key, "made").once(&bad)).await.error(400, "invalid_request");
        assert!(message.starts_with("Idempotency-Key: "), "{message}");
    }
    let twice = make(&key, "made").once("one").once("two");
    app.send(twice).await.error(400, "invalid_request");
    assert_eq!(named(&app, &org, "made").await, 0);
    for good in ["x".to_owned(), "x".repeat(255), "!\"#$ %&'()~".to_owned()] {
        app.send(make(&key, "made").once(&good)).await.ok(201);
        assert!(replayed(&app.send(make(&key, "made").once(&good)).await));
    }
    app.stop().await;
}

/// A client that stalls in its body locks no key.
#[tokio::test]
async fn the_body_is_read_before_the_key_is_locked() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let mut stalling = make(&key, "made").once("slow").into_request();
    let half = stream::iter([Ok::<_, std::io::Error>(Bytes::from("{\"name\":"))]);
    *stalling.body_mut() = Body::from_stream(futures_util::StreamExt::chain(half, stream::pending()));
    let swift = async {
        real_moment().await;
        app.send(make(&key, "made").once("slow")).await
    };
    let answer = tokio::select! {
        answer = swift => answer,
        _ = app.send_request(stalling) => panic!("half a body is no request"),
    };
    assert!(answer.status == 201 && !replayed(&answer));
    app.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_no_half_work() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        for polls in [1, 2, 3, 5, 8, 13, 21, 34] {
            let name = format!("made {polls}");
            let mut call = Box::pin(app.send(make(&key, &name).once(&name)));
            for _ in 0..polls {
                if futures_util::poll!(call.as_mut()).is_ready() {
                    break;
                }
                real_moment().await;
            }
            drop(call);
            let answer = loop {
                let answer = app.send(make(&key, &name).once(&name)).await;
                if answer.status != 409 {
                    break answer;
                }
                real_moment().await;
            };
            answer.ok(201);
            assert_eq!(named(app, &org, &name).await, 1, "after {polls} polls");
        }
    })
    .await;
}

#[tokio::test]
async fn a_run_that_died_frees_its_key_after_its_lease() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let secrets = Secrets::of(&PEPPER);
        // State left by a process that was killed during its work.
        let attempt = IdempotentAttempt {
            org: org.no,
            key_hash: secrets.idempotency_key("POST", ROUTE, "died"),
            body_hash: secrets.body(body("made").as_bytes()),
            run: "another process".to_owned(),
            now: app.now(&org).await,
            lease_ms: 90_000,
            keep_ms: 24 * 3_600_000,
        };
        let begun = app.store.write(|tx| idempotency::begin(tx, &attempt).scope_boxed()).await.unwrap();
        assert_eq!(begun, IdempotencyOutcome::Run);
        app.send(make(&key, "made").once("died")).await.error(409, "idempotency_in_progress");
        app.send(make(&key, "other").once("died")).await.error(422, "idempotency_key_reused");
        pass(Duration::from_secs(91)).await;
        let answer = app.send(make(&key, "made").once("died")).await;
        assert!(answer.status == 201 && !replayed(&answer));
        assert_eq!(named(app, &org, "made").await, 1);
    })
    .await;
}

#[tokio::test]
async fn answers_are_kept_for_a_day() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let first = app.send(make(&key, "made").once("daily")).await;
        first.ok(201);
        pass(Duration::from_mins(23 * 60 + 58)).await;
        let replay = app.send(make(&key, "made").once("daily")).await;
        assert!(replayed(&replay) && replay.body == first.body);
        pass(Duration::from_mins(3)).await;
        // The entry is also purged from the database without a request.
        upkeep().await;
        let all = Millis(i64::MAX);
        let left = app.store.write(|tx| idempotency::purge(tx, all, 1).scope_boxed()).await.unwrap();
        assert_eq!(left, 0);
        let again = app.send(make(&key, "made").once("daily")).await;
        assert!(again.status == 201 && !replayed(&again) && again.body != first.body);
        app.send(make(&key, "other").once("daily")).await.error(422, "idempotency_key_reused");
        assert_eq!(named(app, &org, "made").await, 2);
    })
    .await;
}

#[tokio::test]
async fn kept_answers_cannot_be_read_in_the_database() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let idempotency_key = "unique-3f9a1c77b2";
    let made = app.send(make(&key, "made").once(idempotency_key)).await.ok(201);
    assert!(replayed(&app.send(make(&key, "made").once(idempotency_key)).await));
    let secret = made["secret"].as_str().unwrap();
    app.assert_files_without(&[secret, &secret[secret.len() - 49..], idempotency_key, &key]);
    // Shows that the search works.
    let id = made["id"].as_str().unwrap();
    assert!(app.files().iter().any(|(_, bytes)| bytes.windows(id.len()).any(|window| window == id.as_bytes())));
    app.stop().await;
}
