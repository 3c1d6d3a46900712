//! What the answers of one flight come to.

use super::{
    ASKS_MAX, FRUITLESS_MAX, GREYLIST_MS, Held, IN_PROGRESS_MS, MISSES_TRUSTED_MAX, Plan, TEMPORARY_MS, index,
};
use crate::classify::{AboutUs, Meaning, Reading, Rules, Stage};
use crate::smtp::reply::Reply;
use crate::smtp::session::{End, RcptAnswer};
use crate::verdict::{CatchAll, Silence};

/// What a flight has shown of the exchanger; the shell's pacing lives on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Recipients that were answered.
    pub answered: u32,
    /// Those among them that were refused for good, the random one included: servers count them.
    pub refused: u32,
    /// Those of the real recipients that do not exist.
    pub missing: u32,
    /// Whether the random recipient was refused as missing.
    pub random_missing: bool,
    /// Replies that no rule knew.
    pub unmatched: Vec<Reply>,
    /// A refusal of us that concerns more than one recipient, with the pause it asks for.
    pub about_us: Option<(AboutUs, Option<i64>)>,
}

impl Plan {
    /// The answers to [`super::Action::Ask`], in its order, the random recipient's last; `end` where the session is over.
    ///
    /// Returns what the flight has shown of the exchanger.
    pub fn answered(
        &mut self,
        recipients: &[u32],
        answers: Vec<RcptAnswer>,
        random: bool,
        end: Option<&End>,
        rules: &Rules,
    ) -> Heard {
        let answers = if is_cut(end) && recipients.len() + usize::from(random) > 1 {
            self.doubt(recipients, answers)
        } else {
            answers
        };
        let mut flight = FlightSoFar::default();
        self.checked = false;
        let mut answers = answers.into_iter();
        for (recipient, answer) in recipients.iter().zip(answers.by_ref()) {
            self.answer(*recipient, answer, rules, &mut flight);
        }
        if random {
            let answer = answers.next().unwrap_or(RcptAnswer::Unanswered);
            self.random_answer(answer, rules, &mut flight);
        }
        self.settle_accepted();
        self.stop_if_refused(&mut flight);
        self.after_flight(&flight, end);
        flight.heard
    }

    /// Takes back the answers of a flight that broke off. Replies are matched to commands by order alone, and that as many
    /// came as were due (RFC 2920 §3.1) cannot be checked any more: where one came twice, all behind it stand for the wrong
    /// recipient. What was answered is asked again, one recipient a flight, and does not count as asked.
    fn doubt(&mut self, recipients: &[u32], mut answers: Vec<RcptAnswer>) -> Vec<RcptAnswer> {
        for (at, answer) in answers.iter_mut().enumerate() {
            if matches!(answer, RcptAnswer::Reply(_) | RcptAnswer::MailRefused(_)) {
                *answer = RcptAnswer::Unanswered;
                self.flight_max = 1;
                if let Some(recipient) = recipients.get(at) {
                    self.asked[index(*recipient)] -= 1;
                }
            }
        }
        answers
    }

    fn answer(&mut self, recipient: u32, answer: RcptAnswer, rules: &Rules, flight: &mut FlightSoFar) {
        let (stage, reply) = match answer {
            RcptAnswer::Reply(reply) => (Stage::Rcpt, reply),
            RcptAnswer::MailRefused(reply) => (Stage::Mail, Reply::clone(&reply)),
            RcptAnswer::NeedsSmtpUtf8 => return self.needs_smtp_utf8(recipient),
            RcptAnswer::Unanswered => return flight.unanswered.push(recipient),
        };
        let reading = self.read(&reply, stage, rules);
        flight.heard.answered += 1;
        if reading.meaning == Meaning::Unmatched {
            flight.heard.unmatched.push(reply.clone());
        }
        flight.heard.refused += u32::from(stage == Stage::Rcpt && reply.code >= 500);
        match reading.meaning {
            Meaning::SessionLimit => flight.limited.push(recipient),
            Meaning::NotResponsible => flight.elsewhere.push(Held { recipient, reading, reply }),
            Meaning::AboutUs(why) => flight.about_us(why, stage, Held { recipient, reading, reply }),
            _ => {
                flight.told_something = true;
                self.hear(Held { recipient, reading, reply }, stage, flight);
            }
        }
    }

    fn hear(&mut self, held: Held, stage: Stage, flight: &mut FlightSoFar) {
        match held.reading.meaning {
            Meaning::Accepted | Meaning::Exists => self.accepted.push(held),
            Meaning::AccessDenied => self.denied.push(held),
            Meaning::Greylisted => self.come_back(held, stage, GREYLIST_MS, "greylisted"),
            Meaning::InProgress => self.come_back(held, stage, IN_PROGRESS_MS, "in_progress"),
            Meaning::ServerTemporary => self.come_back(held, stage, TEMPORARY_MS, "temporary"),
            meaning => {
                if meaning == Meaning::NoSuchUser {
                    flight.heard.missing += 1;
                    self.misses += 1;
                    self.seen.refuses = true;
                }
                let told = self.told(stage, held.reply, &held.reading);
                self.fates.push((held.recipient, super::Fate::Settled(told)));
            }
        }
    }

    fn come_back(&mut self, held: Held, stage: Stage, default_ms: i64, why: &'static str) {
        let after_ms = held.reading.retry_after_ms.unwrap_or(default_ms);
        let told = self.told(stage, held.reply, &held.reading);
        self.later(held.recipient, told, after_ms, why, true);
    }

    fn needs_smtp_utf8(&mut self, recipient: u32) {
        // Made by us: the recipient was not asked about because the question cannot be put (RFC 6531 §3.2).
        let text = "the exchanger does not offer SMTPUTF8".to_owned();
        let reply = Reply { code: 553, enhanced: None, text, nonconforming: false };
        let reading =
            Reading { meaning: Meaning::NeedsSmtpUtf8, rule: "session.smtputf8_missing".into(), retry_after_ms: None };
        let told = self.told(Stage::Rcpt, reply, &reading);
        self.fates.push((recipient, super::Fate::Settled(told)));
    }

    fn read(&self, reply: &Reply, stage: Stage, rules: &Rules) -> Reading {
        let provider = self.hosts.policy().and_then(|policy| policy.provider.as_deref());
        rules.read(reply, stage, provider)
    }

    /// Whether a random recipient should ride in the next flight.
    pub(super) fn wants_random(&self) -> bool {
        let asks = self.hosts.policy().is_some_and(|policy| policy.random_probe);
        if !asks || self.randoms.useless || self.randoms.lost >= u32::from(ASKS_MAX) {
            return false;
        }
        match self.catch_all {
            CatchAll::Unknown if self.randoms.accepted == 0 => !self.pending.is_empty() || !self.accepted.is_empty(),
            CatchAll::Unknown => !self.accepted.is_empty(),
            CatchAll::No => self.must_check() && (!self.pending.is_empty() || !self.accepted.is_empty()),
            CatchAll::Yes | CatchAll::Suspect => false,
        }
    }

    /// Whether acceptances need a random refusal behind them although the domain is known to check: some servers begin to
    /// accept everybody when they have been asked for too many who do not exist. Providers that are known not to lie are
    /// not asked.
    pub(super) fn must_check(&self) -> bool {
        let Some(policy) = self.hosts.policy() else { return false };
        match policy.suspect_after_misses {
            Some(_) => self.misses > 0,
            None => policy.provider.is_none() && self.misses >= MISSES_TRUSTED_MAX,
        }
    }

    fn random_answer(&mut self, answer: RcptAnswer, rules: &Rules, flight: &mut FlightSoFar) {
        let RcptAnswer::Reply(reply) = answer else {
            self.randoms.lost += 1;
            return;
        };
        let reading = self.read(&reply, Stage::Rcpt, rules);
        if reading.meaning == Meaning::Unmatched {
            flight.heard.unmatched.push(reply.clone());
        }
        flight.heard.refused += u32::from(reply.code >= 500);
        match reading.meaning {
            Meaning::NoSuchUser | Meaning::AccessDenied if reply.code >= 500 => {
                flight.heard.random_missing = true;
                self.misses += 1;
                self.checked = true;
                if self.catch_all == CatchAll::Unknown {
                    self.catch_all = CatchAll::No;
                }
            }
            Meaning::Accepted => self.random_accepted(),
            Meaning::SessionLimit => self.randoms.lost += 1,
            Meaning::Greylisted => self.random_put_off(&reading, GREYLIST_MS, "greylisted"),
            Meaning::InProgress => self.random_put_off(&reading, IN_PROGRESS_MS, "in_progress"),
            _ => self.randoms.useless = true,
        }
    }

    fn random_put_off(&mut self, reading: &Reading, default_ms: i64, why: &'static str) {
        self.randoms.useless = true;
        self.randoms.put_off = Some((reading.retry_after_ms.unwrap_or(default_ms), why));
    }

    fn random_accepted(&mut self) {
        self.randoms.accepted += 1;
        let liar = self.hosts.policy().is_some_and(|policy| policy.suspect_after_misses.is_some());
        let refuses_some = self.seen.refuses || (liar && self.misses > 0);
        self.catch_all = match self.catch_all {
            // It used to check, or refuses others: from now on its acceptances mean nothing.
            CatchAll::No => CatchAll::Suspect,
            CatchAll::Unknown if self.randoms.accepted >= 2 && refuses_some => CatchAll::Suspect,
            CatchAll::Unknown if self.randoms.accepted >= 2 => CatchAll::Yes,
            other => other,
        };
    }

    /// Acceptances are settled as soon as it is known what they are worth.
    fn settle_accepted(&mut self) {
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

    /// Refusals of us: each stands for its own recipient; where a whole flight met nothing else, the rest would too.
    fn stop_if_refused(&mut self, flight: &mut FlightSoFar) {
        let Some((why, stage, retry_ms)) = flight.refusal else { return };
        let everybody = !flight.told_something && flight.limited.is_empty();
        // One recipient's own policy looks like ours: it takes three of a kind, or a word that names us, to close a circuit.
        let names_us = why != AboutUs::Policy || stage != Stage::Rcpt || flight.refused_us.len() >= 3;
        if names_us {
            flight.heard.about_us = Some((why, retry_ms));
        }
        for Held { recipient, reading, reply } in std::mem::take(&mut flight.refused_us) {
            let after_ms = self.pause_ms(&reading);
            let told = self.told(stage, reply, &reading);
            if everybody && names_us && self.last.is_none() {
                self.last = Some(told.clone());
            }
            // Another source is for capacity, never for getting around a block: who was refused asks again as who it was.
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

    /// What goes back to the queue, and where it is asked next.
    fn after_flight(&mut self, flight: &FlightSoFar, end: Option<&End>) {
        for held in flight.elsewhere.iter().rev() {
            // Another host may be responsible; if none is, this is the answer.
            self.last = Some(self.told(Stage::Rcpt, held.reply.clone(), &held.reading));
            self.pending.push_front(held.recipient);
        }
        if matches!(end, Some(End::Protocol { .. })) {
            self.distrust();
        }
        let silence = end.map(silence_of);
        for recipient in flight.unanswered.iter().rev() {
            self.ask_again(*recipient, silence, end);
        }
        for recipient in flight.limited.iter().rev() {
            // The server had no room for the question; asking it again costs nothing but must end some day.
            self.asked[index(*recipient)] =
                self.asked[index(*recipient)].saturating_sub(u8::from(flight.told_something));
            self.ask_again(*recipient, Some((Silence::Closed, Stage::Rcpt)), end);
        }
        if !flight.elsewhere.is_empty() {
            self.hosts.skip_host();
            return;
        }
        if flight.told_something {
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

    /// The session's replies were miscounted, earlier ones maybe as well: what it showed of the domain is forgotten, and
    /// acceptances that still wait are asked about again.
    pub fn distrust(&mut self) {
        self.catch_all = self.known_catch_all;
        for held in std::mem::take(&mut self.accepted) {
            self.ask_again(held.recipient, Some((Silence::Protocol, Stage::Rcpt)), None);
        }
    }

    fn ask_again(&mut self, recipient: u32, silence: Option<(Silence, Stage)>, end: Option<&End>) {
        if self.asked[index(recipient)] < ASKS_MAX {
            self.pending.push_front(recipient);
            return;
        }
        let (how, stage) = silence.unwrap_or((Silence::Closed, Stage::Rcpt));
        let mut told = self.silent(how, Some(stage));
        if let Some(End::Refused { reply, .. }) = end {
            told.text.clone_from(&reply.text);
        }
        self.later(recipient, told, super::UNREACHED_MS, crate::verdict::silence_token(how), true);
    }
}

/// What a flight is while its answers are gone through.
#[derive(Debug, Default)]
struct FlightSoFar {
    heard: Heard,
    unanswered: Vec<u32>,
    limited: Vec<u32>,
    elsewhere: Vec<Held>,
    refused_us: Vec<Held>,
    refusal: Option<(AboutUs, Stage, Option<i64>)>,
    /// Whether any recipient got an answer that is about it, or about the server.
    told_something: bool,
}

impl FlightSoFar {
    fn about_us(&mut self, why: AboutUs, stage: Stage, held: Held) {
        // The first refusal that is more than a bare policy names the kind.
        if self.refusal.is_none_or(|(kind, ..)| kind == AboutUs::Policy) {
            self.refusal = Some((why, stage, held.reading.retry_after_ms));
        }
        self.refused_us.push(held);
    }
}

/// Whether a session ended without a word. A 421 is one: a server that says it has kept count so far.
fn is_cut(end: Option<&End>) -> bool {
    matches!(end, Some(End::Closed { .. } | End::TimedOut { .. }))
}

/// How a session's end looks to a recipient who was not answered.
fn silence_of(end: &End) -> (Silence, Stage) {
    match end {
        End::Quit => (Silence::Closed, Stage::Rcpt),
        End::Refused { stage, .. } | End::Closed { stage } => (Silence::Closed, *stage),
        End::TimedOut { stage } => (Silence::TimedOut, *stage),
        End::Protocol { stage, .. } => (Silence::Protocol, *stage),
        End::TlsFailed | End::TlsUnavailable | End::Injected => (Silence::Tls, Stage::StartTls),
    }
}
