//! How recipients come to their fates: what an answer, a silence or the end of the exchangers means for them.

use std::sync::Arc;

use super::{Action, Held, Plan, TEMPORARY_MS, UNREACHED_MS};
use crate::classify::{Meaning, Reading, Stage};
use crate::smtp::reply::Reply;
use crate::verdict::{CatchAll, Mailbox, NotAsked, Silence};

/// What asking about one recipient came to, with what evidence needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The observation.
    pub mailbox: Mailbox,
    /// The exchanger that was asked.
    pub exchanger: Option<Arc<str>>,
    /// Where the deciding reply came.
    pub stage: Option<Stage>,
    /// The deciding reply's text.
    pub text: String,
    /// Whether the domain accepts any local part, as far as the plan knows.
    pub catch_all: CatchAll,
}

/// What becomes of a recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// That is it.
    Settled(Told),
    /// It may be known later; `told` is what is known now.
    Later {
        /// What is known now.
        told: Told,
        /// When to ask again, in milliseconds from now.
        after_ms: i64,
        /// Why, as a token.
        why: &'static str,
        /// Whether only the same source may ask again.
        same_source: bool,
    },
}

impl Plan {
    /// What becomes of a recipient whose fate rests on a session that turned out to have sent more replies than it got commands.
    pub fn withdrawn(&self) -> Fate {
        let told = self.silent(Silence::Protocol, Some(Stage::Rcpt));
        let why = crate::verdict::silence_token(Silence::Protocol);
        Fate::Later { told, after_ms: UNREACHED_MS, why, same_source: true }
    }

    /// Nothing more may be asked for now: our own limits, or an open circuit.
    pub fn defer(&mut self, why: NotAsked, after_ms: i64) {
        let told = self.not_asked(Mailbox::NotAsked(why));
        let token = match why {
            NotAsked::Blocked => "blocked",
            NotAsked::Dns => "dns_temporary",
            NotAsked::Opaque | NotAsked::Budget => "budget",
        };
        self.defer_all(&told, after_ms, token);
    }

    /// Nobody is asked at all; that will not change.
    pub fn settle_all(&mut self, mailbox: &Mailbox) {
        let told = self.not_asked(mailbox.clone());
        self.settle_pending(&told);
    }

    fn settle_pending(&mut self, told: &Told) {
        for recipient in std::mem::take(&mut self.pending) {
            self.fates.push((recipient, Fate::Settled(told.clone())));
        }
    }

    pub(super) fn defer_all(&mut self, told: &Told, after_ms: i64, why: &'static str) {
        self.randoms.useless = true;
        for recipient in std::mem::take(&mut self.pending) {
            self.later(recipient, told.clone(), after_ms, why, false);
        }
    }

    pub(super) fn later(&mut self, recipient: u32, told: Told, after_ms: i64, why: &'static str, same_source: bool) {
        self.fates.push((recipient, Fate::Later { told, after_ms, why, same_source }));
    }

    /// No exchanger is left: what the last one came to is the answer for all who are still waiting.
    pub(super) fn give_up(&mut self) -> Action {
        let told = match self.last.take() {
            Some(told) => told,
            None => self.not_asked(self.hosts.unusable()),
        };
        match told.mailbox {
            Mailbox::Unroutable(_) => {
                let mailbox = told.mailbox.clone();
                self.settle_all(&mailbox);
            }
            Mailbox::NotAsked(_) => self.defer_all(&told, UNREACHED_MS, "dns_temporary"),
            Mailbox::Silent(how) => self.defer_all(&told, UNREACHED_MS, crate::verdict::silence_token(how)),
            // No host wants to be responsible: coming back changes nothing.
            Mailbox::Replied { meaning: Meaning::NotResponsible, .. } => self.settle_pending(&told),
            Mailbox::Replied { .. } => self.defer_all(&told, TEMPORARY_MS, "temporary"),
        }
        self.finish()
    }

    pub(super) fn finish(&mut self) -> Action {
        let accepted = std::mem::take(&mut self.accepted);
        let unchecked = self.catch_all == CatchAll::No && self.must_check();
        self.settle_held(accepted, if unchecked { CatchAll::Suspect } else { self.catch_all });
        let denied = std::mem::take(&mut self.denied);
        self.settle_held(denied, self.catch_all);
        Action::Done
    }

    pub(super) fn settle_held(&mut self, held: Vec<Held>, catch_all: CatchAll) {
        for Held { recipient, reading, reply } in held {
            let told = self.told_knowing(Stage::Rcpt, reply, &reading, catch_all);
            match self.randoms.put_off {
                // The acceptance will mean something when the random recipient has its answer.
                Some((after_ms, why)) if catch_all == CatchAll::Unknown && reading.meaning == Meaning::Accepted => {
                    self.later(recipient, told, after_ms, why, true);
                }
                _ => self.fates.push((recipient, Fate::Settled(told))),
            }
        }
    }

    pub(super) fn told(&self, stage: Stage, reply: Reply, reading: &Reading) -> Told {
        self.told_knowing(stage, reply, reading, self.catch_all)
    }

    fn told_knowing(&self, stage: Stage, reply: Reply, reading: &Reading, catch_all: CatchAll) -> Told {
        let mailbox = Mailbox::Replied {
            meaning: reading.meaning,
            code: reply.code,
            enhanced: reply.enhanced,
            rule: reading.rule.clone(),
            catch_all,
            accepts_others: self.seen.accepts,
        };
        Told {
            mailbox,
            exchanger: self.current().map(|mx| mx.host.clone()),
            stage: Some(stage),
            text: reply.text,
            catch_all,
        }
    }

    pub(super) fn silent(&self, how: Silence, stage: Option<Stage>) -> Told {
        Told { stage, ..self.not_asked(Mailbox::Silent(how)) }
    }

    fn not_asked(&self, mailbox: Mailbox) -> Told {
        Told {
            mailbox,
            exchanger: self.current().map(|mx| mx.host.clone()),
            stage: None,
            text: String::new(),
            catch_all: self.catch_all,
        }
    }

    pub(super) fn pause_ms(&self, reading: &Reading) -> i64 {
        reading
            .retry_after_ms
            .unwrap_or_else(|| self.hosts.policy().map_or(TEMPORARY_MS, |policy| policy.breaker_ms_min))
    }
}
