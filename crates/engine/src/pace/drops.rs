//! Servers that end sessions early: silently after they refused a recipient, or after a number of transactions.
//!
//! Commands after the refusal are lost there, so such servers get one recipient per session. One broken connection proves nothing:
//! it takes two, with no session in between that outlived a refusal. A reply to MAIL that ends the session proves itself.

use probity_mail::time::{HOUR_MS, Millis};

/// Sessions that must be dropped in a row.
const IN_A_ROW: u32 = 2;
/// Time for which it is remembered after the last one.
const REMEMBERED_MS: i64 = 6 * HOUR_MS;

/// Recent ends of sessions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionDrops {
    in_a_row: u32,
    last: Millis,
    /// Transactions of a session that took no more, and when that was.
    full: Option<(u32, Millis)>,
}

impl SessionDrops {
    /// Records the end of a session with a refusal; `dropped` if the server left silently.
    pub(crate) fn parted(&mut self, now: Millis, dropped: bool) {
        let before = if self.is_remembered(now) { self.in_a_row } else { 0 };
        self.in_a_row = if dropped { before.saturating_add(1) } else { 0 };
        self.last = now;
    }

    /// Whether sessions here are expected to end at a refusal.
    pub(crate) fn are_usual(self, now: Millis) -> bool {
        self.in_a_row >= IN_A_ROW && self.is_remembered(now)
    }

    /// Records that a session took this many transactions and no more.
    pub(crate) fn full(&mut self, now: Millis, mails: u32) {
        self.full = Some((mails, now));
    }

    /// Transactions after which sessions here are expected to be full.
    pub(crate) fn mails_max(self, now: Millis) -> Option<u32> {
        self.full.filter(|(_, at)| now.since(*at) < REMEMBERED_MS).map(|(mails, _)| mails)
    }

    fn is_remembered(self, now: Millis) -> bool {
        now.since(self.last) < REMEMBERED_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_session_is_remembered_for_six_hours() {
        let mut drops = SessionDrops::default();
        assert_eq!(drops.mails_max(Millis(0)), None);
        drops.full(Millis(5), 2);
        assert_eq!(drops.mails_max(Millis(4 + REMEMBERED_MS)), Some(2));
        assert_eq!(drops.mails_max(Millis(5 + REMEMBERED_MS)), None);
    }

    #[test]
    fn two_in_a_row_are_usual_for_six_hours_unless_a_session_lives_on() {
        let mut drops = SessionDrops::default();
        drops.parted(Millis(0), true);
        assert!(!drops.are_usual(Millis(0)));
        drops.parted(Millis(5), false);
        drops.parted(Millis(9), true);
        assert!(!drops.are_usual(Millis(9)), "one lived on between");
        drops.parted(Millis(10), true);
        assert!(drops.are_usual(Millis(9 + REMEMBERED_MS)));
        assert!(!drops.are_usual(Millis(10 + REMEMBERED_MS)));
        drops.parted(Millis(11 + REMEMBERED_MS), true);
        assert!(!drops.are_usual(Millis(11 + REMEMBERED_MS)), "it starts again");
    }
}
