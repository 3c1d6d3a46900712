//! Tests of outcomes: storage, suppression, and reports that are refused as a whole.

use probity_account::api_key::KeyKind;
use probity_http::service::ServiceConfig;
use probity_mail::time::DAY_MS;
use serde_json::{Value, json};

use crate::test_app::{Call, TestApp};

const PATH: &str = "/v1/outcomes";

fn report(events: &Value) -> Call {
    Call::post(PATH, json!({ "outcomes": events }).to_string())
}

/// Returns whether an address is on a suppression list.
async fn is_on(app: &TestApp, key: &str, list: &str, email: &str) -> bool {
    let shown = app.get(key, &format!("/v1/organization/suppressions/{list}?email={email}")).await.ok(200);
    shown["lookup"]["listed"] == true
}

#[tokio::test]
async fn an_event_counts_once_and_suppresses_once() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let (_, other) = app.customer().await;
        let events = json!([
            {"email": "Ann@example.org", "outcome": "hard_bounce", "reply": "550 5.1.1 User unknown"},
            {"email": "ann@EXAMPLE.org", "outcome": "hard_bounce"},
            {"email": "bob@example.org", "outcome": "complaint"},
            {"email": "eve@example.org", "outcome": "delivered", "at": "2020-01-01T00:00:00Z"},
            {"email": "eve@example.org", "outcome": "opened"},
            {"email": "no address", "outcome": "opened"},
        ]);
        let answer = app.send(report(&events).key(&key)).await.ok(200);
        let expected = json!({
            "submitted": 6, "added": 3, "repeated": 1, "invalid": 1, "expired": 1, "softened": 0,
            "suppressed": {"bounced": 1, "complained": 1},
        });
        assert_eq!(answer, expected);
        assert!(is_on(app, &key, "bounced", "ann@example.org").await);
        assert!(is_on(app, &key, "complained", "bob@example.org").await);
        assert!(!is_on(app, &key, "bounced", "bob@example.org").await);
        assert!(!is_on(app, &other, "bounced", "ann@example.org").await);

        // A repeated event does not list an address again that the customer removed; an event of another day does.
        let gone = Call::new("DELETE", "/v1/organization/suppressions/bounced?all=true").key(&key);
        app.send(gone).await.ok(200);
        let again = app.send(report(&events).key(&key)).await.ok(200);
        assert_eq!((&again["added"], &again["repeated"]), (&json!(0), &json!(4)));
        assert!(!is_on(app, &key, "bounced", "ann@example.org").await);
        let yesterday = jiff::Timestamp::from_millisecond(app.now(&org).await.0 - DAY_MS).unwrap();
        let yesterday = json!([{"email": "ann@example.org", "outcome": "hard_bounce", "at": yesterday.to_string()}]);
        assert_eq!(app.send(report(&yesterday).key(&key)).await.ok(200)["suppressed"]["bounced"], 1);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_of_the_sender_is_no_hard_bounce() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let events = json!([
        {"email": "a@example.org", "outcome": "hard_bounce", "reply": "550 5.7.1 blocked using zen.spamhaus.org"},
        {"email": "b@example.org", "outcome": "hard_bounce", "reply": "552 5.2.2 mailbox full"},
        {"email": "c@example.org", "outcome": "hard_bounce", "reply": "something that no rule reads"},
        {"email": "d@example.org", "outcome": "soft_bounce", "reply": "550 5.1.1 User unknown"},
        {"email": "E <e@example.org>", "outcome": "hard_bounce", "reply": "550 5.1.1 <e@example.org>: User unknown"},
    ]);
    let answer = app.send(report(&events).key(&key)).await.ok(200);
    assert_eq!((&answer["added"], &answer["softened"]), (&json!(5), &json!(2)));
    assert_eq!(answer["suppressed"], json!({"bounced": 2, "complained": 0}));
    assert!(is_on(&app, &key, "bounced", "c@example.org").await);
    assert!(is_on(&app, &key, "bounced", "e@example.org").await, "a name before the address names no other mailbox");
    app.stop().await;
}

#[tokio::test]
async fn csv_and_lines_are_the_same_report() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = app.customer().await;
        let csv = "E-Mail;Outcome;At\nann@example.org;delivered;2026-11-20T08:00:00Z\nbob@example.org;complaint;\n";
        let csv = Call::with_body(PATH, "text/csv", csv).key(&key).once("one");
        let added = app.send(csv).await.ok(200);
        assert_eq!((&added["submitted"], &added["suppressed"]["complained"]), (&json!(2), &json!(1)));
        let lines =
            "{\"email\":\"bob@example.org\",\"outcome\":\"complaint\"}\n\n{\"email\":\"x\",\"outcome\":\"opened\"}\n";
        let lines = || Call::with_body(PATH, "application/x-ndjson", lines).key(&key);
        app.send(lines().once("one")).await.error(422, "idempotency_key_reused");
        let first = app.send(lines().once("two")).await.ok(200);
        assert_eq!((&first["repeated"], &first["invalid"]), (&json!(1), &json!(1)));
        let replayed = app.send(lines().once("two")).await;
        assert_eq!(replayed.headers["idempotent-replayed"], "true");
        assert_eq!(replayed.ok(200), first);
    })
    .await;
}

#[tokio::test]
async fn one_wrong_event_stores_none_and_is_named() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let good = json!({"email": "ann@example.org", "outcome": "hard_bounce"});
    let long = "x".repeat(2_001);
    let table = [
        (json!({"email": "a@b.c", "outcome": "bounced"}), "outcomes[1].outcome: must be one of delivered"),
        (json!({"email": "a@b.c"}), "outcomes[1].outcome: is required"),
        (json!({"outcome": "opened"}), "outcomes[1].email: is required"),
        (json!({"email": "a@b.c", "outcome": "opened", "at": "soon"}), "outcomes[1].at: must be an ISO 8601 time"),
        (json!({"email": "a@b.c", "outcome": "opened", "at": "2999-01-01T00:00:00Z"}), "outcomes[1].at: must not be"),
        (json!({"email": "a@b.c", "outcome": "opened", "reply": long}), "outcomes[1].reply: may have at most 2000"),
        (json!({"email": "x".repeat(1_025), "outcome": "opened"}), "outcomes[1].email: may have at most 1024"),
        (
            json!({"email": "a@b.c", "outcome": "opened", "when": 1}),
            "outcomes[1].when: is not a known field; remove it",
        ),
    ];
    for (event, expected) in table {
        let message = app.send(report(&json!([good, event])).key(&key)).await.error(400, "invalid_request");
        assert!(message.starts_with(expected), "{message}");
    }
    for events in [json!([]), json!({})] {
        app.send(report(&events).key(&key)).await.error(400, "invalid_request");
    }
    let many = vec![json!({"email": "a@b.c", "outcome": "opened"}); 10_001];
    app.send(report(&json!(many)).key(&key)).await.error(400, "invalid_request");
    let bodies = [
        ("text/csv", "email,outcome\nann@example.org,hard_bounce\na@b.c,lost\n", "row 2: outcome: must be one of"),
        ("text/csv", "email,outcome,at\nann@example.org,hard_bounce,now\n", "row 1: at: must be an ISO 8601"),
        ("text/csv", "a@b.c,opened\n", "the first row must name the columns `email` and `outcome`"),
        ("application/x-ndjson", "\n{\"email\":\"a@b.c\"}\n", "line 2: outcome: is required"),
        ("application/x-ndjson", "[\"a@b.c\",\"opened\"]\n", "line 1: must be a JSON object"),
        ("application/x-ndjson", "{\"email\":\n", "line 1: the line is not JSON"),
        ("application/x-ndjson", "", "outcomes: must have 1 to 10000 events"),
    ];
    for (kind, body, expected) in bodies {
        let message = app.send(Call::with_body(PATH, kind, body).key(&key)).await.error(400, "invalid_request");
        assert!(message.starts_with(expected), "{body}: {message}");
    }
    app.send(Call::with_body(PATH, "text/plain", "a@b.c").key(&key)).await.error(415, "unsupported_media_type");
    assert!(!is_on(&app, &key, "bounced", "ann@example.org").await, "nothing was stored");
    app.stop().await;
}

#[tokio::test]
async fn test_keys_report_apart_and_suppress_nothing() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let test = app.key(&org, KeyKind::Test).await;
    let events = json!([{"email": "ann@example.org", "outcome": "hard_bounce"}]);
    for (who, listed) in [(&test, 0), (&test, 0), (&key, 1)] {
        let answer = app.send(report(&events).key(who)).await.ok(200);
        assert_eq!(answer["suppressed"]["bounced"], listed);
    }
    let timeline = app.get(&key, "/v1/account/timeline").await;
    assert!(timeline.text().contains("organization.suppressions.bounced") && !timeline.text().contains("ann@"));
    app.stop().await;
}
