//! Sheets: the results of jobs that are not packed, in memory and in the order of their rows.
//!
//! Parts are settled in the order of the work, which is sorted by domain, so the thousand rows of a page lie in as many parts.
//! Writing them in the order of the rows would touch a page of the database for each; so whoever reads puts them in order.
//! Parts never change and their numbers are seen in order, so a sheet that has read up to one only reads what is behind it: a
//! page of a running job costs what was settled since the last one. A row takes 32 bytes; the sheets that were read lately are
//! kept, up to [`ROWS_KEPT`] rows of them, and any may be forgotten.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex as Short, PoisonError};

use probity_core::block::results::Outcome;
use probity_core::time::Millis;
use tokio::sync::Mutex;

use super::kind::Kind;
use super::part::{self, Part};
use super::results::{self, RowResult, Standing};
use super::{JobNo, packing};
use crate::db::{Conn, args, statements};
use crate::error::Result;
use crate::number::OrgNo;

/// Rows of the sheets that are kept beside the one that is read.
const ROWS_KEPT: usize = 2_000_000;
/// Sheets that are kept, however short.
const SHEETS_KEPT: usize = 64;
/// Parts that are read at a time.
const PARTS: i64 = 100;

statements! {
    SETTLED = "SELECT parts FROM job WHERE org_no = $1 AND job_no = $2 AND packed = 0";
    SINCE = "SELECT part_no, body FROM result_part WHERE org_no = $1 AND job_no = $2 AND part_no > $3 ORDER BY part_no LIMIT $4";
    DUPLICATES = "SELECT idx, first_idx FROM job_duplicate WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4 \
                  ORDER BY idx";
}

/// The sheets that are kept, those read last at the end. A transaction has none but its own: what it sees may be older.
#[derive(Debug, Default)]
pub(crate) struct Sheets(Short<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    of: (OrgNo, JobNo),
    rows: usize,
    sheet: Arc<Mutex<Sheet>>,
}

impl Sheets {
    fn of(&self, of: (OrgNo, JobNo)) -> Arc<Mutex<Sheet>> {
        self.kept(|all| {
            let kept = match all.iter().position(|kept| kept.of == of) {
                Some(place) => all.remove(place),
                None => Kept { of, rows: 0, sheet: Arc::default() },
            };
            let sheet = kept.sheet.clone();
            all.push(kept);
            sheet
        })
    }

    /// Takes note of a sheet's size, and lets those go that are too much.
    fn has(&self, of: (OrgNo, JobNo), rows: usize) {
        self.kept(|all| {
            if let Some(kept) = all.iter_mut().find(|kept| kept.of == of) {
                kept.rows = rows;
            }
            let mut sum: usize = all.iter().map(|kept| kept.rows).sum();
            while all.len() > 1 && (sum > ROWS_KEPT || all.len() > SHEETS_KEPT) {
                sum -= all.remove(0).rows;
            }
        });
    }

    /// Lets the sheet of a job go that is packed.
    pub(super) fn forget(&self, org: OrgNo, job: JobNo) {
        self.kept(|all| all.retain(|kept| kept.of != (org, job)));
    }

    fn kept<T>(&self, look: impl FnOnce(&mut Vec<Kept>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The results of a job that were read so far.
#[derive(Debug, Default)]
struct Sheet {
    /// The last part that was read.
    last: i64,
    /// By thousands of rows.
    blocks: BTreeMap<i64, Vec<Entry>>,
    rows: usize,
    kinds: HashSet<Arc<Kind>>,
    /// By row; few have one.
    suggestions: HashMap<i64, Box<str>>,
}

/// The result of a row.
#[derive(Clone, Debug)]
struct Entry {
    idx: i64,
    at: Millis,
    copies: i64,
    kind: Arc<Kind>,
}

/// What stands in the rows within `from..to` of a job that is not packed, in their order. A row that has several results, which is
/// never so, is told of as often.
pub(super) async fn outcomes(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    from: i64,
    to: i64,
) -> Result<Vec<(i64, Standing)>> {
    let Some(shared) = caught_up(conn, org, job).await? else { return Ok(Vec::new()) };
    let sheet = shared.lock().await;
    let mut found: Vec<_> = sheet.within(from, to).map(|entry| (entry.idx, sheet.standing(entry))).collect();
    for row in conn.rows(&DUPLICATES, args![org, job, from, to]).await? {
        let (idx, first): (i64, i64) = (row.get("idx")?, row.get("first_idx")?);
        found.extend(sheet.within(first, first + 1).map(|entry| (idx, sheet.standing(entry))));
    }
    drop(sheet);
    found.sort_by_key(|(idx, _)| *idx);
    Ok(found)
}

/// What stands in these rows of a job that is not packed: their own results.
pub(super) async fn picked(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<(i64, Standing)>> {
    let Some(shared) = caught_up(conn, org, job).await? else { return Ok(Vec::new()) };
    let sheet = shared.lock().await;
    let of_row = |idx: &i64| sheet.within(*idx, idx + 1).map(|entry| (entry.idx, sheet.standing(entry)));
    Ok(rows.iter().flat_map(of_row).collect())
}

/// The sheet of a job, with all that is settled by now. None: the job is packed.
async fn caught_up(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Option<Arc<Mutex<Sheet>>>> {
    let sheets = conn.sheets().clone();
    let Some(settled) = conn.first(&SETTLED, args![org, job]).await? else {
        sheets.forget(org, job);
        return Ok(None);
    };
    let shared = sheets.of((org, job));
    let mut sheet = shared.lock().await;
    if sheet.last < settled.get("parts")? {
        sheet.catch_up(conn, org, job).await?;
    }
    sheets.has((org, job), sheet.rows);
    drop(sheet);
    Ok(Some(shared))
}

impl Sheet {
    /// Reads what was settled since the last time.
    async fn catch_up(&mut self, conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<()> {
        loop {
            let rows = conn.rows(&SINCE, args![org, job, self.last, PARTS]).await?;
            for row in &rows {
                self.add(part::decode(&row.get::<Vec<u8>>("body")?)?)?;
                self.last = row.get("part_no")?;
            }
            if i64::try_from(rows.len()).is_ok_and(|read| read < PARTS) {
                return Ok(());
            }
            // Putting a hundred thousand rows in order takes milliseconds.
            tokio::task::yield_now().await;
        }
    }

    /// Adds a part; where it is damaged, nothing of it.
    fn add(&mut self, part: Part) -> Result<()> {
        let kinds: Vec<Arc<Kind>> = part.kinds.into_iter().map(|kind| self.known(kind)).collect();
        let standing = |(idx, outcome): (i64, Outcome)| {
            let kind = kinds.get(outcome.kind).ok_or_else(results::damaged)?.clone();
            results::unpacked(idx, kind, outcome)
        };
        let read = part.rows.into_iter().map(standing).collect::<Result<Vec<_>>>()?;
        self.rows += read.len();
        for Standing { result: RowResult { idx, copies, kind, suggestion }, at } in read {
            if let Some(suggestion) = suggestion {
                self.suggestions.insert(idx, suggestion.into());
            }
            let block = self.blocks.entry(idx.div_euclid(packing::BLOCK)).or_default();
            block.push(Entry { idx, at, copies, kind });
        }
        Ok(())
    }

    /// The same kind as others have it.
    fn known(&mut self, kind: Arc<Kind>) -> Arc<Kind> {
        if let Some(known) = self.kinds.get(&kind) {
            return known.clone();
        }
        self.kinds.insert(kind.clone());
        kind
    }

    fn within(&self, from: i64, to: i64) -> impl Iterator<Item = &Entry> {
        let blocks = self.blocks.range(from.div_euclid(packing::BLOCK)..);
        let blocks = blocks.take_while(move |(block, _)| **block <= to.div_euclid(packing::BLOCK));
        blocks.flat_map(|(_, block)| block).filter(move |entry| (from..to).contains(&entry.idx))
    }

    fn standing(&self, entry: &Entry) -> Standing {
        let Entry { idx, at, copies, kind } = entry.clone();
        let suggestion = self.suggestions.get(&idx).map(ToString::to_string);
        Standing { result: RowResult { idx, copies, kind, suggestion }, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sheets_that_were_read_last_are_kept() {
        let sheets = Sheets::default();
        let of = |job| (OrgNo(1), JobNo(job));
        for job in 1..=3 {
            sheets.of(of(job));
            sheets.has(of(job), ROWS_KEPT / 3);
        }
        let second = sheets.of(of(2));
        sheets.of(of(4));
        sheets.has(of(4), ROWS_KEPT / 3);
        let kept = |sheets: &Sheets| sheets.kept(|all| all.iter().map(|kept| kept.of.1.0).collect::<Vec<_>>());
        assert_eq!(kept(&sheets), [3, 2, 4]);
        sheets.has(of(4), ROWS_KEPT * 2);
        assert_eq!(kept(&sheets), [4], "the one that is read may be larger than all");
        assert!(!Arc::ptr_eq(&second, &sheets.of(of(2))));
        sheets.forget(of(4).0, of(4).1);
        assert_eq!(kept(&sheets), [2]);
        for job in 10..200 {
            sheets.of(of(job));
            sheets.has(of(job), 0);
        }
        assert_eq!(kept(&sheets).len(), SHEETS_KEPT);
    }
}
