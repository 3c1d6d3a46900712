//! Reports by email: their kinds, and the times at which those of a week and a month are due.
//!
//! A report of a period is due on the morning after it, between 6 and 10 a.m. in the organization's time zone, at a time spread
//! by the member's ID. Its figures cover days in UTC, so it is due later if the last day ends later. After several missed
//! mornings, there is one report, of the last period.

use jiff::civil::Date;
use jiff::{Span, ToSpan as _};
use probity_mail::time::{DAY_MS, Millis};

use crate::connections::AccountZone;
use crate::id::UserId;

/// First time of the morning, in seconds from midnight, and the length of the morning.
const MORNING_S: i64 = 6 * 3_600;
const MORNING_LENGTH_S: u128 = 4 * 3_600;
/// A morning this long before the planned time counts as planned: a change of the time zone may move it by a day.
const SLACK_MS: i64 = 2 * DAY_MS;

probity_mail::named! {
    /// Kind of report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ReportKind {
        /// A run of a connection.
        Run = "run",
        /// A week, from Monday.
        Weekly = "weekly",
        /// A calendar month.
        Monthly = "monthly",
    }
}

impl ReportKind {
    /// Returns the start of the period in which a date is; `None` for a kind without periods.
    fn start(self, date: Date) -> Option<Date> {
        match self {
            Self::Run => None,
            Self::Weekly => date.checked_sub(i32::from(date.weekday().to_monday_zero_offset()).days()).ok(),
            Self::Monthly => Some(date.first_of_month()),
        }
    }

    fn length(self) -> Option<Span> {
        match self {
            Self::Run => None,
            Self::Weekly => Some(7.days()),
            Self::Monthly => Some(1.month()),
        }
    }
}

/// Week or month that a report covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportPeriod {
    kind: ReportKind,
    first: Date,
    end: Date,
}

impl ReportPeriod {
    /// Returns the period of a kind that starts on a date, written as `2026-11-23`.
    pub fn starting(kind: ReportKind, first: &str) -> Option<Self> {
        Self::of(kind, first.parse().ok()?)
    }

    fn of(kind: ReportKind, first: Date) -> Option<Self> {
        Some(Self { kind, first, end: first.checked_add(kind.length()?).ok()? })
    }

    /// Returns the kind of its report.
    pub fn kind(&self) -> ReportKind {
        self.kind
    }

    /// Returns the first date, as `2026-11-23`.
    pub fn first(&self) -> String {
        self.first.to_string()
    }

    /// Returns the first and the last date.
    pub fn dates(&self) -> (Date, Date) {
        (self.first, self.end.yesterday().unwrap_or(self.end))
    }

    /// Returns the first and the last day, counted from 1970-01-01.
    pub fn days(&self) -> (i64, i64) {
        let day = |date: Date| i64::from((date - jiff::civil::date(1970, 1, 1)).get_days());
        (day(self.first), day(self.end) - 1)
    }

    /// Returns the start, and the end, which is no longer in the period.
    pub fn times(&self, zone: &AccountZone) -> Option<(Millis, Millis)> {
        Some((zone.at(self.first, 0)?, zone.at(self.end, 0)?))
    }
}

/// Reports of a member that are due, and the time of the next ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportPlan {
    /// Periods to report.
    pub due: Vec<ReportPeriod>,
    /// Time at which to plan again.
    pub next: Millis,
}

impl ReportPlan {
    /// Plans the reports of a member at `now`. `planned` is the time that the last plan gave; `None` for the first plan, which
    /// reports nothing.
    pub fn at(zone: &AccountZone, user: UserId, planned: Option<Millis>, now: Millis) -> Self {
        let mut plan = Self { due: Vec::new(), next: now + DAY_MS };
        let mut nexts = Vec::new();
        for kind in [ReportKind::Weekly, ReportKind::Monthly] {
            let Some((period, morning, next)) = last_morning(zone, user, kind, now) else { continue };
            nexts.push(next);
            if planned.is_some_and(|planned| morning >= planned + -SLACK_MS) {
                plan.due.push(period);
            }
        }
        plan.next = nexts.into_iter().min().unwrap_or(plan.next);
        plan
    }
}

/// Returns the last period whose report is due, the time since which it is, and the time of the next one.
fn last_morning(
    zone: &AccountZone,
    user: UserId,
    kind: ReportKind,
    now: Millis,
) -> Option<(ReportPeriod, Millis, Millis)> {
    let spread = i64::try_from((user.bits() & ((1 << 62) - 1)) % MORNING_LENGTH_S).ok()?;
    let morning = |date| zone.at(date, MORNING_S + spread).max(AccountZone::UTC.at(date, spread));
    let mut start = kind.start(zone.date(now)?)?;
    let mut next = morning(start)?;
    if next <= now {
        next = morning(start.checked_add(kind.length()?).ok()?)?;
    } else {
        start = start.checked_sub(kind.length()?).ok()?;
    }
    let period = ReportPeriod::of(kind, start.checked_sub(kind.length()?).ok()?)?;
    Some((period, morning(start)?, next))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn at(text: &str) -> Millis {
        Millis(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    fn named(plan: &ReportPlan) -> Vec<(ReportKind, String, String)> {
        plan.due.iter().map(|period| (period.kind(), period.first(), period.dates().1.to_string())).collect()
    }

    #[test]
    fn each_week_and_month_of_a_year_is_reported_once_in_the_morning() {
        for (zone, member, hours) in
            [("Europe/Berlin", 0, [6, 10]), ("America/New_York", 7_321, [6, 10]), ("Pacific/Apia", u128::MAX, [13, 17])]
        {
            let (zone, user) = (AccountZone::named(zone).unwrap(), UserId::from_bits(member));
            let first = ReportPlan::at(&zone, user, None, at("2026-11-24T12:00:00Z"));
            assert_eq!(first.due, [], "the first plan reports nothing");
            let (mut now, mut seen) = (first.next, Vec::new());
            while now < at("2027-11-24T12:00:00Z") {
                let plan = ReportPlan::at(&zone, user, Some(now), now);
                for period in &plan.due {
                    assert!(now >= Millis::from_utc_day(period.days().1 + 1), "its last day is over: {period:?}");
                    if !seen.contains(period) {
                        seen.push(*period);
                    }
                }
                assert!(plan.next > now && plan.next.since(now) < 8 * DAY_MS, "{plan:?}");
                let local = plan.next.since(zone.at(zone.date(plan.next).unwrap(), 0).unwrap());
                assert!((hours[0] * 3_600_000..hours[1] * 3_600_000).contains(&local), "{plan:?}");
                now = plan.next;
            }
            let of = |kind| seen.iter().filter(move |period| period.kind() == kind);
            assert_eq!((of(ReportKind::Weekly).count(), of(ReportKind::Monthly).count()), (52, 12));
            for kind in [ReportKind::Weekly, ReportKind::Monthly] {
                let all: Vec<_> = of(kind).collect();
                assert!(all.windows(2).all(|two| two[0].end == two[1].first), "without a gap: {all:?}");
            }
        }
    }

    #[test]
    fn what_was_missed_is_reported_once() {
        let (zone, user) = (AccountZone::UTC, UserId::from_bits(0));
        let planned = at("2026-11-30T06:00:00Z");
        let plan = ReportPlan::at(&zone, user, Some(planned), at("2026-12-23T03:00:00Z"));
        let expected = [
            (ReportKind::Weekly, "2026-12-14".to_owned(), "2026-12-20".to_owned()),
            (ReportKind::Monthly, "2026-11-01".to_owned(), "2026-11-30".to_owned()),
        ];
        assert_eq!(named(&plan), expected);
        assert_eq!(plan.next, at("2026-12-28T06:00:00Z"));
    }

    #[test]
    fn a_new_time_zone_skips_no_report() {
        let user = UserId::from_bits(0);
        let (west, east) = ("America/Los_Angeles", "Pacific/Auckland");
        let zone = |name| AccountZone::named(name).unwrap();
        let planned = ReportPlan::at(&zone(west), user, None, at("2026-11-26T12:00:00Z")).next;
        assert_eq!(planned, at("2026-11-30T14:00:00Z"));
        let moved = ReportPlan::at(&zone(east), user, Some(planned), planned);
        assert_eq!(named(&moved)[0], (ReportKind::Weekly, "2026-11-23".to_owned(), "2026-11-29".to_owned()));
    }

    #[test]
    fn periods_have_days_and_times() {
        let week = ReportPeriod::starting(ReportKind::Weekly, "2027-03-22").unwrap();
        let (first, last) = week.days();
        assert_eq!((first, last - first), (20_899, 6));
        let (start, end) = week.times(&AccountZone::named("Europe/Berlin").unwrap()).unwrap();
        assert_eq!(end.since(start), 7 * DAY_MS - 3_600_000, "clocks change on Sunday");
        assert_eq!(ReportPeriod::starting(ReportKind::Run, "2027-03-22"), None);
        assert_eq!(ReportPeriod::starting(ReportKind::Weekly, "soon"), None);
    }
}
