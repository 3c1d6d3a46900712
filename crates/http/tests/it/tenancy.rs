//! Tests that a foreign ID gets the same response as one that does not exist.

use probity_access::minting::KeyRequest;
use probity_account::api_key::{self, KeyKind};
use probity_account::id::{Conn, Erasure, Id, Job, Key, OutcomeSource, User, Webhook};
use probity_mail::time::Millis;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::users::UserStatus;
use serde_json::{Value, json};

use crate::api::connections::platform::TrialPlatform;
use crate::api::connections::{connect, place};
use crate::api::users::member;
use crate::test_app::{BRAND, Call, TestApp};

/// Keyword rule.
const RULES: &str = r#"{"rules": [{"keyword": "example.org"}]}"#;

/// Routes with an ID in their path. Add a new one to [`a_foreign_id_answers_as_a_made_up_one`].
const ROUTES_WITH_IDS: [(&str, &str); 41] = [
    ("delete", "/v1/api-keys/{id}"),
    ("get", "/v1/batch-verify/{id}"),
    ("post", "/v1/batch-verify/{id}/cancel"),
    ("get", "/v1/batch-verify/{id}/download"),
    ("get", "/v1/batch-verify/{id}/results"),
    ("get", "/v1/batch-verify/{id}/status"),
    ("get", "/v1/erasures/{id}"),
    ("delete", "/v1/integrations/{type}/connections/{id}"),
    ("get", "/v1/integrations/{type}/connections/{id}"),
    ("patch", "/v1/integrations/{type}/connections/{id}"),
    ("get", "/v1/integrations/{type}/connections/{id}/keywords/{kind}"),
    ("post", "/v1/integrations/{type}/connections/{id}/keywords/{kind}"),
    ("delete", "/v1/integrations/{type}/connections/{id}/keywords/{kind}/{rule_id}"),
    ("get", "/v1/integrations/{type}/connections/{id}/lists"),
    ("get", "/v1/integrations/{type}/connections/{id}/review"),
    ("post", "/v1/integrations/{type}/connections/{id}/review/decisions"),
    ("get", "/v1/integrations/{type}/connections/{id}/review/download"),
    ("get", "/v1/integrations/{type}/connections/{id}/runs"),
    ("post", "/v1/integrations/{type}/connections/{id}/runs"),
    ("get", "/v1/integrations/{type}/connections/{id}/runs/{run_id}"),
    ("post", "/v1/integrations/{type}/connections/{id}/runs/{run_id}/cancel"),
    ("post", "/v1/integrations/{type}/connections/{id}/runs/{run_id}/confirm"),
    ("get", "/v1/integrations/{type}/connections/{id}/schedule"),
    ("post", "/v1/integrations/{type}/connections/{id}/sync"),
    ("post", "/v1/integrations/{type}/connections/{id}/test"),
    ("get", "/v1/integrations/{type}/connections/{id}/{kind}"),
    ("post", "/v1/integrations/{type}/connections/{id}/{kind}"),
    ("delete", "/v1/integrations/{type}/connections/{id}/{kind}/{rule_id}"),
    ("get", "/v1/jobs/{id}"),
    ("delete", "/v1/outcome-sources/{id}"),
    ("delete", "/v1/users/{id}"),
    ("get", "/v1/users/{id}"),
    ("patch", "/v1/users/{id}"),
    ("delete", "/v1/webhooks/{id}"),
    ("get", "/v1/webhooks/{id}"),
    ("patch", "/v1/webhooks/{id}"),
    ("get", "/v1/webhooks/{id}/deliveries"),
    ("get", "/v1/webhooks/{id}/deliveries/{delivery_id}"),
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

/// Creates a source of outcomes, and returns its ID.
async fn a_source(app: &TestApp, key: &str) -> String {
    let wish = Call::post("/v1/outcome-sources", r#"{"name": "letters", "service": "postmark"}"#);
    app.send(wish.key(key)).await.ok(201)["id"].as_str().unwrap().to_owned()
}

/// Returns a request that is valid except for the ID in its path.
fn call(method: &str, path: &str, target: String, decisions: &str) -> Call {
    match (method, path) {
        ("post", path) if path.ends_with("{kind}") => Call::post(target, RULES),
        ("post", path) if path.ends_with("/runs") => Call::post(target, "{}"),
        ("post", path) if path.ends_with("/confirm") => Call::post(target, r#"{"actions": 1}"#),
        ("post", path) if path.ends_with("/decisions") => Call::post(target, decisions.to_owned()),
        ("patch", path) if path.contains("webhooks") => Call::patch(target, r#"{"name": "ours"}"#),
        ("patch", _) => Call::patch(target, "{}"),
        _ => Call::new(&method.to_uppercase(), target),
    }
}

#[tokio::test]
async fn a_foreign_id_answers_as_a_made_up_one() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (org, key) = app.customer().await;
        let (other, stranger) = app.customer().await;
        let (theirs, _) = app.new_key(&other, KeyRequest::plain("theirs", KeyKind::Live)).await;
        let member = member(app, &other, 1, UserStatus::Active).await;
        let list = r#"{"emails": ["nobody@null-mx.com"]}"#;
        let job = app.send(Call::post("/v1/batch-verify", list).key(&stranger)).await.ok(200)["id"].clone();
        let hook = r#"{"name": "crm", "url": "https://hooks.example.com/x", "events": ["job.finished"]}"#;
        let webhook = app.send(Call::post("/v1/webhooks", hook).key(&stranger)).await.ok(201)["id"].clone();
        let webhook = webhook.as_str().unwrap();
        let erasure = app.send(Call::post("/v1/erasures", list).key(&stranger)).await.ok(200)["id"].clone();
        let source = a_source(app, &stranger).await;
        let test = Call::new("POST", format!("/v1/webhooks/{webhook}/test")).key(&stranger);
        let delivery = app.send(test).await.ok(200)["id"].clone();
        let connection = connect(app, &stranger, &platform).await;
        let rules = Call::post(format!("{}/blacklist", place(&connection)), RULES).key(&stranger);
        let rule = app.send(rules).await.ok(201)["data"][0]["id"].clone();
        let decisions = json!({ "decisions": [{ "run_id": job, "index": 0, "decision": "act" }] }).to_string();
        for kind in [&key, &app.key(&org, KeyKind::Test).await] {
            for (method, path) in ROUTES_WITH_IDS {
                let ask = async |id: &str| {
                    let target = path.replace("{id}", id).replace("{delivery_id}", delivery.as_str().unwrap());
                    let target = target.replace("{type}", "trial").replace("{kind}", "blacklist");
                    let target = target.replace("{rule_id}", rule.as_str().unwrap());
                    let target = target.replace("{run_id}", job.as_str().unwrap());
                    app.send(call(method, path, target, &decisions).key(kind)).await
                };
                let (foreign, made_up) = if path.contains("api-keys") {
                    (theirs.id.to_string(), Id::<Key>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
                } else if path.contains("webhooks") {
                    (webhook.to_owned(), Id::<Webhook>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
                } else if path.contains("integrations") {
                    let made_up = Id::<Conn>::new(Millis(1_700_000_000_000), [3; 10]).to_string();
                    (connection["id"].as_str().unwrap().to_owned(), made_up)
                } else if path.contains("erasures") {
                    let made_up = Id::<Erasure>::new(Millis(1_700_000_000_000), [3; 10]).to_string();
                    (erasure.as_str().unwrap().to_owned(), made_up)
                } else if path.contains("outcome-sources") {
                    (source.clone(), Id::<OutcomeSource>::new(Millis(1_700_000_000_000), [3; 10]).to_string())
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
        // The foreign resource is unchanged.
        let listed = app.get(&stranger, "/v1/api-keys").await.ok(200);
        let rows = listed["data"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == theirs.id.to_string()).unwrap();
        assert!(row["revoked_at"].is_null());
        let hook = app.get(&stranger, &format!("/v1/webhooks/{webhook}")).await.ok(200);
        assert_eq!((&hook["name"], &hook["status"]), (&"crm".into(), &"active".into()));
        app.get(&stranger, &format!("/v1/users/{}", member.id)).await.ok(200);
        let left = app.get(&stranger, &place(&connection)).await.ok(200);
        assert_eq!((&left["status"], &left["settings"]["blacklist_count"]), (&"active".into(), &1.into()));
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

/// Lists with pages. Add a new one to [`fill`].
const LISTS: [&str; 7] = [
    "/v1/api-keys",
    "/v1/erasures",
    "/v1/integrations/{type}/connections/{id}/keywords/{kind}",
    "/v1/jobs",
    "/v1/users",
    "/v1/webhooks",
    "/v1/webhooks/{id}/deliveries",
];
/// Another path of a list above.
const SAME_LIST: &str = "/v1/integrations/{type}/connections/{id}/{kind}";
/// Lists of runs, which `runs.rs` tests.
const OF_RUNS: [&str; 3] =
    ["/v1/changes", "/v1/integrations/{type}/connections/{id}/review", "/v1/integrations/{type}/connections/{id}/runs"];

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
    // Result rows are numbered; their cursor is bound to the job, which no other organization has.
    let is_elsewhere =
        |path: &&str| path.starts_with("/v1/batch-verify") || *path == SAME_LIST || OF_RUNS.contains(path);
    let of_customers: Vec<&str> = lists.into_iter().filter(|path| !is_elsewhere(path)).collect();
    assert_eq!(of_customers, LISTS);
    app.stop().await;
}

/// Creates three entries in every list. Returns the IDs of a webhook with three deliveries, and of a connection with three rules.
async fn fill(app: &TestApp, platform: &TrialPlatform, org: &OrgRecord, key: &str) -> [String; 2] {
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
    let connection = connect(app, key, platform).await;
    let rules = r#"{"rules": [{"keyword": "a"}, {"keyword": "b"}, {"keyword": "c"}]}"#;
    app.send(Call::post(format!("{}/blacklist", place(&connection)), rules).key(key)).await.ok(201);
    [webhook, connection["id"].as_str().unwrap().to_owned()]
}

#[tokio::test]
async fn another_organizations_cursor_leads_nowhere_nor_does_another_lists() {
    let platform = TrialPlatform::start().await;
    TestApp::each(platform.service(), async |app| {
        let (org, key) = app.customer().await;
        let (other, theirs) = app.customer().await;
        let own_ids = fill(app, &platform, &org, &key).await;
        let their_ids = fill(app, &platform, &other, &theirs).await;
        let ask = async |key: &str, [webhook, connection]: &[String; 2], list: &str, query: &str| {
            let id = if list.contains("integrations") { connection } else { webhook };
            let path = list.replace("{type}", "trial").replace("{kind}", "blacklist").replace("{id}", id);
            app.get(key, &format!("{path}?{query}")).await
        };
        for list in LISTS {
            let page = ask(&theirs, &their_ids, list, "per_page=1").await.ok(200);
            let cursor = format!("next={}", page["pagination"]["next_cursor"].as_str().unwrap());
            ask(&theirs, &their_ids, list, &cursor).await.ok(200);
            let nonsense = ask(&key, &own_ids, list, "next=nonsense").await;
            nonsense.error(400, "invalid_request");
            let foreign = ask(&key, &own_ids, list, &cursor).await;
            assert_eq!(foreign.without_request(), nonsense.without_request(), "{list}");
            for elsewhere in LISTS.into_iter().filter(|elsewhere| *elsewhere != list) {
                let misplaced = ask(&theirs, &their_ids, elsewhere, &cursor).await;
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
