//! Other organizations' things: whoever names one learns no more than who makes an id up.

use probity_account::api_key::{self, KeyKind};
use probity_account::id::{Erasure, Id, Job, Key, User, Webhook};
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_service::admin::NewKey;
use probity_store::organization::Org;
use probity_store::users::UserStatus;
use serde_json::Value;

use crate::api::users::member;
use crate::test_app::{BRAND, Call, TestApp};

/// Routes with an id in their path. A new one must be added to [`a_foreign_id_answers_as_a_made_up_one`].
const ROUTES_WITH_IDS: [(&str, &str); 18] = [
    ("delete", "/v1/api-keys/{id}"),
    ("get", "/v1/batch-verify/{id}"),
    ("post", "/v1/batch-verify/{id}/cancel"),
    ("get", "/v1/batch-verify/{id}/download"),
    ("get", "/v1/batch-verify/{id}/results"),
    ("get", "/v1/batch-verify/{id}/status"),
    ("get", "/v1/erasures/{id}"),
    ("get", "/v1/jobs/{id}"),
    ("delete", "/v1/users/{id}"),
    ("get", "/v1/users/{id}"),
    ("patch", "/v1/users/{id}"),
    ("delete", "/v1/webhooks/{id}"),
    ("get", "/v1/webhooks/{id}"),
    ("patch", "/v1/webhooks/{id}"),
    ("get", "/v1/webhooks/{id}/deliveries"),
    ("post", "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver"),
    ("post", "/v1/webhooks/{id}/rotate-secret"),
    ("post", "/v1/webhooks/{id}/test"),
];

#[tokio::test]
async fn the_list_of_routes_with_ids_is_whole() {
    let app = TestApp::start().await;
    let document = app.send(Call::get("/v1/openapi.json")).await.ok(200);
    let paths = document["paths"].as_object().unwrap();
    let with_ids = paths
        .iter()
        .filter(|(path, _)| path.contains("id}"))
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| (method.as_str(), path.as_str())));
    assert_eq!(with_ids.collect::<Vec<_>>(), ROUTES_WITH_IDS);
    app.stop().await;
}

#[tokio::test]
async fn a_foreign_id_answers_as_a_made_up_one() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let (other, stranger) = app.customer().await;
        let (theirs, _) = app.new_key(&other, NewKey::plain("theirs", KeyKind::Live)).await;
        let member = member(app, &other, 1, UserStatus::Active).await;
        let list = r#"{"emails": ["nobody@null-mx.com"]}"#;
        let job = app.send(Call::post("/v1/batch-verify", list).key(&stranger)).await.ok(200)["id"].clone();
        let hook = r#"{"name": "crm", "url": "https://hooks.example.com/x", "events": ["job.finished"]}"#;
        let webhook = app.send(Call::post("/v1/webhooks", hook).key(&stranger)).await.ok(201)["id"].clone();
        let webhook = webhook.as_str().unwrap();
        let erasure = app.send(Call::post("/v1/erasures", list).key(&stranger)).await.ok(200)["id"].clone();
        let test = Call::new("POST", format!("/v1/webhooks/{webhook}/test")).key(&stranger);
        let delivery = app.send(test).await.ok(200)["id"].clone();
        for kind in [&key, &app.key(&org, KeyKind::Test).await] {
            for (method, path) in ROUTES_WITH_IDS {
                let ask = async |id: &str| {
                    let target = path.replace("{id}", id).replace("{delivery_id}", delivery.as_str().unwrap());
                    let call = match (method, path) {
                        ("patch", path) if path.contains("webhooks") => Call::patch(target, r#"{"name": "ours"}"#),
                        ("patch", _) => Call::patch(target, "{}"),
                        _ => Call::new(&method.to_uppercase(), target),
                    };
                    app.send(call.key(kind)).await
                };
                let (foreign, made_up) = if path.contains("api-keys") {
                    (theirs.id.to_string(), Id::<Key>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
                } else if path.contains("webhooks") {
                    (webhook.to_owned(), Id::<Webhook>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
                } else if path.contains("erasures") {
                    let made_up = Id::<Erasure>::new(Millis(1_700_000_000_000), [3; 10]).to_string();
                    (erasure.as_str().unwrap().to_owned(), made_up)
                } else if path.contains("users") {
                    (member.id.to_string(), Id::<User>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
                } else {
                    (job.as_str().unwrap().to_owned(), Id::<Job>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
                };
                let foreign = ask(&foreign).await;
                foreign.error(404, "not_found");
                assert_eq!(foreign.without_request(), ask(&made_up).await.without_request(), "{method} {path}");
                assert_eq!(foreign.without_request(), ask("nonsense").await.without_request(), "{method} {path}");
            }
        }
        // Nothing happened to it.
        let listed = app.get(&stranger, "/v1/api-keys").await.ok(200);
        let rows = listed["data"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == theirs.id.to_string()).unwrap();
        assert!(row["revoked_at"].is_null());
        let hook = app.get(&stranger, &format!("/v1/webhooks/{webhook}")).await.ok(200);
        assert_eq!((&hook["name"], &hook["status"]), (&"crm".into(), &"active".into()));
        app.get(&stranger, &format!("/v1/users/{}", member.id)).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn another_organizations_key_cannot_be_looked_at() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let (other, theirs) = app.customer().await;
    let public = app.key(&other, KeyKind::Pub).await;
    let made_up = api_key::mint(BRAND, KeyKind::Live, [5; 32]);
    for name in ["api_key", "public_key"] {
        let ask = async |text: &str| app.get(&key, &format!("/v1/check-key?{name}={text}")).await;
        let unknown = ask(&made_up).await;
        unknown.error(404, "not_found");
        for text in [theirs.as_str(), public.as_str(), "nonsense"] {
            assert_eq!(ask(text).await.without_request(), unknown.without_request());
        }
    }
    app.stop().await;
}

/// Lists that come in pages. A new one must be added to [`fill`].
const LISTS: [&str; 6] =
    ["/v1/api-keys", "/v1/erasures", "/v1/jobs", "/v1/users", "/v1/webhooks", "/v1/webhooks/{id}/deliveries"];

#[tokio::test]
async fn the_list_of_lists_is_whole() {
    let app = TestApp::start().await;
    let document = app.send(Call::get("/v1/openapi.json")).await.ok(200);
    let in_pages = |item: &Value| {
        let parameters = item["get"]["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        parameters.iter().any(|parameter| parameter["name"] == "next")
    };
    let paths = document["paths"].as_object().unwrap();
    let lists: Vec<&str> = paths.iter().filter(|(_, item)| in_pages(item)).map(|(path, _)| path.as_str()).collect();
    // Rows of results are numbered; their cursor is bound to the job, which no other organization has.
    let of_customers: Vec<&str> = lists.into_iter().filter(|path| !path.starts_with("/v1/batch-verify")).collect();
    assert_eq!(of_customers, LISTS);
    app.stop().await;
}

/// Gives every list three entries; gives the id of a webhook with three deliveries.
async fn fill(app: &TestApp, org: &Org, key: &str) -> String {
    let mut webhook = String::new();
    for n in 0..3 {
        app.key(org, KeyKind::Live).await;
        member(app, org, n, UserStatus::Active).await;
        let list = format!(r#"{{"emails": ["nobody-{n}@null-mx.com"]}}"#);
        app.send(Call::post("/v1/batch-verify", list.clone()).key(key)).await.ok(200);
        app.send(Call::post("/v1/erasures", list).key(key)).await.ok(200);
        let hook = r#"{"name": "crm", "url": "https://hooks.example.com/x", "events": ["job.finished"]}"#;
        let made = app.send(Call::post("/v1/webhooks", hook).key(key)).await.ok(201);
        made["id"].as_str().unwrap().clone_into(&mut webhook);
    }
    for _ in 0..3 {
        app.send(Call::new("POST", format!("/v1/webhooks/{webhook}/test")).key(key)).await.ok(200);
    }
    webhook
}

#[tokio::test]
async fn another_organizations_cursor_leads_nowhere_nor_does_another_lists() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let (other, theirs) = app.customer().await;
        let (own_hook, their_hook) = (fill(app, &org, &key).await, fill(app, &other, &theirs).await);
        let ask = async |key: &str, hook: &str, list: &str, query: &str| {
            app.get(key, &format!("{}?{query}", list.replace("{id}", hook))).await
        };
        for list in LISTS {
            let page = ask(&theirs, &their_hook, list, "per_page=1").await.ok(200);
            let cursor = format!("next={}", page["pagination"]["next_cursor"].as_str().unwrap());
            ask(&theirs, &their_hook, list, &cursor).await.ok(200);
            let nonsense = ask(&key, &own_hook, list, "next=nonsense").await;
            nonsense.error(400, "invalid_request");
            let foreign = ask(&key, &own_hook, list, &cursor).await;
            assert_eq!(foreign.without_request(), nonsense.without_request(), "{list}");
            for elsewhere in LISTS.into_iter().filter(|elsewhere| *elsewhere != list) {
                let misplaced = ask(&theirs, &their_hook, elsewhere, &cursor).await;
                assert_eq!(misplaced.without_request(), nonsense.without_request(), "{list} in {elsewhere}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn lists_and_sums_are_of_ones_own() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let (other, stranger) = app.customer().await;
    for _ in 0..3 {
        app.key(&other, KeyKind::Live).await;
        app.verify(&stranger, "no-address").await.ok(200);
    }
    let names = |list: &Value| list["data"].as_array().unwrap().len();
    assert_eq!(names(&app.get(&key, "/v1/api-keys").await.ok(200)), 1);
    let organization = app.get(&key, "/v1/organization").await.ok(200);
    assert_eq!(organization["usage"]["current_period_total"], 0);
    assert_eq!(organization["credits"]["total"], crate::test_app::PLENTY);
    app.stop().await;
}
