//! Months of plans, in calendars with and without their start day: each time is in exactly one month.
use proptest::prelude::*;

use super::*;
use probity_mail::time::{DAY_MS, Millis};

fn day(text: &str) -> Millis {
    let parts: Vec<&str> = text.split('-').collect();
    let date = probity_mail::time::Date {
        year: parts[0].parse().unwrap(),
        month: parts[1].parse().unwrap(),
        day: parts[2].parse().unwrap(),
    };
    Millis::from_utc_day(probity_mail::time::days_from_civil(date))
}

#[test]
fn months_begin_on_the_day_of_the_plan_or_on_the_last_that_there_is() {
    for (since, now, start, end) in [
        ("2026-01-31", "2026-01-31", "2026-01-31", "2026-02-28"),
        ("2026-01-31", "2026-02-27", "2026-01-31", "2026-02-28"),
        ("2026-01-31", "2026-02-28", "2026-02-28", "2026-03-31"),
        ("2026-01-31", "2026-03-30", "2026-02-28", "2026-03-31"),
        ("2026-01-31", "2026-04-30", "2026-04-30", "2026-05-31"),
        ("2028-01-31", "2028-02-29", "2028-02-29", "2028-03-31"),
        ("2028-01-31", "2028-02-28", "2028-01-31", "2028-02-29"),
        ("2028-02-29", "2029-02-28", "2029-02-28", "2029-03-29"),
        ("2028-02-29", "2032-02-29", "2032-02-29", "2032-03-29"),
        ("2099-12-30", "2100-02-28", "2100-02-28", "2100-03-30"),
        ("2026-12-15", "2027-01-14", "2026-12-15", "2027-01-15"),
        ("2026-06-01", "2026-06-30", "2026-06-01", "2026-07-01"),
        ("2026-06-15", "2026-06-14", "2026-05-15", "2026-06-15"),
    ] {
        let period = Period::month_of(day(since), day(now));
        assert_eq!((period.start, period.end), (day(start), day(end)), "{since} {now}");
        // Neither a time of day nor a change of clocks moves it.
        let late = Period::month_of(day(since) + (DAY_MS - 1), day(now) + (DAY_MS - 1));
        assert_eq!(late, period, "{since} {now}");
    }
}

proptest! {
    #[test]
    fn every_moment_is_in_one_month_and_months_follow_each_other(since in -40_000_i64..80_000, now in -40_000_i64..80_000) {
        let (since, now) = (Millis::from_utc_day(since), Millis::from_utc_day(now) + 3_600_000);
        let period = Period::month_of(since, now);
        prop_assert!(period.start <= now && now < period.end);
        let days = (period.end.0 - period.start.0) / DAY_MS;
        prop_assert!((28..=31).contains(&days), "{days}");
        prop_assert_eq!(Period::month_of(since, period.end).start, period.end);
        prop_assert_eq!(Period::month_of(since, period.start - 1).end, period.start);
        prop_assert_eq!(Period::month_of(since, since).start, since);
    }

    #[test]
    fn no_moment_panics(since: i64, now: i64) {
        let period = Period::month_of(Millis(since), Millis(now));
        prop_assert!(period.start <= period.end);
    }

    #[test]
    fn sets_keep_what_is_in_them(bits in 0_i64..512) {
        let set = EntitlementSet::from_bits(bits);
        prop_assert_eq!(set.bits(), bits);
        prop_assert_eq!(set.iter().collect::<EntitlementSet>(), set);
        prop_assert_eq!(set.and(EntitlementSet::ALL.without(set)), EntitlementSet::ALL);
        prop_assert_eq!(set.without(set), EntitlementSet::NONE);
    }
}

#[test]
fn every_entitlement_has_a_name_and_a_place() {
    assert_eq!(EntitlementSet::ALL.iter().count(), Entitlement::ALL.len());
    for one in Entitlement::ALL {
        assert_eq!(one.to_string().parse(), Ok(one));
    }
    assert_eq!("webhook".parse::<Entitlement>(), Err(()));
    assert_eq!(EntitlementSet::from_bits(-1), EntitlementSet::ALL);
}

#[test]
fn two_plans_are_always_there() {
    let plans = Plans::default();
    assert!(plans.first().is_unlimited() && plans.first().is_built_in());
    let team = Plan { monthly: 5_000, ..Plan::bare("team") };
    let plans = Plans::new([team.clone()], "team", 7).unwrap();
    assert_eq!(plans.first(), &team);
    assert_eq!(plans.of("metered").initial, 7);
    assert_eq!(plans.of("gone").name, METERED_PLAN);
    assert_eq!(plans.all().map(|plan| &*plan.name).collect::<Vec<_>>(), ["metered", "team", "unlimited"]);
    assert_eq!(Plans::new([], "team", 0), None);
}

#[test]
fn names_are_plain() {
    for (name, plain) in
        [("team", true), ("team-2_b", true), ("", false), ("Team", false), ("a b", false), ("ä", false)]
    {
        assert_eq!(is_plan_name(name), plain, "{name}");
    }
    assert!(!is_plan_name(&"a".repeat(NAME_MAX + 1)));
}
