//! A flight: some recipients, asked for in as few round trips as the server allows.
//!
//! A flight becomes a list of commands: MAIL, RCPT for each recipient, RSET; several such transactions where the server
//! announces a limit on recipients. RFC 2920 §3.1 lets all of them stand in one group. With PIPELINING up to
//! [`WINDOW`] commands are under way at a time, without it one. Replies are matched to commands by their order alone, so a
//! server that answers one command twice would shift every later answer: whatever looks like that voids the flight.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::classify::DialogStage;

use super::capabilities::Capabilities;
use super::command::{self, Bare, Recipient};
use super::reply::Reply;

/// The most commands that are under way at a time. RFC 2920 §3.1 warns of a deadlock where both sides only write; 100
/// commands and their replies fit the smallest socket buffers in use.
const WINDOW: usize = 100;

/// What is asked in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The recipients, in the order in which they are asked. A random one for catch-all detection goes last.
    pub recipients: Vec<Recipient>,
    /// End with RSET in the same flight, so that no transaction stays open on the server.
    pub rset: bool,
}

/// What became of one recipient of a flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RcptAnswer {
    /// The server answered RCPT with this.
    Reply(Reply),
    /// The server refused MAIL, so RCPT could not be answered. It says nothing about the recipient.
    MailRefused {
        /// The refusal.
        reply: Arc<Reply>,
        /// How many transactions the session took before.
        taken: u32,
    },
    /// The recipient needs SMTPUTF8 and the server does not offer it: never asked.
    NeedsSmtpUtf8,
    /// Not asked, not answered, or answered in a way that cannot be relied on.
    Unanswered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlightCommand {
    Rset,
    Mail {
        utf8: bool,
    },
    /// The recipient's index.
    Rcpt(usize),
    /// Said only where RSET was refused.
    Quit,
}

/// What the reply to a command of a flight means for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyEffect {
    /// The flight goes on, or is complete.
    Fine,
    /// The server does not know RSET: no further flight, but the answers stand.
    WithoutRset,
    /// The answers are probably shifted.
    Shifted,
}

/// A flight under way.
#[derive(Clone, Debug)]
pub(super) struct FlightUnderWay {
    recipients: Vec<Recipient>,
    answers: Vec<RcptAnswer>,
    unsent: VecDeque<FlightCommand>,
    sent: VecDeque<FlightCommand>,
    window: usize,
    /// The refusal of the transaction whose replies are coming in.
    refused: Option<Arc<Reply>>,
    /// Whether a transaction is open on the server.
    open: bool,
    /// How many transactions the session has taken.
    taken: u32,
    /// The refusal of RSET, which is one unless it was meant for a recipient: the reply to QUIT shows it.
    rset_refusal: Option<Reply>,
}

impl FlightUnderWay {
    /// Plans a flight. `open` says that the last one left a transaction behind, `mails_left` how many more the server allows.
    pub(super) fn plan(flight: Flight, capabilities: &Capabilities, open: bool, mails_left: Option<u32>) -> Self {
        let Flight { recipients, rset } = flight;
        let askable = |recipient: &Recipient| !recipient.needs_smtp_utf8() || capabilities.smtputf8;
        let answers = recipients
            .iter()
            .map(|recipient| if askable(recipient) { RcptAnswer::Unanswered } else { RcptAnswer::NeedsSmtpUtf8 })
            .collect();
        let asked: Vec<usize> = (0..recipients.len()).filter(|index| askable(&recipients[*index])).collect();
        let transactions = transactions(&recipients, &asked, capabilities);
        let allowed = mails_left.map_or(usize::MAX, |mails| usize::try_from(mails).unwrap_or(usize::MAX));
        let mut unsent = VecDeque::new();
        for (number, transaction) in transactions.into_iter().take(allowed).enumerate() {
            // A second MAIL without RSET is an error (RFC 5321 §4.1.4).
            if open || number > 0 {
                unsent.push_back(FlightCommand::Rset);
            }
            let utf8 = transaction.iter().any(|index| recipients[*index].needs_smtp_utf8());
            unsent.push_back(FlightCommand::Mail { utf8 });
            unsent.extend(transaction.iter().copied().map(FlightCommand::Rcpt));
        }
        if rset && !unsent.is_empty() {
            unsent.push_back(FlightCommand::Rset);
        }
        let window = if capabilities.pipelining { WINDOW } else { 1 };
        Self {
            recipients,
            answers,
            unsent,
            sent: VecDeque::new(),
            window,
            refused: None,
            open,
            taken: 0,
            rset_refusal: None,
        }
    }

    /// A flight of a session that has taken so many transactions.
    pub(super) fn behind(self, taken: u32) -> Self {
        Self { taken, ..self }
    }

    /// Sends one command at a time, whatever the server offers.
    pub(super) fn in_lock_step(self) -> Self {
        Self { window: 1, ..self }
    }

    /// Writes the commands that may go now and counts the MAIL and RCPT among them.
    ///
    /// The window is refilled when half of it is answered, so that a long flight goes in few writes.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, mail_from: &str) -> Written {
        let mut written = Written::default();
        if self.sent.len() > self.window / 2 {
            return written;
        }
        while self.sent.len() < self.window {
            let Some(next) = self.unsent.pop_front() else {
                break;
            };
            match next {
                FlightCommand::Rset => command::bare(out, Bare::Rset),
                FlightCommand::Quit => command::bare(out, Bare::Quit),
                FlightCommand::Mail { utf8 } => {
                    command::mail(out, mail_from, utf8);
                    written.mails += 1;
                }
                FlightCommand::Rcpt(index) => {
                    command::rcpt(out, &self.recipients[index]);
                    written.rcpts += 1;
                }
            }
            self.sent.push_back(next);
        }
        written
    }

    /// The stage of the reply that comes next.
    pub(super) fn stage(&self) -> DialogStage {
        match self.sent.front() {
            Some(FlightCommand::Mail { .. }) => DialogStage::Mail,
            Some(FlightCommand::Rcpt(_)) => DialogStage::Rcpt,
            Some(FlightCommand::Rset | FlightCommand::Quit) | None => DialogStage::Unsolicited,
        }
    }

    /// Whether replies are due.
    pub(super) fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Whether every command has its reply.
    pub(super) fn is_complete(&self) -> bool {
        self.sent.is_empty() && self.unsent.is_empty()
    }

    /// Whether a transaction is open on the server.
    pub(super) fn leaves_open(&self) -> bool {
        self.open
    }

    /// How many transactions the session has taken.
    pub(super) fn taken(&self) -> u32 {
        self.taken
    }

    /// The refusal of RSET, if that was the flight's last command.
    pub(super) fn rset_refusal(&self) -> Option<&Reply> {
        self.rset_refusal.as_ref()
    }

    /// Takes the reply to the oldest command under way.
    pub(super) fn take(&mut self, reply: Reply) -> ReplyEffect {
        match self.sent.pop_front() {
            Some(FlightCommand::Rset) if reply.is_positive() => {
                self.open = false;
                self.refused = None;
            }
            // RFC 5321 §4.1.1.5: RSET has no other answer than 250. Some servers and proxies do not know it (§4.2.4); what else is
            // here may be meant for another command. If it is, a reply more is to come before the one to QUIT.
            Some(FlightCommand::Rset) if (500..=504).contains(&reply.code) => return ReplyEffect::WithoutRset,
            Some(FlightCommand::Rset) if self.is_complete() => {
                self.rset_refusal = Some(reply);
                self.unsent.push_back(FlightCommand::Quit);
            }
            Some(FlightCommand::Rset | FlightCommand::Quit) => return ReplyEffect::Shifted,
            Some(FlightCommand::Mail { .. }) if reply.is_positive() => {
                self.taken += 1;
                self.open = true;
                self.refused = None;
            }
            Some(FlightCommand::Mail { .. }) => self.refuse(reply),
            Some(FlightCommand::Rcpt(index)) => {
                self.answers[index] = match &self.refused {
                    // Servers answer 503 to RCPT without MAIL, and some answer 250.
                    Some(refusal) => RcptAnswer::MailRefused { reply: Arc::clone(refusal), taken: self.taken },
                    None => RcptAnswer::Reply(reply),
                };
            }
            None => {}
        }
        ReplyEffect::Fine
    }

    /// MAIL was refused. What is under way still gets its replies; nothing more is sent, for it would be refused as well.
    fn refuse(&mut self, reply: Reply) {
        let refusal = Arc::new(reply);
        let same_transaction = self.sent.iter().take_while(|command| !matches!(command, FlightCommand::Mail { .. }));
        for command in same_transaction.chain(&self.unsent) {
            if let FlightCommand::Rcpt(index) = command {
                self.answers[*index] = RcptAnswer::MailRefused { reply: Arc::clone(&refusal), taken: self.taken };
            }
        }
        self.unsent.clear();
        self.refused = Some(refusal);
    }

    /// Nothing that was answered counts.
    pub(super) fn void(&mut self) {
        for answer in &mut self.answers {
            if *answer != RcptAnswer::NeedsSmtpUtf8 {
                *answer = RcptAnswer::Unanswered;
            }
        }
    }

    /// One answer for each recipient, in the order of the flight.
    pub(super) fn into_answers(self) -> Vec<RcptAnswer> {
        self.answers
    }
}

/// How many commands of a kind were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) mails: u32,
    pub(super) rcpts: u32,
}

/// Cuts the recipients into transactions by the limits that the server announces (RFC 9422 §4).
fn transactions(recipients: &[Recipient], asked: &[usize], capabilities: &Capabilities) -> Vec<Vec<usize>> {
    let limit = |limit: Option<u32>| limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let (rcpt_max, domain_max) = (limit(capabilities.rcpt_max), limit(capabilities.rcpt_domain_max));
    let mut transactions: Vec<Vec<usize>> = Vec::new();
    let mut domains: BTreeSet<&[u8]> = BTreeSet::new();
    for &index in asked {
        let domain = recipients[index].domain();
        let fits = transactions.last().is_some_and(|open| open.len() < rcpt_max)
            && (domains.contains(domain) || domains.len() < domain_max);
        if !fits {
            transactions.push(Vec::new());
            domains.clear();
        }
        domains.insert(domain);
        if let Some(open) = transactions.last_mut() {
            open.push(index);
        }
    }
    transactions
}
