//! Verifies one address within a deadline.
//!
//! The probe runs in its own task, so it fills the cache even after its caller's deadline. A greylisted address is `unverified`
//! at first; a bounded number of background tasks retry it from the same source, up to [`BACKGROUND_TRIES`] times, and fill the
//! cache. A deadline that comes first gives `unverified` with the meta `timeout`, or `budget` where a limit of ours was the cause.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use probity_mail::address::Address;
use probity_mail::plan::{RecipientFate, RecipientReport};
use probity_mail::verdict::{Finding, Reason, Verification};

use crate::destination::Destination;
use crate::knowledge::Knowledge;
use crate::limits::held::LimitWaits;
use crate::parts::EngineParts;
use crate::probe::{Probe, ProbeRecord};
use crate::request::{Asker, Effort, LiveCall};
use crate::verifier::answer::{AddressSubject, invalid};

/// Maximum background retries of a greylisted address.
const BACKGROUND_TRIES: u32 = 3;

/// Verifies one address, within `live.timeout_ms`.
pub(crate) async fn verify(parts: &Arc<EngineParts>, email: &str, live: LiveCall) -> Verification {
    let (started, knowledge) = (parts.clock.now(), &parts.knowledge);
    let email: Arc<str> = email.into();
    let address = match knowledge.parse(&email) {
        Ok(address) => address,
        Err(error) => return invalid(knowledge, email, &error),
    };
    let normalized = address.normalized();
    if let Some(known) = knowledge.verdicts.recall(live.scope, &normalized, &email, started) {
        return known;
    }
    let subject = AddressSubject::new(email, address.domain().ascii().into(), &address, knowledge);
    let question =
        LiveQuestion { parts: parts.clone(), subject: subject.clone(), address, normalized, scope: live.scope };
    // A separate task: a call cut off by its deadline, or by a caller who left, still fills the cache.
    let held = LimitWaits::default();
    let probe = parts.work.spawn(held.clone().watch(question.ask()));
    let mut verification = match tokio::time::timeout(Duration::from_millis(live.timeout_ms), probe).await {
        Ok(Ok(verification)) => verification,
        Ok(Err(_)) => subject.without_probe(unverified("internal", "engine.probe_failed")),
        Err(_) if held.is_so() => subject.without_probe(unverified("budget", "engine.held_back")),
        Err(_) => subject.without_probe(unverified("timeout", "engine.deadline")),
    };
    let total = parts.clock.now().since(started);
    verification.evidence.timings.total = u32::try_from(total).unwrap_or(u32::MAX);
    verification
}

/// Builds the verdict of an address without probing.
pub(crate) fn facts_only(knowledge: &Knowledge, email: &str) -> Verification {
    let email: Arc<str> = email.into();
    match knowledge.parse(&email) {
        Ok(address) => AddressSubject::new(email, address.domain().ascii().into(), &address, knowledge)
            .without_probe(unverified("not_probed", "facts.not_probed")),
        Err(error) => invalid(knowledge, email, &error),
    }
}

/// Whether the server asked for a retry: nothing else is worth a background retry.
fn invited(why: &str) -> bool {
    matches!(why, "greylisted" | "in_progress")
}

fn unverified(meta: &'static str, rule: &str) -> Finding {
    Finding { reason: Reason::Unverified, meta: Cow::Borrowed(meta), rule: Arc::from(rule) }
}

struct LiveQuestion {
    parts: Arc<EngineParts>,
    subject: AddressSubject,
    address: Address,
    normalized: String,
    scope: u64,
}

/// Result of one probe of one address.
struct ProbeOutcome {
    told: RecipientReport,
    asked: ProbeRecord,
    /// Time of the retry, and whether the server asked for it.
    again_ms: Option<i64>,
}

impl LiveQuestion {
    async fn ask(self) -> Verification {
        let destination = self.destination(Effort::Live).await;
        let came = self.probe(&destination, Effort::Live, None).await;
        let verification = self.answered(&destination, came.told, &came.asked, 1);
        if let Some(after_ms) = came.again_ms {
            self.go_on(came.asked.source, after_ms);
        }
        verification
    }

    async fn destination(&self, effort: Effort) -> Destination {
        let EngineParts { names, knowledge, .. } = &*self.parts;
        Destination::find(names, knowledge, self.subject.domain.clone(), effort).await
    }

    async fn probe(&self, destination: &Destination, effort: Effort, source: Option<u16>) -> ProbeOutcome {
        let recipients = std::slice::from_ref(&self.address);
        let asker = Asker { effort, customer: self.scope };
        let probe = Probe::new(&self.parts, destination, recipients, asker, source).await;
        let mut came = None;
        probe
            .run(|fates, asked| {
                for (_, fate) in fates {
                    let (told, again_ms) = match fate {
                        RecipientFate::Settled(told) => (told, None),
                        RecipientFate::Later { told, after_ms, why, .. } => (told, invited(why).then_some(after_ms)),
                    };
                    came = Some(ProbeOutcome { told, asked: asked.clone(), again_ms });
                }
            })
            .await;
        came.expect("a plan gives each recipient a fate")
    }

    fn answered(
        &self,
        destination: &Destination,
        told: RecipientReport,
        asked: &ProbeRecord,
        attempts: u32,
    ) -> Verification {
        let EngineParts { knowledge, sources, clock, .. } = &*self.parts;
        let verification = self.subject.clone().answer((knowledge, sources), destination, told, asked, attempts);
        knowledge.verdicts.remember(self.scope, &self.normalized, &verification, clock.now());
        verification
    }

    /// Retries when the server asked for it, from the same source, and fills the cache.
    fn go_on(self, source: Option<u16>, after_ms: i64) {
        let work = self.parts.work.clone();
        let is_pointless = self.parts.knowledge.verdicts.is_off() || work.closing().is_cancelled();
        if is_pointless || after_ms > self.parts.config.patience_ms {
            return;
        }
        let Some(permit) = work.background() else { return };
        work.spawn(async move {
            let _permit = permit;
            let mut after_ms = after_ms;
            for attempt in 2..2 + BACKGROUND_TRIES {
                tokio::select! {
                    biased;
                    () = self.parts.work.closing().cancelled() => return,
                    () = self.parts.clock.wait_until(self.parts.clock.now() + after_ms) => {}
                }
                let destination = self.destination(Effort::Batch).await;
                let came = self.probe(&destination, Effort::Batch, source).await;
                let again_ms = came.again_ms;
                self.answered(&destination, came.told, &came.asked, attempt);
                match again_ms {
                    Some(again_ms) if again_ms <= self.parts.config.patience_ms => after_ms = again_ms,
                    _ => return,
                }
            }
        });
    }
}
