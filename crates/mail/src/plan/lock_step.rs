//! Servers whose PIPELINING is broken: a flight in one group fails, and is repeated once, one command at a time.
//!
//! RFC 2920 §3.2 lists what servers get wrong: they lose commands of a group, hold replies back until another command arrives, or
//! take a group for a client that talks out of turn. None of that is about the recipient, or about us.

use super::ProbePlan;
use crate::smtp::reply::Reply;
use crate::smtp::session::{End, RcptAnswer};

impl ProbePlan {
    /// Checks the answers of a flight that was sent in groups. If the server lost its place, none of them counts, and the next
    /// session is asked in lock step.
    pub fn check_group(&mut self, mut answers: Vec<RcptAnswer>, end: Option<&End>) -> Vec<RcptAnswer> {
        let lost_place = answers.iter().any(is_out_of_place);
        if self.lock_step || !(lost_place || matches!(end, Some(End::TimedOut { .. }))) {
            return answers;
        }
        self.lock_step = true;
        if lost_place {
            self.leaves = end.is_none();
            let told = answers.iter_mut().filter(|answer| **answer != RcptAnswer::NeedsSmtpUtf8);
            told.for_each(|answer| *answer = RcptAnswer::Unanswered);
        }
        answers
    }

    /// Whether sessions are asked in lock step, because a flight in groups failed.
    pub fn asks_in_lock_step(&self) -> bool {
        self.lock_step
    }
}

/// Whether a reply shows that the server lost its place in the commands.
pub fn is_out_of_place(answer: &RcptAnswer) -> bool {
    let out_of_place = |reply: &Reply| {
        let about_syntax = reply.enhanced.is_none_or(|enhanced| enhanced.subject == 5);
        let text = || reply.text.to_ascii_lowercase();
        matches!(reply.code, 500 | 502 | 503) && about_syntax
            || reply.code >= 500
                && (text().contains("synchronization error") || text().contains("synchronisation error"))
    };
    match answer {
        RcptAnswer::Reply(reply) => out_of_place(reply),
        RcptAnswer::MailRefused { reply, taken: 0 } => out_of_place(reply),
        // A session that takes no more transactions.
        RcptAnswer::MailRefused { .. } | RcptAnswer::NeedsSmtpUtf8 | RcptAnswer::Unanswered => false,
    }
}
