//! The published shape of a verdict, for everything that writes JSON.
//!
//! The command line and the HTTP service show the same fields under the same names; both serialize the types of this module,
//! so they cannot drift apart. A view borrows from a [`Verification`]. Every part of the evidence is always present: what was
//! not needed is `null`, so that a reader never has to tell "absent" from "unknown".

use std::net::IpAddr;

use serde::{Serialize, Serializer};

use super::{DomainEvidence, Finding, MxHost, ProbeEvidence, ProbeStep, Verification};
use crate::classify::DialogStage;
use crate::domain::UnusualName;
use crate::smtp::reply::Enhanced;

/// One verdict, as the contract shows it.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the contract has a flag for each question")]
pub struct VerdictView<'a> {
    /// The text that was asked about, as it came.
    pub email: &'a str,
    /// The domain in lower-case A-labels, `""` where there is none.
    pub domain: &'a str,
    /// One of the four statuses.
    pub status: &'static str,
    /// The reason for the status.
    pub reason: &'static str,
    /// Whether the status is `passed`.
    pub passed: bool,
    /// A role mailbox.
    pub role: bool,
    /// A throw-away service.
    pub disposable: bool,
    /// A free mail provider.
    pub free: bool,
    /// A relay, forwarding or masking service.
    pub relay: bool,
    /// The local part looks random.
    pub gibberish: bool,
    /// A whole address that was perhaps meant, `""` where none is.
    pub suggestion: &'a str,
    /// What decided, `""` where the address passed.
    pub meta: &'a str,
    /// What the verdict rests on; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceView<'a>>,
}

impl<'a> VerdictView<'a> {
    /// The verdict without its evidence.
    pub fn brief(verification: &'a Verification) -> Self {
        let Verification { email, domain, verdict, flags, suggestion, .. } = verification;
        let status = verdict.status();
        Self {
            email,
            domain,
            status: status.as_str(),
            reason: verdict.reason.as_str(),
            passed: status == super::Status::Passed,
            role: flags.role,
            disposable: flags.disposable,
            free: flags.free,
            relay: flags.relay,
            gibberish: flags.gibberish,
            suggestion: suggestion.as_deref().unwrap_or(""),
            meta: &verdict.meta,
            evidence: None,
        }
    }

    /// The verdict with its evidence.
    pub fn explained(verification: &'a Verification) -> Self {
        let evidence = EvidenceView::of(verification);
        Self { evidence: Some(evidence), ..Self::brief(verification) }
    }
}

/// What a verdict rests on.
#[derive(Debug, Serialize)]
pub struct EvidenceView<'a> {
    /// Everything that was found, the reported finding first.
    pub findings: Vec<FindingView<'a>>,
    /// What the DNS says.
    pub domain: Option<DomainView<'a>>,
    /// What a mail server answered.
    pub probe: Option<ProbeView<'a>>,
    /// Where the time went.
    pub timings_ms: TimingsView,
    /// Where the deciding facts came from; null where nothing was asked.
    pub source: Option<&'static str>,
    /// How old they are, in seconds.
    pub age_s: u32,
}

impl<'a> EvidenceView<'a> {
    fn of(verification: &'a Verification) -> Self {
        let Verification { domain: name, verdict, evidence, .. } = verification;
        let timings = evidence.timings;
        Self {
            findings: verdict.findings.iter().map(FindingView::of).collect(),
            domain: evidence.domain.as_deref().map(|domain| DomainView::of(name, domain)),
            probe: evidence.probe.as_deref().map(ProbeView::of),
            timings_ms: TimingsView {
                dns: timings.dns,
                connect: timings.connect,
                smtp: timings.smtp,
                total: timings.total,
            },
            source: evidence.source.name(),
            age_s: evidence.age_s,
        }
    }
}

/// One finding.
#[derive(Debug, Serialize)]
pub struct FindingView<'a> {
    /// What was found.
    pub reason: &'static str,
    /// The token that says what decided.
    pub meta: &'a str,
    /// The rule that made the finding.
    pub rule: &'a str,
}

impl<'a> FindingView<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self { reason: finding.reason.as_str(), meta: &finding.meta, rule: &finding.rule }
    }
}

/// What the DNS says of a domain.
#[derive(Debug, Serialize)]
pub struct DomainView<'a> {
    /// Whether the name exists.
    pub exists: Option<bool>,
    /// The exchangers in the order in which they are asked.
    pub mx: Vec<MxView<'a>>,
    /// Whether the domain says that it takes no mail.
    pub null_mx: bool,
    /// The mail provider that the exchangers belong to.
    pub provider: Option<&'a str>,
    /// What is unusual about the name; absent where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<UnusualName>,
}

impl<'a> DomainView<'a> {
    fn of(name: &str, domain: &'a DomainEvidence) -> Self {
        let mx = domain.mx.iter().map(|MxHost { preference, host }| MxView { preference: *preference, host });
        Self {
            exists: domain.exists,
            mx: mx.collect(),
            null_mx: domain.null_mx,
            provider: domain.provider.as_deref(),
            note: UnusualName::of(name),
        }
    }
}

/// One mail exchanger.
#[derive(Debug, Serialize)]
pub struct MxView<'a> {
    /// Lower is asked first.
    pub preference: u16,
    /// The exchanger's name in A-labels.
    pub host: &'a str,
}

/// What a mail server answered.
#[derive(Debug, Serialize)]
pub struct ProbeView<'a> {
    /// The exchanger that was asked.
    pub host: &'a str,
    /// The address that was dialled.
    pub ip: Option<IpAddr>,
    /// Whether the deciding question went over TLS.
    pub tls: bool,
    /// Where in the dialogue the deciding reply came.
    pub stage: Option<&'static str>,
    /// The reply's code.
    pub code: Option<u16>,
    /// The reply's enhanced code, as text.
    #[serde(serialize_with = "enhanced_text")]
    pub enhanced: Option<Enhanced>,
    /// The reply's text, printable and redacted; null where there was no reply.
    pub text: Option<&'a str>,
    /// The rule that read the reply.
    pub rule: &'a str,
    /// How many times the address was asked about.
    pub attempts: u32,
    /// Whether the exchanger accepts any local part of the domain.
    pub catch_all: Option<bool>,
    /// The conversation, in order.
    pub steps: Vec<StepView<'a>>,
}

impl<'a> ProbeView<'a> {
    fn of(probe: &'a ProbeEvidence) -> Self {
        Self {
            host: &probe.host,
            ip: probe.ip,
            tls: probe.tls,
            stage: probe.stage.map(stage_name),
            code: probe.code,
            enhanced: probe.enhanced,
            text: probe.code.map(|_| probe.text.as_str()),
            rule: &probe.rule,
            attempts: probe.attempts,
            catch_all: probe.catch_all,
            steps: probe.steps.iter().map(StepView::of).collect(),
        }
    }
}

/// What came of one step of a conversation.
#[derive(Debug, Serialize)]
pub struct StepView<'a> {
    /// The exchanger.
    pub host: &'a str,
    /// What was being waited for.
    pub stage: &'static str,
    /// Whether the question was about a made-up recipient.
    pub random: bool,
    /// The reply's code; null where no reply came.
    pub code: Option<u16>,
    /// The reply's enhanced code, as text.
    #[serde(serialize_with = "enhanced_text")]
    pub enhanced: Option<Enhanced>,
    /// The reply's text, printable and redacted; null where no reply came.
    pub text: Option<&'a str>,
    /// When, in milliseconds from the beginning of the probe.
    pub at_ms: u32,
}

impl<'a> StepView<'a> {
    fn of(step: &'a ProbeStep) -> Self {
        Self {
            host: &step.host,
            stage: stage_name(step.stage),
            random: step.random,
            code: step.code,
            enhanced: step.enhanced,
            text: step.code.map(|_| step.text.as_str()),
            at_ms: step.at_ms,
        }
    }
}

/// Where the time went, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimingsView {
    /// Names.
    pub dns: u32,
    /// Connecting.
    pub connect: u32,
    /// The dialogue.
    pub smtp: u32,
    /// From question to verdict.
    pub total: u32,
}

fn stage_name(stage: DialogStage) -> &'static str {
    match stage {
        DialogStage::Connect => "connect",
        DialogStage::Ehlo => "ehlo",
        DialogStage::StartTls => "starttls",
        DialogStage::Mail => "mail",
        DialogStage::Rcpt => "rcpt",
        DialogStage::Unsolicited => "unsolicited",
    }
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn enhanced_text<S: Serializer>(enhanced: &Option<Enhanced>, to: S) -> Result<S::Ok, S::Error> {
    match enhanced {
        Some(Enhanced { class, subject, detail }) => to.collect_str(&format_args!("{class}.{subject}.{detail}")),
        None => to.serialize_none(),
    }
}

/// The shape as readers get it: in JSON.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::verdict::{Evidence, EvidenceSource, Flags, Reason, Verdict};

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
            stage: Some(DialogStage::Rcpt),
            code: Some(550),
            enhanced: Some(Enhanced { class: 5, subject: 1, detail: 1 }),
            text: "no such user".into(),
            rule: "generic.no_such_user".into(),
            attempts: 1,
            catch_all: None,
            steps: Box::default(),
        }
    }

    fn step(stage: DialogStage, code: Option<u16>) -> ProbeStep {
        let (host, text) = ("mx.example.com".into(), "hello".into());
        ProbeStep { host, stage, random: false, code, enhanced: None, text, at_ms: 12 }
    }

    #[test]
    fn a_conversation_is_shown_in_order_and_silence_has_no_text() {
        let steps = [step(DialogStage::Connect, Some(220)), step(DialogStage::Ehlo, None)];
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
    fn what_is_unusual_about_a_domain_is_noted() {
        for (name, note) in [
            ("example.com", None),
            ("xn--bcher-kva.example", None),
            ("my_shop.example.com", Some("underscore")),
            ("xn--0.example.com", Some("not_idna2008")),
        ] {
            let evidence = Evidence { domain: Some(Arc::default()), ..Evidence::default() };
            let asked = Verification { domain: name.into(), ..verification(vec![], evidence) };
            let json = serde_json::to_value(VerdictView::explained(&asked)).unwrap();
            assert_eq!(json["evidence"]["domain"].get("note").and_then(serde_json::Value::as_str), note, "{name}");
        }
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
}
