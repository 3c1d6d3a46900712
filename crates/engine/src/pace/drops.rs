//! Servers that silently drop a session in which they refused a recipient.
//!
//! Commands after the refusal are lost there, so such servers get one recipient per session. One broken connection proves nothing:
//! it takes two, with no session in between that outlived a refusal.

use probity_mail::time::{HOUR_MS, Millis};

/// Sessions that must be dropped in a row.
const IN_A_ROW: u32 = 2;
/// Time for which it is remembered after the last drop.
const REMEMBERED_MS: i64 = 6 * HOUR_MS;

/// Recent outcomes of sessions with a refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionDrops {
    in_a_row: u32,
    last: Millis,
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

    fn is_remembered(self, now: Millis) -> bool {
        now.since(self.last) < REMEMBERED_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
