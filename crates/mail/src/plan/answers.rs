//! Evaluates the answers of one flight: what each of them says about its recipient.
//!
//! What acceptances are worth is decided in [`super::catch_all`], what becomes of the recipients that are left in
//! [`super::requeue`].

use super::catch_all::is_missing;
use super::{GREYLIST_MS, HeldReply, IN_PROGRESS_MS, ProbePlan, RecipientReport, TEMPORARY_MS};
use crate::classify::{AboutUs, DialogParties, DialogStage, Meaning, ReplyReading, Rules};
use crate::smtp::reply::Reply;
use crate::smtp::session::{End, RcptAnswer, Recipient};

/// Code of a server that closes the session (RFC 5321 §3.8).
const GOODBYE: u16 = 421;
/// Code of a command that the server does not expect.
const OUT_OF_SEQUENCE: u16 = 503;
/// Codes by which a session ends that takes no further transaction.
const SESSION_ENDS: [u16; 3] = [GOODBYE, 452, OUT_OF_SEQUENCE];

/// Reads the replies of one flight.
#[derive(Clone, Copy, Debug)]
pub struct FlightReader<'a> {
    /// Classification rules.
    pub rules: &'a Rules,
    /// Our names and addresses; the recipient is added per answer.
    pub us: DialogParties<'a>,
    /// Recipients of the flight in order, the random one last.
    pub recipients: &'a [Recipient],
}

/// One RCPT of a flight: the reader, and the recipient's place in the flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct RcptQuestion<'a>(&'a FlightReader<'a>, usize);

impl RcptQuestion<'_> {
    fn read(&self, reply: &Reply, stage: DialogStage, provider: Option<&str>) -> ReplyReading {
        let Self(reader, place) = *self;
        let path = reader.recipients.get(place).map(Recipient::path).unwrap_or_default();
        let recipient = std::str::from_utf8(path).unwrap_or_default();
        reader.rules.read_between(reply, stage, provider, &DialogParties { recipient, ..reader.us })
    }
}

/// What a flight shows about the MX host; input for pacing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlightFindings {
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
    /// Replies that refuse us, if [`Self::about_us`] is set.
    pub refusals: u32,
    /// Whether a real recipient was accepted.
    pub accepted: bool,
    /// Whether a reply to RCPT is about a real recipient or the server, and not about us. A 421 is not: it ends the session.
    pub told_something: bool,
    /// The transactions that the session took, if it took no more.
    pub mails_max: Option<u32>,
}

impl ProbePlan {
    /// Records the answers to [`super::ProbeAction::Ask`] in its order, the random recipient's last. `end` is set if the session
    /// ended.
    ///
    /// Returns what the flight shows about the MX host.
    pub fn answered(
        &mut self,
        recipients: &[u32],
        answers: Vec<RcptAnswer>,
        random: bool,
        end: Option<&End>,
        reader: &FlightReader<'_>,
    ) -> FlightFindings {
        let answers = if is_cut(end) && recipients.len() + usize::from(random) > 1 {
            self.doubt(recipients, answers)
        } else {
            answers
        };
        let unheard = self.flights > 0
            && matches!(end, Some(End::Closed { .. }))
            && answers.iter().all(|answer| *answer == RcptAnswer::Unanswered);
        let mut flight = FlightSoFar { unheard, ..FlightSoFar::default() };
        self.checked = false;
        let mut answers = answers.into_iter();
        for ((place, recipient), answer) in recipients.iter().enumerate().zip(answers.by_ref()) {
            self.answer(*recipient, answer, RcptQuestion(reader, place), &mut flight);
        }
        self.read_logins(&mut flight);
        if random {
            let answer = answers.next().unwrap_or(RcptAnswer::Unanswered);
            self.random_answer(answer, RcptQuestion(reader, recipients.len()), &mut flight);
        }
        self.learn_limit(&mut flight);
        self.hosts.answered(flight.heard.accepted, !flight.elsewhere.is_empty());
        self.settle_accepted();
        self.doubt_outsider();
        self.stop_if_refused(&mut flight);
        self.stop_if_mail_refused(&flight);
        self.after_flight(&flight, end);
        flight.heard
    }

    /// Discards the answers of a flight that broke off, and asks about each recipient again, one per flight. Replies match commands
    /// by order alone (RFC 2920 §3.1). Without the last one, their count can't be checked, and a duplicate reply would shift all
    /// that follow it to the wrong recipients.
    fn doubt(&mut self, recipients: &[u32], mut answers: Vec<RcptAnswer>) -> Vec<RcptAnswer> {
        let replied = |answer: &RcptAnswer| matches!(answer, RcptAnswer::Reply(_) | RcptAnswer::MailRefused { .. });
        if answers.iter().any(replied) {
            self.ask_alone();
            self.uncount(recipients);
            answers.iter_mut().filter(|answer| replied(answer)).for_each(|answer| *answer = RcptAnswer::Unanswered);
        }
        answers
    }

    fn answer(&mut self, recipient: u32, answer: RcptAnswer, question: RcptQuestion<'_>, flight: &mut FlightSoFar) {
        let (stage, reply, taken) = match answer {
            RcptAnswer::Reply(reply) => (DialogStage::Rcpt, reply, 0),
            RcptAnswer::MailRefused { reply, taken } => (DialogStage::Mail, Reply::clone(&reply), taken),
            RcptAnswer::NeedsSmtpUtf8 => return self.needs_smtp_utf8(recipient),
            RcptAnswer::Unanswered => return flight.unanswered.push(recipient),
        };
        let reading = self.read(question, &reply, stage);
        if flight.is_full(taken, &reply, &reading) {
            return flight.limited.push(recipient);
        }
        flight.heard.answered += 1;
        if reading.meaning == Meaning::Unmatched {
            flight.heard.unmatched.push(reply.clone());
        }
        flight.heard.refused += u32::from(stage == DialogStage::Rcpt && reply.code >= 500);
        match reading.meaning {
            Meaning::SessionLimit => flight.limited.push(recipient),
            meaning if stage == DialogStage::Rcpt && self.ends_session(&reply, meaning, flight) => {
                flight.limited.push(recipient);
            }
            Meaning::NotResponsible => flight.elsewhere.push(HeldReply { recipient, reading, reply }),
            Meaning::AboutUs(AboutUs::AuthRequired) if stage == DialogStage::Rcpt => {
                flight.logins.push(HeldReply { recipient, reading, reply });
            }
            Meaning::AboutUs(why) => flight.about_us(why, stage, HeldReply { recipient, reading, reply }),
            meaning => {
                flight.heard.told_something |= stage == DialogStage::Rcpt && reply.code != GOODBYE;
                flight.heard.accepted |= matches!(meaning, Meaning::Accepted | Meaning::Exists);
                flight.refused |= stage == DialogStage::Rcpt && reply.code >= 500 && tells_apart(meaning);
                if stage == DialogStage::Mail && reply.code != GOODBYE {
                    flight.mail_refused = Some(self.report(stage, reply.clone(), &reading));
                }
                self.hear(HeldReply { recipient, reading, reply }, stage, flight);
            }
        }
    }

    /// Handles demands for a login. A server that takes mail for the domain without one says this of recipients that it does not
    /// have.
    fn read_logins(&mut self, flight: &mut FlightSoFar) {
        let needs_none = self.needs_no_login || self.has_accepted(flight);
        for held in std::mem::take(&mut flight.logins) {
            if needs_none {
                flight.heard.told_something = true;
                let told = self.report(DialogStage::Rcpt, held.reply, &held.reading);
                self.fates.push((held.recipient, super::RecipientFate::Settled(told)));
            } else {
                flight.about_us(AboutUs::AuthRequired, DialogStage::Rcpt, held);
            }
        }
    }

    /// Whether this MX host has accepted somebody of the domain.
    pub(super) fn has_accepted(&self, flight: &FlightSoFar) -> bool {
        flight.heard.accepted || self.seen.accepts || self.hosts.has_accepted()
    }

    /// Whether a reply to RCPT is about the session, because the session has brought answers: it is full, or ends.
    pub(super) fn ends_session(&self, reply: &Reply, meaning: Meaning, flight: &FlightSoFar) -> bool {
        let ends = meaning == Meaning::SessionLimit || meaning == Meaning::ServerTemporary && reply.code == GOODBYE;
        ends && (self.flights > 0 || flight.heard.told_something)
    }

    /// Learns how many recipients a transaction takes, or how many transactions a session, where some were refused for that.
    fn learn_limit(&mut self, flight: &mut FlightSoFar) {
        let limited = u32::try_from(flight.limited.len()).unwrap_or(u32::MAX);
        let told = flight.heard.told_something;
        if flight.heard.mails_max.is_none() && (limited > 0 || flight.random == RandomAnswer::Limited) {
            if !told && self.flights > 0 {
                flight.heard.mails_max = Some(self.flights);
            } else if flight.heard.answered > 0 {
                self.rcpt_max = flight.heard.answered.saturating_sub(limited).max(1);
            }
        }
        self.flights += u32::from(told || flight.random == RandomAnswer::Told);
    }

    fn hear(&mut self, held: HeldReply, stage: DialogStage, flight: &mut FlightSoFar) {
        match held.reading.meaning {
            Meaning::Accepted | Meaning::Exists => self.accepted.push(held),
            Meaning::AccessDenied => {
                self.missed(flight);
                self.denied.push(held);
            }
            Meaning::Greylisted => self.come_back(held, stage, GREYLIST_MS, "greylisted"),
            Meaning::InProgress => self.come_back(held, stage, IN_PROGRESS_MS, "in_progress"),
            Meaning::ServerTemporary => self.come_back(held, stage, TEMPORARY_MS, "temporary"),
            meaning => {
                if meaning == Meaning::NoSuchUser {
                    self.missed(flight);
                    self.seen.refuses = true;
                }
                let told = self.report(stage, held.reply, &held.reading);
                self.fates.push((held.recipient, super::RecipientFate::Settled(told)));
            }
        }
    }

    /// Counts a recipient as missing, as the server may.
    fn missed(&mut self, flight: &mut FlightSoFar) {
        flight.heard.missing += 1;
        self.misses += 1;
    }

    fn come_back(&mut self, held: HeldReply, stage: DialogStage, default_ms: i64, why: &'static str) {
        let after_ms = held.reading.retry_after_ms.unwrap_or(default_ms);
        let told = self.report(stage, held.reply, &held.reading);
        self.later(held.recipient, told, after_ms, why, true);
    }

    fn needs_smtp_utf8(&mut self, recipient: u32) {
        // Our own reading: the recipient needs SMTPUTF8 (RFC 6531 §3.2), so no RCPT was sent.
        let text = "the exchanger does not offer SMTPUTF8".to_owned();
        let reply = Reply { code: 553, enhanced: None, text, nonconforming: false };
        let reading = ReplyReading {
            meaning: Meaning::NeedsSmtpUtf8,
            rule: "session.smtputf8_missing".into(),
            retry_after_ms: None,
        };
        let told = self.report(DialogStage::Rcpt, reply, &reading);
        self.fates.push((recipient, super::RecipientFate::Settled(told)));
    }

    pub(super) fn read(&self, question: RcptQuestion<'_>, reply: &Reply, stage: DialogStage) -> ReplyReading {
        let provider = self.hosts.policy().and_then(|policy| policy.provider.as_deref());
        question.read(reply, stage, provider)
    }
}

/// What the answer to the random recipient shows about the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RandomAnswer {
    /// Nothing.
    #[default]
    Nothing,
    /// It goes on: the recipient was accepted, or refused as missing.
    Told,
    /// It takes no more.
    Limited,
    /// It is not for us.
    RefusesUs,
}

/// State while the answers of a flight are evaluated.
#[derive(Debug, Default)]
pub(super) struct FlightSoFar {
    pub(super) heard: FlightFindings,
    pub(super) unanswered: Vec<u32>,
    /// The session had brought answers, and was closed before the flight.
    pub(super) unheard: bool,
    /// Recipients that a limit of the transaction or the session left open.
    pub(super) limited: Vec<u32>,
    pub(super) random: RandomAnswer,
    /// Recipients for which a login was demanded.
    pub(super) logins: Vec<HeldReply>,
    pub(super) elsewhere: Vec<HeldReply>,
    pub(super) refused_us: Vec<HeldReply>,
    pub(super) refusal: Option<(AboutUs, DialogStage, Option<i64>)>,
    /// The reply to MAIL, if it refused the transaction, and neither us nor the session.
    pub(super) mail_refused: Option<RecipientReport>,
    /// Whether a real recipient was permanently refused, with a text about that recipient.
    pub(super) refused: bool,
}

impl FlightSoFar {
    fn about_us(&mut self, why: AboutUs, stage: DialogStage, held: HeldReply) {
        // The first refusal that says more than policy names the kind.
        if self.refusal.is_none_or(|(kind, ..)| kind == AboutUs::Policy) {
            self.refusal = Some((why, stage, held.reading.retry_after_ms));
        }
        self.refused_us.push(held);
    }

    /// Whether MAIL was refused because the session takes no more transactions. It has taken some, so the refusal is not about us;
    /// if it is, a new session shows it.
    pub(super) fn is_full(&mut self, taken: u32, reply: &Reply, reading: &ReplyReading) -> bool {
        let ends = match reading.meaning {
            Meaning::SessionLimit => true,
            Meaning::AboutUs(why) if reply.code != OUT_OF_SEQUENCE => {
                // Limits on sessions and limits on us are worded alike.
                let is_limit = why == AboutUs::RateLimited && reading.retry_after_ms.is_none();
                is_limit && SESSION_ENDS.contains(&reply.code)
            }
            _ => SESSION_ENDS.contains(&reply.code),
        };
        let full = taken > 0 && ends;
        if full {
            self.heard.mails_max = Some(taken);
        }
        full
    }
}

/// Whether a permanent refusal is about one recipient: not about us or the server, and not one that a catch-all mailbox could
/// cause, such as a full one.
pub(super) fn tells_apart(meaning: Meaning) -> bool {
    use Meaning::{Deactivated, NotResponsible, Restricted, Unmatched};
    is_missing(meaning) || matches!(meaning, Deactivated | NotResponsible | Restricted | Unmatched)
}

/// Whether a session ended without a reply. After a 421 the earlier replies still count.
fn is_cut(end: Option<&End>) -> bool {
    matches!(end, Some(End::Closed { .. } | End::TimedOut { .. }))
}
