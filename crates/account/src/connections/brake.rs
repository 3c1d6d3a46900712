//! The brake: stops a run before its first action until a user confirms it.
//!
//! A wrong setting, an outage of the service or a platform that suddenly reports another list must not cost customers their
//! contacts. Unsubscribing, deleting and changing an address cannot be undone, so a run that nobody watches may do so for few
//! contacts only: by itself, and together with the earlier ones that nobody confirmed. Many short runs would otherwise do what
//! none of them may do, and a long one that found nothing would leave room for a short one that finds all contacts bad. A run that
//! would leave no other contact asks, however short the list.

use probity_mail::time::DAY_MS;

/// Number of contacts that runs may change without confirmation, unless the customer chooses another.
pub const UNCONFIRMED_CONTACTS: i64 = 3;
/// Share of the contacts that they may change, in percent, unless the customer chooses another.
pub const UNCONFIRMED_PERCENT: i64 = 10;
/// Highest number of contacts that the customer may choose.
pub const UNCONFIRMED_CONTACTS_MAX: i64 = 1_000;
/// Shortest time for which runs count together, in days. A shorter period of decay must not empty a small list faster.
const TOGETHER_DAYS: i64 = 30;

/// Contacts of one run or of several, and what happens to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrakeCount {
    /// Number of verified contacts.
    pub contacts: i64,
    /// Number of actions that cannot be undone.
    pub destructive: i64,
}

/// How many contacts runs may unsubscribe, delete or fix without confirmation: a number or a share, whichever is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnconfirmedLimit {
    /// Number of contacts.
    pub contacts: i64,
    /// Share of the contacts, in percent.
    pub percent: i64,
}

impl UnconfirmedLimit {
    /// Returns the limit among this number of contacts.
    pub fn of(self, contacts: i64) -> i64 {
        self.contacts.max(contacts.saturating_mul(self.percent) / 100)
    }

    /// Returns whether these are more actions than runs may do without confirmation.
    pub fn is_exceeded(self, count: BrakeCount) -> bool {
        count.destructive > self.of(count.contacts)
    }
}

/// Earlier runs of a connection that the brake let act without confirmation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnaskedRuns {
    /// Contacts of runs over part of the contacts, each over different ones.
    pub some: i64,
    /// Contacts of the largest run over all contacts; these runs cover the same ones.
    pub all: i64,
    /// Number of actions that cannot be undone, done or due.
    pub destructive: i64,
}

impl UnaskedRuns {
    /// Counts a run together with these. Contacts of runs over all contacts may be among those of the others, and count once.
    /// Of a run that ended early, only the contacts that it changed count.
    pub fn with(self, run: BrakeCount, is_over_all: bool) -> BrakeCount {
        let (of_some, of_all) = if is_over_all { (0, run.contacts) } else { (run.contacts, 0) };
        let contacts = self.some.saturating_add(of_some).max(self.all).max(of_all);
        let destructive = self.destructive.saturating_add(run.destructive);
        BrakeCount { contacts: contacts.max(destructive), destructive }
    }
}

/// Returns how long earlier runs count together with a run, in milliseconds: until decay protection has covered each contact
/// once. Daily shares of a small list are too small for the brake.
pub fn together_ms(decay_days: i64) -> i64 {
    decay_days.max(TOGETHER_DAYS).saturating_mul(DAY_MS)
}

/// Run whose verdicts are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct RunFacts {
    /// Whether the run only shows what would happen.
    pub is_dry: bool,
    /// Whether a user has confirmed a run of this connection, with no broader settings or keyword rules since.
    pub is_trusted: bool,
    /// Whether a user decides about every action.
    pub manual_mode: bool,
    /// Whether a person started the run, and not a schedule or a key.
    pub is_watched: bool,
    /// Whether the connection would be left without any other contact.
    pub is_whole: bool,
    /// What the run itself has verified and planned.
    pub own: BrakeCount,
    /// The same together with earlier unconfirmed runs.
    pub together: BrakeCount,
    /// How many contacts runs may change without confirmation.
    pub limit: UnconfirmedLimit,
}

probity_mail::named! {
    /// Reason why a run waits for confirmation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BrakeReason {
        /// The run only shows what would happen.
        Dry = "dry_run",
        /// A user decides about every action.
        ManualMode = "manual_mode",
        /// No run of the connection has been confirmed since it was created, or since its settings became broader.
        First = "first_run",
        /// Too many actions that cannot be undone.
        TooMany = "too_many_actions",
    }
}

/// Returns why a run waits for confirmation; `None` if it may act.
pub fn brake(run: RunFacts) -> Option<BrakeReason> {
    if run.is_dry {
        return Some(BrakeReason::Dry);
    }
    if run.manual_mode {
        return Some(BrakeReason::ManualMode);
    }
    if !run.is_trusted {
        return Some(BrakeReason::First);
    }
    if run.is_whole && run.own.destructive > 0 {
        return Some(BrakeReason::TooMany);
    }
    // A run that does nothing of this kind adds nothing to what the earlier ones have done.
    let may_do_harm = !run.is_watched && run.own.destructive > 0;
    let is_too_many = run.limit.is_exceeded(run.own) || run.limit.is_exceeded(run.together);
    (may_do_harm && is_too_many).then_some(BrakeReason::TooMany)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: BrakeCount = BrakeCount { contacts: 1_000, destructive: 1 };
    const FREE: RunFacts = RunFacts {
        is_dry: false,
        is_trusted: true,
        manual_mode: false,
        is_watched: false,
        is_whole: false,
        own: FEW,
        together: FEW,
        limit: LIMIT,
    };
    const LIMIT: UnconfirmedLimit = UnconfirmedLimit { contacts: 3, percent: 10 };

    fn count(contacts: i64, destructive: i64) -> BrakeCount {
        BrakeCount { contacts, destructive }
    }

    #[test]
    fn a_run_acts_only_if_nothing_holds_it() {
        let harmless = BrakeCount { destructive: 0, ..FEW };
        let cases = [
            (FREE, None),
            (RunFacts { is_dry: true, is_trusted: false, ..FREE }, Some(BrakeReason::Dry)),
            (RunFacts { manual_mode: true, is_trusted: false, ..FREE }, Some(BrakeReason::ManualMode)),
            (RunFacts { is_trusted: false, own: harmless, ..FREE }, Some(BrakeReason::First)),
            (RunFacts { is_trusted: false, is_watched: true, ..FREE }, Some(BrakeReason::First)),
            (RunFacts { is_whole: true, is_watched: true, ..FREE }, Some(BrakeReason::TooMany)),
            (RunFacts { is_whole: true, own: harmless, ..FREE }, None),
        ];
        for (facts, expected) in cases {
            assert_eq!(brake(facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn a_run_that_nobody_watches_may_destroy_3_or_a_tenth() {
        let cases = [
            (25, 3, false),
            (25, 4, true),
            (39, 4, true),
            (40, 4, false),
            (250, 25, false),
            (250, 26, true),
            (1_000, 100, false),
            (1_000, 101, true),
            (1_009, 100, false),
            (1_009, 101, true),
            (i64::MAX, i64::MAX, true),
        ];
        for (contacts, destructive, stops) in cases {
            let own = count(contacts, destructive);
            let facts = RunFacts { own, together: own, ..FREE };
            assert_eq!(brake(facts), stops.then_some(BrakeReason::TooMany), "{destructive} of {contacts}");
            assert_eq!(brake(RunFacts { is_watched: true, ..facts }), None, "a person watches it");
        }
    }

    #[test]
    fn customers_choose_how_much_runs_may_change_by_themselves() {
        let limit = |contacts, percent| UnconfirmedLimit { contacts, percent };
        let cases = [
            (limit(0, 0), count(1_000, 1), true),
            (limit(0, 1), count(99, 1), true),
            (limit(0, 1), count(100, 1), false),
            (limit(20, 1), count(100, 20), false),
            (limit(20, 1), count(100, 21), true),
            (limit(0, 100), count(100, 100), false),
        ];
        for (limit, own, stops) in cases {
            let facts = RunFacts { own, together: own, limit, ..FREE };
            assert_eq!(brake(facts), stops.then_some(BrakeReason::TooMany), "{facts:?}");
        }
    }

    #[test]
    fn a_run_passes_by_itself_and_together_with_earlier_ones() {
        let cases = [
            // 10,000 clean sign-ups do not excuse 300 that are all bad.
            (count(300, 300), count(10_300, 300), true),
            (count(300, 30), count(10_300, 30), false),
            // Each of them is short enough.
            (count(2, 2), count(4, 3), false),
            (count(2, 2), count(6, 4), true),
            // Many contacts leave room for many actions, a few at a time.
            (count(250, 25), count(1_000, 100), false),
            (count(250, 25), count(1_000, 101), true),
            // What earlier runs did does not hold a run that does nothing.
            (count(10, 0), count(30, 4), false),
        ];
        for (own, together, stops) in cases {
            let facts = RunFacts { own, together, ..FREE };
            assert_eq!(brake(facts), stops.then_some(BrakeReason::TooMany), "{own:?} {together:?}");
        }
    }

    #[test]
    fn contacts_that_are_verified_again_and_again_count_once() {
        let earlier = UnaskedRuns { some: 300, all: 200, destructive: 7 };
        assert_eq!(earlier.with(count(50, 5), false), count(350, 12));
        assert_eq!(earlier.with(count(220, 5), true), count(300, 12));
        assert_eq!(earlier.with(count(400, 5), true), count(400, 12));
        assert_eq!(UnaskedRuns { all: 900, ..earlier }.with(count(50, 5), false), count(900, 12));
        assert_eq!(UnaskedRuns::default().with(count(50, 5), false), count(50, 5));
        let interrupted = UnaskedRuns { destructive: 18, ..UnaskedRuns::default() };
        assert_eq!(interrupted.with(count(8, 8), false), count(26, 26), "what was changed was verified");
    }

    #[test]
    fn runs_count_together_until_each_contact_has_had_its_turn() {
        for (decay_days, days) in [(7, 30), (30, 30), (31, 31), (365, 365)] {
            assert_eq!(together_ms(decay_days), days * DAY_MS, "{decay_days}");
        }
    }

    /// Verifies a list in shares, once each, and returns how many contacts are lost before a user is asked.
    fn lost_unasked(contacts: i64, share: i64) -> i64 {
        let mut earlier = UnaskedRuns::default();
        for _ in 0..contacts / share {
            let own = count(share, share);
            let facts = RunFacts { own, together: earlier.with(own, false), ..FREE };
            if brake(facts).is_some() {
                break;
            }
            earlier.some += share;
            earlier.destructive += share;
        }
        earlier.destructive
    }

    #[test]
    fn an_error_of_ours_empties_no_list_share_by_share() {
        for (contacts, share) in [(300, 10), (300, 25), (750, 25), (6_000, 200)] {
            let lost = lost_unasked(contacts, share);
            assert!(lost <= LIMIT.of(contacts), "{lost} of {contacts} by {share}");
        }
        assert_eq!((lost_unasked(20, 1), lost_unasked(20, 3)), (3, 3), "a few are always allowed");
    }
}
