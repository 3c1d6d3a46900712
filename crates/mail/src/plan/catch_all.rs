//! Random recipients, and what acceptances are worth beside them.

use super::answers::{FlightSoFar, RandomAnswer, RcptQuestion, tells_apart};
use super::{ASKS_MAX, GREYLIST_MS, HeldReply, IN_PROGRESS_MS, MISSES_TRUSTED_MAX, PlannedRetry, ProbePlan, index};
use crate::classify::{AboutUs, DialogStage, Meaning, ReplyReading};
use crate::smtp::reply::Reply;
use crate::smtp::session::RcptAnswer;
use crate::verdict::CatchAll;

impl ProbePlan {
    /// Whether the next flight should end with a random recipient.
    pub(super) fn wants_random(&self) -> bool {
        if !self.asks_randoms() {
            return false;
        }
        match self.catch_all {
            CatchAll::Unknown if self.randoms.accepted == 0 => !self.pending.is_empty() || !self.accepted.is_empty(),
            CatchAll::Unknown => !self.accepted.is_empty(),
            CatchAll::No => self.must_check() && (!self.pending.is_empty() || !self.accepted.is_empty()),
            CatchAll::Yes | CatchAll::Suspect => false,
        }
    }

    /// Whether random recipients are allowed and useful here.
    pub(super) fn asks_randoms(&self) -> bool {
        let asks = self.hosts.policy().is_some_and(|policy| policy.random_probe);
        asks && !self.randoms.useless && self.randoms.lost < u32::from(ASKS_MAX)
    }

    /// Whether acceptances need a refused random recipient although the domain checks recipients. Some servers accept everything
    /// after too many missing recipients. Providers known not to do so need no check.
    pub(super) fn must_check(&self) -> bool {
        let Some(policy) = self.hosts.policy() else { return false };
        match policy.suspect_after_misses {
            Some(_) => self.misses > 0,
            None => policy.provider.is_none() && self.misses >= MISSES_TRUSTED_MAX,
        }
    }

    /// Takes back acceptances that an earlier session left without a check: by now the server may have forgotten our misses, and
    /// a check vouches for what it answers at the same time. Bounded by [`ASKS_MAX`], for servers that take one recipient a
    /// session.
    pub(super) fn ask_unchecked_again(&mut self) {
        if self.catch_all != CatchAll::No || !self.must_check() {
            return;
        }
        let (again, kept): (Vec<HeldReply>, Vec<HeldReply>) = std::mem::take(&mut self.accepted)
            .into_iter()
            .partition(|held| self.asked[index(held.recipient)] < ASKS_MAX);
        self.accepted = kept;
        for held in again.into_iter().rev() {
            self.pending.push_front(held.recipient);
        }
    }

    pub(super) fn random_answer(&mut self, answer: RcptAnswer, question: RcptQuestion<'_>, flight: &mut FlightSoFar) {
        let Some(reply) = self.random_reply(answer, question, flight) else { return };
        let reading = self.read(question, &reply, DialogStage::Rcpt);
        if reading.meaning == Meaning::Unmatched {
            flight.heard.unmatched.push(reply.clone());
        }
        flight.heard.refused += u32::from(reply.code >= 500);
        match reading.meaning {
            _ if self.ends_session(&reply, reading.meaning, flight) => flight.random = RandomAnswer::Limited,
            meaning if reply.code >= 500 && self.proves_checks(meaning, flight) => {
                (flight.heard.random_missing, flight.random) = (true, RandomAnswer::Told);
                self.misses += 1;
                self.checked = true;
                if self.catch_all == CatchAll::Unknown {
                    self.catch_all = CatchAll::No;
                }
            }
            Meaning::Accepted => {
                flight.random = RandomAnswer::Told;
                self.random_accepted();
            }
            Meaning::SessionLimit => {
                flight.random = RandomAnswer::Limited;
                self.randoms.lost += 1;
            }
            Meaning::Greylisted => self.random_put_off(&reading, GREYLIST_MS, "greylisted"),
            Meaning::InProgress => self.random_put_off(&reading, IN_PROGRESS_MS, "in_progress"),
            meaning => {
                self.randoms.useless = true;
                // A policy that refuses a made-up name may be about that name.
                if matches!(meaning, Meaning::AboutUs(why) if why != AboutUs::Policy) {
                    flight.random = RandomAnswer::RefusesUs;
                }
            }
        }
    }

    /// The reply to the random recipient. One without a reply is lost, unless a limit kept it from being asked.
    fn random_reply(
        &mut self,
        answer: RcptAnswer,
        question: RcptQuestion<'_>,
        flight: &mut FlightSoFar,
    ) -> Option<Reply> {
        let limited = match answer {
            RcptAnswer::Reply(reply) => return Some(reply),
            RcptAnswer::MailRefused { reply, taken } => {
                let reading = self.read(question, &reply, DialogStage::Mail);
                flight.is_full(taken, &reply, &reading)
            }
            RcptAnswer::NeedsSmtpUtf8 | RcptAnswer::Unanswered => flight.unheard || !flight.limited.is_empty(),
        };
        self.randoms.lost += u32::from(!limited);
        None
    }

    /// Whether a permanent refusal of the random recipient proves that the domain checks recipients.
    fn proves_checks(&self, meaning: Meaning, flight: &FlightSoFar) -> bool {
        let needs_login = meaning == Meaning::AboutUs(AboutUs::AuthRequired) && self.has_accepted(flight);
        needs_login || is_missing(meaning) || self.alone_refused(meaning, flight)
    }

    /// Whether a permanent refusal of the random recipient proves that the domain checks recipients, whatever its text. It does if
    /// the same flight has an acceptance and no other refusal. An acceptance in an earlier flight is no proof, because the server
    /// may refuse us since then; nor is a text that differs from that of its missing recipients.
    fn alone_refused(&self, meaning: Meaning, flight: &FlightSoFar) -> bool {
        let only_it = !flight.refused && flight.elsewhere.is_empty() && flight.limited.is_empty();
        tells_apart(meaning) && flight.heard.accepted && !self.seen.refuses && only_it && flight.refusal.is_none()
    }

    fn random_put_off(&mut self, reading: &ReplyReading, default_ms: i64, why: &'static str) {
        self.randoms.useless = true;
        let after_ms = reading.retry_after_ms.unwrap_or(default_ms);
        self.randoms.put_off = Some(PlannedRetry { after_ms, why, ours: None });
    }

    fn random_accepted(&mut self) {
        self.randoms.accepted += 1;
        let liar = self.hosts.policy().is_some_and(|policy| policy.suspect_after_misses.is_some());
        let refuses_some = self.seen.refuses || (liar && self.misses > 0);
        self.catch_all = match self.catch_all {
            // The domain checked before, or refuses others: its acceptances no longer count.
            CatchAll::No => CatchAll::Suspect,
            CatchAll::Unknown if self.randoms.accepted >= 2 && refuses_some => CatchAll::Suspect,
            CatchAll::Unknown if self.randoms.accepted >= 2 => CatchAll::Yes,
            other => other,
        };
    }

    /// Settles acceptances once the catch-all state is known.
    pub(super) fn settle_accepted(&mut self) {
        let decided = match self.catch_all {
            CatchAll::Unknown => self.randoms.useless,
            CatchAll::No => self.checked || !self.must_check(),
            CatchAll::Yes | CatchAll::Suspect => true,
        };
        if !self.accepted.is_empty() {
            self.seen.accepts |= matches!(self.catch_all, CatchAll::No);
            if decided {
                let accepted = std::mem::take(&mut self.accepted);
                self.settle_held(accepted, self.catch_all);
            }
        }
    }
}

/// Whether a permanent refusal says that the mailbox does not exist.
pub(super) fn is_missing(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::NoSuchUser | Meaning::AccessDenied)
}
