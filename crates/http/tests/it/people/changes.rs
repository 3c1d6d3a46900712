//! Tests of the stream of changes for pages.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::BodyDataStream;
use futures_util::StreamExt as _;
use probity_account::id::ConnId;
use probity_account::role::MemberRole;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::browser::Browser;
use super::{config, signed_in};
use crate::test_app::{PLENTY, TestApp};

/// Time limit; only a hang exceeds it.
const HANG: Duration = Duration::from_secs(30);

/// Changes as a page receives them.
struct Changes {
    body: BodyDataStream,
    heard: String,
}

impl Changes {
    async fn of(app: &TestApp, browser: &Browser<'_>, parts: &str) -> Self {
        // Like a browser's `EventSource`: without headers of the page.
        let call = browser.bare("GET", &format!("/app/changes?of={parts}")).header("sec-fetch-site", "same-origin");
        let response = app.open(call).await;
        assert_eq!(response.status(), 200);
        let mut changes = Self { body: response.into_body().into_data_stream(), heard: String::new() };
        assert_eq!(changes.next().await.as_deref(), Some("retry: 2000"));
        assert_eq!(changes.next().await.as_deref(), Some("event: ready\ndata: {}"));
        changes
    }

    /// Returns the next event as sent; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.heard.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.heard = rest;
                return Some(block);
            }
            let more = timeout(HANG, self.body.next()).await.expect("a hang")?.unwrap();
            self.heard.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    /// Returns the part of the next change.
    async fn part(&mut self) -> String {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if let Some(of) = event.strip_prefix("event: changed\ndata: ") {
                return serde_json::from_str::<Value>(of).unwrap()["of"].as_str().unwrap().to_owned();
            }
        }
    }

    async fn changed(&mut self, part: &str) {
        let wanted = format!("event: changed\ndata: {}", json!({ "of": part }));
        let told = async { while self.next().await.expect("the stream goes on") != wanted {} };
        timeout(HANG, told).await.expect("the change is told");
    }
}

#[tokio::test]
async fn a_page_is_told_of_the_parts_that_it_shows() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let hook = json!({ "name": "Shop", "url": "https://hooks.example.com/", "events": ["job.finished"] });
        let hook = ann.post("/app/v1/webhooks", &hook).await.ok(201);
        let id = hook["id"].as_str().unwrap();
        let deliveries = format!("deliveries:{id}");
        let mut changes = Changes::of(app, &ann, &format!("lists,erasures,webhooks,{deliveries}")).await;
        let sent = ann.post(&format!("/app/v1/webhooks/{id}/test"), &json!(null)).await.ok(200);
        let delivery = format!("delivery:{id}/{}", sent["id"].as_str().unwrap());
        let mut of_delivery = Changes::of(app, &ann, &delivery).await;
        let mut of_test = Changes::of(app, &ann, "lists&mode=test").await;

        ann.post("/app/v1/batch-verify", &json!({ "emails": ["ann@honest-mail.com"] })).await.ok(200);
        changes.changed("lists").await;
        ann.post("/app/v1/erasures", &json!({ "emails": ["ann@honest-mail.com"] })).await.ok(200);
        changes.changed("erasures").await;
        ann.post(&format!("/app/v1/webhooks/{id}/test"), &json!(null)).await;
        changes.changed(&deliveries).await;
        let again = format!("/app/v1/webhooks/{id}/deliveries/{}/redeliver", sent["id"].as_str().unwrap());
        ann.post(&again, &json!(null)).await.ok(200);
        of_delivery.changed(&delivery).await;
        ann.post("/app/v1/batch-verify?mode=test", &json!({ "emails": ["valid@sandbox.test"] })).await.ok(200);
        of_test.changed("lists").await;
        let mut of_people = Changes::of(app, &ann, "keys,team,timeline").await;
        let key = json!({ "name": "Shop", "kind": "live" });
        ann.post("/app/v1/api-keys", &key).await.ok(201);
        let told = BTreeSet::from([of_people.part().await, of_people.part().await]);
        assert_eq!(told, BTreeSet::from(["keys".to_owned(), "timeline".to_owned()]));
        let bob = json!({ "email": "bob@example.com", "role": "contributor" });
        ann.post("/app/v1/users", &bob).await.ok(201);
        let told = BTreeSet::from([of_people.part().await, of_people.part().await]);
        assert_eq!(told, BTreeSet::from(["team".to_owned(), "timeline".to_owned()]));
        ann.post("/app/sign-out", &json!(null)).await;
        while changes.next().await.is_some() {}
    })
    .await;
}

#[tokio::test]
async fn what_is_made_and_taken_back_between_two_reads_is_told() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let hook = json!({ "name": "Shop", "url": "https://hooks.example.com/", "events": ["job.finished"] });
        let bob = json!({ "email": "bob@example.com", "role": "contributor" });
        for (part, path, body) in [("webhooks", "/app/v1/webhooks", &hook), ("team", "/app/v1/users", &bob)] {
            let mut changes = Changes::of(app, &ann, part).await;
            // A page that reads now shows this state until the next change.
            let made = ann.post(path, body).await.ok(201);
            ann.delete(&format!("{path}/{}", made["id"].as_str().unwrap()), &json!(null)).await.ok(200);
            changes.changed(part).await;
        }
        let made = ann.post("/app/v1/webhooks", &hook).await.ok(201);
        let path = format!("/app/v1/webhooks/{}", made["id"].as_str().unwrap());
        let mut changes = Changes::of(app, &ann, "webhooks").await;
        for name in ["Store", "Shop"] {
            let call = ann.call("PATCH", &path).json(&json!({ "name": name }));
            ann.send(call).await.ok(200);
        }
        changes.changed("webhooks").await;
        let mut changes = Changes::of(app, &ann, "lists").await;
        let list = ann.post("/app/v1/batch-verify", &json!({ "emails": ["ann@honest-mail.com"] })).await.ok(200);
        app.settled().await;
        ann.delete(&format!("/app/jobs/{}", list["id"].as_str().unwrap()), &json!(null)).await.ok(200);
        changes.changed("lists").await;
    })
    .await;
}

#[tokio::test]
async fn a_part_that_changes_all_the_time_does_not_hide_the_others() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let list = json!({ "emails": ["ann@honest-mail.com"] });
        let mut changes = Changes::of(app, &ann, "lists,webhooks").await;
        let hook = json!({ "name": "Shop", "url": "https://hooks.example.com/", "events": ["job.finished"] });
        ann.post("/app/v1/batch-verify", &list).await.ok(200);
        ann.post("/app/v1/webhooks", &hook).await.ok(201);
        let mut heard = Vec::new();
        while heard.len() < 3 {
            let event = changes.next().await.expect("the stream goes on");
            if event.starts_with("event: changed") {
                heard.push(event);
                ann.post("/app/v1/batch-verify", &list).await.ok(200);
            }
        }
        assert!(heard.iter().any(|event| event.contains("webhooks")), "{heard:?}");
    })
    .await;
}

#[tokio::test]
async fn parts_that_are_unknown_or_foreign_do_not_hide_the_others() {
    TestApp::each(config(), async |app| {
        let (org, other) = (app.org("Example Ltd", PLENTY).await, app.org("Other Ltd", PLENTY).await);
        let (_, mut ann) = signed_in(app, &org, "ann@example.com", MemberRole::Administrator).await;
        let (_, mut bob) = signed_in(app, &other, "bob@example.com", MemberRole::Administrator).await;
        let hook = json!({ "name": "Shop", "url": "https://hooks.example.com/", "events": ["job.finished"] });
        let foreign = bob.post("/app/v1/webhooks", &hook).await.ok(201);
        let foreign = foreign["id"].as_str().unwrap();
        let test = format!("/app/v1/webhooks/{foreign}/test");
        let sent = bob.post(&test, &json!(null)).await.ok(200);
        let sent = sent["id"].as_str().unwrap();
        let connection = ConnId::from_bits(1);
        let unknown = format!("runs:ghost/{connection},runs:nowhere/{connection}");
        let theirs = format!("delivery:{foreign}/{sent},deliveries:{foreign}");
        let mut changes = Changes::of(app, &ann, &format!("{unknown},{theirs},lists")).await;
        let mut to_bob = Changes::of(app, &bob, &format!("deliveries:{foreign}")).await;

        bob.post(&test, &json!(null)).await.ok(200);
        to_bob.changed(&format!("deliveries:{foreign}")).await;
        ann.post("/app/v1/batch-verify", &json!({ "emails": ["ann@honest-mail.com"] })).await.ok(200);
        assert_eq!(changes.part().await, "lists");
    })
    .await;
}

#[tokio::test]
async fn only_parts_that_a_member_may_read_are_followed() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, mut bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        for beyond in ["erasures", "keys"] {
            bob.get(&format!("/app/changes?of={beyond}")).await.error(403, "forbidden_scope");
        }
        bob.get("/app/changes").await.error(400, "invalid_request");
        for unknown in ["account", "lists,x", "deliveries:x", "delivery:x", "runs:ghost"] {
            bob.get(&format!("/app/changes?of={unknown}")).await.error(400, "invalid_request");
        }
        let runs = |count| (0..count).map(|n| format!("runs:ghost{n}/{}", ConnId::from_bits(1))).collect::<Vec<_>>();
        bob.get(&format!("/app/changes?of={}", runs(9).join(","))).await.error(400, "invalid_request");
        // A repeated part counts once.
        drop(Changes::of(app, &bob, &["lists"; 33].join(",")).await);
        Browser::new(app).get("/app/changes?of=lists").await.error(401, "not_signed_in");
    })
    .await;
}
