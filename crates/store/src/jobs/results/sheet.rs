//! Sheets: in-memory results of jobs that are not packed, in row order.
//!
//! Parts are settled in work order, sorted by domain, so the 1,000 rows of a page are spread over as many parts. Writing in row
//! order would touch a database page per row; so readers sort instead.
//!
//! Parts change only by erasures, which the job's `rewritten` counter reveals, and their numbers become visible in order. So a
//! sheet only reads the parts after its last one: a page of a running job costs only the rows settled since. A row takes 16
//! bytes; shared data (deciding hosts, suggestions) is stored once.
//!
//! The cache holds up to [`ROWS_KEPT`] rows or their equivalent; any sheet may be dropped. Beyond that, the least recently read
//! sheet is dropped unless it is in use. Otherwise, jobs read in turn would evict each other, and every page would read a whole
//! job.
//!
//! Individual rows for deliveries need no sheet: they were settled lately, so parts are searched from the last one back.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex as Short, PoisonError};

use probity_mail::time::Millis;
use tokio::sync::Mutex;

use super::kind::OutcomeKind;
use super::part::{self, ResultPart};
use super::{RowResult, SettledResult};
use crate::db::error::Result;
use crate::db::{Conn, Store, args, statements};
use crate::jobs::results;
use crate::jobs::{JobNo, packing};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, unseal};
use crate::records::TypedStatements as _;

/// Rows of cached sheets besides the one being read: 64 MB. Shared data counts as the equivalent number of rows.
const ROWS_KEPT: usize = 4_000_000;
/// Weight of a kind: its texts, their boxes, and its place in two tables are about 400 bytes.
const ROWS_OF_A_KIND: usize = 25;
/// Weight of a suggestion.
const ROWS_OF_A_SUGGESTION: usize = 6;
/// Maximum cached sheets, however short.
const SHEETS_KEPT: usize = 64;
/// A sheet counts as in use if it is among this many last read.
const LATELY: u64 = 32;
/// Parts read at a time.
const PARTS: i64 = 100;
/// Parts read at a time in a search for individual rows.
const FEW_PARTS: i64 = 10;

statements! {
    SETTLED = "SELECT parts, rewritten FROM job WHERE org_no = $1 AND job_no = $2 AND packed = 0";
    SINCE = "SELECT part_no, body FROM result_part WHERE org_no = $1 AND job_no = $2 AND part_no > $3 ORDER BY part_no LIMIT $4";
    BEFORE = "SELECT part_no, body FROM result_part WHERE org_no = $1 AND job_no = $2 AND part_no < $3 ORDER BY part_no DESC LIMIT $4";
    DUPLICATES = "SELECT idx, first_idx FROM job_duplicate WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4 \
                  ORDER BY idx";
}

/// Cached sheets, the last read at the end. A transaction has only its own: its snapshot may be older.
#[derive(Debug, Default)]
pub(crate) struct ResultSheets(Short<SheetCache>);

#[derive(Debug, Default)]
struct SheetCache {
    all: Vec<CachedSheet>,
    /// Number of reads of any sheet.
    reads: u64,
}

#[derive(Debug)]
struct CachedSheet {
    of: (OrgNo, JobNo),
    rows: usize,
    /// Value of that count at the last read.
    read: u64,
    sheet: Arc<Mutex<ResultSheet>>,
}

impl ResultSheets {
    /// Sheets shared by the whole store.
    pub(in crate::jobs) fn of_store(store: &Store) -> Arc<Self> {
        store.attached().cloned().unwrap_or_default()
    }

    /// Sheets that a connection may use: those of the store or, within a transaction, its own.
    pub(super) fn of_connection(conn: &mut Conn) -> Arc<Self> {
        if conn.is_in_transaction() {
            return Arc::clone(conn.own());
        }
        conn.attached().cloned().unwrap_or_default()
    }

    fn of(&self, of: (OrgNo, JobNo)) -> Arc<Mutex<ResultSheet>> {
        self.shelf(|SheetCache { all, reads }| {
            *reads += 1;
            let mut kept = match all.iter().position(|kept| kept.of == of) {
                Some(place) => all.remove(place),
                None => CachedSheet { of, rows: 0, read: 0, sheet: Arc::default() },
            };
            kept.read = *reads;
            let sheet = kept.sheet.clone();
            all.push(kept);
            sheet
        })
    }

    /// Records the size of a sheet that was read, and drops the excess: sheets not in use, else this one.
    fn has(&self, of: (OrgNo, JobNo), rows: usize) {
        self.shelf(|SheetCache { all, reads }| {
            if let Some(kept) = all.iter_mut().find(|kept| kept.of == of) {
                kept.rows = rows;
            }
            let mut sum: usize = all.iter().map(|kept| kept.rows).sum();
            while all.len() > 1 && (sum > ROWS_KEPT || all.len() > SHEETS_KEPT) {
                let idle = all.first().is_some_and(|first| first.read + LATELY < *reads);
                let own = all.iter().position(|kept| kept.of == of).filter(|_| !idle);
                sum -= all.remove(own.unwrap_or(0)).rows;
            }
        });
    }

    /// Drops the sheet of a packed job.
    pub(in crate::jobs) fn forget(&self, org: OrgNo, job: JobNo) {
        self.shelf(|shelf| shelf.all.retain(|kept| kept.of != (org, job)));
    }

    fn shelf<T>(&self, look: impl FnOnce(&mut SheetCache) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Results of a job read so far.
#[derive(Debug, Default)]
struct ResultSheet {
    /// Last part read.
    last: i64,
    /// The job's `rewritten` counter at the first read.
    rewritten: i64,
    /// By thousands of rows.
    blocks: BTreeMap<i64, Vec<ResultEntry>>,
    rows: usize,
    /// Each kind that occurs, and its index.
    kinds: Vec<Arc<OutcomeKind>>,
    places: HashMap<Arc<OutcomeKind>, u32>,
    /// Settlement times; the results of a part share one.
    times: Vec<Millis>,
    /// By row; few rows have one.
    suggestions: HashMap<i64, Box<str>>,
}

/// Result of a row, in 16 bytes: shared data is stored in the sheet.
#[derive(Clone, Copy, Debug)]
struct ResultEntry {
    copies: u32,
    kind: u32,
    time: u32,
    /// Row within its thousand.
    within: u16,
}
const _: () = assert!(size_of::<ResultEntry>() == 16);

/// Outcomes of the rows in `from..to` of a job that is not packed, in row order. A row with several results, which should not
/// happen, occurs several times.
pub(in crate::jobs) async fn outcomes(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    from: i64,
    to: i64,
) -> Result<Vec<(i64, SettledResult)>> {
    let Some(shared) = caught_up(conn, org, job).await? else { return Ok(Vec::new()) };
    let sheet = shared.lock().await;
    let mut found: Vec<_> = sheet.within(from, to).map(|(idx, entry)| (idx, sheet.standing(idx, entry))).collect();
    let duplicates: Vec<(i64, i64)> = conn.all(&DUPLICATES, args![org, job, from, to]).await?;
    for (idx, first) in duplicates {
        found.extend(sheet.within(first, first + 1).map(|(first, entry)| (idx, sheet.standing(first, entry))));
    }
    drop(sheet);
    found.sort_by_key(|(idx, _)| *idx);
    Ok(found)
}

/// Own results of these rows of a job that is not packed.
pub(in crate::jobs) async fn picked(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    rows: &[i64],
) -> Result<Vec<(i64, SettledResult)>> {
    let (mut wanted, mut found) = (rows.iter().copied().collect::<BTreeSet<_>>(), Vec::new());
    if !conn.has(&SETTLED, args![org, job]).await? {
        return Ok(found);
    }
    let mut before = i64::MAX;
    while !wanted.is_empty() {
        let parts: Vec<(i64, Vec<u8>)> = conn.all(&BEFORE, args![org, job, before, FEW_PARTS]).await?;
        let is_last = i64::try_from(parts.len()).is_ok_and(|read| read < FEW_PARTS);
        for (no, body) in parts {
            before = no;
            let place = SealedField::numbered("result_part.body", job.0, no);
            let body = unseal(conn, org, place, body).await?;
            if part::indexes(&body)?.iter().any(|idx| wanted.contains(idx)) {
                let ResultPart { kinds, rows } = part::decode(&body)?;
                for (idx, outcome) in rows.into_iter().filter(|(idx, _)| wanted.remove(idx)) {
                    let kind = kinds.get(outcome.kind).ok_or_else(results::damaged)?.clone();
                    found.push((idx, results::unpacked(idx, kind, outcome)?));
                }
            }
        }
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// The sheet of a job, with everything settled by now. `None`: the job is packed.
async fn caught_up(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<Arc<Mutex<ResultSheet>>>> {
    let sheets = ResultSheets::of_connection(conn);
    let settled: Option<(i64, i64)> = conn.find(&SETTLED, args![org, job]).await?;
    let Some((parts, rewritten)) = settled else {
        sheets.forget(org, job);
        return Ok(None);
    };
    let shared = sheets.of((org, job));
    let mut sheet = shared.lock().await;
    if sheet.rewritten != rewritten {
        *sheet = ResultSheet { rewritten, ..ResultSheet::default() };
    }
    if sheet.last < parts {
        sheet.catch_up(conn, org, job).await?;
    }
    sheets.has((org, job), sheet.weight());
    drop(sheet);
    Ok(Some(shared))
}

impl ResultSheet {
    /// Reads the parts settled since the last read.
    async fn catch_up(&mut self, conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<()> {
        loop {
            let parts: Vec<(i64, Vec<u8>)> = conn.all(&SINCE, args![org, job, self.last, PARTS]).await?;
            let is_last = i64::try_from(parts.len()).is_ok_and(|read| read < PARTS);
            for (no, body) in parts {
                let place = SealedField::numbered("result_part.body", job.0, no);
                let body = unseal(conn, org, place, body).await?;
                self.add(part::decode(&body)?)?;
                self.last = no;
            }
            if is_last {
                return Ok(());
            }
            // Sorting 100,000 rows takes milliseconds.
            tokio::task::yield_now().await;
        }
    }

    /// Adds a part; none of its rows if it is damaged.
    fn add(&mut self, part: ResultPart) -> Result<()> {
        let kinds = part.kinds.into_iter().map(|kind| self.known(kind)).collect::<Result<Vec<_>>>()?;
        let mut read = Vec::with_capacity(part.rows.len());
        for (idx, outcome) in part.rows {
            let kind = *kinds.get(outcome.kind).ok_or_else(results::damaged)?;
            let SettledResult { result, at } = results::unpacked(idx, self.kinds[place(kind)].clone(), outcome)?;
            let RowResult { idx, copies, suggestion, .. } = result;
            let copies = u32::try_from(copies).map_err(|_| results::damaged())?;
            let within = u16::try_from(idx.rem_euclid(packing::BLOCK)).map_err(|_| results::damaged())?;
            read.push((idx, ResultEntry { copies, kind, time: self.time(at)?, within }, suggestion));
        }
        self.rows += read.len();
        for (idx, entry, suggestion) in read {
            if let Some(suggestion) = suggestion {
                self.suggestions.insert(idx, suggestion.into());
            }
            self.blocks.entry(idx.div_euclid(packing::BLOCK)).or_default().push(entry);
        }
        Ok(())
    }

    /// Size, in rows.
    fn weight(&self) -> usize {
        self.rows + self.kinds.len() * ROWS_OF_A_KIND + self.suggestions.len() * ROWS_OF_A_SUGGESTION
    }

    /// Index of a kind, which is shared with other sheets.
    fn known(&mut self, kind: Arc<OutcomeKind>) -> Result<u32> {
        if let Some(known) = self.places.get(&kind) {
            return Ok(*known);
        }
        let place = u32::try_from(self.kinds.len()).map_err(|_| results::damaged())?;
        self.kinds.push(kind.clone());
        self.places.insert(kind, place);
        Ok(place)
    }

    /// Index of a time, mostly that of the result before.
    fn time(&mut self, at: Millis) -> Result<u32> {
        if self.times.last() != Some(&at) {
            self.times.push(at);
        }
        u32::try_from(self.times.len() - 1).map_err(|_| results::damaged())
    }

    /// Results of first rows in `from..to`, with their rows.
    fn within(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, ResultEntry)> {
        let blocks = self.blocks.range(from.div_euclid(packing::BLOCK)..);
        let blocks = blocks.take_while(move |(block, _)| **block <= to.div_euclid(packing::BLOCK));
        let rows = blocks.flat_map(|(block, entries)| {
            let first = block * packing::BLOCK;
            entries.iter().map(move |entry| (first + i64::from(entry.within), *entry))
        });
        rows.filter(move |(idx, _)| (from..to).contains(idx))
    }

    fn standing(&self, idx: i64, entry: ResultEntry) -> SettledResult {
        let ResultEntry { copies, kind, time, .. } = entry;
        let suggestion = self.suggestions.get(&idx).map(ToString::to_string);
        let kind = self.kinds[place(kind)].clone();
        SettledResult {
            result: RowResult { idx, copies: i64::from(copies), kind, suggestion },
            at: self.times[place(time)],
        }
    }
}

/// Converts a stored index.
fn place(place: u32) -> usize {
    usize::try_from(place).expect("it is that of something in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(job: i64) -> (OrgNo, JobNo) {
        (OrgNo(1), JobNo(job))
    }

    fn kept(sheets: &ResultSheets) -> Vec<i64> {
        sheets.shelf(|shelf| shelf.all.iter().map(|kept| kept.of.1.0).collect())
    }

    /// Reads a sheet of `rows` rows; returns whether it was cached.
    fn read(sheets: &ResultSheets, job: i64, rows: usize) -> bool {
        let was_kept = kept(sheets).contains(&job);
        sheets.of(of(job));
        sheets.has(of(job), rows);
        was_kept
    }

    #[test]
    fn sheets_that_are_in_use_push_no_other_out() {
        let sheets = ResultSheets::default();
        let mut reads = 0;
        for _ in 0..20 {
            for job in 1..=5 {
                reads += usize::from(!read(&sheets, job, ROWS_KEPT / 4));
            }
        }
        assert_eq!(reads, 4 + 20, "four have room, the fifth is read again each time");
        assert_eq!(kept(&sheets), [1, 2, 3, 4]);
    }

    #[test]
    fn what_was_not_read_for_long_makes_room() {
        let sheets = ResultSheets::default();
        for job in 1..=4 {
            read(&sheets, job, ROWS_KEPT / 4);
        }
        for _ in 0..=LATELY {
            read(&sheets, 5, ROWS_KEPT / 4);
        }
        assert_eq!(kept(&sheets), [2, 3, 4, 5]);
        sheets.forget(of(3).0, of(3).1);
        assert_eq!(kept(&sheets), [2, 4, 5]);
        for job in 10..200 {
            read(&sheets, job, 0);
        }
        assert_eq!(kept(&sheets).len(), SHEETS_KEPT);
        let only = ResultSheets::default();
        assert!(!read(&only, 1, ROWS_KEPT * 2));
        assert!(read(&only, 1, ROWS_KEPT * 2), "the only one may be larger than all");
    }
}
