//! Servers that drop a session, without a word, in which they have refused somebody.
//!
//! What is asked behind a refusal gets lost there, so they are asked about one recipient a session. One broken connection proves
//! nothing: it takes two of them with no session between that outlived a refusal.

use probity_mail::time::{HOUR_MS, Millis};

/// Sessions that must have been dropped in a row.
const IN_A_ROW: u32 = 2;
/// How long it is remembered after the last one.
const REMEMBERED_MS: i64 = 6 * HOUR_MS;

/// What sessions with a refusal have come to lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drops {
    in_a_row: u32,
    last: Millis,
}

impl Drops {
    /// A session in which somebody was refused is over; `dropped` where the server left without a word.
    pub(crate) fn parted(&mut self, now: Millis, dropped: bool) {
        let before = if self.is_remembered(now) { self.in_a_row } else { 0 };
        self.in_a_row = if dropped { before.saturating_add(1) } else { 0 };
        self.last = now;
    }

    /// Whether a session is not expected to outlive a refusal.
    pub(crate) fn are_usual(self, now: Millis) -> bool {
        self.in_a_row >= IN_A_ROW && self.is_remembered(now)
    }

    fn is_remembered(self, now: Millis) -> bool {
        now.since(self.last) < REMEMBERED_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_in_a_row_are_usual_for_six_hours_unless_a_session_lives_on() {
        let mut drops = Drops::default();
        drops.parted(Millis(0), true);
        assert!(!drops.are_usual(Millis(0)));
        drops.parted(Millis(5), false);
        drops.parted(Millis(9), true);
        assert!(!drops.are_usual(Millis(9)), "one lived on between");
        drops.parted(Millis(10), true);
        assert!(drops.are_usual(Millis(9 + REMEMBERED_MS)));
        assert!(!drops.are_usual(Millis(10 + REMEMBERED_MS)));
        drops.parted(Millis(11 + REMEMBERED_MS), true);
        assert!(!drops.are_usual(Millis(11 + REMEMBERED_MS)), "it begins anew");
    }
}
