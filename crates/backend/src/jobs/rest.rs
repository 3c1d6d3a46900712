//! Rows of a chunk that are left after all were probed: deferred by MX hosts, or throttled by our own limits.
//!
//! A deferred row is written to a new chunk with its tries, which happens a few times at most. A throttled row may wait for
//! hours, so it is not rewritten: it stays in its chunk, which is released unchanged. There is one exception. If many rows of a
//! chunk with several destinations wait for the same site, they move once, to chunks of that site. Those are claimed only when
//! the site has room.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_mail::time::Millis;
use probity_store::jobs::{ChunkRelease, NewChunk};

use crate::jobs::chunk::{self, ChunkRow, ROWS_MAX};

/// Deferred rows share a chunk if their times differ by less than this, in milliseconds.
const TOGETHER_MS: i64 = 5_000;
/// The same for rows that wait less than that, such as the sandbox's, which wait for 1 s.
const SOON_TOGETHER_MS: i64 = 500;
/// A released chunk waits for rows that are due within this time after the first, in milliseconds.
const STAY_TOGETHER_MS: i64 = 30_000;
/// Minimum number of rows waiting for the same site that get their own chunk.
const MOVE_ROWS: usize = 20;

/// Rows without a result.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    put_off: Vec<(Millis, ChunkRow)>,
    held: Vec<HeldRow>,
}

/// Row throttled by our own limits.
#[derive(Debug)]
struct HeldRow {
    /// Position in the chunk's body.
    place: usize,
    not_before: Millis,
    at: Option<Arc<str>>,
    row: ChunkRow,
}

impl Waiting {
    /// Adds a row that an MX host deferred.
    pub(super) fn put_off(&mut self, not_before: Millis, row: ChunkRow) {
        self.put_off.push((not_before, row));
    }

    /// Adds a row throttled by our own limits, at the site `at` if it is known.
    pub(super) fn hold(&mut self, place: usize, not_before: Millis, at: Option<Arc<str>>, row: ChunkRow) {
        self.held.push(HeldRow { place, not_before, at, row });
    }

    /// Splits the rows of a chunk with this destination into new chunks and the rest that stays.
    pub(super) fn part(self, destination: &str, now: Millis) -> (Vec<NewChunk>, Option<ChunkRelease>) {
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

/// Rows with their times, by the site for which they wait.
type ByPlace = BTreeMap<Arc<str>, Vec<(Millis, ChunkRow)>>;

/// Separates rows of which many wait for the same site from all others.
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

/// Groups rows into chunks by the time for which they wait and the source IP that must probe them.
fn later(rows: Vec<(Millis, ChunkRow)>, destination: &str, now: Millis) -> Vec<NewChunk> {
    let mut alike: BTreeMap<(Option<Arc<str>>, Millis), Vec<ChunkRow>> = BTreeMap::new();
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

/// Describes the rest of a chunk that is released unchanged.
fn stay(held: &[HeldRow]) -> Option<ChunkRelease> {
    let first = held.iter().map(|held| held.not_before).min()?;
    let due = held.iter().map(|held| held.not_before).filter(|at| at.since(first) <= STAY_TOGETHER_MS);
    let since = held.iter().filter_map(|held| held.row.tries.since).min();
    Some(ChunkRelease {
        ready_at: due.max().unwrap_or(first),
        size: i64::try_from(held.len()).unwrap_or(i64::MAX),
        left_rows: chunk::left_rows(held.iter().map(|held| held.place)),
        since: since.unwrap_or(first),
    })
}

#[cfg(test)]
mod tests {
    use probity_engine::PriorAttempts;

    use super::*;

    fn row(idx: i64, source: Option<&str>) -> ChunkRow {
        let tries = PriorAttempts { count: 0, since: Some(Millis(idx)), source: source.map(Into::into), last: false };
        ChunkRow { idx, copies: 1, tries, email: Some("a@example.org".into()) }
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
