//! Determines whether a session's server counts its replies right, and what must wait until that is known.

use probity_mail::address::Address;
use probity_mail::plan::RecipientFate;
use probity_mail::smtp::session::{End, RcptAnswer};
use probity_mail::time::Millis;
use probity_mail::verdict::{Status, judge};

use super::Probe;
use crate::request::Effort;

/// How a session's server counts its replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyCount {
    /// It does not matter, because no reply could be taken for another recipient's; or it counted right.
    Fine,
    /// Known at the end of the session.
    Open,
    /// It left silently: its recipients are probed again.
    Unknown,
    /// It sent more replies than it got commands: they are discarded.
    Wrong,
}

impl Probe<'_> {
    /// Records that a reply may belong to another recipient. Known providers' servers count right, and their sessions are worth
    /// keeping warm.
    pub(super) fn doubt(&mut self) {
        if self.plan.policy().is_some_and(|policy| policy.provider.is_none()) {
            self.session = ReplyCount::Open;
        }
    }

    /// Whether the reply about one recipient, after another was refused in the session, waits for the reply to QUIT: the other's
    /// refusal may have arrived twice, late. For jobs always. For a live call only if the reply makes the recipient undeliverable
    /// and does not name it.
    pub(super) fn waits_for_goodbye(&self) -> bool {
        let unnamed = |(recipient, fate): &(u32, RecipientFate)| {
            let RecipientFate::Settled(told) = fate else { return false };
            let undeliverable =
                judge(&told.mailbox).is_some_and(|found| found.reason.status() == Status::Undeliverable);
            undeliverable && !names(&told.text, self.address(*recipient))
        };
        self.asker.effort == Effort::Batch || self.plan.fates().iter().any(unnamed)
    }

    /// Records the end of the session, with or without a refused recipient.
    pub(super) fn ended(&mut self, end: &End, refused: bool, now: Millis) {
        self.link = None;
        let dropped = matches!(end, End::Closed { .. } | End::TimedOut { .. });
        if let Some(site) = self.site.as_ref().filter(|_| dropped && refused) {
            site.site().parted(now, true);
        }
        if self.session == ReplyCount::Open {
            self.session = match end {
                End::Protocol { .. } => ReplyCount::Wrong,
                _ if dropped => ReplyCount::Unknown,
                // A server that ends the session has kept count so far.
                _ => ReplyCount::Fine,
            };
        }
    }
}

pub(super) fn is_refusal(answer: &RcptAnswer) -> bool {
    matches!(answer, RcptAnswer::Reply(reply) if reply.code >= 500)
}

/// Whether a reply names its recipient, as most servers' do.
fn names(text: &str, address: &Address) -> bool {
    let mut path = Vec::new();
    address.write_path(&mut path);
    let (text, path) = (text.to_lowercase(), String::from_utf8_lossy(&path).to_lowercase());
    text.split(|c: char| !(c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~.-@\"".contains(c)))
        .any(|word| word.trim_end_matches('.') == path)
}
