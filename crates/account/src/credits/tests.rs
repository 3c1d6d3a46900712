//! The ledger by example, and under every sequence of movements: no sum overflows, and no missing credit is spent.
use proptest::prelude::*;

use super::*;

fn split(subscription: CreditCount, prepaid: CreditCount) -> Split {
    Split { subscription, prepaid }
}

#[test]
fn only_what_could_not_be_found_out_is_free() {
    let free: Vec<&str> = Reason::ALL.iter().filter(|reason| is_free(**reason)).map(|reason| reason.as_str()).collect();
    assert_eq!(free, ["failed_exchange", "unverified"]);
}

#[test]
fn buckets_have_names_and_single_credits() {
    for (bucket, name, one) in
        [(CreditBucket::Subscription, "subscription", split(1, 0)), (CreditBucket::Prepaid, "prepaid", split(0, 1))]
    {
        assert_eq!((bucket.as_str(), CreditBucket::from_name(name)), (name, Some(bucket)));
        assert_eq!(Split::single(bucket), one);
        assert_eq!((one.of(bucket), one.total()), (1, 1));
    }
    assert_eq!(CreditBucket::from_name("Prepaid"), None);
}

#[test]
fn the_subscription_is_spent_before_prepaid_credits() {
    let cases = [
        (split(5, 5), 0, Some(split(0, 0))),
        (split(5, 5), 3, Some(split(3, 0))),
        (split(5, 5), 5, Some(split(5, 0))),
        (split(5, 5), 6, Some(split(5, 1))),
        (split(5, 5), 10, Some(split(5, 5))),
        (split(5, 5), 11, None),
        (split(0, 5), 2, Some(split(0, 2))),
        (split(5, 0), 6, None),
        (split(0, 0), 1, None),
        (split(5, 5), -1, None),
        (split(-1, 5), 2, None),
        (split(UNLIMITED, 3), UNLIMITED + 3, Some(split(UNLIMITED, 3))),
        (split(i64::MAX, i64::MAX), i64::MAX, Some(split(i64::MAX, 0))),
        (split(i64::MIN, 0), i64::MAX, None),
        (split(0, i64::MAX), i64::MIN, None),
    ];
    for (available, n, expected) in cases {
        assert_eq!(Split::take(available, n), expected, "{n} of {available:?}");
    }
}

#[test]
fn sums_and_rests_never_overflow_or_go_below_zero() {
    let (max, min) = (i64::MAX, i64::MIN);
    assert_eq!(split(max, max).total(), max);
    for (one, other, sum, rest) in [
        (split(3, 4), split(1, 4), Some(split(4, 8)), Some(split(2, 0))),
        (split(3, 4), split(4, 0), Some(split(7, 4)), None),
        (split(3, 4), split(0, 5), Some(split(3, 9)), None),
        (split(max, 0), split(1, 0), None, Some(split(max - 1, 0))),
        (split(0, max), split(0, 1), None, Some(split(0, max - 1))),
        (split(1, 0), split(min, 0), Some(split(min + 1, 0)), None),
        (split(0, 1), split(0, min), Some(split(0, min + 1)), None),
    ] {
        assert_eq!(one.checked_add(other), sum, "{one:?} + {other:?}");
        assert_eq!(one.checked_sub(other), rest, "{one:?} - {other:?}");
    }
}

#[test]
fn a_period_of_a_customer_balances() {
    let granted =
        Balance::default().grant(split(10, 0)).and_then(|balance| balance.grant(split(0, 5))).expect("grants");
    let (held, taken) = granted.hold(12).expect("15 are there");
    assert_eq!(taken, split(10, 2));
    let closed = held.capture(split(9, 0)).and_then(|b| b.capture(split(0, 1))).and_then(|b| b.release(split(1, 1)));
    let closed = closed.expect("12 are held");
    let end = closed.expire(split(1, 0)).and_then(|balance| balance.adjust(split(0, -4))).expect("they are there");
    let expected = Balance {
        available: split(0, 0),
        held: Split::ZERO,
        spent: split(9, 1),
        granted: split(10, 5),
        expired: split(1, 0),
        adjusted: split(0, -4),
    };
    assert_eq!(end, expected);
    assert!(end.holds());
}

#[test]
fn what_is_not_there_cannot_move() {
    use MovementRefused::{Insufficient, Negative, NotHeld, Overflow};
    let (balance, _) = Balance::default().grant(split(5, 3)).and_then(|balance| balance.hold(6)).expect("8 are there");
    assert_eq!((balance.available, balance.held), (split(0, 2), split(5, 1)));
    let missing = |needed| Insufficient { needed, available: 2 };
    let hold = |n| balance.hold(n).map(|(next, _)| next);
    let cases = [
        (hold(3), missing(3)),
        (hold(i64::MAX), missing(i64::MAX)),
        (hold(-1), Negative),
        (balance.capture(split(6, 0)), NotHeld),
        (balance.capture(split(0, 2)), NotHeld),
        (balance.capture(split(-1, 1)), Negative),
        (balance.release(split(5, 2)), NotHeld),
        (balance.release(split(1, -1)), Negative),
        (balance.expire(split(1, 0)), missing(1)),
        (balance.expire(split(0, 3)), missing(3)),
        (balance.expire(split(0, -1)), Negative),
        (balance.adjust(split(0, -3)), missing(3)),
        (balance.adjust(split(-1, 7)), missing(1)),
        (balance.adjust(split(i64::MIN, 0)), missing(i64::MAX)),
        (balance.adjust(split(0, i64::MAX)), Overflow),
        (balance.grant(split(-1, 0)), Negative),
        (balance.grant(split(i64::MAX, 0)), Overflow),
    ];
    for (place, (moved, refusal)) in cases.into_iter().enumerate() {
        assert_eq!(moved, Err(refusal), "case {place}");
    }
}

#[test]
fn broken_books_are_noticed() {
    let (good, _) = Balance::default().grant(split(9, 9)).and_then(|balance| balance.hold(4)).expect("18 are there");
    assert!(good.holds());
    let broken = [
        Balance { available: split(6, 9), ..good },
        Balance { held: split(4, 1), ..good },
        Balance { spent: split(1, 0), ..good },
        Balance { granted: split(9, 8), ..good },
        Balance { expired: split(0, 1), ..good },
        Balance { adjusted: split(-1, 0), ..good },
        // The sums are right, but amounts are not negative.
        Balance { available: split(-1, 9), held: split(10, 0), ..good },
        Balance { spent: split(-1, 0), held: split(5, 0), ..good },
        Balance { granted: split(-1, 9), adjusted: split(10, 0), ..good },
        // One bucket does not compensate for the other.
        Balance { available: split(6, 8), ..good },
        Balance { available: split(i64::MAX, i64::MAX), held: split(i64::MAX, i64::MAX), ..good },
    ];
    for balance in broken {
        assert!(!balance.holds(), "{balance:?}");
    }
}

#[derive(Clone, Debug)]
enum Movement {
    Grant(Split),
    Hold(CreditCount),
    Capture(Split),
    Release(Split),
    Expire(Split),
    Adjust(Split),
}

impl Movement {
    fn apply(&self, balance: Balance) -> Result<Balance, MovementRefused> {
        match *self {
            Self::Grant(amount) => balance.grant(amount),
            Self::Hold(n) => balance.hold(n).map(|(next, _)| next),
            Self::Capture(amount) => balance.capture(amount),
            Self::Release(amount) => balance.release(amount),
            Self::Expire(amount) => balance.expire(amount),
            Self::Adjust(change) => balance.adjust(change),
        }
    }
}

/// Mostly small numbers, so that movements succeed, and some from the whole range.
fn credits() -> impl Strategy<Value = CreditCount> {
    prop_oneof![40 => 0i64..8, 4 => -3i64..0, 1 => any::<i64>(), 1 => Just(UNLIMITED), 1 => Just(i64::MAX)]
}

fn movement() -> impl Strategy<Value = Movement> {
    let amount = || (credits(), credits()).prop_map(|(subscription, prepaid)| split(subscription, prepaid));
    prop_oneof![
        3 => amount().prop_map(Movement::Grant),
        4 => credits().prop_map(Movement::Hold),
        3 => amount().prop_map(Movement::Capture),
        2 => amount().prop_map(Movement::Release),
        1 => amount().prop_map(Movement::Expire),
        1 => amount().prop_map(Movement::Adjust),
    ]
}

proptest! {
    #[test]
    fn every_sequence_of_movements_keeps_the_books(movements in prop::collection::vec(movement(), 1..80)) {
        let mut balance = Balance::default();
        for movement in movements {
            let Ok(next) = movement.apply(balance) else { continue };
            prop_assert!(next.holds(), "{movement:?}: {balance:?} became {next:?}");
            // Granted and spent totals only grow.
            for (before, after) in
                [(balance.spent, next.spent), (balance.granted, next.granted), (balance.expired, next.expired)]
            {
                prop_assert!(after.checked_sub(before).is_some(), "{movement:?}: {before:?} became {after:?}");
            }
            balance = next;
        }
    }

    #[test]
    fn a_hold_succeeds_exactly_where_the_credits_are(available in (0i64..9, 0i64..9), n in 0i64..20) {
        let balance = Balance::default().grant(split(available.0, available.1)).expect("a grant");
        let total = available.0 + available.1;
        match balance.hold(n) {
            Ok((next, taken)) => {
                prop_assert!(n <= total);
                prop_assert_eq!((taken.total(), taken.subscription), (n, n.min(available.0)));
                prop_assert_eq!(next.release(taken), Ok(balance));
                let spent = next.capture(taken).expect("it is held");
                prop_assert_eq!((spent.spent, spent.available.total()), (taken, total - n));
            }
            Err(refused) => {
                prop_assert!(n > total);
                prop_assert_eq!(refused, MovementRefused::Insufficient { needed: n, available: total });
            }
        }
    }
}
