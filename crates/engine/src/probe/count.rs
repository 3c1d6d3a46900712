//! Whether a session's server counts its replies right, and what has to wait until that is known.

use probity_mail::address::Address;
use probity_mail::plan::Fate;
use probity_mail::smtp::session::{End, RcptAnswer};
use probity_mail::time::Millis;
use probity_mail::verdict::{Status, judge};

use super::Probe;
use crate::pace::Effort;

/// How a session's server counts its replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// It does not matter: nobody's answer could stand for another's. Or it counted right.
    Fine,
    /// It will show at the end.
    Open,
    /// It left without a word: what it said is asked again.
    Unknown,
    /// It sent more replies than it got commands: what it said is taken back.
    Wrong,
}

impl Probe<'_> {
    /// A reply may stand for another recipient than its own. Who runs a known provider's servers has them count right, and its
    /// sessions are worth keeping warm.
    pub(super) fn doubt(&mut self) {
        if self.plan.policy().is_some_and(|policy| policy.provider.is_none()) {
            self.session = Count::Open;
        }
    }

    /// Whether the answer about one recipient, after somebody else was refused in the session, waits for the goodbye: the refusal of
    /// the other may have come a second time, late. A batch always does. A live call does only where it makes somebody
    /// undeliverable, and the reply does not name whom it is about.
    pub(super) fn waits_for_goodbye(&self) -> bool {
        let unnamed = |(recipient, fate): &(u32, Fate)| {
            let Fate::Settled(told) = fate else { return false };
            let undeliverable =
                judge(&told.mailbox).is_some_and(|found| found.reason.status() == Status::Undeliverable);
            undeliverable && !names(&told.text, self.address(*recipient))
        };
        self.asker.effort == Effort::Batch || self.plan.fates().iter().any(unnamed)
    }

    /// The session is over, after a refusal of somebody or not.
    pub(super) fn ended(&mut self, end: &End, refused: bool, now: Millis) {
        self.link = None;
        let dropped = matches!(end, End::Closed { .. } | End::TimedOut { .. });
        if let Some(site) = self.site.as_ref().filter(|_| dropped && refused) {
            site.site().parted(now, true);
        }
        if self.session == Count::Open {
            self.session = match end {
                End::Protocol { .. } => Count::Wrong,
                _ if dropped => Count::Unknown,
                // A server that sends us away has kept count so far.
                _ => Count::Fine,
            };
        }
    }
}

pub(super) fn is_refusal(answer: &RcptAnswer) -> bool {
    matches!(answer, RcptAnswer::Reply(reply) if reply.code >= 500)
}

/// Whether a reply says whom it is about, as most servers do.
fn names(text: &str, address: &Address) -> bool {
    let mut path = Vec::new();
    address.write_path(&mut path);
    let (text, path) = (text.to_lowercase(), String::from_utf8_lossy(&path).to_lowercase());
    text.split(|c: char| !(c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~.-@\"".contains(c)))
        .any(|word| word.trim_end_matches('.') == path)
}
