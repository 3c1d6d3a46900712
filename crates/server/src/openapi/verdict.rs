//! The schema of a verdict.
//!
//! The verdict itself is `probity_core::verdict::view::VerdictView`, whose crate knows nothing of OpenAPI. The types here
//! describe its JSON and are never made; a test below validates real verdicts against them, in both directions: a field that
//! one side has and the other has not fails it.

use std::borrow::Cow;

use probity_core::verdict::{EvidenceSource, Reason, Status};
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::schema::one_of;

/// The verdict on one address.
#[expect(clippy::struct_excessive_bools, reason = "the contract has a flag for each question")]
#[derive(Debug, ToSchema)]
#[schema(as = Verdict, examples(passed, refused))]
pub struct VerdictSchema {
    /// The address as it was sent, without white space around it.
    pub email: String,
    /// The domain in lower-case A-labels, `""` where there is none.
    pub domain: String,
    /// What to do with the address.
    #[schema(value_type = StatusName)]
    pub status: String,
    /// The reason for the status.
    #[schema(value_type = ReasonName)]
    pub reason: String,
    /// Whether the status is `passed`.
    pub passed: bool,
    /// A role mailbox (info@, postmaster@).
    pub role: bool,
    /// A throw-away service.
    pub disposable: bool,
    /// A free mail provider.
    pub free: bool,
    /// A relay, forwarding or masking service. Does not change the verdict.
    pub relay: bool,
    /// The local part looks random. Does not change the verdict.
    pub gibberish: bool,
    /// A whole address that was perhaps meant, `""` where none is. Does not change the verdict.
    pub suggestion: String,
    /// What decided, as a short stable token, `""` where the address passed.
    pub meta: String,
    /// What the verdict rests on; only with `explain=true`.
    #[schema(nullable = false)]
    pub evidence: Option<EvidenceSchema>,
}

/// What a verdict rests on. Parts that were not needed are null.
#[derive(Debug, ToSchema)]
#[schema(as = Evidence)]
pub struct EvidenceSchema {
    /// Everything that was found, the reported finding first; empty where the address passed.
    pub findings: Vec<FindingSchema>,
    /// What the DNS says of the domain.
    #[schema(required)]
    pub domain: Option<DomainSchema>,
    /// What a mail server answered.
    #[schema(required)]
    pub probe: Option<ProbeSchema>,
    /// Where the time went, in milliseconds.
    pub timings_ms: TimingsSchema,
    /// Where the deciding facts came from; null where nothing was asked.
    #[schema(schema_with = source, required)]
    pub source: Option<String>,
    /// How old they are, in seconds.
    #[schema(examples(0))]
    pub age_s: u32,
}

/// One thing that was found and that speaks against mailing the address.
#[derive(Debug, ToSchema)]
#[schema(as = Finding)]
pub struct FindingSchema {
    /// What was found.
    #[schema(value_type = ReasonName)]
    pub reason: String,
    /// What decided, as a short stable token.
    #[schema(examples("smtp_550_5.1.1"))]
    pub meta: String,
    /// The rule that made the finding.
    #[schema(examples("generic.no_such_user"))]
    pub rule: String,
}

/// What the DNS says of a domain.
#[derive(Debug, ToSchema)]
#[schema(as = DomainEvidence)]
pub struct DomainSchema {
    /// Whether the name exists; null where that could not be found out.
    #[schema(required)]
    pub exists: Option<bool>,
    /// The mail exchangers in the order in which they are asked.
    pub mx: Vec<MxSchema>,
    /// Whether the domain says that it takes no mail (RFC 7505).
    pub null_mx: bool,
    /// The mail provider that the exchangers belong to.
    #[schema(required, examples("google"))]
    pub provider: Option<String>,
}

/// One mail exchanger.
#[derive(Debug, ToSchema)]
#[schema(as = MailExchanger)]
pub struct MxSchema {
    /// Lower is asked first.
    #[schema(examples(10))]
    pub preference: u16,
    /// The exchanger's name.
    #[schema(examples("mx.example.com"))]
    pub host: String,
}

/// What a mail server answered.
#[derive(Debug, ToSchema)]
#[schema(as = ProbeEvidence)]
pub struct ProbeSchema {
    /// The exchanger that was asked.
    #[schema(examples("mx.example.com"))]
    pub host: String,
    /// The address that was dialled.
    #[schema(required, examples("192.0.2.1"))]
    pub ip: Option<String>,
    /// Whether the deciding question went over TLS.
    pub tls: bool,
    /// Where in the dialogue the deciding reply came; null where there was none.
    #[schema(schema_with = stage, required)]
    pub stage: Option<String>,
    /// The reply's code.
    #[schema(required, examples(550), minimum = 200, maximum = 599)]
    pub code: Option<u16>,
    /// The reply's enhanced code (RFC 3463).
    #[schema(required, examples("5.1.1"), pattern = "^[245]\\.[0-9]{1,3}\\.[0-9]{1,3}$")]
    pub enhanced: Option<String>,
    /// The reply's text: printable, at most 512 bytes, without the address that was asked about.
    #[schema(required, examples("no such user"), max_length = 512)]
    pub text: Option<String>,
    /// The rule that read the reply.
    #[schema(examples("generic.no_such_user"))]
    pub rule: String,
    /// How many times the address was asked about.
    #[schema(examples(1))]
    pub attempts: u32,
    /// Whether the exchanger accepts any local part of the domain; null where that is not known.
    #[schema(required)]
    pub catch_all: Option<bool>,
    /// The conversation, in order. Empty where it was not kept: `source` is `cache`.
    pub steps: Vec<StepSchema>,
}

/// What came of one step of a conversation with a mail server.
#[derive(Debug, ToSchema)]
#[schema(as = ProbeStep)]
pub struct StepSchema {
    /// The exchanger.
    #[schema(examples("mx.example.com"))]
    pub host: String,
    /// What was being waited for.
    #[schema(schema_with = stage_of_step)]
    pub stage: String,
    /// Whether the question was about a made-up recipient, to learn whether the domain takes mail for anybody.
    pub random: bool,
    /// The reply's code; null where no reply came.
    #[schema(required, examples(550), minimum = 200, maximum = 599)]
    pub code: Option<u16>,
    /// The reply's enhanced code (RFC 3463).
    #[schema(required, examples("5.1.1"), pattern = "^[245]\\.[0-9]{1,3}\\.[0-9]{1,3}$")]
    pub enhanced: Option<String>,
    /// The reply's text: printable, at most 512 bytes, without addresses and without names and addresses of ours; empty where the
    /// server greets us back, which repeats those.
    #[schema(required, examples("no such user"), max_length = 512)]
    pub text: Option<String>,
    /// When, in milliseconds from the beginning of the probe.
    #[schema(examples(140))]
    pub at_ms: u32,
}

/// Where the time went, in milliseconds.
#[derive(Debug, ToSchema)]
#[schema(as = Timings)]
pub struct TimingsSchema {
    /// Names.
    #[schema(examples(12))]
    pub dns: u32,
    /// Connecting.
    #[schema(examples(31))]
    pub connect: u32,
    /// The dialogue.
    #[schema(examples(140))]
    pub smtp: u32,
    /// From question to verdict.
    #[schema(examples(184))]
    pub total: u32,
}

/// One of the four statuses.
#[derive(Debug)]
pub struct StatusName;

impl PartialSchema for StatusName {
    fn schema() -> RefOr<Schema> {
        let meaning = "`passed`: safe to send. `undeliverable`: no mailbox or invalid. `risky`: deliverable, but flagged. \
             `unknown`: could not be determined, and that includes domains that accept every address.";
        one_of(Status::ALL.map(Status::as_str), meaning).into()
    }
}

impl ToSchema for StatusName {
    fn name() -> Cow<'static, str> {
        "Status".into()
    }
}

/// One of the seventeen reasons.
#[derive(Debug)]
pub struct ReasonName;

impl PartialSchema for ReasonName {
    fn schema() -> RefOr<Schema> {
        let meaning = "The reason for a status. Where several things were found, the first in this order is reported.";
        one_of(Reason::ALL.iter().map(|reason| reason.as_str()), meaning).into()
    }
}

impl ToSchema for ReasonName {
    fn name() -> Cow<'static, str> {
        "Reason".into()
    }
}

fn source() -> Object {
    let sources = [EvidenceSource::Cache, EvidenceSource::Dns, EvidenceSource::Smtp, EvidenceSource::Sandbox];
    let meaning = "`cache`: an earlier verdict, still fresh. `dns`, `smtp`: asked now. `sandbox`: the documented outcome for \
         a `test` key. Null where nothing was asked: syntax and lists decided.";
    or_null(one_of(sources.into_iter().filter_map(EvidenceSource::name), meaning))
}

const STAGES: [&str; 6] = ["connect", "ehlo", "starttls", "mail", "rcpt", "unsolicited"];

fn stage_of_step() -> Object {
    one_of(STAGES, "What was being waited for; `unsolicited` where the server spoke without being asked.")
}

fn stage() -> Object {
    or_null(one_of(STAGES, "Where in the dialogue the deciding reply came; null where there was none."))
}

fn or_null(mut schema: Object) -> Object {
    schema.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
    schema.enum_values.get_or_insert_default().push(Value::Null);
    schema
}

fn passed() -> Value {
    json!({
        "email": "jo@example.com", "domain": "example.com", "status": "passed", "reason": "valid", "passed": true,
        "role": false, "disposable": false, "free": false, "relay": false, "gibberish": false,
        "suggestion": "", "meta": ""
    })
}

fn step(stage: &str, code: u16, text: &str, at_ms: u32) -> Value {
    json!({
        "host": "mx.exmaple.com", "stage": stage, "random": false, "code": code, "enhanced": null, "text": text, "at_ms": at_ms
    })
}

fn refused() -> Value {
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

#[cfg(test)]
mod tests;
