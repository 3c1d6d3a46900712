//! What is left of a chunk when all of its rows were asked about: rows that servers put off, and rows that our own limits
//! hold back.
//!
//! A row that a server put off is written anew, with what is known of its tries: it happens to it a few times at most. Rows
//! that are held back may be so for hours, so they are not written again and again: they stay in their chunk, which is let
//! go as it is. Only out of a chunk for many places, rows of which many wait for the same one move once, into a chunk of that
//! place, so that it can be taken up when the place has room and not before.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_mail::time::Millis;
use probity_store::jobs::{NewChunk, Stay};

use crate::jobs::chunk;
use crate::jobs::chunk::{ROWS_MAX, Row};

/// Rows that are put off wait together when their times differ by less than this, in milliseconds.
const TOGETHER_MS: i64 = 5_000;
/// The same for rows that wait no longer than that: those of the sandbox, where waiting takes a second.
const SOON_TOGETHER_MS: i64 = 500;
/// Rows that stay in a chunk are waited for when they are due within this time after the first, in milliseconds.
const STAY_TOGETHER_MS: i64 = 30_000;
/// So many rows of a chunk that wait for the same place get a chunk of their own.
const MOVE_ROWS: usize = 20;

/// Rows without a result.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    put_off: Vec<(Millis, Row)>,
    held: Vec<HeldRow>,
}

/// A row that our own limits hold back.
#[derive(Debug)]
struct HeldRow {
    /// Its place in the chunk's body.
    place: usize,
    not_before: Millis,
    at: Option<Arc<str>>,
    row: Row,
}

impl Waiting {
    /// A server wants to be asked again later.
    pub(super) fn put_off(&mut self, not_before: Millis, row: Row) {
        self.put_off.push((not_before, row));
    }

    /// Our own limits hold it back, those of the place `at`.
    pub(super) fn hold(&mut self, place: usize, not_before: Millis, at: Option<Arc<str>>, row: Row) {
        self.held.push(HeldRow { place, not_before, at, row });
    }

    /// What becomes of the rows of a chunk with this destination: new chunks, and what stays.
    pub(super) fn part(self, destination: &str, now: Millis) -> (Vec<NewChunk>, Option<Stay>) {
        let mut chunks = later(self.put_off, destination, now);
        let mut staying = self.held;
        if destination.is_empty() {
            let (many, few) = by_place(staying);
            staying = few;
            for (place, rows) in many {
                chunks.extend(later(rows, &place, now));
            }
        }
        (chunks, stay(&staying))
    }
}

/// Rows with their times, by the place that they wait for.
type ByPlace = BTreeMap<Arc<str>, Vec<(Millis, Row)>>;

/// Rows of which many wait for the same place, and all others.
fn by_place(held: Vec<HeldRow>) -> (ByPlace, Vec<HeldRow>) {
    let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for at in held.iter().filter_map(|held| held.at.as_ref()) {
        *counts.entry(at.clone()).or_default() += 1;
    }
    let mut many = ByPlace::new();
    let mut few = Vec::new();
    for held in held {
        match &held.at {
            Some(at) if counts[at] >= MOVE_ROWS => {
                many.entry(at.clone()).or_default().push((held.not_before, held.row));
            }
            _ => few.push(held),
        }
    }
    (many, few)
}

/// Rows in chunks by the time for which they wait and the source that must ask.
fn later(rows: Vec<(Millis, Row)>, destination: &str, now: Millis) -> Vec<NewChunk> {
    let mut alike: BTreeMap<(Option<Arc<str>>, Millis), Vec<Row>> = BTreeMap::new();
    for (not_before, row) in rows {
        let together = if not_before.since(now) < TOGETHER_MS { SOON_TOGETHER_MS } else { TOGETHER_MS };
        let ready_at = Millis((not_before.0.div_euclid(together) + 1) * together);
        alike.entry((row.tries.source.clone(), ready_at)).or_default().push(row);
    }
    let mut chunks = Vec::new();
    for ((source, ready_at), rows) in alike {
        let source = source.as_deref().unwrap_or_default();
        chunks.extend(rows.chunks(ROWS_MAX).map(|rows| NewChunk {
            destination: destination.to_owned(),
            source: source.to_owned(),
            ..chunk::pack(rows, ready_at)
        }));
    }
    chunks
}

/// The rest of a chunk that is let go as it is.
fn stay(held: &[HeldRow]) -> Option<Stay> {
    let first = held.iter().map(|held| held.not_before).min()?;
    let due = held.iter().map(|held| held.not_before).filter(|at| at.since(first) <= STAY_TOGETHER_MS);
    let since = held.iter().filter_map(|held| held.row.tries.since).min();
    Some(Stay {
        ready_at: due.max().unwrap_or(first),
        size: i64::try_from(held.len()).unwrap_or(i64::MAX),
        left_rows: chunk::left_rows(held.iter().map(|held| held.place)),
        since: since.unwrap_or(first),
    })
}

#[cfg(test)]
mod tests {
    use probity_engine::Tries;

    use super::*;

    fn row(idx: i64, source: Option<&str>) -> Row {
        let tries = Tries { count: 0, since: Some(Millis(idx)), source: source.map(Into::into) };
        Row { idx, copies: 1, tries, email: Some("a@example.org".into()) }
    }

    fn seen(chunks: &[NewChunk]) -> Vec<(i64, i64, &str, &str)> {
        chunks.iter().map(|chunk| (chunk.ready_at.0, chunk.size, &*chunk.destination, &*chunk.source)).collect()
    }

    #[test]
    fn rows_that_wait_for_the_same_time_and_source_wait_together_and_never_too_short() {
        let mut waiting = Waiting::default();
        for (at, source) in [(12_000, None), (10_000, None), (99_999, None), (11_000, Some("192.0.2.7"))] {
            waiting.put_off(Millis(at), row(at, source));
        }
        let (chunks, stay) = waiting.part("@example.org", Millis(0));
        let to = "@example.org";
        assert_eq!(seen(&chunks), [(15_000, 2, to, ""), (100_000, 1, to, ""), (15_000, 1, to, "192.0.2.7")]);
        assert_eq!(stay, None);
    }

    #[test]
    fn rows_that_wait_for_a_second_do_not_wait_for_five() {
        let mut waiting = Waiting::default();
        for at in [11_000, 11_300, 11_600, 15_000] {
            waiting.put_off(Millis(at), row(at, None));
        }
        let (chunks, _) = waiting.part("@example.org", Millis(10_000));
        let to = "@example.org";
        assert_eq!(seen(&chunks), [(11_500, 2, to, ""), (12_000, 1, to, ""), (20_000, 1, to, "")]);
    }

    #[test]
    fn what_is_held_back_stays_in_a_chunk_of_one_place() {
        let mut waiting = Waiting::default();
        for place in 0..100 {
            waiting.hold(place, Millis(5_000), Some("google".into()), row(70, None));
        }
        let (chunks, stay) = waiting.part("google", Millis(0));
        assert_eq!(chunks, []);
        let stay = stay.unwrap();
        assert_eq!((stay.ready_at, stay.size, stay.since), (Millis(5_000), 100, Millis(70)));
        assert_eq!((0..200).filter(|place| chunk::is_left(&stay.left_rows, *place)).count(), 100);
    }

    #[test]
    fn out_of_a_chunk_of_many_places_many_rows_move_and_few_stay() {
        let mut waiting = Waiting::default();
        for place in 0..MOVE_ROWS {
            waiting.hold(place, Millis(5_000), Some("google".into()), row(70, None));
        }
        waiting.hold(500, Millis(9_000), Some("mx.example.net".into()), row(3, None));
        waiting.hold(501, Millis(90_000), None, row(4, None));
        let (chunks, stay) = waiting.part("", Millis(0));
        assert_eq!(seen(&chunks), [(10_000, 20, "google", "")]);
        let stay = stay.unwrap();
        assert_eq!((stay.ready_at, stay.size, stay.since), (Millis(9_000), 2, Millis(3)));
        assert!(chunk::is_left(&stay.left_rows, 500) && chunk::is_left(&stay.left_rows, 501));
    }
}
