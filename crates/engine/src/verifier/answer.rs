//! Builds the verdict with its evidence from the fate of an address and the findings of lists.
//!
//! Mailboxes and our own network addresses are removed from server texts before they become evidence
//! ([`mod@crate::probe::redact`]).

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use probity_mail::address::{Address, AddressError};
use probity_mail::facts::Facts;
use probity_mail::facts::suggest::written_like;
use probity_mail::plan::RecipientReport;
use probity_mail::verdict::{
    CatchAll, Evidence, EvidenceSource, Finding, Flags, Mailbox, ProbeEvidence, Reason, Verdict, Verification, judge,
};

use crate::destination::Destination;
use crate::knowledge::Knowledge;
use crate::pace::sources::SourcePool;
use crate::probe::ProbeRecord;
use crate::probe::redact::redact;

/// Names of list rules, shared by all verdicts.
struct ListRules {
    role: Arc<str>,
    disposable: Arc<str>,
    disposable_exchanger: Arc<str>,
    parked: Arc<str>,
    accepted: Arc<str>,
}

static LIST_RULES: LazyLock<ListRules> = LazyLock::new(|| ListRules {
    role: "list.role".into(),
    disposable: "list.disposable".into(),
    disposable_exchanger: "list.disposable_exchanger".into(),
    parked: "list.parked_exchanger".into(),
    accepted: "plan.accepted".into(),
});

/// Address being verified.
#[derive(Clone, Debug)]
pub(crate) struct AddressSubject {
    pub(crate) email: Arc<str>,
    pub(crate) domain: Arc<str>,
    pub(crate) facts: Facts,
}

impl AddressSubject {
    pub(crate) fn new(email: Arc<str>, domain: Arc<str>, address: &Address, knowledge: &Knowledge) -> Self {
        let facts = knowledge.lists.facts(address.local(), address.domain().ascii());
        Self { email, domain, facts }
    }

    /// Builds the verdict from a probe's fate.
    pub(crate) fn answer(
        self,
        (knowledge, sources): (&Knowledge, &SourcePool),
        place: &Destination,
        told: RecipientReport,
        asked: &ProbeRecord,
        attempts: u32,
    ) -> Verification {
        let valid_rule = match &told.mailbox {
            Mailbox::Replied { rule, .. } => rule.clone(),
            _ => LIST_RULES.accepted.clone(),
        };
        let takes_no_mail = place.takes_no_mail(&told.mailbox);
        let by_exchanger = place.disposable && !knowledge.lists.guarded(&self.domain);
        let mut findings = self.listed(by_exchanger, place.parked);
        findings.extend(judge(&told.mailbox));
        let evidence = evidence(sources, place, told, asked, attempts, &valid_rule);
        let disposable = self.facts.disposable || by_exchanger;
        self.verification(Verdict::of(findings, &valid_rule), evidence, disposable, takes_no_mail)
    }

    /// Builds the verdict of an address that was not probed.
    pub(crate) fn without_probe(self, why: Finding) -> Verification {
        let mut findings = self.listed(false, false);
        findings.push(why);
        let disposable = self.facts.disposable;
        self.verification(Verdict::of(findings, &LIST_RULES.accepted), Evidence::default(), disposable, false)
    }

    /// Findings of the lists: `disposable` and `parked` are theirs about the MX hosts.
    fn listed(&self, disposable: bool, parked: bool) -> Vec<Finding> {
        let rules = &*LIST_RULES;
        let found = [
            (self.facts.disposable, Reason::Disposable, "disposable_domain", &rules.disposable),
            (
                disposable && !self.facts.disposable,
                Reason::Disposable,
                "disposable_exchanger",
                &rules.disposable_exchanger,
            ),
            (self.facts.role, Reason::RoleBased, "role", &rules.role),
            (parked, Reason::Available, "parked", &rules.parked),
        ];
        found
            .into_iter()
            .filter(|(holds, ..)| *holds)
            .map(|(_, reason, meta, rule)| Finding { reason, meta: Cow::Borrowed(meta), rule: rule.clone() })
            .collect()
    }

    fn verification(self, verdict: Verdict, evidence: Evidence, disposable: bool, takes_no_mail: bool) -> Verification {
        let Facts { role, free, relay, gibberish, gibberish_score, suggestion, .. } = self.facts;
        Verification {
            suggestion: suggestion
                .and_then(|meant| meant.asserted(takes_no_mail))
                .map(|meant| written_like(&self.email, meant)),
            email: self.email,
            domain: self.domain,
            verdict,
            flags: Flags { role, disposable, free, relay, gibberish },
            gibberish_score,
            evidence,
        }
    }
}

/// Builds the verdict of a text that is not an address.
pub(crate) fn invalid(knowledge: &Knowledge, email: Arc<str>, error: &AddressError) -> Verification {
    let rule: Arc<str> = Arc::from(format!("syntax.{}", error.reason.as_str()));
    let finding = Finding { reason: Reason::Invalid, meta: Cow::Borrowed("syntax"), rule: rule.clone() };
    Verification {
        suggestion: knowledge.lists.suggest_text(&email).map(|meant| written_like(&email, meant)),
        email,
        domain: Arc::from(""),
        verdict: Verdict::of(vec![finding], &rule),
        flags: Flags::default(),
        gibberish_score: 0.0,
        evidence: Evidence::default(),
    }
}

fn evidence(
    sources: &SourcePool,
    place: &Destination,
    told: RecipientReport,
    asked: &ProbeRecord,
    attempts: u32,
    valid_rule: &Arc<str>,
) -> Evidence {
    let (code, enhanced, rule) = match &told.mailbox {
        Mailbox::Replied { code, enhanced, rule, .. } => (Some(*code), *enhanced, rule.clone()),
        _ => (None, None, valid_rule.clone()),
    };
    let probed = matches!(told.mailbox, Mailbox::Replied { .. } | Mailbox::Silent(_));
    let probe = told.exchanger.filter(|_| probed).map(|host| {
        Box::new(ProbeEvidence {
            host,
            ip: asked.address,
            tls: asked.tls,
            stage: told.stage,
            code,
            enhanced,
            text: redact(told.text, sources),
            rule,
            attempts,
            catch_all: match told.catch_all {
                CatchAll::Yes => Some(true),
                CatchAll::No => Some(false),
                CatchAll::Unknown | CatchAll::Suspect => None,
            },
            steps: asked.steps.as_slice().into(),
        })
    });
    let source = if probe.is_some() { EvidenceSource::Smtp } else { EvidenceSource::Dns };
    Evidence { domain: Some(place.evidence.clone()), probe, timings: asked.timings, source, age_s: 0 }
}
