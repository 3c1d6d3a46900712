//! Progress of a batch: on a terminal, one line that is redrawn; elsewhere, a line every 10 s; nothing if quiet. Counts cover the
//! whole batch; rate and remaining time cover this run.

use std::io::IsTerminal;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use probity_mail::time::Millis;
use probity_mail::verdict::Status;

use super::forecast::LongestSite;
use crate::log;

/// Interval between lines without a terminal.
const LINE_EVERY_MS: i64 = 10_000;
/// Interval between redraws on a terminal.
const DRAW_EVERY_MS: i64 = 100;
/// Minimum and maximum width of the bar, including brackets.
const BAR_COLUMNS: std::ops::RangeInclusive<usize> = 12..=32;

/// Progress of one run.
pub(crate) struct RunProgress {
    view: View,
    pub(crate) total: u64,
    /// Verdicts before this run.
    before: u64,
    /// Counts of verdicts by status.
    by_status: [u64; Status::ALL.len()],
    deferred: Deferred,
    started: Millis,
    next_view: Millis,
    said: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Deferred {
    pub rows: u64,
    /// Time of the next retry; `None` if the retry is running.
    pub next: Option<Millis>,
    /// Site that takes longest for rows without a verdict.
    pub longest: Option<LongestSite>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Terminal,
    Lines,
    Nothing,
}

/// Part of a line, with a priority: the lowest is dropped last.
struct LinePart(u8, String);

impl RunProgress {
    /// Starts the progress of `total` addresses; `before` are existing verdicts.
    pub(crate) fn new(total: u64, before: impl Iterator<Item = Status>, quiet: bool, now: Millis) -> Self {
        let draws = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let (view, wait) = match (quiet, draws) {
            (true, _) => (View::Nothing, 0),
            (false, true) => (View::Terminal, 0),
            (false, false) => (View::Lines, LINE_EVERY_MS),
        };
        let mut progress = Self {
            view,
            total,
            before: 0,
            by_status: [0; Status::ALL.len()],
            deferred: Deferred::default(),
            started: now,
            next_view: now + wait,
            said: String::new(),
        };
        before.for_each(|status| progress.settled(status));
        progress.before = progress.done();
        progress
    }

    pub(crate) fn settled(&mut self, status: Status) {
        let at = Status::ALL.iter().position(|other| *other == status).expect("every status is in ALL");
        self.by_status[at] += 1;
    }

    /// Verdicts of this run.
    pub(crate) fn settled_now(&self) -> u64 {
        self.done() - self.before
    }

    pub(crate) fn done(&self) -> u64 {
        self.by_status.iter().sum()
    }

    /// Shows the state if the interval has passed.
    pub(crate) fn tick(&mut self, now: Millis, deferred: impl FnOnce() -> Deferred) {
        if self.view == View::Nothing || now < self.next_view {
            return;
        }
        self.deferred = deferred();
        if self.view == View::Terminal {
            self.next_view = now + DRAW_EVERY_MS;
            // The last column stays empty: some terminals wrap as soon as it is written.
            let width = usize::from(console::Term::stderr().size().1).saturating_sub(1);
            log::status(&self.drawn(now, width, &TimeZone::system()));
            return;
        }
        self.next_view = now + LINE_EVERY_MS;
        let line = self.line(now, usize::MAX, &TimeZone::system());
        // While all remaining rows are deferred, the line may not change for hours.
        if line != self.said {
            log::say(&line);
            self.said = line;
        }
    }

    /// Prints a message, unless only errors are wanted.
    pub(crate) fn note(&self, text: &str) {
        if self.view != View::Nothing {
            log::say(text);
        }
    }

    /// Formats the line, with a bar if there is room.
    fn drawn(&self, now: Millis, width: usize, zone: &TimeZone) -> String {
        let line = self.line(now, width, zone);
        let room = width.saturating_sub(line.len() + 1).min(*BAR_COLUMNS.end());
        if room < *BAR_COLUMNS.start() || self.total == 0 {
            return line;
        }
        let inside = room - 2;
        let full = usize::try_from(self.done().min(self.total) * inside as u64 / self.total).unwrap_or(inside);
        format!("[{}{}] {line}", "=".repeat(full), " ".repeat(inside - full))
    }

    /// Formats the state in at most `width` columns.
    fn line(&self, now: Millis, width: usize, zone: &TimeZone) -> String {
        let mut parts = vec![LinePart(0, format!("{}/{}", self.done(), self.total))];
        let statuses = Status::ALL.iter().zip(self.by_status).filter(|(_, count)| *count > 0);
        let statuses = statuses.map(|(status, count)| LinePart(4, format!("{count} {status}")));
        let Deferred { rows, next, .. } = self.deferred;
        let only_deferred = rows > 0 && self.done() + rows >= self.total;
        if only_deferred {
            parts.extend(statuses);
            let when = next.map_or("retrying now".to_owned(), |at| format!("next at {}", time_of_day(at, zone)));
            parts.push(LinePart(1, format!("{rows} deferred, {when}")));
            parts.extend(self.at_longest(now).map(|(_, text)| LinePart(2, text)));
        } else {
            parts.extend(self.pace(now));
            parts.extend(statuses);
            parts.extend((rows > 0).then(|| LinePart(2, format!("{rows} deferred"))));
        }
        fitted(parts, width)
    }

    /// Formats the rate of this run and the remaining time.
    fn pace(&self, now: Millis) -> Vec<LinePart> {
        let settled = self.settled_now();
        let took = u64::try_from(now.since(self.started)).unwrap_or_default().max(1);
        let left = self.total.saturating_sub(self.done() + self.deferred.rows);
        let left_ms = left.saturating_mul(took).checked_div(settled).map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let at_site = self.at_longest(now).filter(|(ms, _)| left_ms.is_none_or(|left_ms| *ms > left_ms));
        let left = match at_site {
            Some((_, text)) => Some(text),
            None => left_ms.filter(|_| left > 0).map(|ms| format!("{} left", remaining(ms))),
        };
        let rate = (settled > 0).then(|| LinePart(3, rate(settled, took)));
        rate.into_iter().chain(left.map(|left| LinePart(1, left))).collect()
    }

    /// Time that the slowest site takes, and its text.
    fn at_longest(&self, now: Millis) -> Option<(i64, String)> {
        let LongestSite { name, ends } = self.deferred.longest.as_ref()?;
        let ms = ends.since(now);
        (ms > 0).then(|| (ms, format!("{} left at {name}", remaining(ms))))
    }

    pub(crate) fn finish(&mut self) {
        if self.view == View::Terminal {
            log::status("");
        }
    }
}

/// Joins as many parts as fit, the most important first, in their order.
fn fitted(mut parts: Vec<LinePart>, width: usize) -> String {
    let length =
        |parts: &[LinePart]| parts.iter().map(|LinePart(_, text)| text.len() + 2).sum::<usize>().saturating_sub(2);
    while parts.len() > 1 && length(&parts) > width {
        let last = parts.iter().map(|LinePart(rank, _)| *rank).max();
        let at = parts.iter().rposition(|LinePart(rank, _)| Some(*rank) == last);
        at.map(|at| parts.remove(at));
    }
    let line = parts.into_iter().map(|LinePart(_, text)| text).collect::<Vec<_>>().join(", ");
    line.chars().take(width).collect()
}

/// Formats a remaining time, rounded up to minutes because estimates are no better.
pub(super) fn remaining(ms: i64) -> String {
    let seconds = ms.div_euclid(1_000).saturating_add(1);
    let minutes = (seconds + 59) / 60;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Formats a rate: `41/s`, `2.5/s`, `8/min`.
fn rate(count: u64, ms: u64) -> String {
    let per = |unit_ms: u64| count.saturating_mul(unit_ms) / ms;
    match per(10_000) {
        100.. => format!("{}/s", per(1_000)),
        tenths @ 10.. => format!("{}.{}/s", tenths / 10, tenths % 10),
        _ => format!("{}/min", per(60_000)),
    }
}

/// Formats a time in the machine's time zone.
pub(crate) fn time_of_day(at: Millis, zone: &TimeZone) -> String {
    let time = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone());
    format!("{:02}:{:02}", time.hour(), time.minute())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-22, 10:35 UTC.
    const TEN_THIRTY_FIVE: Millis = Millis(1_795_343_700_000);

    fn statuses(counts: [usize; 4]) -> impl Iterator<Item = Status> {
        Status::ALL.into_iter().zip(counts).flat_map(|(status, count)| std::iter::repeat_n(status, count))
    }

    fn progress(total: u64, before: [usize; 4], more: [usize; 4], deferred: Deferred) -> RunProgress {
        let mut progress = RunProgress::new(total, statuses(before), true, Millis(0));
        statuses(more).for_each(|status| progress.settled(status));
        progress.deferred = deferred;
        progress
    }

    #[test]
    fn a_line_says_counts_of_the_whole_batch_and_the_pace_of_this_run() {
        let deferred = |rows, next| Deferred { rows, next, longest: None };
        let hours = Some(LongestSite { name: "Outlook.com".into(), ends: Millis(66_970_000) });
        let slow = |rows, next| Deferred { rows, next, longest: hours.clone() };
        let table = [
            (progress(100, [0; 4], [0; 4], deferred(0, None)), "0/100"),
            (
                progress(103, [30, 10, 0, 0], [20, 0, 0, 0], deferred(3, None)),
                "60/103, 2.0/s, 21 s left, 50 passed, 10 undeliverable, 3 deferred",
            ),
            (progress(9, [0; 4], [0, 0, 1, 5], deferred(0, None)), "6/9, 36/min, 6 s left, 1 risky, 5 unknown"),
            (
                progress(100, [90, 0, 0, 0], [7, 0, 0, 0], deferred(3, Some(TEN_THIRTY_FIVE))),
                "97/100, 97 passed, 3 deferred, next at 10:35",
            ),
            (progress(100, [97, 0, 0, 0], [0; 4], deferred(3, None)), "97/100, 97 passed, 3 deferred, retrying now"),
            (
                progress(20_000, [0; 4], [8_000, 0, 0, 0], slow(11_166, Some(TEN_THIRTY_FIVE))),
                "8000/20000, 800/s, 18 h 37 min left at Outlook.com, 8000 passed, 11166 deferred",
            ),
            (
                progress(9, [5, 0, 0, 0], [0; 4], slow(4, Some(TEN_THIRTY_FIVE))),
                "5/9, 5 passed, 4 deferred, next at 10:35, 18 h 37 min left at Outlook.com",
            ),
            (progress(9, [0; 4], [0; 4], slow(0, None)), "0/9, 18 h 37 min left at Outlook.com"),
        ];
        for (progress, expected) in table {
            assert_eq!(progress.line(Millis(10_000), usize::MAX, &TimeZone::UTC), expected);
        }
    }

    #[test]
    fn a_line_is_never_wider_than_the_terminal() {
        let deferred = Deferred { rows: 12_345, next: Some(TEN_THIRTY_FIVE), longest: None };
        let progress = progress(9_000_000, [4_000_000, 500_000, 30_000, 20_000], [7, 0, 0, 0], deferred);
        let only = RunProgress { total: progress.done() + 12_345, ..progress };
        for width in 0..200 {
            let line = only.drawn(Millis(1_234_567), width, &TimeZone::UTC);
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        let at = |width| only.drawn(Millis(1_234_567), width, &TimeZone::UTC);
        assert_eq!(at(79), "[============= ] 4550007/4562352, 4000007 passed, 12345 deferred, next at 10:35");
        assert_eq!(at(46), "4550007/4562352, 12345 deferred, next at 10:35");
        assert_eq!(at(20), "4550007/4562352");
        assert_eq!(at(3), "455");
    }

    #[test]
    fn a_bar_fills_the_room_that_is_left() {
        let progress = progress(10, [5, 0, 0, 0], [0; 4], Deferred::default());
        assert_eq!(progress.drawn(Millis(1), 27, &TimeZone::UTC), "[=====     ] 5/10, 5 passed");
        assert_eq!(progress.drawn(Millis(1), 20, &TimeZone::UTC), "5/10, 5 passed");
    }

    #[test]
    fn rates_and_remaining_times_are_rounded() {
        for (ms, expected) in
            [(0, "1 s"), (20_000, "21 s"), (59_500, "1 min"), (61_000, "2 min"), (7_250_000, "2 h 1 min")]
        {
            assert_eq!(remaining(ms), expected);
        }
        let table = [
            (41, 1_000, "41/s"),
            (123_456, 10_000, "12345/s"),
            (99, 10_000, "9.9/s"),
            (1, 1_000, "1.0/s"),
            (8, 60_000, "8/min"),
        ];
        for (count, ms, expected) in table {
            assert_eq!(rate(count, ms), expected);
        }
    }
}
