//! The brake: stops a run before its first action until a user confirms it.
//!
//! A wrong setting, an outage of the service or a platform that suddenly reports another list must not cost customers their
//! contacts. Unsubscribing, deleting and changing an address cannot be undone, so an automatic run may do so for few
//! contacts only.

use super::RunCause;

/// Number of contacts that an automatic run may always unsubscribe, delete or fix.
pub const ALWAYS_ALLOWED: i64 = 25;
/// Share of the contacts for which an automatic run may do so, in percent.
pub const SHARE_PERCENT: i64 = 10;

/// Run whose verdicts are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// Whether the run only shows what would happen.
    pub is_dry: bool,
    /// Whether a user has confirmed a run of this connection before.
    pub is_trusted: bool,
    /// Whether a user decides about every action.
    pub manual_mode: bool,
    /// Cause of the run.
    pub cause: RunCause,
    /// Number of verified contacts.
    pub contacts: i64,
    /// Number of planned actions that cannot be undone.
    pub destructive: i64,
}

/// Reason why a run waits for confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrakeReason {
    /// The run only shows what would happen.
    Dry,
    /// A user decides about every action.
    ManualMode,
    /// No run of the connection has been confirmed yet.
    First,
    /// Too many actions that cannot be undone.
    TooMany,
}

impl BrakeReason {
    /// All reasons, in the order in which they are checked.
    pub const ALL: [Self; 4] = [Self::Dry, Self::ManualMode, Self::First, Self::TooMany];

    /// Returns the name in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dry => "dry_run",
            Self::ManualMode => "manual_mode",
            Self::First => "first_run",
            Self::TooMany => "too_many_actions",
        }
    }
}

impl std::str::FromStr for BrakeReason {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|one| one.as_str() == name).ok_or(())
    }
}

/// Returns how many of its contacts an automatic run may unsubscribe, delete or fix without confirmation.
pub fn allowed_unasked(contacts: i64) -> i64 {
    ALWAYS_ALLOWED.max(contacts.saturating_mul(SHARE_PERCENT) / 100)
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
    let allowed = allowed_unasked(run.contacts);
    (run.cause.is_automatic() && run.destructive > allowed).then_some(BrakeReason::TooMany)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: RunFacts = RunFacts {
        is_dry: false,
        is_trusted: true,
        manual_mode: false,
        cause: RunCause::Autofloss,
        contacts: 1_000,
        destructive: 1,
    };

    #[test]
    fn a_run_acts_only_if_nothing_holds_it() {
        let cases = [
            (FREE, None),
            (RunFacts { is_dry: true, is_trusted: false, ..FREE }, Some(BrakeReason::Dry)),
            (RunFacts { manual_mode: true, is_trusted: false, ..FREE }, Some(BrakeReason::ManualMode)),
            (RunFacts { is_trusted: false, destructive: 0, ..FREE }, Some(BrakeReason::First)),
            (RunFacts { is_trusted: false, cause: RunCause::Manual, ..FREE }, Some(BrakeReason::First)),
        ];
        for (facts, expected) in cases {
            assert_eq!(brake(facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn an_automatic_run_may_destroy_25_or_a_tenth() {
        let cases = [
            (10, 10, false),
            (10, 25, false),
            (10, 26, true),
            (250, 25, false),
            (250, 26, true),
            (1_000, 100, false),
            (1_000, 101, true),
            (1_009, 100, false),
            (1_009, 101, true),
            (i64::MAX, i64::MAX, true),
        ];
        for (contacts, destructive, stops) in cases {
            let facts = RunFacts { contacts, destructive, ..FREE };
            assert_eq!(brake(facts), stops.then_some(BrakeReason::TooMany), "{destructive} of {contacts}");
            assert_eq!(brake(RunFacts { cause: RunCause::Manual, ..facts }), None, "a person watches it");
        }
    }
}
