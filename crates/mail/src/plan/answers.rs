//! Evaluates the answers of one flight.

use super::{
    ASKS_MAX, FRUITLESS_MAX, GREYLIST_MS, Held, IN_PROGRESS_MS, MISSES_TRUSTED_MAX, Plan, PutOff, TEMPORARY_MS, index,
};
use crate::classify::{AboutUs, Meaning, NAMES_CLIENT, Parties, Reading, Rules, Stage};
use crate::smtp::reply::Reply;
use crate::smtp::session::{End, RcptAnswer, Recipient};
use crate::verdict::{CatchAll, Silence};

/// Reads the replies of one flight.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// Classification rules.
    pub rules: &'a Rules,
    /// Our names and addresses; the recipient is added per answer.
    pub us: Parties<'a>,
    /// Recipients of the flight in order, the random one last.
    pub recipients: &'a [Recipient],
}

/// One RCPT of a flight: the reader, and the recipient's place in the flight.
#[derive(Clone, Copy, Debug)]
struct Question<'a>(&'a Reader<'a>, usize);

impl Question<'_> {
    fn read(&self, reply: &Reply, stage: Stage, provider: Option<&str>) -> Reading {
        let Self(reader, place) = *self;
        let path = reader.recipients.get(place).map(Recipient::path).unwrap_or_default();
        let recipient = std::str::from_utf8(path).unwrap_or_default();
        reader.rules.read_between(reply, stage, provider, &Parties { recipient, ..reader.us })
    }
}

/// What a flight shows about the MX host; input for pacing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Answered recipients.
    pub answered: u32,
    /// Permanently refused recipients, including the random one, because servers count them all.
    pub refused: u32,
    /// Real recipients without a mailbox.
    pub missing: u32,
    /// Whether the random recipient was refused as missing.
    pub random_missing: bool,
    /// Replies that match no rule.
    pub unmatched: Vec<Reply>,
    /// A client refusal that concerns more than one recipient, with the requested pause.
    pub about_us: Option<(AboutUs, Option<i64>)>,
}

impl Plan {
    /// Records the answers to [`super::Action::Ask`] in its order, the random recipient's last. `end` is set if the session ended.
    ///
    /// Returns what the flight shows about the MX host.
    pub fn answered(
        &mut self,
        recipients: &[u32],
        answers: Vec<RcptAnswer>,
        random: bool,
        end: Option<&End>,
        reader: &Reader<'_>,
    ) -> Heard {
        let answers = if is_cut(end) && recipients.len() + usize::from(random) > 1 {
            self.doubt(recipients, answers)
        } else {
            answers
        };
        let mut flight = FlightSoFar::default();
        self.checked = false;
        let mut answers = answers.into_iter();
        for ((place, recipient), answer) in recipients.iter().enumerate().zip(answers.by_ref()) {
            self.answer(*recipient, answer, Question(reader, place), &mut flight);
        }
        if random {
            let answer = answers.next().unwrap_or(RcptAnswer::Unanswered);
            self.random_answer(answer, Question(reader, recipients.len()), &mut flight);
        }
        self.settle_accepted();
        self.stop_if_refused(&mut flight);
        self.after_flight(&flight, end);
        flight.heard
    }

    /// Discards the answers of a flight that broke off, and asks about each recipient again, one per flight. Replies match commands by
    /// order alone (RFC 2920 §3.1). Without the last one, their count can't be checked, and a duplicate reply would shift all that
    /// follow it to the wrong recipients.
    fn doubt(&mut self, recipients: &[u32], mut answers: Vec<RcptAnswer>) -> Vec<RcptAnswer> {
        let replied = |answer: &RcptAnswer| matches!(answer, RcptAnswer::Reply(_) | RcptAnswer::MailRefused(_));
        if answers.iter().any(replied) {
            self.ask_alone();
            self.uncount(recipients);
            answers.iter_mut().filter(|answer| replied(answer)).for_each(|answer| *answer = RcptAnswer::Unanswered);
        }
        answers
    }

    fn answer(&mut self, recipient: u32, answer: RcptAnswer, question: Question<'_>, flight: &mut FlightSoFar) {
        let (stage, reply) = match answer {
            RcptAnswer::Reply(reply) => (Stage::Rcpt, reply),
            RcptAnswer::MailRefused(reply) => (Stage::Mail, Reply::clone(&reply)),
            RcptAnswer::NeedsSmtpUtf8 => return self.needs_smtp_utf8(recipient),
            RcptAnswer::Unanswered => return flight.unanswered.push(recipient),
        };
        let reading = self.read(question, &reply, stage);
        flight.heard.answered += 1;
        if reading.meaning == Meaning::Unmatched {
            flight.heard.unmatched.push(reply.clone());
        }
        flight.heard.refused += u32::from(stage == Stage::Rcpt && reply.code >= 500);
        match reading.meaning {
            Meaning::SessionLimit => flight.limited.push(recipient),
            Meaning::NotResponsible => flight.elsewhere.push(Held { recipient, reading, reply }),
            Meaning::AboutUs(why) => flight.about_us(why, stage, Held { recipient, reading, reply }),
            meaning => {
                flight.told_something = true;
                flight.accepted |= matches!(meaning, Meaning::Accepted | Meaning::Exists);
                flight.refused |= stage == Stage::Rcpt && reply.code >= 500 && tells_apart(meaning);
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
        // Our own reading: the recipient needs SMTPUTF8 (RFC 6531 §3.2), so no RCPT was sent.
        let text = "the exchanger does not offer SMTPUTF8".to_owned();
        let reply = Reply { code: 553, enhanced: None, text, nonconforming: false };
        let reading =
            Reading { meaning: Meaning::NeedsSmtpUtf8, rule: "session.smtputf8_missing".into(), retry_after_ms: None };
        let told = self.told(Stage::Rcpt, reply, &reading);
        self.fates.push((recipient, super::Fate::Settled(told)));
    }

    fn read(&self, question: Question<'_>, reply: &Reply, stage: Stage) -> Reading {
        let provider = self.hosts.policy().and_then(|policy| policy.provider.as_deref());
        question.read(reply, stage, provider)
    }

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

    /// Whether acceptances need a refused random recipient although the domain checks recipients. Some servers accept everything after
    /// too many missing recipients. Providers known not to do so need no check.
    pub(super) fn must_check(&self) -> bool {
        let Some(policy) = self.hosts.policy() else { return false };
        match policy.suspect_after_misses {
            Some(_) => self.misses > 0,
            None => policy.provider.is_none() && self.misses >= MISSES_TRUSTED_MAX,
        }
    }

    /// Takes back acceptances that an earlier session left without a check: by now the server may have forgotten our misses, and
    /// a check vouches for what it answers at the same time. Bounded by [`ASKS_MAX`], for servers that take one recipient a session.
    pub(super) fn ask_unchecked_again(&mut self) {
        if self.catch_all != CatchAll::No || !self.must_check() {
            return;
        }
        let (again, kept): (Vec<Held>, Vec<Held>) = std::mem::take(&mut self.accepted)
            .into_iter()
            .partition(|held| self.asked[index(held.recipient)] < ASKS_MAX);
        self.accepted = kept;
        for held in again.into_iter().rev() {
            self.pending.push_front(held.recipient);
        }
    }

    fn random_answer(&mut self, answer: RcptAnswer, question: Question<'_>, flight: &mut FlightSoFar) {
        let RcptAnswer::Reply(reply) = answer else {
            self.randoms.lost += 1;
            return;
        };
        let reading = self.read(question, &reply, Stage::Rcpt);
        if reading.meaning == Meaning::Unmatched {
            flight.heard.unmatched.push(reply.clone());
        }
        flight.heard.refused += u32::from(reply.code >= 500);
        match reading.meaning {
            meaning if reply.code >= 500 && (is_missing(meaning) || self.alone_refused(meaning, flight)) => {
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

    /// Whether a permanent refusal of the random recipient proves that the domain checks recipients, whatever its text. It does if the same
    /// flight has an acceptance and no other refusal. An acceptance in an earlier flight is no proof, because the server may refuse us
    /// since then; nor is a text that differs from that of its missing recipients.
    fn alone_refused(&self, meaning: Meaning, flight: &FlightSoFar) -> bool {
        let only_it = !flight.refused && flight.elsewhere.is_empty() && flight.limited.is_empty();
        tells_apart(meaning) && flight.accepted && !self.seen.refuses && only_it && flight.refusal.is_none()
    }

    fn random_put_off(&mut self, reading: &Reading, default_ms: i64, why: &'static str) {
        self.randoms.useless = true;
        let after_ms = reading.retry_after_ms.unwrap_or(default_ms);
        self.randoms.put_off = Some(PutOff { after_ms, why, ours: None });
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

    /// Handles client refusals. Each applies to its recipient; if the flight got nothing else, they apply to the open recipients too.
    fn stop_if_refused(&mut self, flight: &mut FlightSoFar) {
        let Some((why, stage, retry_ms)) = flight.refusal else { return };
        let everybody = !flight.told_something && flight.limited.is_empty();
        // A recipient's own policy can look like a client refusal: only three alike, or one that names us, open the circuit breaker.
        let names_us = why != AboutUs::Policy || stage != Stage::Rcpt || signs_of_refusal(&flight.refused_us) >= 3;
        if names_us {
            flight.heard.about_us = Some((why, retry_ms));
        }
        for Held { recipient, reading, reply } in std::mem::take(&mut flight.refused_us) {
            let after_ms = self.pause_ms(&reading);
            let told = self.told(stage, reply, &reading);
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

    /// Requeues a recipient, for this MX host or the next.
    fn after_flight(&mut self, flight: &FlightSoFar, end: Option<&End>) {
        for held in flight.elsewhere.iter().rev() {
            // Another MX host may be responsible; if none is, this is the result.
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
            // The session was full. A retry costs nothing, but retries must end.
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

    /// Forgets what a session with miscounted replies showed about the domain, and asks again about acceptances that still wait.
    pub fn distrust(&mut self) {
        self.catch_all = self.known.catch_all;
        self.seen.accepts = self.known.accepts_others;
        self.randoms.accepted = 0;
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

/// State while the answers of a flight are evaluated.
#[derive(Debug, Default)]
struct FlightSoFar {
    heard: Heard,
    unanswered: Vec<u32>,
    limited: Vec<u32>,
    elsewhere: Vec<Held>,
    refused_us: Vec<Held>,
    refusal: Option<(AboutUs, Stage, Option<i64>)>,
    /// Whether an answer is about a recipient or the server.
    told_something: bool,
    /// Whether a real recipient was accepted.
    accepted: bool,
    /// Whether a real recipient was permanently refused, with a text about that recipient.
    refused: bool,
}

impl FlightSoFar {
    fn about_us(&mut self, why: AboutUs, stage: Stage, held: Held) {
        // The first refusal that says more than policy names the kind.
        if self.refusal.is_none_or(|(kind, ..)| kind == AboutUs::Policy) {
            self.refusal = Some((why, stage, held.reading.retry_after_ms));
        }
        self.refused_us.push(held);
    }
}

/// Number of client refusals. Some servers print the client's address in every refusal, so all refusals that merely name it count
/// as one.
fn signs_of_refusal(refusals: &[Held]) -> usize {
    let named = refusals.iter().filter(|held| *held.reading.rule == *NAMES_CLIENT).count();
    refusals.len() - named + named.min(1)
}

/// Whether a permanent refusal says that the mailbox does not exist.
fn is_missing(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::NoSuchUser | Meaning::AccessDenied)
}

/// Whether a permanent refusal is about one recipient: not about us or the server, and not one that a catch-all mailbox could cause,
/// such as a full one.
fn tells_apart(meaning: Meaning) -> bool {
    use Meaning::{Deactivated, NotResponsible, Restricted, Unmatched};
    is_missing(meaning) || matches!(meaning, Deactivated | NotResponsible | Restricted | Unmatched)
}

/// Whether a session ended without a reply. After a 421 the earlier replies still count.
fn is_cut(end: Option<&End>) -> bool {
    matches!(end, Some(End::Closed { .. } | End::TimedOut { .. }))
}

/// Result of a session's end for an unanswered recipient.
fn silence_of(end: &End) -> (Silence, Stage) {
    match end {
        End::Quit => (Silence::Closed, Stage::Rcpt),
        End::Refused { stage, .. } | End::Closed { stage } => (Silence::Closed, *stage),
        End::TimedOut { stage } => (Silence::TimedOut, *stage),
        End::Protocol { stage, .. } => (Silence::Protocol, *stage),
        End::TlsFailed | End::TlsUnavailable | End::Injected => (Silence::Tls, Stage::StartTls),
    }
}
