//! SMTP dialog of a live call, in displayable form: redacted, bounded, in order.
//!
//! Jobs record none: nobody reads a million of them, and memory is sized for jobs.

use std::sync::Arc;

use probity_mail::classify::DialogStage;
use probity_mail::smtp::session::{End, RcptAnswer, TranscriptReply};
use probity_mail::time::Millis;
use probity_mail::verdict::ProbeStep;

use super::Probe;
use crate::probe::redact::redact;
use crate::request::Effort;

/// Maximum steps recorded: those of several MX hosts, one after the other.
const STEPS_MAX: usize = 48;

impl Probe<'_> {
    /// Whether replies are recorded.
    pub(super) fn keeps_steps(&self) -> bool {
        self.asker.effort == Effort::Live
    }

    /// Records the current MX host's replies.
    pub(super) fn record_replies(&mut self, said: Vec<TranscriptReply>) {
        for TranscriptReply { stage, code, enhanced, text, at } in said {
            // A server's greeting repeats our name and address, whatever we call ourselves (RFC 5321 §4.1.1.1).
            let greeting = stage == DialogStage::Ehlo && code / 100 == 2;
            let text = if greeting { String::new() } else { redact(text, &self.parts.sources) };
            let Some(host) = self.host() else { return };
            let at_ms = self.at_ms(at);
            self.step(ProbeStep { host, stage, random: false, code: Some(code), enhanced, text, at_ms });
        }
    }

    /// Records that the current MX host sent no reply.
    pub(super) fn said_nothing(&mut self, stage: DialogStage) {
        let Some(host) = self.host().filter(|_| self.keeps_steps()) else { return };
        let at_ms = self.at_ms(self.parts.clock.now());
        let (code, enhanced, text) = (None, None, String::new());
        self.step(ProbeStep { host, stage, random: false, code, enhanced, text, at_ms });
    }

    /// Records the replies of a flight. `random` if its last recipient was random.
    pub(super) fn record_flight(
        &mut self,
        said: Vec<TranscriptReply>,
        answers: &[RcptAnswer],
        random: bool,
        end: Option<&End>,
    ) {
        let before = self.asked.steps.len();
        self.record_replies(said);
        let asked = answers.iter().filter(|answer| **answer != RcptAnswer::NeedsSmtpUtf8).count();
        let mut told = self.asked.steps[before..].iter_mut().filter(|step| step.stage == DialogStage::Rcpt);
        if random && let Some(last) = asked.checked_sub(1).and_then(|last| told.nth(last)) {
            last.random = true;
        }
        if let Some(End::Closed { stage } | End::TimedOut { stage } | End::Protocol { stage, .. }) = end {
            self.said_nothing(*stage);
        }
    }

    fn host(&self) -> Option<Arc<str>> {
        self.plan.current().map(|exchanger| exchanger.host.clone())
    }

    fn at_ms(&self, at: Millis) -> u32 {
        u32::try_from(at.since(self.began)).unwrap_or_default()
    }

    fn step(&mut self, step: ProbeStep) {
        if self.asked.steps.len() < STEPS_MAX {
            self.asked.steps.push(step);
        }
    }
}
