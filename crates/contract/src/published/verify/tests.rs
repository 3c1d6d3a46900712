//! Tests that verdicts of every shape match the published schema, and that the schema rejects everything else.
use std::net::IpAddr;
use std::sync::Arc;

use probity_mail::classify::DialogStage;
use probity_mail::smtp::reply::Enhanced;
use probity_mail::verdict::view::VerdictView;
use probity_mail::verdict::{
    DomainEvidence, Evidence, EvidenceSource, Finding, Flags, MxHost, ProbeEvidence, ProbeStep, Reason, Verdict,
    Verification,
};
use serde_json::{Value, json};
use utoipa::{PartialSchema as _, ToSchema as _};

use super::verdict::{VerdictSchema, passed, refused};

/// Returns a strict validator for verdicts: an unknown field is an error.
fn strict() -> jsonschema::Validator {
    let mut parts = Vec::new();
    VerdictSchema::schemas(&mut parts);
    parts.push((VerdictSchema::name().into_owned(), VerdictSchema::schema()));
    let mut schemas = json!(std::collections::BTreeMap::from_iter(parts));
    for schema in schemas.as_object_mut().unwrap().values_mut() {
        if schema["type"] == "object" {
            schema["additionalProperties"] = false.into();
        }
    }
    let root = json!({"$ref": "#/components/schemas/Verdict", "components": {"schemas": schemas}});
    jsonschema::draft202012::new(&root).unwrap()
}

fn probe(stage: Option<DialogStage>) -> ProbeEvidence {
    let replied = stage.is_some();
    ProbeEvidence {
        host: "mx.example.com".into(),
        ip: replied.then_some(IpAddr::from([192, 0, 2, 1])),
        tls: replied,
        stage,
        code: replied.then_some(550),
        enhanced: replied.then_some(Enhanced { class: 5, subject: 1, detail: 1 }),
        text: "no such user".into(),
        rule: "generic.no_such_user".into(),
        attempts: 1,
        catch_all: replied.then_some(false),
        steps: stage.map(|stage| [step(stage, Some(550)), step(stage, None)].into()).unwrap_or_default(),
    }
}

fn step(stage: DialogStage, code: Option<u16>) -> ProbeStep {
    let enhanced = code.map(|_| Enhanced { class: 5, subject: 1, detail: 1 });
    let (host, text) = ("mx.example.com".into(), "no such user".into());
    ProbeStep { host, stage, random: code.is_none(), code, enhanced, text, at_ms: 31 }
}

fn verification(reason: Option<Reason>, evidence: Evidence) -> Verification {
    let found = |reason| Finding { reason, meta: "smtp_550_5.1.1".into(), rule: "generic.no_such_user".into() };
    Verification {
        email: "Jo@Example.com".into(),
        domain: "example.com".into(),
        verdict: Verdict::of(reason.map(found).into_iter().collect(), &"smtp.accepted".into()),
        flags: Flags::default(),
        gibberish_score: 0.0,
        suggestion: reason.map(|_| "jo@example.com".into()),
        evidence,
    }
}

/// Returns evidence of every source, with each part present and absent, and with a reply at every stage.
fn shapes() -> Vec<Evidence> {
    let stages = [
        DialogStage::Connect,
        DialogStage::Ehlo,
        DialogStage::StartTls,
        DialogStage::Mail,
        DialogStage::Rcpt,
        DialogStage::Unsolicited,
    ];
    let known = DomainEvidence {
        exists: Some(true),
        mx: vec![MxHost { preference: 10, host: "mx.example.com".into() }],
        null_mx: false,
        provider: Some("google".into()),
    };
    let mut shapes = vec![
        Evidence::default(),
        Evidence { domain: Some(Arc::new(known)), source: EvidenceSource::Dns, ..Evidence::default() },
        Evidence { domain: Some(Arc::default()), source: EvidenceSource::Cache, age_s: 600, ..Evidence::default() },
        Evidence { probe: Some(Box::new(probe(None))), source: EvidenceSource::Sandbox, ..Evidence::default() },
    ];
    shapes.extend(stages.map(|stage| Evidence {
        probe: Some(Box::new(probe(Some(stage)))),
        source: EvidenceSource::Smtp,
        ..Evidence::default()
    }));
    shapes
}

#[test]
fn every_verdict_is_as_the_schema_says() {
    let schema = strict();
    let reasons = Reason::ALL.iter().copied().filter(|reason| *reason != Reason::Valid).map(Some).chain([None]);
    for reason in reasons {
        for evidence in shapes() {
            let verification = verification(reason, evidence);
            for view in [VerdictView::brief(&verification), VerdictView::explained(&verification)] {
                let json = serde_json::to_value(view).unwrap();
                let errors: Vec<String> =
                    schema.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect();
                assert!(errors.is_empty(), "{errors:#?} in {json:#}");
            }
        }
    }
}

#[test]
fn the_schema_refuses_what_no_verdict_is() {
    let schema = strict();
    assert!(schema.is_valid(&passed()) && schema.is_valid(&refused()));
    let spoilt: [(&str, Value); 8] = [
        ("/status", "fine".into()),
        ("/reason", "because".into()),
        ("/passed", "true".into()),
        ("/suggestion", Value::Null),
        ("/evidence/source", "hearsay".into()),
        ("/evidence/probe/stage", "data".into()),
        ("/evidence/probe/code", "550".into()),
        ("/evidence/domain/mx/0", json!({"preference": 10})),
    ];
    for (path, value) in spoilt {
        let mut verdict = refused();
        *verdict.pointer_mut(path).unwrap() = value;
        assert!(!schema.is_valid(&verdict), "{path}");
    }
    for field in refused().as_object().unwrap().keys().filter(|field| *field != "evidence") {
        let mut verdict = refused();
        verdict.as_object_mut().unwrap().remove(field);
        assert!(!schema.is_valid(&verdict), "without {field}");
    }
    let mut verdict = refused();
    verdict["surprise"] = 1.into();
    assert!(!schema.is_valid(&verdict), "a field that the schema does not know");
}
