//! Tests of progress events of lists, and of their end.

use std::time::Duration;

use axum::body::BodyDataStream;
use futures_util::StreamExt as _;
use probity_account::api_key::KeyKind;
use probity_account::role::MemberRole;
use probity_backend::nodes::{NodeConfig, roles};
use probity_store::accounts::organization::{OrgRecord, OrgState};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::browser::Browser;
use super::{config, signed_in};
use crate::test_app::{PLENTY, TestApp, pass};

/// Time limit; only a hang exceeds it.
const HANG: Duration = Duration::from_secs(30);

/// Event that is sent if there is no progress.
const BEAT: &str = "event: beat\ndata: {}";

/// Events of a list as a page receives them.
struct Events {
    body: BodyDataStream,
    heard: String,
    beats: usize,
}

impl Events {
    async fn of(app: &TestApp, browser: &Browser<'_>, id: &str) -> Self {
        // Like a browser's `EventSource`: without headers of the page.
        let call = browser.bare("GET", &format!("/app/jobs/{id}/events")).header("sec-fetch-site", "same-origin");
        let response = app.open(call).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { body: response.into_body().into_data_stream(), heard: String::new(), beats: 0 }
    }

    /// Returns the next event; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((block, rest)) = self.heard.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.heard = rest;
                if let Some(data) = block.strip_prefix("event: progress\ndata: ") {
                    return Some(serde_json::from_str(data).unwrap());
                }
                assert!(block == BEAT || block == "retry: 2000", "{block:?}");
                self.beats += usize::from(block == BEAT);
            }
            let more = timeout(HANG, self.body.next()).await.expect("a hang")?.unwrap();
            self.heard.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    /// Returns all remaining events.
    async fn rest(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

async fn submit(browser: &mut Browser<'_>, emails: &[&str]) -> String {
    let answer = browser.post("/app/v1/batch-verify", &json!({ "emails": emails })).await.ok(200);
    answer["id"].as_str().unwrap().to_owned()
}

async fn ann<'a>(app: &'a TestApp, org: &OrgRecord) -> Browser<'a> {
    signed_in(app, org, "ann@example.com", MemberRole::Contributor).await.1
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_list_is_told_of_from_its_first_rows_to_its_end() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 10).await;
        let mut browser = ann(app, &org).await;
        let emails = ["ann@honest-mail.com", "nobody@honest-mail.com", "Ann@honest-mail.com", "waits@honest-mail.com"];
        let id = submit(&mut browser, &emails).await;
        let (mut first, mut second) = (Events::of(app, &browser, &id).await, Events::of(app, &browser, &id).await);
        assert_eq!(second.next().await.map(|event| event["id"].clone()), Some(json!(id)));
        let mut event = first.next().await.unwrap();
        while event["processed"] != 3 {
            assert_eq!((&event["id"], &event["rows"], &event["over"]), (&json!(id), &json!(4), &json!(false)));
            event = first.next().await.unwrap();
        }
        assert_eq!(event["credits"], json!({ "spent": 2, "set_aside": 1, "returned": 1 }));
        assert_eq!(event["reasons"], json!({ "valid": 2, "nonexistent": 1 }));
        assert_eq!(event["providers"][0]["id"], Value::Null);
        assert_eq!(event["providers"][0]["passed"], 2);

        app.live.gate.add_permits(1);
        let last = first.rest().await.pop().unwrap();
        assert_eq!(
            (&last["over"], &last["status"], &last["processed"]),
            (&json!(true), &json!("completed"), &json!(4))
        );
        assert_eq!(second.rest().await.pop().unwrap(), last, "everybody hears the same");
        assert_eq!(browser.get(&format!("/app/jobs/{id}/progress")).await.ok(200), last);
        let late = Events::of(app, &browser, &id).await.rest().await;
        assert_eq!(late, [last], "a list that is over is told of once");
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_node_tells_of_a_list_that_another_one_works_on() {
    let only = |role| {
        let mut config = config();
        config.node = NodeConfig { roles: [role].into_iter().collect(), ..NodeConfig::default() };
        config
    };
    let Some(api) = TestApp::on_postgres(only(roles::NodeRole::Api)).await else { return };
    let org = api.org("Example Ltd", 10).await;
    let mut browser = ann(&api, &org).await;
    let id = submit(&mut browser, &["ann@honest-mail.com", "nobody@honest-mail.com", "waits@honest-mail.com"]).await;
    let mut events = Events::of(&api, &browser, &id).await;
    assert_eq!(events.next().await.unwrap()["processed"], 0, "nobody is there who could work");
    let worker = api.beside(only(roles::NodeRole::Worker)).await;
    while events.next().await.expect("the list goes on")["processed"] != 2 {}
    worker.live.gate.add_permits(1);
    let last = events.rest().await.pop().unwrap();
    assert_eq!((&last["status"], &last["over"], &last["processed"]), (&json!("completed"), &json!(true), &json!(3)));
    worker.stop().await;
    api.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_cancelled_list_says_what_came_back() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 10).await;
    let mut browser = ann(&app, &org).await;
    let id = submit(&mut browser, &["ann@honest-mail.com", "waits@honest-mail.com", "waits2@honest-mail.com"]).await;
    let mut events = Events::of(&app, &browser, &id).await;
    while events.next().await.unwrap()["processed"] != 1 {}
    browser.post(&format!("/app/v1/batch-verify/{id}/cancel"), &json!({})).await.ok(200);
    let last = events.rest().await.pop().unwrap();
    assert_eq!((&last["status"], &last["over"]), (&json!("cancelled"), &json!(true)));
    assert_eq!(last["credits"], json!({ "spent": 1, "set_aside": 0, "returned": 2 }));
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn while_nothing_comes_a_stream_says_that_it_stands() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 10).await;
    let mut browser = ann(&app, &org).await;
    let id = submit(&mut browser, &["waits@honest-mail.com"]).await;
    let mut events = Events::of(&app, &browser, &id).await;
    events.next().await.unwrap();
    let listening = tokio::spawn(async move {
        while events.next().await.is_some() {}
        events.beats
    });
    // Each step is longer than the time between two beats: a busy machine may skip some.
    pass(Duration::from_secs(150)).await;
    app.live.gate.add_permits(1);
    let beats = timeout(HANG, listening).await.expect("the list ends").unwrap();
    assert!(beats >= 2, "{beats}");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_session_that_is_over_hears_nothing_more() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let mut browser = ann(app, &org).await;
        let id = submit(&mut browser, &["waits@honest-mail.com"]).await;
        let mut copy = Browser::new(app);
        copy.cookies = browser.cookies.clone();
        let mut events = Events::of(app, &copy, &id).await;
        events.next().await.unwrap();
        browser.post("/app/sign-out", &json!({})).await.ok(200);
        timeout(Duration::from_secs(8), events.rest()).await.expect("within seconds");

        let (_, bob) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        let mut events = Events::of(app, &bob, &id).await;
        events.next().await.unwrap();
        app.admin.set_status(&org, OrgState::Suspended).await.unwrap();
        timeout(Duration::from_secs(8), events.rest()).await.expect("a stopped account, too");
        app.live.gate.add_permits(1);
        app.admin.set_status(&org, OrgState::Active).await.unwrap();
        app.settled().await;
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn streams_are_few_and_somebody_elses_list_is_not_found() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let mut browser = ann(&app, &org).await;
    let id = submit(&mut browser, &["waits@honest-mail.com"]).await;
    let path = format!("/app/jobs/{id}/events");
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(Events::of(&app, &browser, &id).await);
    }
    let refused = browser.get(&path).await;
    refused.error(429, "rate_limited");
    assert_eq!(refused.number("retry-after"), 30);
    drop(open.pop());
    open.push(Events::of(&app, &browser, &id).await);

    let other = app.org("Other Ltd", PLENTY).await;
    let (_, mut stranger) = signed_in(&app, &other, "eve@example.com", MemberRole::Administrator).await;
    for of in ["events", "progress"] {
        stranger.get(&format!("/app/jobs/{id}/{of}")).await.error(404, "not_found");
        stranger.get(&format!("/app/jobs/nonsense/{of}")).await.error(404, "not_found");
        Browser::new(&app).get(&format!("/app/jobs/{id}/{of}")).await.error(401, "not_signed_in");
    }
    let test_key = app.key(&org, KeyKind::Test).await;
    let sandboxed = app
        .send(crate::test_app::Call::post("/v1/batch-verify", r#"{"emails":["valid@sandbox.test"]}"#).key(&test_key));
    let sandboxed = sandboxed.await.ok(200)["id"].as_str().unwrap().to_owned();
    browser.get(&format!("/app/jobs/{sandboxed}/progress")).await.error(404, "not_found");
    drop(open);
    app.live.gate.add_permits(1);
    app.settled().await;
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_service_that_ends_ends_its_streams() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let mut browser = ann(&app, &org).await;
    let id = submit(&mut browser, &["waits@honest-mail.com"]).await;
    let mut events = Events::of(&app, &browser, &id).await;
    events.next().await.unwrap();
    let rest = tokio::spawn(events.rest());
    pass(Duration::from_secs(1)).await;
    assert!(!rest.is_finished());
    let stopped = async {
        app.stop().await;
        rest.await.unwrap()
    };
    let heard = timeout(Duration::from_secs(5), stopped).await.expect("nothing waits until its time is over");
    assert!(heard.iter().all(|event| event["over"] == false), "the list goes on elsewhere: {heard:?}");
}
