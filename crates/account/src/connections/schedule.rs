//! Times and shares of automatic runs.
//!
//! Nightly runs of a connection start at the same local time each night, between midnight and 6 a.m., spread by the
//! connection's ID. Local times that daylight saving skips move to the next existing one, and of repeated ones the first
//! counts, so that each date has one run.

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Span, Timestamp};
use probity_mail::time::{DAY_MS, Millis};

use super::RunCause;
use crate::id::ConnId;

/// Length of the night, in seconds from midnight.
const NIGHT_S: u128 = 6 * 3_600;
/// Share of all contacts, in the unit of [`DecayShare::fresh_ppm`].
const WHOLE_PPM: i64 = 1_000_000;

/// Period of decay protection that needs no entitlement of its own, in days.
pub const DECAY_DAYS: i64 = 30;
/// Shortest period that a customer can choose, in days.
pub const DECAY_DAYS_MIN: i64 = 7;
/// Longest one.
pub const DECAY_DAYS_MAX: i64 = 365;

/// Time zone of an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountZone(TimeZone);

impl AccountZone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Returns the zone with a name of the IANA database, such as `Europe/Berlin`.
    pub fn named(name: &str) -> Option<Self> {
        // The bundled database, because nodes must agree.
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        zone.iana_name().is_some().then_some(Self(zone))
    }

    /// Returns the zone with a stored name; UTC for none, or for one that the database no longer has.
    pub fn stored(name: Option<&str>) -> Self {
        name.and_then(Self::named).unwrap_or(Self::UTC)
    }

    /// Returns the name in the IANA database.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns the start of the first nightly run after a time.
    pub fn next_night(&self, connection: ConnId, cause: RunCause, after: Millis) -> Millis {
        let fallback = after + DAY_MS;
        let Some(mut date) = self.date(after) else { return fallback };
        // Tomorrow's run is later than any time of today. One day more, because a zone may skip a date.
        for _ in 0..3 {
            match self.at(date, spread_s(connection, cause)) {
                Some(at) if at > after => return at,
                _ => {}
            }
            let Ok(next) = date.tomorrow() else { return fallback };
            date = next;
        }
        fallback
    }

    /// Returns the local date of a time; `None` outside of the calendar.
    pub fn date(&self, at: Millis) -> Option<Date> {
        Some(self.0.to_datetime(Timestamp::from_millisecond(at.0).ok()?).date())
    }

    /// Returns whether one of the nights between two times reads all contacts, and not only those added since the last one: once a
    /// week, because some platforms give imported contacts an earlier date. Counted by local dates, because a change of clocks
    /// moves nights near midnight to another date of UTC.
    pub fn has_weekly(&self, connection: ConnId, from: Millis, to: Millis) -> bool {
        let (Some(from), Some(to)) = (self.date(from), self.date(to)) else { return true };
        let day = |date: Date| i64::from((date - jiff::civil::date(1970, 1, 1)).get_days());
        let own = i64::try_from(connection.bits() % 7).expect("less than a week");
        (day(from)..=day(to).max(day(from))).take(7).any(|day| day.rem_euclid(7) == own)
    }

    /// Returns the time at which local clocks are this many seconds past midnight; `None` outside of the calendar.
    pub(crate) fn at(&self, date: Date, seconds: i64) -> Option<Millis> {
        let at = date.at(0, 0, 0, 0).checked_add(Span::new().seconds(seconds)).ok()?;
        Some(Millis(self.0.to_timestamp(at).ok()?.as_millisecond()))
    }
}

/// Returns a time of the night, in seconds from midnight. Random bits of the ID spread connections evenly.
fn spread_s(connection: ConnId, cause: RunCause) -> i64 {
    let random = connection.bits() & ((1 << 62) - 1);
    let own = if cause == RunCause::Autofloss { random } else { random >> 20 };
    i64::try_from(own % NIGHT_S).expect("less than a day")
}

/// Share of contacts that a run of decay protection verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecayShare {
    /// Number of verified contacts to verify again, oldest verdict first.
    pub quota: i64,
    /// Share of the contacts that were never verified, in millionths.
    pub fresh_ppm: i64,
}

impl DecayShare {
    /// Returns the share at `now`, if the period began at `begun` and the last complete run at `last`. Over a period, the
    /// quotas add up to all contacts; a run after missed ones verifies their shares too.
    pub fn at(now: Millis, contacts: i64, period_days: i64, begun: Millis, last: Millis) -> Self {
        let period = i128::from(period_days.max(1)) * i128::from(DAY_MS);
        let since = |at: Millis| i128::from(now.since(at)).clamp(0, period);
        let share = |of: i64, ms: i128| (i128::from(of) * ms + period - 1) / period;
        Self {
            quota: i64::try_from(share(contacts.max(0), since(last))).unwrap_or(i64::MAX),
            fresh_ppm: i64::try_from(share(WHOLE_PPM, since(begun))).unwrap_or(WHOLE_PPM),
        }
    }

    /// Returns whether a contact that was never verified belongs to the share, by the keyed hash of its ID.
    pub fn has_fresh(fresh_ppm: i64, mark: &[u8; 16]) -> bool {
        let place = u32::from_be_bytes([mark[0], mark[1], mark[2], mark[3]]);
        i64::from(place) * WHOLE_PPM / (1 << 32) < fresh_ppm
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn conn(random: [u8; 10]) -> ConnId {
        ConnId::new(Millis(1_795_000_000_000), random)
    }

    fn zone(name: &str) -> AccountZone {
        AccountZone::named(name).unwrap()
    }

    fn local(of: &AccountZone, at: Millis) -> jiff::civil::DateTime {
        of.0.to_datetime(Timestamp::from_millisecond(at.0).unwrap())
    }

    #[test]
    fn zones_have_names_of_the_iana_database() {
        assert_eq!(zone("Europe/Berlin").name(), "Europe/Berlin");
        assert_eq!(zone("europe/berlin").name(), "Europe/Berlin");
        assert_eq!(AccountZone::UTC.name(), "UTC");
        for wrong in ["", "Berlin", "+01:00", "Europe/Atlantis", "../etc/passwd"] {
            assert_eq!(AccountZone::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_date_of_every_zone_has_one_night() {
        // 2026-01-01, 12:00 UTC: 400 days with every change of clocks of two springs and an autumn.
        let start = Millis(1_767_268_800_000);
        let ids = [[0; 10], [0x5a; 10], [0xff; 10], *b"0123456789"].map(conn);
        let mut zones = 0;
        for name in TimeZoneDatabase::bundled().available() {
            let zone = zone(name.as_str());
            zones += 1;
            for id in ids {
                let (mut at, mut dates) = (start, BTreeSet::new());
                for _ in 0..400 {
                    let next = zone.next_night(id, RunCause::Autofloss, at);
                    assert!(
                        (22 * HOUR_MS..=26 * HOUR_MS).contains(&next.since(at)) || at == start,
                        "{name:?} {next:?}"
                    );
                    let local = local(&zone, next);
                    assert!(local.hour() < 7, "{name:?} {local}");
                    assert!(dates.insert(local.date()), "{name:?}: {local} twice");
                    at = next;
                }
                let (first, last) = (*dates.first().unwrap(), *dates.last().unwrap());
                assert_eq!((last - first).get_days(), 399, "{name:?}: a date without a night");
            }
        }
        assert!(zones > 400, "{zones}");
    }

    #[test]
    fn one_night_of_seven_reads_all_contacts_whatever_clocks_do() {
        let start = Millis(1_767_268_800_000);
        for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Auckland", "UTC"] {
            let zone = zone(name);
            for n in 0..=u8::MAX {
                let id = conn([n; 10]);
                let nights =
                    std::iter::successors(Some(start), |at| Some(zone.next_night(id, RunCause::Autofloss, *at)));
                let nights: Vec<_> = nights.skip(1).take(400).collect();
                let weekly: Vec<_> =
                    (0..400).filter(|night| zone.has_weekly(id, nights[*night], nights[*night])).collect();
                assert!(weekly[0] < 7 && weekly.windows(2).all(|pair| pair[1] - pair[0] == 7), "{name}: {weekly:?}");
                // A run that makes up for a week reads all contacts.
                assert!(zone.has_weekly(id, nights[0], nights[6]), "{name}");
            }
        }
    }

    #[test]
    fn clocks_that_change_move_a_night_and_keep_it() {
        let berlin = zone("Europe/Berlin");
        let id = (0..=u8::MAX)
            .map(|n| conn([n; 10]))
            .find(|id| (7_200..10_800).contains(&spread_s(*id, RunCause::Autofloss)));
        let next = |after: &str| {
            let after = Millis(after.parse::<Timestamp>().unwrap().as_millisecond());
            local(&berlin, berlin.next_night(id.unwrap(), RunCause::Autofloss, after))
        };
        let usual = next("2027-03-26T12:00:00Z");
        assert_eq!(usual.hour(), 2);
        // At 2:00 clocks go to 3:00.
        let skipped = next("2027-03-27T12:00:00Z");
        assert_eq!((skipped.date().to_string(), skipped.hour()), ("2027-03-28".to_owned(), 3));
        let repeated = next("2027-10-30T12:00:00Z");
        assert_eq!((repeated.date().to_string(), repeated.time()), ("2027-10-31".to_owned(), usual.time()));
    }

    #[test]
    fn connections_spread_over_the_night() {
        let mut hours = [0; 6];
        for n in 0..6_000_u64 {
            let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            let id = conn([1, 2, mixed[0], mixed[1], mixed[2], mixed[3], mixed[4], mixed[5], mixed[6], mixed[7]]);
            hours[usize::try_from(spread_s(id, RunCause::Autofloss) / 3_600).unwrap()] += 1;
        }
        assert!(hours.iter().all(|hour| (850..1_150).contains(hour)), "{hours:?}");
    }

    proptest! {
        #[test]
        fn shares_of_a_period_are_the_whole_list(contacts in 0i64..100_000, days in 7i64..60, missed: u64) {
            let begun = Millis(1_795_000_000_000);
            let (mut last, mut sum) = (begun, 0);
            for day in 1..=days {
                let is_missed = day < days && missed >> (day % 64) & 1 == 1;
                if is_missed {
                    continue;
                }
                let now = begun + day * DAY_MS;
                let share = DecayShare::at(now, contacts, days, begun, last);
                prop_assert!(share.quota <= contacts);
                (last, sum) = (now, sum + share.quota);
                if day == days {
                    prop_assert_eq!(share.fresh_ppm, WHOLE_PPM);
                    prop_assert!(DecayShare::has_fresh(share.fresh_ppm, &[0xff; 16]));
                }
            }
            prop_assert!((contacts..=contacts + days).contains(&sum), "{} of {}", sum, contacts);
        }

        #[test]
        fn no_number_panics(now: i64, contacts: i64, days: i64, begun: i64, last: i64, random: [u8; 10]) {
            let share = DecayShare::at(Millis(now), contacts, days, Millis(begun), Millis(last));
            prop_assert!(share.quota >= 0 && (0..=WHOLE_PPM).contains(&share.fresh_ppm));
            let next = AccountZone::UTC.next_night(conn(random), RunCause::DecayProtection, Millis(now));
            prop_assert!(next > Millis(now) || now > i64::MAX - DAY_MS);
            let _ = AccountZone::UTC.has_weekly(conn(random), Millis(now), Millis(last));
        }
    }
}
