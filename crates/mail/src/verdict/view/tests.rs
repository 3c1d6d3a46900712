//! The shape as readers get it: in JSON.

use std::sync::Arc;

use super::*;
use crate::verdict::{EvidenceSource, Flags, Reason, Verdict};

fn verification(findings: Vec<Finding>, evidence: Evidence) -> Verification {
    Verification {
        email: "Jo@Example.com".into(),
        domain: "example.com".into(),
        verdict: Verdict::of(findings, &"smtp.accepted".into()),
        flags: Flags { role: true, ..Flags::default() },
        gibberish_score: 0.0,
        suggestion: None,
        evidence,
    }
}

fn probe() -> ProbeEvidence {
    ProbeEvidence {
        host: "mx.example.com".into(),
        ip: Some(IpAddr::from([192, 0, 2, 1])),
        tls: true,
        stage: Some(Stage::Rcpt),
        code: Some(550),
        enhanced: Some(Enhanced { class: 5, subject: 1, detail: 1 }),
        text: "no such user".into(),
        rule: "generic.no_such_user".into(),
        attempts: 1,
        catch_all: None,
        steps: Box::default(),
    }
}

fn step(stage: Stage, code: Option<u16>) -> ProbeStep {
    let (host, text) = ("mx.example.com".into(), "hello".into());
    ProbeStep { host, stage, random: false, code, enhanced: None, text, at_ms: 12 }
}

#[test]
fn a_conversation_is_shown_in_order_and_silence_has_no_text() {
    let steps = [step(Stage::Connect, Some(220)), step(Stage::Ehlo, None)];
    let evidence =
        Evidence { probe: Some(Box::new(ProbeEvidence { steps: steps.into(), ..probe() })), ..Evidence::default() };
    let json = serde_json::to_value(VerdictView::explained(&verification(vec![], evidence))).unwrap();
    let shown = |stage: &str, code: Option<u16>, text: Option<&str>| {
        serde_json::json!({
            "host": "mx.example.com", "stage": stage, "random": false, "code": code, "enhanced": null, "text": text,
            "at_ms": 12
        })
    };
    let wanted = [shown("connect", Some(220), Some("hello")), shown("ehlo", None, None)];
    assert_eq!(json["evidence"]["probe"]["steps"], serde_json::json!(wanted));
}

#[test]
fn a_brief_verdict_has_exactly_the_fields_of_the_contract() {
    let json = serde_json::to_value(VerdictView::brief(&verification(vec![], Evidence::default()))).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "email",
        "domain",
        "status",
        "reason",
        "passed",
        "role",
        "disposable",
        "free",
        "relay",
        "gibberish",
        "suggestion",
        "meta",
    ];
    expected.sort_unstable();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(json["passed"], true);
    assert_eq!(json["suggestion"], "");
    assert_eq!(json["meta"], "");
}

#[test]
fn absent_parts_of_the_evidence_are_null() {
    let json = serde_json::to_value(VerdictView::explained(&verification(vec![], Evidence::default()))).unwrap();
    let evidence = &json["evidence"];
    assert!(evidence["domain"].is_null() && evidence["probe"].is_null());
    assert_eq!(evidence["findings"], serde_json::json!([]));
    assert_eq!(evidence["timings_ms"], serde_json::json!({"dns": 0, "connect": 0, "smtp": 0, "total": 0}));
    assert_eq!(evidence.get("source"), Some(&serde_json::Value::Null), "nothing was asked");
}

#[test]
fn a_whole_evidence_is_shown_in_plain_values() {
    let domain = DomainEvidence {
        exists: Some(true),
        mx: vec![MxHost { preference: 10, host: "mx.example.com".into() }],
        null_mx: false,
        provider: None,
    };
    let evidence = Evidence {
        domain: Some(Arc::new(domain)),
        probe: Some(Box::new(probe())),
        source: EvidenceSource::Smtp,
        ..Evidence::default()
    };
    let finding =
        Finding { reason: Reason::Nonexistent, meta: "smtp_550_5.1.1".into(), rule: "generic.no_such_user".into() };
    let verification = verification(vec![finding], evidence);
    let json = serde_json::to_value(VerdictView::explained(&verification)).unwrap();
    assert_eq!(json["status"], "undeliverable");
    let evidence = &json["evidence"];
    assert_eq!(evidence["findings"][0]["reason"], "nonexistent");
    assert_eq!(evidence["domain"]["mx"][0], serde_json::json!({"preference": 10, "host": "mx.example.com"}));
    assert_eq!(evidence["probe"]["enhanced"], "5.1.1");
    assert_eq!(evidence["probe"]["stage"], "rcpt");
    assert_eq!(evidence["probe"]["ip"], "192.0.2.1");
    assert!(evidence["probe"]["catch_all"].is_null());
}

#[test]
fn without_a_reply_there_is_no_text() {
    let silent = ProbeEvidence { code: None, enhanced: None, text: String::new(), stage: None, ..probe() };
    let evidence = Evidence { probe: Some(Box::new(silent)), ..Evidence::default() };
    let verification = verification(vec![], evidence);
    let json = serde_json::to_value(VerdictView::explained(&verification)).unwrap();
    let probe = &json["evidence"]["probe"];
    assert!(probe["text"].is_null() && probe["enhanced"].is_null() && probe["stage"].is_null());
}
