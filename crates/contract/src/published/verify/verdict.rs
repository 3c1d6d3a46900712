//! Schema of a verdict.
//!
//! Verdicts are serialized by `probity_mail::verdict::view::VerdictView`, in a crate without OpenAPI. The types here only
//! describe that JSON and are never created. A test validates real verdicts of every shape against them and fails on any field
//! that only one side has.

use probity_mail::domain::UnusualName;
use probity_mail::verdict::{EvidenceSource, Reason, Status};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::schema::{describe, one_of, or_null, schemas};

/// Verdict on one address.
#[expect(clippy::struct_excessive_bools, reason = "the contract has a flag for each question")]
#[derive(Debug, ToSchema)]
#[schema(as = Verdict, examples(passed, refused))]
pub struct VerdictSchema {
    /// Address as sent, including surrounding white space.
    pub email: String,
    /// Domain in lowercase A-labels; `""` if there is none.
    pub domain: String,
    /// Status of the address.
    #[schema(value_type = StatusName)]
    pub status: String,
    /// Reason for the status.
    #[schema(value_type = ReasonName)]
    pub reason: String,
    /// Whether the status is `passed`.
    pub passed: bool,
    /// Whether the address is a role mailbox (info@, postmaster@).
    pub role: bool,
    /// Whether the domain belongs to a disposable email service.
    pub disposable: bool,
    /// Whether the domain belongs to a free email provider.
    pub free: bool,
    /// Whether the domain belongs to a relay, forwarding or masking service. Does not change the verdict.
    pub relay: bool,
    /// Whether the local part looks random. Does not change the verdict.
    pub gibberish: bool,
    /// Complete address that was probably intended; `""` if there is none. Does not change the verdict.
    pub suggestion: String,
    /// Deciding fact, as a short stable token; `""` if the address passed.
    pub meta: String,
    /// Evidence for the verdict; only with `explain=true`.
    #[schema(nullable = false)]
    pub evidence: Option<Evidence>,
}

/// Evidence for a verdict. Parts that were not needed are null.
#[derive(Debug, ToSchema)]
pub struct Evidence {
    /// All findings, the reported one first; empty if the address passed.
    pub findings: Vec<Finding>,
    /// DNS facts about the domain.
    #[schema(required)]
    pub domain: Option<DomainEvidence>,
    /// Reply of an MX host.
    #[schema(required)]
    pub probe: Option<ProbeEvidence>,
    /// Durations in milliseconds.
    pub timings_ms: Timings,
    #[schema(schema_with = source, required)]
    pub source: Option<String>,
    /// Age of the deciding facts, in seconds.
    #[schema(examples(0))]
    pub age_s: u32,
}

/// A finding that speaks against mailing the address.
#[derive(Debug, ToSchema)]
pub struct Finding {
    /// Reason for which the address was flagged.
    #[schema(value_type = ReasonName)]
    pub reason: String,
    /// Deciding fact, as a short stable token.
    #[schema(examples("smtp_550_5.1.1"))]
    pub meta: String,
    /// Rule that made the finding.
    #[schema(examples("generic.no_such_user"))]
    pub rule: String,
}

/// DNS facts about a domain.
#[derive(Debug, ToSchema)]
pub struct DomainEvidence {
    /// Whether the name exists; null if that could not be determined.
    #[schema(required)]
    pub exists: Option<bool>,
    /// MX hosts, in the order in which they are tried; then MX records that name no usable host, such as an IP address.
    pub mx: Vec<MailExchanger>,
    /// Whether the domain has a null MX: it accepts no mail (RFC 7505).
    pub null_mx: bool,
    /// Mail provider of the MX hosts; null if unknown.
    #[schema(required, examples("google"))]
    pub provider: Option<String>,
    #[schema(schema_with = unusual_name)]
    pub note: Option<String>,
}

/// An MX host.
#[derive(Debug, ToSchema)]
pub struct MailExchanger {
    /// Preference; lower values are tried first.
    #[schema(examples(10))]
    pub preference: u16,
    /// Host name.
    #[schema(examples("mx.example.com"))]
    pub host: String,
}

/// Reply of an MX host.
#[derive(Debug, ToSchema)]
pub struct ProbeEvidence {
    /// MX host that was probed.
    #[schema(examples("mx.example.com"))]
    pub host: String,
    /// IP address that was contacted.
    #[schema(required, examples("192.0.2.1"))]
    pub ip: Option<String>,
    /// Whether the deciding command was sent over TLS.
    pub tls: bool,
    #[schema(schema_with = stage, required)]
    pub stage: Option<String>,
    /// Reply code.
    #[schema(required, examples(550), minimum = 200, maximum = 599)]
    pub code: Option<u16>,
    /// Enhanced status code of the reply (RFC 3463).
    #[schema(required, examples("5.1.1"), pattern = "^[245]\\.[0-9]{1,3}\\.[0-9]{1,3}$")]
    pub enhanced: Option<String>,
    /// Text of the reply: printable, at most 512 bytes, without the probed address.
    #[schema(required, examples("no such user"), max_length = 512)]
    pub text: Option<String>,
    /// Rule that classified the reply.
    #[schema(examples("generic.no_such_user"))]
    pub rule: String,
    /// Number of times the address was probed.
    #[schema(examples(1))]
    pub attempts: u32,
    /// Whether the MX host accepts every recipient of the domain; null if unknown.
    #[schema(required)]
    pub catch_all: Option<bool>,
    /// Steps of the SMTP dialog, in order. Empty if they were not kept: `source` is `cache`.
    pub steps: Vec<ProbeStep>,
}

/// A step of an SMTP dialog.
#[derive(Debug, ToSchema)]
pub struct ProbeStep {
    /// MX host.
    #[schema(examples("mx.example.com"))]
    pub host: String,
    #[schema(schema_with = stage_of_step)]
    pub stage: String,
    /// Whether the step probed a random recipient, to detect a catch-all.
    pub random: bool,
    /// Reply code; null without a reply.
    #[schema(required, examples(550), minimum = 200, maximum = 599)]
    pub code: Option<u16>,
    /// Enhanced status code of the reply (RFC 3463).
    #[schema(required, examples("5.1.1"), pattern = "^[245]\\.[0-9]{1,3}\\.[0-9]{1,3}$")]
    pub enhanced: Option<String>,
    /// Text of the reply: printable, at most 512 bytes, without addresses and without our host names and IP addresses. Empty
    /// for the reply to `ehlo`, which repeats those.
    #[schema(required, examples("no such user"), max_length = 512)]
    pub text: Option<String>,
    /// Time since the start of the probe, in milliseconds.
    #[schema(examples(140))]
    pub at_ms: u32,
}

/// Durations in milliseconds.
#[derive(Debug, ToSchema)]
pub struct Timings {
    /// DNS lookups.
    #[schema(examples(12))]
    pub dns: u32,
    /// Connection setup.
    #[schema(examples(31))]
    pub connect: u32,
    /// SMTP dialog.
    #[schema(examples(140))]
    pub smtp: u32,
    /// Total from request to verdict.
    #[schema(examples(184))]
    pub total: u32,
}

/// Name of a status.
#[derive(Debug)]
pub struct StatusName;

describe!(StatusName as "Status" = one_of(Status::ALL.map(Status::as_str), "`passed`: safe to send. `undeliverable`: no \
    mailbox, or invalid. `risky`: deliverable but flagged. `unknown`: could not be determined, which includes catch-all \
    domains."));

/// Name of a reason.
#[derive(Debug)]
pub struct ReasonName;

describe!(ReasonName as "Reason" = one_of(Reason::ALL.iter().map(|reason| reason.as_str()), "Reason for a status. If there are \
    several findings, the first one in this order is reported."));

const SOURCES: [EvidenceSource; 4] =
    [EvidenceSource::Cache, EvidenceSource::Dns, EvidenceSource::Smtp, EvidenceSource::Sandbox];
const STAGES: [&str; 6] = ["connect", "ehlo", "starttls", "mail", "rcpt", "unsolicited"];

schemas! {
    source = or_null(one_of(SOURCES.into_iter().filter_map(EvidenceSource::name), "Source of the deciding facts. `cache`: an \
        earlier verdict that is still fresh. `dns`, `smtp`: looked up for this call. `sandbox`: the documented outcome for a \
        test key. Null if syntax and built-in lists decided."));
    unusual_name = one_of(UnusualName::ALL.iter().map(|unusual| unusual.as_str()), "What is unusual about the name, though DNS can hold it: \
        `underscore`, or `not_idna2008` for an A-label that IDNA 2008 does not allow. Absent for all other names.");
    stage_of_step = one_of(STAGES, "Stage that awaited a reply; `unsolicited` if the MX host sent one without a \
        command.");
    stage = or_null(one_of(STAGES, "Stage of the deciding reply; null without a reply."));
}

pub(super) fn passed() -> Value {
    json!({
        "email": "valid@sandbox.test", "domain": "sandbox.test", "status": "passed", "reason": "valid", "passed": true,
        "role": false, "disposable": false, "free": false, "relay": false, "gibberish": false,
        "suggestion": "", "meta": ""
    })
}

fn step(stage: &str, code: u16, text: &str, at_ms: u32) -> Value {
    json!({
        "host": "mx.exmaple.com", "stage": stage, "random": false, "code": code, "enhanced": null, "text": text, "at_ms": at_ms
    })
}

pub(super) fn refused() -> Value {
    json!({
        "email": "jo@exmaple.com", "domain": "exmaple.com", "status": "undeliverable", "reason": "nonexistent",
        "passed": false, "role": false, "disposable": false, "free": false, "relay": false, "gibberish": false,
        "suggestion": "jo@example.com", "meta": "smtp_550_5.1.1",
        "evidence": {
            "findings": [{"reason": "nonexistent", "meta": "smtp_550_5.1.1", "rule": "generic.no_such_user"}],
            "domain": {
                "exists": true, "mx": [{"preference": 10, "host": "mx.exmaple.com"}], "null_mx": false, "provider": null
            },
            "probe": {
                "host": "mx.exmaple.com", "ip": "192.0.2.1", "tls": true, "stage": "rcpt", "code": 550,
                "enhanced": "5.1.1", "text": "no such user", "rule": "generic.no_such_user", "attempts": 1,
                "catch_all": false,
                "steps": [
                    step("connect", 220, "mx.exmaple.com ESMTP", 31), step("ehlo", 250, "", 45), step("mail", 250, "ok", 170),
                    {
                        "host": "mx.exmaple.com", "stage": "rcpt", "random": false, "code": 550, "enhanced": "5.1.1",
                        "text": "no such user", "at_ms": 171
                    }
                ]
            },
            "timings_ms": {"dns": 12, "connect": 31, "smtp": 140, "total": 184}, "source": "smtp", "age_s": 0
        }
    })
}
