//! Compares results with the promised schedule.

use std::collections::BTreeSet;

use probity_account::connections::RunCause;
use probity_mail::time::{DAY_MS, Millis};

use super::place::{Customer, Done, Person, Place};
use super::{HOUR_MS, Outage, STEP_MS};

/// Maximum delay of a start by polls, by the connection's other run, and by a node that died.
const LATE_MS: i64 = 6 * STEP_MS;
/// Maximum pause of a failed run, with its failed calls.
const PAUSE_MS: i64 = 6 * HOUR_MS + 4 * STEP_MS;
/// Longest day: clocks go back.
const LONG_DAY_MS: i64 = DAY_MS + HOUR_MS;
/// Days between two nights that read all contacts.
const WEEK: i64 = 7;

/// Outages that excuse a connection.
struct Excuses(Vec<Outage>);

impl Excuses {
    /// Returns how late a run may be that was due and started at these times.
    fn between(&self, from: Millis, to: Millis) -> i64 {
        let met = self.0.iter().filter(|outage| outage.from <= to && outage.to + PAUSE_MS >= from);
        met.map(|outage| outage.to.since(outage.from) + PAUSE_MS).sum()
    }
}

/// Asserts the promised schedule of a connection.
pub(super) fn judge(place: &Place, customer: &Customer, dark: &[Outage], now: Millis) {
    let excuses = Excuses(place.dead.iter().chain(&customer.out).chain(dark).copied().collect());
    nights(place, customer, RunCause::Autofloss, &excuses, now);
    for person in &place.people {
        seen(place, person, &excuses, now);
    }
    let Some(period) = place.period else { return };
    nights(place, customer, RunCause::DecayProtection, &excuses, now);
    peaks(place, period);
    for person in &place.people {
        seen_again((place, period), person, &excuses, now);
    }
}

fn done(place: &Place, cause: RunCause) -> &[Done] {
    place.done.get(cause.as_str()).map_or(&[], Vec::as_slice)
}

/// Every night has one run, and missed ones are made up together.
fn nights(place: &Place, customer: &Customer, cause: RunCause, excuses: &Excuses, now: Millis) {
    let done = done(place, cause);
    let who = format!("{cause} of {}", place.id);
    let (mut expected, mut dates) = (customer.zone.next_night(place.id, cause, super::START), BTreeSet::new());
    for run in done {
        assert_eq!(run.slot, expected, "{who}: the run after the last one stands for the next night");
        let date = customer.zone.date(run.slot).unwrap();
        assert!(dates.insert(date), "{who}: two runs in the night of {date}");
        let late = run.at.since(run.slot);
        let most = LATE_MS + excuses.between(run.slot, run.at);
        assert!((0..=most).contains(&late), "{who}: {date} is late by {} h", late / HOUR_MS);
        expected = customer.zone.next_night(place.id, cause, run.at);
    }
    let late = now.since(expected);
    assert!(late <= 2 * LATE_MS + excuses.between(expected, now), "{who}: no run since {expected:?}");
    assert!(!done.is_empty() || now.since(super::START) < 2 * DAY_MS, "{who}: no run");
}

/// A run of decay protection verifies no more than its share, and contacts that are new.
fn peaks(place: &Place, period: i64) {
    for pair in done(place, RunCause::DecayProtection).windows(2) {
        let known = place.people.iter().filter(|person| person.joined <= pair[1].at).count();
        let since = pair[1].at.since(pair[0].at);
        let share = i64::try_from(known).unwrap() * since / (period * DAY_MS) + 1;
        let new_at = |person: &&Person| person.verified.first().is_none_or(|first| *first >= pair[1].at);
        // A contact may join while the run waits for its platform or for another node.
        let fresh = place.people.iter().filter(|person| person.joined <= pair[1].ended_at).filter(new_at).count();
        let rows = pair[1].rows;
        assert!(rows <= share + i64::try_from(fresh).unwrap(), "{}: a peak of {rows}, not {share}", place.id);
    }
}

/// A new contact is verified in the next night, or in the next one that reads all contacts.
fn seen(place: &Place, person: &Person, excuses: &Excuses, now: Millis) {
    let days = if person.said < person.joined { WEEK } else { 1 };
    let end = person.verified.first().copied().or(person.left).unwrap_or(now);
    let most = days * DAY_MS + (LONG_DAY_MS - DAY_MS) + 2 * LATE_MS + excuses.between(person.joined, end);
    let waited = end.since(person.joined);
    assert!(
        waited <= most,
        "{}: contact {} of {:?} waited {} h",
        place.id,
        person.number,
        person.joined,
        waited / HOUR_MS
    );
}

/// A contact is verified again within the period plus one day.
fn seen_again((place, period): (&Place, i64), person: &Person, excuses: &Excuses, now: Millis) {
    let end = person.left.unwrap_or(now);
    for pair in person.verified.iter().copied().chain([end]).collect::<Vec<_>>().windows(2) {
        let most = period * DAY_MS + LONG_DAY_MS + 2 * LATE_MS + excuses.between(pair[0], pair[1]);
        let waited = pair[1].since(pair[0]);
        assert!(waited <= most, "{}: contact {} waited {} days", place.id, person.number, waited / DAY_MS);
    }
}
