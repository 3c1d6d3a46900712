//! RCPT: the command that verification depends on.

use super::path::Path;
use super::{CLOSE, CONTINUE, Flow, ServerSession};
use crate::dialect::Phrase;
use crate::mailbox::MailboxState;
use crate::personality::{At, Misbehaviour, Recipients};
use crate::sandbox;

impl ServerSession {
    pub(super) fn rcpt(&mut self, rest: &[u8], now_ms: i64, out: &mut Vec<u8>) -> Flow {
        self.tally.rcpt += 1;
        self.parties.state.asked(self.parties.client, now_ms);
        let Some(utf8) = self.transaction.as_ref().map(|open| open.utf8) else {
            return self.wrong(out, "503 5.5.1 Error: need MAIL command");
        };
        let Some(path) = Path::parse(rest, b"TO:") else {
            return self.wrong(out, "501 5.1.3 Bad recipient address syntax");
        };
        if path.has_parameters() {
            return self.wrong(out, "555 5.5.4 Unsupported option");
        }
        let Some((local, domain)) = path.split() else {
            return self.wrong(out, "501 5.1.3 Bad recipient address syntax");
        };
        self.local.clear();
        self.local.push_str(local);
        self.domain.clear();
        self.domain.push_str(domain);
        self.domain.make_ascii_lowercase();
        if !path.mailbox.is_ascii() && !utf8 {
            return self.wrong(out, "553 5.6.7 SMTPUTF8 is needed for this address");
        }
        if let Some(flow) = self.over_limit(out) {
            return flow;
        }
        if let Some(flow) = self.refuse(At::Rcpt, out) {
            return flow;
        }
        self.answer_recipient(now_ms, out)
    }

    /// Checks the limits of transaction and connection.
    fn over_limit(&mut self, out: &mut Vec<u8>) -> Option<Flow> {
        let limits = self.parties.personality.limits;
        self.rcpts += 1;
        if limits.rcpt_per_session > 0 && self.rcpts > limits.rcpt_per_session {
            self.say(Phrase::SessionOver, out);
            return Some(CLOSE);
        }
        let (accepted, domain) =
            self.transaction.as_ref().map_or((0, ""), |open| (open.accepted, open.domain.as_str()));
        let other_domain = !domain.is_empty() && domain != self.domain;
        if limits.rcpt_per_transaction > 0 && accepted >= limits.rcpt_per_transaction {
            self.say(Phrase::TooManyRecipients, out);
            return Some(CONTINUE);
        }
        if limits.one_domain && other_domain {
            self.say(Phrase::OneDomain, out);
            return Some(CONTINUE);
        }
        None
    }

    fn answer_recipient(&mut self, now_ms: i64, out: &mut Vec<u8>) -> Flow {
        let mut wait_ms = 0;
        let mut key = self.local.to_lowercase();
        if self.parties.personality.plus_delay {
            let (base, delay_ms) = sandbox::split_delay(&key);
            wait_ms = delay_ms;
            key.truncate(base.len());
        }
        let phrase = self.phrase_for(&key, now_ms);
        let accepted = matches!(phrase, Phrase::Accepted | Phrase::CannotVerify);
        if accepted && let Some(open) = &mut self.transaction {
            open.accepted += 1;
            open.domain.clone_from(&self.domain);
        }
        let seconds = self.parties.personality.greylist.map_or(0, |greylist| greylist.delay_s);
        self.say_with(phrase, seconds, out);
        let flow = if self.said_421 { CLOSE } else { CONTINUE };
        Flow { wait_ms, ..flow }
    }

    /// Reply to a recipient with the lower-case local part `local`.
    fn phrase_for(&mut self, local: &str, now_ms: i64) -> Phrase {
        let recipients = self.parties.personality.recipients;
        let state = match recipients {
            Recipients::RelayDenied => None,
            _ => self.mailbox(local),
        };
        let Some(state) = state else {
            return Phrase::RelayDenied;
        };
        if let Some(phrase) = self.suspicion(state, now_ms) {
            return phrase;
        }
        if let Some(phrase) = self.not_yet(now_ms) {
            return phrase;
        }
        match recipients {
            Recipients::Honest => phrase_of(state),
            Recipients::AcceptAll => Phrase::Accepted,
            Recipients::CannotVerify => Phrase::CannotVerify,
            Recipients::FlipFlop if self.rng.below(2) == 0 => Phrase::Accepted,
            Recipients::FlipFlop | Recipients::RefuseAll => Phrase::Missing,
            Recipients::RelayDenied => Phrase::RelayDenied,
        }
    }

    /// Reply to a client that has probed too many missing mailboxes.
    fn suspicion(&mut self, state: MailboxState, now_ms: i64) -> Option<Phrase> {
        let after = self.parties.personality.after_misses?;
        let client = self.parties.client;
        let misses = if state == MailboxState::Missing {
            self.parties.state.miss(client, now_ms)
        } else {
            self.parties.state.misses(client, now_ms)
        };
        // The current miss may be the last one answered.
        let exceeded = misses > after.count || (misses == after.count && state != MailboxState::Missing);
        exceeded.then_some(match after.then {
            Misbehaviour::Block => Phrase::Blocked,
            Misbehaviour::Lie => Phrase::Accepted,
            Misbehaviour::Drop => Phrase::SessionOver,
        })
    }

    /// Greylisting and call-outs: a later repetition gets another reply.
    fn not_yet(&mut self, now_ms: i64) -> Option<Phrase> {
        let state = &self.parties.state;
        let forget_ms = i64::from(self.parties.personality.forget_s) * 1_000;
        if let Some(greylist) = self.parties.personality.greylist {
            let sender = self.sender();
            let key = format!("{} {sender} {}@{}", self.parties.client, self.local, self.domain);
            if state.known_for_ms(key, now_ms, forget_ms) < i64::from(greylist.delay_s) * 1_000 {
                return Some(if greylist.hint { Phrase::GreylistedHint } else { Phrase::Greylisted });
            }
        }
        let callout_ms = i64::from(self.parties.personality.callout_s) * 1_000;
        if callout_ms > 0 {
            let key = format!("{}@{}", self.local, self.domain);
            if state.known_for_ms(key, now_ms, forget_ms) < callout_ms {
                return Some(Phrase::InProgress);
            }
        }
        None
    }

    /// The recipient's mailbox; `None` if the host does not accept the domain's mail, which is looked up once for consecutive
    /// recipients.
    fn mailbox(&mut self, local: &str) -> Option<MailboxState> {
        match &self.known {
            Some((domain, responsible)) if *domain == self.domain => responsible.state(local, domain),
            _ => {
                let responsible = self.parties.world.responsible(&self.parties.host, &self.domain);
                let state = responsible.state(local, &self.domain);
                self.known = Some((self.domain.clone(), responsible));
                state
            }
        }
    }
}

fn phrase_of(state: MailboxState) -> Phrase {
    match state {
        MailboxState::Exists => Phrase::Accepted,
        MailboxState::Missing => Phrase::Missing,
        MailboxState::Disabled => Phrase::Disabled,
        MailboxState::Full => Phrase::Full,
        MailboxState::FullForNow => Phrase::FullForNow,
        MailboxState::Restricted => Phrase::Restricted,
        MailboxState::OverRate => Phrase::OverRate,
        MailboxState::Unavailable => Phrase::Unavailable,
        MailboxState::Blocked => Phrase::Blocked,
    }
}
