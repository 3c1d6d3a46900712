//! Tests of `GET /v1/verify`: parameters, verdict and price.

use std::collections::BTreeSet;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use probity_account::api_key::KeyKind;
use probity_engine::clock::EngineClock;
use probity_http::service::ServiceConfig;
use probity_mail::verdict::Reason;
use probity_store::ScopedFutureExt as _;
use serde_json::{Value, json};

use crate::test_app::{PLENTY, TestApp, pass};

const FLAGS: [&str; 6] = ["passed", "role", "disposable", "free", "relay", "gibberish"];
const TEXTS: [&str; 6] = ["email", "domain", "status", "reason", "suggestion", "meta"];

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Asserts specification 2.1 and the completion: all fields are present, have their types, and agree with each other.
#[track_caller]
fn assert_verdict(verdict: &Value) {
    let keys: BTreeSet<&str> = verdict.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, FLAGS.into_iter().chain(TEXTS).collect(), "{verdict}");
    assert!(FLAGS.iter().all(|flag| verdict[flag].is_boolean()), "{verdict}");
    assert!(TEXTS.iter().all(|text| verdict[text].is_string()), "{verdict}");
    let reason = Reason::from_name(verdict["reason"].as_str().unwrap()).expect("one of the 17 reasons");
    assert_eq!(verdict["status"], reason.status().as_str());
    assert_eq!(verdict["passed"], verdict["status"] == "passed");
    assert_eq!(verdict["meta"] == "", verdict["passed"] == true, "{verdict}");
}

/// Lists may have names before addresses. A live call judges the text, and suggests the address.
#[tokio::test]
async fn a_name_with_an_address_is_no_address() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let given = "Ann Lee <ann@honest-mail.com>";
    let verdict = app.get(&key, &format!("/v1/verify?email={}", encoded(given))).await.ok(200);
    assert_verdict(&verdict);
    assert_eq!(
        (&verdict["email"], &verdict["reason"], &verdict["domain"]),
        (&json!(given), &json!("invalid"), &json!(""))
    );
    assert_eq!(verdict["suggestion"], "ann@honest-mail.com");
    app.stop().await;
}

#[tokio::test]
async fn an_address_must_be_given_and_not_be_too_long() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    for kind in [key, app.key(&org, KeyKind::Test).await] {
        let refused = [
            "",
            "email",
            "email=",
            "email=%20%09",
            "email=%C2%A0%E2%80%8B",
            "Email=ann@honest-mail.com",
            "email=%ff",
            "email=a%zz",
        ];
        for query in refused {
            let message = app.get(&kind, &format!("/v1/verify?{query}")).await.error(400, "invalid_request");
            assert!(message.starts_with("email: "), "{query}: {message}");
        }
        // The limit is in bytes, not characters: "é" has two.
        for (text, status) in [
            ("x".repeat(1_024), 200),
            ("x".repeat(1_025), 400),
            ("x".repeat(20_000), 400),
            ("é".repeat(512), 200),
            ("é".repeat(513), 400),
        ] {
            let answer = app.verify(&kind, &encoded(&text)).await;
            assert_eq!(answer.status, status, "{} bytes", text.len());
            if status == 200 {
                assert_eq!((answer.reason().as_str(), &answer.json()["email"]), ("invalid", &Value::from(text)));
            }
        }
    }
    assert_eq!(app.balance(&org).await.spent.total(), 2, "refused requests are free");
    app.stop().await;
}

#[tokio::test]
async fn the_address_is_echoed_as_sent_and_its_domain_as_a_label() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    // Sent, echoed, domain, reason.
    let cases = [
        ("ann@honest-mail.com", "ann@honest-mail.com", "honest-mail.com", "valid"),
        ("user+tag@honest-mail.com", "user+tag@honest-mail.com", "honest-mail.com", "valid"),
        ("user%2Btag@honest-mail.com", "user+tag@honest-mail.com", "honest-mail.com", "valid"),
        ("%20%09ann@Honest-Mail.COM%0D%0A", " \tann@Honest-Mail.COM\r\n", "honest-mail.com", "valid"),
        (
            "%EF%BB%BFann@Honest-Mail.COM%C2%A0%E2%80%8B",
            "\u{feff}ann@Honest-Mail.COM\u{a0}\u{200b}",
            "honest-mail.com",
            "valid",
        ),
        ("ann@B%C3%BCcher.com", "ann@Bücher.com", "xn--bcher-kva.com", "valid"),
        ("ann@xn--bcher-kva.com", "ann@xn--bcher-kva.com", "xn--bcher-kva.com", "valid"),
        ("ann@honest-mail.com&email=other", "ann@honest-mail.com", "honest-mail.com", "valid"),
        ("no+address", "no+address", "", "invalid"),
        ("@", "@", "", "invalid"),
        ("a%00b", "a\0b", "", "invalid"),
        ("%E2%80%AEann", "\u{202e}ann", "", "invalid"),
        ("ann@null-mx.com", "ann@null-mx.com", "null-mx.com", "illegitimate"),
    ];
    for (sent, echoed, domain, reason) in cases {
        let verdict = app.verify(&key, sent).await.ok(200);
        assert_verdict(&verdict);
        assert_eq!(
            (&verdict["email"], &verdict["domain"], &verdict["reason"]),
            (&echoed.into(), &domain.into(), &reason.into())
        );
    }
    app.stop().await;
}

#[tokio::test]
async fn the_suggestion_is_without_invisible_characters() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for (sent, suggestion) in [
        ("ann@gma\u{200b}il.com", "ann@gmail.com"),
        ("ann@gmi\u{200b}al.com", "ann@gmail.com"),
        ("ann@honest-\u{ad}mail.com", "ann@honest-mail.com"),
        ("ann@mailinator.con", ""),
        ("ann@mailin\u{ad}ator.com", ""),
    ] {
        let verdict = app.verify(&key, &encoded(sent)).await.ok(200);
        assert_verdict(&verdict);
        assert_eq!((&verdict["email"], &verdict["suggestion"]), (&sent.into(), &suggestion.into()));
        let is_invisible = sent.contains(['\u{200b}', '\u{ad}']);
        assert!(!is_invisible || verdict["reason"] == "invalid", "{verdict}");
    }
    // At the edges, they are no part of the address.
    for sent in ["ann@honest-mail.com\u{200b}", "\u{feff}ann@honest-mail.com\u{a0}"] {
        let verdict = app.verify(&key, &encoded(sent)).await.ok(200);
        assert_eq!((&verdict["reason"], &verdict["suggestion"]), (&"valid".into(), &"".into()), "{verdict}");
    }
    app.stop().await;
}

#[tokio::test]
async fn every_outcome_has_its_status_its_flags_and_its_price() {
    let app = TestApp::start().await;
    // Address, reason, price.
    let cases = [
        ("ann@honest-mail.com", "valid", 1),
        ("nobody@honest-mail.com", "nonexistent", 1),
        ("full@honest-mail.com", "inbox_full", 1),
        ("closed@honest-mail.com", "deactivated", 1),
        ("info@honest-mail.com", "role_based", 1),
        ("anyone@takes-all.com", "accept_all", 1),
        ("ann@null-mx.com", "illegitimate", 1),
        ("ann@not-there.com", "illegitimate", 1),
        ("not an address", "invalid", 1),
        ("jo@other.test", "invalid", 1),
        ("jo@sandbox.test", "invalid", 1),
        ("jo@catchall.sandbox.test", "invalid", 1),
        ("ann@blocks-us.com", "failed_exchange", 0),
        ("ann@greylists.com", "unverified", 0),
        ("ann@stays-silent.com&timeout=0.1", "unverified", 0),
    ];
    for (email, reason, price) in cases {
        let (org, key) = app.customer().await;
        let verdict = app.verify(&key, &email.replace(' ', "%20")).await.ok(200);
        assert_verdict(&verdict);
        assert_eq!(verdict["reason"], reason, "{email}: {verdict}");
        assert_eq!(verdict["meta"] == "sandbox_name", email.ends_with("sandbox.test"), "{email}: {verdict}");
        assert_eq!(verdict["role"], email.starts_with("info@"), "{email}");
        let balance = app.balance(&org).await;
        assert_eq!((balance.spent.total(), balance.available.total()), (price, PLENTY - price), "{email}");
        assert_eq!(balance.held.total(), 0, "{email}: the answer comes after its settlement");
        let reason = Reason::from_name(reason).unwrap();
        assert_eq!(app.usage(&org).await, [(reason, 1, price)], "{email}: free verdicts count as usage too");
        assert_eq!(app.get(&key, "/v1/organization").await.ok(200)["usage"]["current_period_total"], 1);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_timeout_is_a_number_of_seconds_up_to_sixty() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let taken = [
        ("", 20_000),
        ("&timeout=5", 5_000),
        ("&timeout=005", 5_000),
        ("&timeout=2.5", 2_500),
        ("&timeout=0.25", 250),
        ("&timeout=0.0001", 1),
        ("&timeout=60", 60_000),
        ("&timeout=61", 60_000),
        ("&timeout=60.5", 60_000),
        ("&timeout=99999999999999999999", 60_000),
    ];
    for (timeout, expected) in taken {
        app.verify(&key, &format!("no-address{timeout}")).await.ok(200);
        assert_eq!(app.live.timeouts.lock().unwrap().pop(), Some(expected), "{timeout}");
    }
    for timeout in ["0", "0.0", "-0", "-1", "-0.5", "abc", "", "5s", "1,5", "NaN", "inf", "-inf", "0x10", "%E2%85%A4"] {
        let message = app.verify(&key, &format!("no-address&timeout={timeout}")).await.error(400, "invalid_request");
        assert!(message.starts_with("timeout: must be a number"), "{timeout}: {message}");
    }
    assert!(app.live.timeouts.lock().unwrap().is_empty(), "nobody was asked");
    let calls = i64::try_from(taken.len()).unwrap();
    assert_eq!(app.balance(&org).await.spent.total(), calls);
    app.stop().await;
}

#[tokio::test]
async fn at_the_deadline_the_answer_is_unverified() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let began = EngineClock::system();
    let verdict = app.verify(&key, "ann@stays-silent.com&timeout=0.3").await.ok(200);
    assert_eq!(
        (&verdict["status"], &verdict["reason"], &verdict["meta"]),
        (&"unknown".into(), &"unverified".into(), &"timeout".into())
    );
    assert!(began.elapsed() >= Duration::from_millis(290));
    assert_eq!(app.balance(&org).await.spent.total(), 0);
    app.stop().await;
}

#[tokio::test]
async fn evidence_is_shown_on_request() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for asked in ["true", "1"] {
        let verdict = app.verify(&key, &format!("nobody@honest-mail.com&explain={asked}")).await.ok(200);
        let evidence = &verdict["evidence"];
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(keys(evidence), named(&["findings", "domain", "probe", "timings_ms", "source", "age_s"]));
        assert_eq!(keys(&evidence["domain"]), named(&["exists", "mx", "null_mx", "provider"]));
        let probe =
            ["host", "ip", "tls", "stage", "code", "enhanced", "text", "rule", "attempts", "catch_all", "steps"];
        assert_eq!(keys(&evidence["probe"]), named(&probe));
        assert_eq!(keys(&evidence["timings_ms"]), named(&["dns", "connect", "smtp", "total"]));
        assert_eq!(evidence["findings"][0]["reason"], "nonexistent");
        assert_eq!((&evidence["probe"]["code"], &evidence["probe"]["enhanced"]), (&550.into(), &"5.1.1".into()));
        assert_eq!(evidence["domain"]["mx"][0]["host"], "mx.honest-mail.com");
        assert!(["cache", "smtp"].contains(&evidence["source"].as_str().unwrap()));
        // Only the first call shows the SMTP dialog; the cache keeps just its result.
        let steps = evidence["probe"]["steps"].as_array().unwrap();
        assert_eq!(steps.is_empty(), evidence["source"] == "cache", "{steps:?}");
        assert!(asked != "true" || steps.len() > 3, "{steps:?}");
        for step in steps {
            assert_eq!(keys(step), named(&["host", "stage", "random", "code", "enhanced", "text", "at_ms"]));
            assert!(step["host"] == "mx.honest-mail.com" && !step.to_string().contains("nobody"), "{step}");
        }
    }
    for none in ["", "&explain=false", "&explain=0"] {
        assert_verdict(&app.verify(&key, &format!("nobody@honest-mail.com{none}")).await.ok(200));
    }
    let message = app.verify(&key, "nobody@honest-mail.com&explain=perhaps").await.error(400, "invalid_request");
    assert!(message.starts_with("explain: "), "{message}");
    let null = app.verify(&key, "no-address&explain=true").await.ok(200);
    assert!(null["evidence"]["probe"].is_null() && null["evidence"]["domain"].is_null(), "{null}");
    app.stop().await;
}

#[tokio::test]
async fn test_keys_are_answered_by_the_sandbox_and_count_nowhere() {
    let app = TestApp::start().await;
    let org = app.org("Trying out", 0).await;
    let key = app.key(&org, KeyKind::Test).await;
    for reason in Reason::ALL {
        let verdict = app.verify(&key, &format!("{}@sandbox.test", reason.as_str())).await.ok(200);
        assert_verdict(&verdict);
        assert_eq!(verdict["reason"], reason.as_str());
    }
    // Documented literals of the hash; the live world has no such domain.
    for (email, reason) in [("ann.lee@acme-widgets.com", "valid"), ("greta.lee@acme-widgets.com", "nonexistent")] {
        assert_eq!(app.verify(&key, email).await.reason(), reason);
    }
    assert_eq!(app.verify(&key, "%20Ann.Lee@acme-widgets.com").await.ok(200)["email"], " Ann.Lee@acme-widgets.com");
    assert_eq!(app.live.net.hosts().connections, 0, "no live server is asked");
    assert!(app.live.timeouts.lock().unwrap().is_empty());
    let balance = app.balance(&org).await;
    assert_eq!((balance.spent.total(), balance.held.total()), (0, 0));
    assert!(app.usage(&org).await.is_empty());
    let live = app.key(&org, KeyKind::Live).await;
    assert_eq!(app.get(&live, "/v1/organization").await.ok(200)["usage"]["current_period_total"], 0);
    app.verify(&live, "ann@honest-mail.com").await.error(402, "insufficient_credits");
    app.stop().await;
}

#[tokio::test]
async fn usage_is_counted_by_the_day_on_which_it_was_answered() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        for _ in 0..2 {
            app.verify(&key, "ann@honest-mail.com").await.ok(200);
        }
        pass(Duration::from_hours(24)).await;
        app.verify(&key, "nobody@honest-mail.com").await.ok(200);
        app.verify(&key, "ann@blocks-us.com").await.ok(200);
        let days = app.store.read().await;
        let sums =
            probity_store::activity::reports::by_day(&mut days.unwrap(), org.no, 0, i64::MAX, None).await.unwrap();
        let first = sums[0].of.0;
        let mut counted: Vec<_> =
            sums.iter().map(|sum| (sum.of.0 - first, sum.of.1.as_str(), sum.verified, sum.charged)).collect();
        counted.sort_unstable();
        assert_eq!(counted, [(0, "valid", 2, 2), (1, "failed_exchange", 1, 0), (1, "nonexistent", 1, 1)]);
    })
    .await;
}

#[tokio::test]
async fn a_greylisted_address_is_found_out_behind_its_answer() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let first = app.verify(&key, "ann@greylists.com").await.ok(200);
    assert_eq!((&first["reason"], &first["meta"]), (&"unverified".into(), &"greylisted".into()));
    pass(Duration::from_mins(12)).await;
    let asked = app.live.net.hosts().connections;
    let later = app.verify(&key, "ann@greylists.com&explain=true").await.ok(200);
    assert_eq!((&later["reason"], &later["evidence"]["source"]), (&"valid".into(), &"cache".into()), "{later}");
    assert_eq!(app.live.net.hosts().connections, asked, "nobody was asked again");
    assert_eq!(app.balance(&org).await.spent.total(), 1, "what was found out in the end is charged when it is told");
    app.stop().await;
}

#[tokio::test]
async fn verdicts_are_remembered_for_their_own_organization() {
    let app = TestApp::start().await;
    let (_, first) = app.customer().await;
    let (_, second) = app.customer().await;
    let source = async |key: &str| {
        app.verify(key, "ann@honest-mail.com&explain=true").await.ok(200)["evidence"]["source"].clone()
    };
    assert_eq!(source(&first).await, "smtp");
    assert_eq!(source(&first).await, "cache");
    assert_eq!(source(&second).await, "smtp", "what others have asked does not show");
    app.stop().await;
}

#[tokio::test]
async fn a_verifier_that_panics_is_a_500_and_costs_nothing() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    app.verify(&key, "panics@honest-mail.com").await.error(500, "server_error");
    assert_eq!(app.balance(&org).await.available.total(), PLENTY);
    assert!(app.usage(&org).await.is_empty());
    app.stop().await;
}

#[tokio::test]
async fn suspended_while_it_waits_a_call_still_ends() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let call = app.verify(&key, "waits@honest-mail.com");
    let stop = async {
        app.live.asked(1).await;
        let changed = app.store.write(|tx| {
            probity_store::accounts::organization::set_status(
                tx,
                org.no,
                probity_store::accounts::organization::OrgState::Suspended,
            )
            .scope_boxed()
        });
        changed.await.unwrap();
        app.live.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(call, stop);
    assert_eq!(answer.reason(), "nonexistent");
    pass(Duration::from_secs(2)).await;
    app.verify(&key, "ann@honest-mail.com").await.error(403, "forbidden_scope");
    assert_eq!(app.balance(&org).await.spent.total(), 1);
    app.stop().await;
}
