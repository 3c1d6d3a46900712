//! What a flight leaves: client refusals, and recipients to ask again.

use super::answers::{FlightSoFar, RandomAnswer};
use super::{
    ASKS_MAX, FRUITLESS_MAX, HeldReply, KnownDomain, PlannedRetry, ProbePlan, Randoms, SeenAnswers, TEMPORARY_MS,
    UNREACHED_MS, index,
};
use crate::classify::{AboutUs, DialogStage, NAMES_CLIENT};
use crate::smtp::session::End;
use crate::verdict::{CatchAll, Silence, silence_token};

impl ProbePlan {
    /// Handles client refusals. Each applies to its recipient; if the flight got nothing else, they apply to the open recipients
    /// too.
    pub(super) fn stop_if_refused(&mut self, flight: &mut FlightSoFar) {
        let Some((why, stage, retry_ms)) = flight.refusal else { return };
        let everybody = !flight.heard.told_something && flight.limited.is_empty();
        // One reply to MAIL refuses all recipients of the flight.
        let signs = if stage == DialogStage::Rcpt { signs_of_refusal(&flight.refused_us) } else { 1 };
        let with_random = signs + u32::from(flight.random == RandomAnswer::RefusesUs);
        // A recipient's own policy can look like a client refusal: only three alike, or a reply about us, count for the circuit
        // breaker.
        let names_us = why != AboutUs::Policy || stage != DialogStage::Rcpt || signs >= 3;
        if names_us {
            flight.heard.about_us = Some((why, retry_ms));
            flight.heard.refusals = with_random;
        }
        for HeldReply { recipient, reading, reply } in std::mem::take(&mut flight.refused_us) {
            let after_ms = self.pause_ms(&reading);
            let told = self.report(stage, reply, &reading);
            if everybody && names_us && self.last.is_none() {
                self.last = Some(told.clone());
            }
            // Other source IPs add capacity and never evade a block: the retry uses the refused source IP.
            self.later(recipient, told, after_ms, "blocked", true);
        }
        if everybody && names_us {
            let after_ms = retry_ms.unwrap_or_else(|| self.hosts.policy().map_or(TEMPORARY_MS, |p| p.breaker_ms_min));
            if let Some(told) = self.last.take() {
                for recipient in std::mem::take(&mut flight.unanswered) {
                    self.later(recipient, told.clone(), after_ms, "blocked", false);
                }
                self.defer_all(&told, after_ms, "blocked");
            }
        }
    }

    /// Defers the open recipients after a refused MAIL: it would be refused for them too.
    pub(super) fn stop_if_mail_refused(&mut self, flight: &FlightSoFar) {
        let Some(told) = &flight.mail_refused else { return };
        if self.asks_randoms() {
            // Acceptances that wait for a random recipient are asked about again, too.
            self.randoms.put_off.get_or_insert(PlannedRetry { after_ms: TEMPORARY_MS, why: "temporary", ours: None });
        }
        self.defer_all(told, TEMPORARY_MS, "temporary");
    }

    /// Requeues a recipient, for this MX host or the next.
    pub(super) fn after_flight(&mut self, flight: &FlightSoFar, end: Option<&End>) {
        for held in flight.elsewhere.iter().rev() {
            // Another MX host may be responsible; if none is, this is the result.
            self.last = Some(self.report(DialogStage::Rcpt, held.reply.clone(), &held.reading));
            self.pending.push_front(held.recipient);
        }
        if matches!(end, Some(End::Protocol { .. })) {
            self.distrust();
        }
        if flight.unheard {
            self.uncount(&flight.unanswered);
        }
        let silence = end.map(silence_of);
        for recipient in flight.unanswered.iter().rev() {
            self.ask_again(*recipient, silence, end);
        }
        let is_full = flight.heard.mails_max.is_some();
        let progress = flight.heard.told_something || is_full || flight.unheard;
        for recipient in flight.limited.iter().rev() {
            // A retry costs nothing, but retries must end.
            self.asked[index(*recipient)] = self.asked[index(*recipient)].saturating_sub(u8::from(progress));
            self.ask_again(*recipient, Some((Silence::Closed, DialogStage::Rcpt)), end);
        }
        if !flight.elsewhere.is_empty() {
            self.hosts.skip_host();
            return;
        }
        // A session that only refuses for its limits has nothing left.
        let is_limited = flight.random == RandomAnswer::Limited || !flight.limited.is_empty();
        self.leaves |= end.is_none() && (is_full || is_limited && !progress);
        if progress {
            self.fruitless = 0;
            if end.is_some() {
                self.hosts.fruitful();
            }
        } else if end.is_some() {
            self.fruitless += 1;
            if self.fruitless >= FRUITLESS_MAX {
                self.fruitless = 0;
                self.last = silence.map(|(how, stage)| self.silent(how, Some(stage)));
                self.hosts.skip_address();
            }
        }
    }

    /// Forgets what a session with miscounted replies showed about the domain, and asks again about acceptances that still wait.
    pub fn distrust(&mut self) {
        self.catch_all = self.known.catch_all;
        self.seen.accepts = self.known.accepts_others;
        self.randoms.accepted = 0;
        self.hosts.distrust();
        self.distrust_refusals();
        for held in std::mem::take(&mut self.accepted) {
            self.ask_again(held.recipient, Some((Silence::Protocol, DialogStage::Rcpt)), None);
        }
    }

    /// Starts at an MX host with what is known of the domain there. What another host showed does not count: a backup may accept
    /// everything for a host that checks its recipients. Whom that one accepted without a check is asked about later, by which time
    /// it may be back: a backup that contradicts it may have an old list of recipients.
    pub fn meet(&mut self, known: KnownDomain) {
        self.known = known;
        self.catch_all = known.catch_all;
        self.seen = SeenAnswers { accepts: known.accepts_others, refuses: false };
        self.randoms = Randoms::default();
        (self.misses, self.checked, self.rcpt_max, self.needs_no_login) = (0, false, u32::MAX, false);
        for held in std::mem::take(&mut self.accepted) {
            let told = self.silent(Silence::Closed, Some(DialogStage::Rcpt));
            self.later(held.recipient, told, UNREACHED_MS, silence_token(Silence::Closed), true);
        }
        for held in std::mem::take(&mut self.denied) {
            self.ask_again(held.recipient, Some((Silence::Closed, DialogStage::Rcpt)), None);
        }
    }

    /// Learns what other plans of the domain have shown at the current MX host since it was met.
    pub fn catch_up(&mut self, known: KnownDomain) {
        if self.catch_all == CatchAll::Unknown && self.randoms.accepted == 0 {
            self.catch_all = known.catch_all;
        }
        self.seen.accepts |= known.accepts_others;
    }

    pub(super) fn ask_again(&mut self, recipient: u32, silence: Option<(Silence, DialogStage)>, end: Option<&End>) {
        if self.asked[index(recipient)] < ASKS_MAX {
            self.pending.push_front(recipient);
            return;
        }
        let (how, stage) = silence.unwrap_or((Silence::Closed, DialogStage::Rcpt));
        let mut told = self.silent(how, Some(stage));
        if let Some(End::Refused { reply, .. }) = end {
            told.text.clone_from(&reply.text);
        }
        self.later(recipient, told, UNREACHED_MS, silence_token(how), true);
    }
}

/// Number of client refusals. Some servers print the client's address in every refusal, so all refusals that merely name it count
/// as one.
fn signs_of_refusal(refusals: &[HeldReply]) -> u32 {
    let named = refusals.iter().filter(|held| *held.reading.rule == *NAMES_CLIENT).count();
    u32::try_from(refusals.len() - named + named.min(1)).unwrap_or(u32::MAX)
}

/// Result of a session's end for an unanswered recipient.
fn silence_of(end: &End) -> (Silence, DialogStage) {
    match end {
        End::Quit => (Silence::Closed, DialogStage::Rcpt),
        End::Refused { stage, .. } | End::Closed { stage } => (Silence::Closed, *stage),
        End::TimedOut { stage } => (Silence::TimedOut, *stage),
        End::Protocol { stage, .. } => (Silence::Protocol, *stage),
        End::TlsFailed | End::TlsUnavailable | End::Injected => (Silence::Tls, DialogStage::StartTls),
    }
}
