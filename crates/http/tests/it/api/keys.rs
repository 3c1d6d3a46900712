//! Tests of `/v1/api-keys`: creation, pages and revocation of keys.

use std::time::Duration;

use probity_access::minting::KeyRequest;
use probity_account::api_key::{self, Checksum, KeyKind};
use probity_account::id::KeyId;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::keys::{self, StoredKey};
use serde_json::{Value, json};

use crate::test_app::{Answer, Call, TestApp, pass, upkeep};

const ROUTE: &str = "/v1/api-keys";

async fn make(app: &TestApp, key: &str, body: Value) -> Answer {
    app.send(Call::post(ROUTE, body.to_string()).key(key)).await
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn there_are_so_many_keys_and_no_more() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let first = app.new_key(&org, KeyRequest::plain("first", KeyKind::Rk)).await.0;
    let others = app.store.write(|tx| {
        async {
            for n in 0..998_u128 {
                let mut hash = [0; 32];
                hash[..16].copy_from_slice(&n.to_le_bytes());
                keys::insert(tx, &StoredKey { id: KeyId::from_bits(n + 1), ..first.clone() }, &hash).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    others.await.unwrap();
    let wish = json!({"name": "another", "kind": "live"});
    let refused = make(&app, &key, wish.clone()).await.error(409, "conflict");
    assert!(refused.contains("1000") && refused.contains("revoke"), "{refused}");
    app.send(Call::new("DELETE", format!("{ROUTE}/{}", first.id)).key(&key)).await.ok(200);
    make(&app, &key, wish).await.ok(201);
    app.stop().await;
}

#[tokio::test]
async fn each_kind_of_key_is_made_and_works() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let all = Scope::ALL.map(Scope::as_str).to_vec();
        let cases = [
            (json!({"name": "a", "kind": "live"}), all.clone(), 200),
            (json!({"name": "b", "kind": "test"}), all, 200),
            (json!({"name": "c", "kind": "rk", "scopes": ["verify"]}), vec!["verify"], 200),
            (json!({"name": "d", "kind": "rk", "scopes": ["read:jobs", "read:jobs"]}), vec!["read:jobs"], 403),
            (
                json!({"name": "e", "kind": "pub", "allowed_origins": ["HTTPS://Example.COM/"], "daily_cap": 500}),
                vec![],
                403,
            ),
        ];
        for (body, scopes, verifies) in cases {
            let kind = body["kind"].as_str().unwrap().to_owned();
            let made = make(app, &key, body.clone()).await.ok(201);
            let secret = made["secret"].as_str().unwrap();
            assert_eq!(api_key::check(secret), Checksum::Good);
            assert!(secret.starts_with(&format!("probity_{kind}_")), "{secret}");
            assert_eq!((&made["name"], &made["kind"]), (&body["name"], &body["kind"]));
            assert_eq!(made["prefix"], format!("probity_{kind}_"));
            assert_eq!(made["last4"], secret[secret.len() - 4..]);
            let mut shown: Vec<&str> =
                made["scopes"].as_array().unwrap().iter().map(|scope| scope.as_str().unwrap()).collect();
            let mut scopes = scopes;
            shown.sort_unstable();
            scopes.sort_unstable();
            assert_eq!(shown, scopes);
            for null in ["expires_at", "last_used_at", "revoked_at", "rate_limit_per_minute"] {
                assert!(made[null].is_null(), "{null}");
            }
            let origins = if kind == "pub" { json!(["https://example.com"]) } else { json!([]) };
            assert_eq!(made["allowed_origins"], origins);
            assert_eq!(made["public_key"], if kind == "pub" { json!(secret) } else { json!(null) });
            assert_eq!(made["daily_cap"], if kind == "pub" { json!(500) } else { json!(null) });
            app.verify(secret, "no-address").await.assert_status(verifies);
            assert_eq!(app.get(secret, "/v1/check-key").await.ok(200)["name"], body["name"]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let mut made = make(&app, &key, json!({"name": "a", "kind": "live"})).await.ok(201);
    let secret = made.as_object_mut().unwrap().remove("secret").unwrap();
    let listed = app.get(&key, ROUTE).await;
    assert!(!listed.text().contains(secret.as_str().unwrap()));
    assert_eq!(listed.ok(200)["data"][0], made, "the list shows the key as it was made");
    app.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_wish_is_said_by_field() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let origin = "https://www.example.com";
    let cases = [
        (json!({"kind": "live"}), "name"),
        (json!({"name": "", "kind": "live"}), "name"),
        (json!({"name": "x".repeat(201), "kind": "live"}), "name"),
        (json!({"name": "a\nb", "kind": "live"}), "name"),
        (json!({"name": "Live\u{202e}key", "kind": "live"}), "name"),
        (json!({"name": "Live\u{200b}key", "kind": "live"}), "name"),
        (json!({"name": 7, "kind": "live"}), "name"),
        (json!({"name": "a"}), "kind"),
        (json!({"name": "a", "kind": "oauth"}), "kind"),
        (json!({"name": "a", "kind": "rk"}), "scopes"),
        (json!({"name": "a", "kind": "rk", "scopes": []}), "scopes"),
        (json!({"name": "a", "kind": "rk", "scopes": ["everything"]}), "scopes[0]"),
        (json!({"name": "a", "kind": "live", "scopes": ["verify"]}), "scopes"),
        (json!({"name": "a", "kind": "live", "allowed_origins": [origin]}), "allowed_origins"),
        (json!({"name": "a", "kind": "pub", "allowed_origins": [origin, "example.com"]}), "allowed_origins[1]"),
        (json!({"name": "a", "kind": "pub", "allowed_origins": vec![origin; 101]}), "allowed_origins"),
        (json!({"name": "a", "kind": "pub"}), "allowed_origins"),
        (json!({"name": "a", "kind": "pub", "allowed_origins": []}), "allowed_origins"),
        (json!({"name": "a", "kind": "live", "expires_at": "2020-01-01T00:00:00Z"}), "expires_at"),
        (json!({"name": "a", "kind": "live", "expires_at": "2099-01-01T00:00:00"}), "expires_at"),
        (json!({"name": "a", "kind": "live", "expires_at": 1}), "expires_at"),
        (json!({"name": "a", "kind": "live", "rate_limit_per_minute": 0}), "rate_limit_per_minute"),
        (json!({"name": "a", "kind": "live", "rate_limit_per_minute": -1}), "rate_limit_per_minute"),
        (json!({"name": "a", "kind": "live", "rate_limit_per_minute": 1.5}), "rate_limit_per_minute"),
        (json!({"name": "a", "kind": "live", "daily_cap": 5}), "daily_cap"),
        (json!({"name": "a", "kind": "pub", "daily_cap": 0}), "daily_cap"),
        (json!({"name": "a", "kind": "pub", "daily_cap": 1.5}), "daily_cap"),
        (json!({"name": "a", "kind": "pub", "daily_cap": null}), "daily_cap"),
        (json!({"name": "a", "kind": "live", "surprise": 1}), "surprise"),
    ];
    for (body, field) in cases {
        let message = make(&app, &key, body.clone()).await.error(400, "invalid_request");
        assert!(
            message.starts_with(&format!("{field}: ")) || message.contains(&format!("`{field}`")),
            "{body}: {message}"
        );
    }
    for body in ["", "null", "[]", "\"a\"", "{\"name\":\"a\",\"name\":\"b\",\"kind\":\"live\"}"] {
        app.send(Call::post(ROUTE, body).key(&key)).await.error(400, "invalid_request");
    }
    assert_eq!(app.admin.list_keys(&org).await.unwrap().len(), 1, "nothing was made");
    app.stop().await;
}

#[tokio::test]
async fn nobody_makes_a_key_that_is_faster_than_theirs() {
    let app = TestApp::start().await;
    let (org, usual) = app.customer().await;
    let slow = KeyRequest { rate_limit_per_minute: Some(50), ..KeyRequest::plain("Slow", KeyKind::Live) };
    let slow = app.new_key(&org, slow).await.1;
    let fast = KeyRequest { rate_limit_per_minute: Some(15_000), ..KeyRequest::plain("Fast", KeyKind::Live) };
    let fast = app.new_key(&org, fast).await.1;
    for (key, wish, limit) in [
        (&slow, None, 50),
        (&slow, Some(4_000_000_000_u32), 50),
        (&slow, Some(7), 7),
        (&usual, None, 10_000),
        (&usual, Some(4_000_000_000), 10_000),
        (&fast, None, 10_000),
        (&fast, Some(12_000), 12_000),
    ] {
        let mut body = json!({"name": "a", "kind": "live"});
        if let Some(wish) = wish {
            body["rate_limit_per_minute"] = wish.into();
        }
        let made = make(&app, key, body).await.ok(201);
        let shown = &made["rate_limit_per_minute"];
        assert!(shown.is_null() == (limit == 10_000 && wish.is_none()) && shown.as_i64().is_none_or(|n| n == limit));
        let answer = app.get(made["secret"].as_str().unwrap(), "/v1/check-key").await;
        assert_eq!(answer.number("x-ratelimit-limit"), limit, "{wish:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_test_key_revokes_test_keys_only() {
    let app = TestApp::start().await;
    let (org, live) = app.customer().await;
    let test = app.key(&org, KeyKind::Test).await;
    let id = async |maker: &str, body: Value| make(&app, maker, body).await.ok(201)["id"].as_str().unwrap().to_owned();
    let revoke = async |key: &str, id: &str| app.send(Call::new("DELETE", format!("{ROUTE}/{id}")).key(key)).await;
    for body in [
        json!({"name": "a", "kind": "live"}),
        json!({"name": "a", "kind": "rk", "scopes": ["verify"]}),
        json!({"name": "a", "kind": "pub", "allowed_origins": ["https://example.com"]}),
    ] {
        let id = id(&live, body.clone()).await;
        revoke(&test, &id).await.error(403, "forbidden_scope");
        let listed = app.get(&live, ROUTE).await.ok(200);
        assert!(listed["data"][0]["revoked_at"].is_null(), "{body}");
        revoke(&live, &id).await.ok(200);
        revoke(&test, &id).await.error(403, "forbidden_scope");
    }
    let own = id(&test, json!({"name": "a", "kind": "test"})).await;
    revoke(&test, &own).await.ok(200);
    app.stop().await;
}

#[tokio::test]
async fn nobody_makes_a_key_that_may_more_than_they() {
    let app = TestApp::start().await;
    let (org, _) = app.customer().await;
    let restricted = app.restricted(&org, [Scope::WriteKeys, Scope::ReadJobs]).await;
    let test = app.key(&org, KeyKind::Test).await;
    for (key, body) in [
        (&restricted, json!({"name": "a", "kind": "live"})),
        (&restricted, json!({"name": "a", "kind": "test"})),
        (&restricted, json!({"name": "a", "kind": "rk", "scopes": ["read:jobs", "verify"]})),
        (&restricted, json!({"name": "a", "kind": "pub", "allowed_origins": ["https://example.com"]})),
        (&test, json!({"name": "a", "kind": "live"})),
        (&test, json!({"name": "a", "kind": "rk", "scopes": ["verify"]})),
        (&test, json!({"name": "a", "kind": "pub", "allowed_origins": ["https://example.com"]})),
    ] {
        make(&app, key, body).await.error(403, "forbidden_scope");
    }
    make(&app, &restricted, json!({"name": "a", "kind": "rk", "scopes": ["read:jobs"]})).await.ok(201);
    make(&app, &test, json!({"name": "a", "kind": "test"})).await.ok(201);
    let ending = json!({"name": "a", "kind": "live", "expires_at": "2099-01-01T00:00:00Z"});
    let ending = make(&app, &app.key(&org, KeyKind::Live).await, ending).await.ok(201)["secret"].clone();
    let ending = ending.as_str().unwrap();
    make(&app, ending, json!({"name": "a", "kind": "live"})).await.error(403, "forbidden_scope");
    let sooner = json!({"name": "a", "kind": "live", "expires_at": "2098-01-01T00:00:00Z"});
    make(&app, ending, sooner).await.ok(201);
    app.stop().await;
}

#[tokio::test]
async fn an_expiry_with_an_offset_is_kept_as_utc() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let body = json!({"name": "a", "kind": "live", "expires_at": "2099-01-01T02:00:00+02:00"});
    assert_eq!(make(&app, &key, body).await.ok(201)["expires_at"], "2099-01-01T00:00:00.000Z");
    let body = json!({"name": "a", "kind": "live", "expires_at": "9999-12-31T23:59:59Z"});
    assert_eq!(make(&app, &key, body).await.ok(201)["expires_at"], "9999-12-31T23:59:59.000Z");
    app.stop().await;
}

#[tokio::test]
async fn the_list_goes_page_by_page_from_the_newest_on() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        for n in 0..6 {
            make(app, &key, json!({"name": format!("key {n}"), "kind": "test"})).await.ok(201);
        }
        let whole = app.get(&key, ROUTE).await.ok(200);
        assert_eq!(whole["pagination"], json!({"has_more": false, "next_cursor": null}));
        let all = ids(&whole);
        let times: Vec<&str> =
            whole["data"].as_array().unwrap().iter().map(|row| row["created_at"].as_str().unwrap()).collect();
        assert!(all.len() == 7 && times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
        for name in ["next", "cursor"] {
            let (mut seen, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = app.get(&key, &format!("{ROUTE}?per_page=3&{name}={cursor}")).await.ok(200);
                let rows = ids(&page);
                assert!((1..=3).contains(&rows.len()));
                seen.extend(rows);
                let pagination = &page["pagination"];
                assert_eq!(pagination["has_more"], pagination["next_cursor"].is_string());
                let Some(next) = pagination["next_cursor"].as_str() else { break };
                next.clone_into(&mut cursor);
            }
            assert_eq!(seen, all);
        }
        let exact = app.get(&key, &format!("{ROUTE}?per_page=7")).await.ok(200);
        assert_eq!(exact["pagination"]["has_more"], false, "the last page may be full");
    })
    .await;
}

#[tokio::test]
async fn pages_have_at_most_a_hundred_rows() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    for _ in 0..104 {
        app.key(&org, KeyKind::Pub).await;
    }
    for (per_page, rows) in [
        ("", 25),
        ("per_page=100", 100),
        ("per_page=101", 100),
        ("per_page=99999999999999999999", 100),
        ("per_page=1", 1),
    ] {
        let page = app.get(&key, &format!("{ROUTE}?{per_page}")).await.ok(200);
        assert_eq!(ids(&page).len(), rows, "{per_page}");
    }
    for per_page in ["0", "-1", "x", "", "1.5", "1e2"] {
        let message = app.get(&key, &format!("{ROUTE}?per_page={per_page}")).await.error(400, "invalid_request");
        assert!(message.starts_with("per_page: "), "{message}");
    }
    for cursor in ["x", "%00", "AAAA", "%ff"] {
        app.get(&key, &format!("{ROUTE}?next={cursor}")).await.error(400, "invalid_request");
        app.get(&key, &format!("{ROUTE}?cursor={cursor}")).await.error(400, "invalid_request");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_revoked_key_stays_in_the_list() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let made = make(&app, &key, json!({"name": "a", "kind": "live"})).await.ok(201);
    let id = made["id"].as_str().unwrap();
    let delete = || Call::new("DELETE", format!("{ROUTE}/{id}")).key(&key);
    assert_eq!(app.send(delete()).await.ok(200), json!({"id": id, "deleted": true}));
    let first = app.get(&key, ROUTE).await.ok(200)["data"][0]["revoked_at"].clone();
    assert!(first.is_string());
    pass(Duration::from_secs(5)).await;
    app.send(delete()).await.ok(200);
    assert_eq!(app.get(&key, ROUTE).await.ok(200)["data"][0]["revoked_at"], first, "revoked once and for all");
    // A key can revoke itself.
    let own = app.get(&key, ROUTE).await.ok(200)["data"][1]["id"].as_str().unwrap().to_owned();
    app.send(Call::new("DELETE", format!("{ROUTE}/{own}")).key(&key)).await.ok(200);
    app.get(&key, ROUTE).await.error(401, "invalid_api_key");
    app.stop().await;
}

#[tokio::test]
async fn the_last_use_is_shown_soon_after() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        assert!(app.get(&key, ROUTE).await.ok(200)["data"][0]["last_used_at"].is_null());
        upkeep().await;
        let used = app.get(&key, ROUTE).await.ok(200)["data"][0]["last_used_at"].clone();
        assert!(used.is_string());
        pass(Duration::from_mins(5)).await;
        app.get(&key, ROUTE).await.ok(200);
        upkeep().await;
        let later = app.get(&key, ROUTE).await.ok(200)["data"][0]["last_used_at"].clone();
        assert!(later.as_str() > used.as_str(), "{later} after {used}");
    })
    .await;
}
