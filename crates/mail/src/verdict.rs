//! `Evidence -> findings -> Verdict`: what we say of an address in the end, and why.
//!
//! An address can have several findings (a role mailbox whose quota is used up). The engine keeps all of them; the verdict is
//! the first in the order of [`Reason::ALL`], and `valid` where there is none. The order and the statuses are those of the
//! published contract. [`judge()`] is the only place in which an answer of a mail server becomes a finding, so the rule that
//! a refusal of *us* never says anything about a mailbox is kept here and tested here.

mod evidence;
mod judge;
mod reason;
pub mod view;

pub use evidence::{DomainEvidence, Evidence, EvidenceSource, MxHost, ProbeEvidence, ProbeStep, Timings};
pub use judge::{CatchAll, Mailbox, NotAsked, Silence, judge, silence_token};
pub use reason::{Reason, Status};

use std::borrow::Cow;
use std::sync::Arc;

/// One thing that was found out about an address and that speaks against mailing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was found.
    pub reason: Reason,
    /// The token that says what decided (`nxdomain`, `smtp_550_5.1.1`, `greylisted`, ...).
    pub meta: Cow<'static, str>,
    /// The id of the rule that made the finding.
    pub rule: Arc<str>,
}

/// What we say of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The reported reason; its status is [`Reason::status`].
    pub reason: Reason,
    /// `""` for `valid`, else the token of the reported finding.
    pub meta: Cow<'static, str>,
    /// The rule that made the verdict, also where it is `valid`.
    pub rule: Arc<str>,
    /// All findings in the order of [`Reason::ALL`]; empty where the address is valid.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// The verdict that these findings give; `valid_rule` names what proved the mailbox where there are none.
    pub fn of(mut findings: Vec<Finding>, valid_rule: &Arc<str>) -> Self {
        findings.sort_by_key(|finding| finding.reason);
        match findings.first() {
            Some(first) => Self { reason: first.reason, meta: first.meta.clone(), rule: first.rule.clone(), findings },
            None => Self { reason: Reason::Valid, meta: Cow::Borrowed(""), rule: valid_rule.clone(), findings },
        }
    }

    /// The status of the reported reason.
    pub fn status(&self) -> Status {
        self.reason.status()
    }
}

/// What lists and models say of an address. None of it but `role` and `disposable` touches the verdict.
#[expect(clippy::struct_excessive_bools, reason = "the contract has five independent flags")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flags {
    /// A role mailbox (info@, postmaster@).
    pub role: bool,
    /// A throw-away service, by its domain or by its exchanger.
    pub disposable: bool,
    /// A free mail provider.
    pub free: bool,
    /// A relay, forwarding or masking service.
    pub relay: bool,
    /// The local part looks random.
    pub gibberish: bool,
}

/// Everything that the engine says of one address.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The text that was asked about, as it came.
    pub email: Arc<str>,
    /// The domain in lower-case A-labels; empty where the text is no address.
    pub domain: Arc<str>,
    /// The raw verdict.
    pub verdict: Verdict,
    /// What lists and models say.
    pub flags: Flags,
    /// How random the local part looks, 0 to 1.
    pub gibberish_score: f32,
    /// A whole address that was perhaps meant.
    pub suggestion: Option<String>,
    /// What the verdict rests on.
    pub evidence: Evidence,
}
