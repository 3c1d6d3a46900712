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

/// Reads records that are one quoted cell each, with a whole row in it: as many cells in each, and one address in each but the
/// header.
pub(super) fn unwrapped(head: &[u8]) -> Option<Sample> {
    let outer = DialectTrial::of(head, Dialect::separated(b','));
    let is_single = outer.quoted.iter().all(|quoted| *quoted)
        && outer.torn == 0
        && outer.rows.len() > 1
        && outer.rows.iter().all(|row| row.len() == 1);
    if !is_single {
        return None;
    }
    let read = DELIMITERS.map(|delimiter| {
        let dialect = Dialect::separated(delimiter);
        let rows = outer.rows.iter().map(|row| cells(row[0].as_bytes(), dialect, false)).collect();
        Sample { dialect, rows, titles: 0, is_wrapped: true, is_quoted: false, has_quotes: true }
    });
    let is_row = |row: &Vec<String>| row.iter().filter(|cell| is_address(cell) && !cell.contains('<')).count() == 1;
    read.into_iter().find(|sample| {
        let width = sample.rows[0].len();
        let is_regular = width > 1 && sample.rows.iter().all(|row| row.len() == width);
        is_regular && sample.rows[1..].iter().all(is_row) && (is_row(&sample.rows[0]) || is_header(&sample.rows[0]))
    })
}
