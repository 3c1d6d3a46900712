//! Fates of recipients: the result of an answer, of no answer, or of running out of MX hosts.

use std::sync::Arc;

use super::{HeldReply, PlannedRetry, ProbeAction, ProbePlan, TEMPORARY_MS, UNREACHED_MS};
use crate::classify::{DialogStage, Meaning, ReplyReading};
use crate::smtp::reply::Reply;
use crate::verdict::{CatchAll, Mailbox, NotAsked, Silence};

/// Result of probing one recipient, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientReport {
    /// Observation for the verdict.
    pub mailbox: Mailbox,
    /// The MX host.
    pub exchanger: Option<Arc<str>>,
    /// Stage of the deciding reply.
    pub stage: Option<DialogStage>,
    /// Text of the deciding reply.
    pub text: String,
    /// Whether the domain is a catch-all, as far as the plan knows.
    pub catch_all: CatchAll,
}

/// Final state of a recipient in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipientFate {
    /// The result is final.
    Settled(RecipientReport),
    /// A retry may tell more.
    Later {
        /// The result so far.
        told: RecipientReport,
        /// Delay of the retry, in milliseconds.
        after_ms: i64,
        /// Cause, as a token.
        why: &'static str,
        /// Whether the retry must use the same source IP.
        same_source: bool,
    },
}

impl ProbePlan {
    /// Fate of a recipient whose session sent more replies than it got commands.
    pub fn withdrawn(&self) -> RecipientFate {
        let told = self.silent(Silence::Protocol, Some(DialogStage::Rcpt));
        let why = crate::verdict::silence_token(Silence::Protocol);
        RecipientFate::Later { told, after_ms: UNREACHED_MS, why, same_source: true }
    }

    /// Defers all open recipients because of our own limits or an open circuit breaker, including acceptances that wait for a
    /// random recipient.
    pub fn defer(&mut self, why: NotAsked, after_ms: i64) {
        let told = self.not_asked(Mailbox::NotAsked(why));
        let token = match why {
            NotAsked::Blocked => "blocked",
            NotAsked::Dns => "dns_temporary",
            NotAsked::Opaque | NotAsked::Budget => "budget",
        };
        if self.asks_randoms() {
            self.randoms.put_off.get_or_insert(PlannedRetry { after_ms, why: token, ours: Some(why) });
        }
        self.defer_all(&told, after_ms, token);
    }

    /// Settles all recipients without a probe.
    pub fn settle_all(&mut self, mailbox: &Mailbox) {
        let told = self.not_asked(mailbox.clone());
        self.settle_pending(&told);
    }

    fn settle_pending(&mut self, told: &RecipientReport) {
        for recipient in std::mem::take(&mut self.pending) {
            self.fates.push((recipient, RecipientFate::Settled(told.clone())));
        }
    }

    pub(super) fn defer_all(&mut self, told: &RecipientReport, after_ms: i64, why: &'static str) {
        self.randoms.useless = true;
        for recipient in std::mem::take(&mut self.pending) {
            self.later(recipient, told.clone(), after_ms, why, false);
        }
    }

    pub(super) fn later(
        &mut self,
        recipient: u32,
        told: RecipientReport,
        after_ms: i64,
        why: &'static str,
        same_source: bool,
    ) {
        self.fates.push((recipient, RecipientFate::Later { told, after_ms, why, same_source }));
    }

    /// Gives the result of the last MX host to all open recipients, because no host is left.
    pub(super) fn give_up(&mut self) -> ProbeAction {
        self.settle_doubted_before();
        let told = match self.last.take() {
            Some(told) => told,
            None => self.not_asked(self.hosts.unusable()),
        };
        match told.mailbox {
            Mailbox::Unroutable(_) | Mailbox::NotAsked(NotAsked::Opaque) => {
                let mailbox = told.mailbox.clone();
                self.settle_all(&mailbox);
            }
            Mailbox::NotAsked(_) => self.defer_all(&told, UNREACHED_MS, "dns_temporary"),
            Mailbox::Silent(how) => self.defer_all(&told, UNREACHED_MS, crate::verdict::silence_token(how)),
            // No host takes mail for the domain; a retry changes nothing.
            Mailbox::Replied { meaning: Meaning::NotResponsible, .. } => self.settle_pending(&told),
            Mailbox::Replied { .. } => self.defer_all(&told, TEMPORARY_MS, "temporary"),
        }
        self.finish()
    }

    pub(super) fn finish(&mut self) -> ProbeAction {
        let accepted = std::mem::take(&mut self.accepted);
        let unchecked = self.catch_all == CatchAll::No && self.must_check();
        self.settle_held(accepted, if unchecked { CatchAll::Suspect } else { self.catch_all });
        let denied = std::mem::take(&mut self.denied);
        self.settle_held(denied, self.catch_all);
        self.settle_doubted();
        ProbeAction::Done
    }

    /// `catch_all` applies to these recipients; it is `Suspect` also if a due check did not happen.
    pub(super) fn settle_held(&mut self, held: Vec<HeldReply>, catch_all: CatchAll) {
        let undecided =
            catch_all == CatchAll::Unknown || (catch_all == CatchAll::Suspect && self.catch_all == CatchAll::No);
        for HeldReply { recipient, reading, reply } in held {
            // The acceptance counts once the random recipient has an answer.
            let put_off = self.randoms.put_off.filter(|_| undecided && reading.meaning == Meaning::Accepted);
            let told = match put_off {
                Some(PlannedRetry { ours: Some(why), .. }) => self.not_asked(Mailbox::NotAsked(why)),
                _ => self.report_with(DialogStage::Rcpt, reply, &reading, catch_all),
            };
            match put_off {
                Some(PlannedRetry { after_ms, why, .. }) => self.later(recipient, told, after_ms, why, true),
                None => self.fates.push((recipient, RecipientFate::Settled(told))),
            }
        }
    }

    pub(super) fn report(&self, stage: DialogStage, reply: Reply, reading: &ReplyReading) -> RecipientReport {
        self.report_with(stage, reply, reading, self.catch_all)
    }

    fn report_with(
        &self,
        stage: DialogStage,
        reply: Reply,
        reading: &ReplyReading,
        catch_all: CatchAll,
    ) -> RecipientReport {
        let mailbox = Mailbox::Replied {
            meaning: reading.meaning,
            code: reply.code,
            enhanced: reply.enhanced,
            rule: reading.rule.clone(),
            catch_all,
            accepts_others: self.seen.accepts,
        };
        RecipientReport {
            mailbox,
            exchanger: self.current().map(|mx| mx.host.clone()),
            stage: Some(stage),
            text: reply.text,
            catch_all,
        }
    }

    pub(super) fn silent(&self, how: Silence, stage: Option<DialogStage>) -> RecipientReport {
        RecipientReport { stage, ..self.not_asked(Mailbox::Silent(how)) }
    }

    fn not_asked(&self, mailbox: Mailbox) -> RecipientReport {
        RecipientReport {
            mailbox,
            exchanger: self.current().map(|mx| mx.host.clone()),
            stage: None,
            text: String::new(),
            catch_all: self.catch_all,
        }
    }

    pub(super) fn pause_ms(&self, reading: &ReplyReading) -> i64 {
        reading
            .retry_after_ms
            .unwrap_or_else(|| self.hosts.policy().map_or(TEMPORARY_MS, |policy| policy.breaker_ms_min))
    }
}
