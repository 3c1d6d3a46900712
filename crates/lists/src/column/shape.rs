//! What a file has around its rows: titles above the header, and quotes around each whole row.

use super::names::is_name;
use super::{DELIMITERS, DialectTrial, Sample, cells, is_address, is_header, looks_like_address, trimmed};
use crate::split::Dialect;

/// Most titles above a header.
pub const TITLES_MAX: usize = 10;
/// Longest title, in bytes.
const TITLE_BYTES: usize = 4 << 10;

/// Number of titles above the header: the header is the first row that names an address column, and each row before it has other
/// cells or fewer texts, and no address.
pub fn titles(rows: &[Vec<String>]) -> usize {
    let texts = |row: &Vec<String>| row.iter().filter(|cell| !trimmed(cell).is_empty()).count();
    let names = |row: &Vec<String>| row.iter().any(|cell| is_name(cell));
    let Some(header) = rows.iter().take(TITLES_MAX + 1).position(names) else { return 0 };
    let is_title = |row: &Vec<String>| {
        let differs = rows[header].len() == 1 || row.len() != rows[header].len() || texts(row) < texts(&rows[header]);
        // An address within a sentence.
        let mentions = |cell: &String| cell.contains('@') && !is_address(cell);
        (differs || row.iter().any(mentions))
            && row.iter().map(String::len).sum::<usize>() <= TITLE_BYTES
            && !row.iter().any(|cell| is_address(cell))
    };
    let is_list = is_header(&rows[header]) && rows[header + 1..].iter().flatten().any(|cell| looks_like_address(cell));
    if is_list && rows[..header].iter().all(is_title) { header } else { 0 }
}

/// Reads records that are one quoted cell each, with a whole row in it: one address in each but the header, and as many cells in each.
/// Where their numbers differ, because the cells within lost their own quotes, the sample is uneven.
pub(super) fn unwrapped(head: &[u8]) -> Option<Sample> {
    let outer = DialectTrial::of(head, Dialect::separated(b','));
    let is_single = outer.quoted.iter().all(|quoted| *quoted)
        && outer.torn == 0
        && outer.rows.len() > 1
        && outer.rows.iter().all(|row| row.len() == 1);
    if !is_single {
        return None;
    }
    let is_row = |row: &Vec<String>| row.iter().filter(|cell| is_address(cell) && !cell.contains('<')).count() == 1;
    let read = DELIMITERS.iter().filter_map(|delimiter| {
        let dialect = Dialect::separated(*delimiter);
        let rows: Vec<_> = outer.rows.iter().map(|row| cells(row[0].as_bytes(), dialect, false)).collect();
        let has_rows = rows.iter().all(|row| row.len() > 1)
            && rows[1..].iter().all(is_row)
            && (is_row(&rows[0]) || is_header(&rows[0]));
        let is_uneven = rows.iter().any(|row| row.len() != rows[0].len());
        let sample = Sample { dialect, is_wrapped: true, is_uneven, has_quotes: true, ..Sample::of_rows(rows) };
        has_rows.then_some(sample)
    });
    read.min_by_key(|sample| sample.is_uneven)
}
