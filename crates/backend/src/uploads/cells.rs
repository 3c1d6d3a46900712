//! Stored rows and their contents: cells in the order of the columns, or the address alone.

use std::borrow::Cow;

use probity_account::block::ADDRESS_MAX_BYTES;
use probity_account::block::table::TableBlock;
use probity_contract::error::ApiError;
use probity_lists::absent::{Absence, absence, cleaned};
use probity_lists::json;
use probity_mail::address::{bare_address, trimmed};
use probity_store::Conn;
use probity_store::uploads::{self, ColumnChoice, Upload};

use crate::uploads::about::{FileFacts, FileKind};

/// Stored row: its cells, or the line of a JSON file. An erased row has no cells.
pub type FileRow = Vec<String>;

/// Returns the text in the address column, trimmed. A text longer than a job's rows may be is reduced to the address after a name
/// or, without one, to its beginning, which is not an address.
fn address<'a>(about: &FileFacts, row: &'a FileRow, column: usize) -> Cow<'a, str> {
    let text: Cow<'a, str> = match about.kind {
        FileKind::Jsonl => {
            let name = about.first.get(column).map_or("", String::as_str);
            let found = row.first().and_then(|line| json::find(line, Some(name)).ok());
            found.and_then(|found| found.email).unwrap_or_default().into()
        }
        _ => row.get(column).map_or("", String::as_str).into(),
    };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(meant(text)),
        Cow::Owned(text) => Cow::Owned(meant(&text).to_owned()),
    }
}

/// Returns a text without the text around its address.
fn meant(text: &str) -> &str {
    short(cleaned(text).unwrap_or_else(|| trimmed(text)))
}

/// Returns the text in the address column of a row, or why the row has none. Rows are numbered from 0.
pub fn address_of<'a>(
    about: &FileFacts,
    (at, row): (i64, &'a FileRow),
    choice: ColumnChoice,
) -> Result<Cow<'a, str>, Absence> {
    let column = choice.column.and_then(|column| usize::try_from(column).ok()).ok_or(Absence::Blank)?;
    let header = about.first.get(column).filter(|_| choice.header).map(String::as_str);
    let text = address(about, row, column);
    absence(&text, header, about.is_guess(at)).map_or(Ok(text), Err)
}

fn short(text: &str) -> &str {
    let text = if text.len() > ADDRESS_MAX_BYTES { bare_address(text) } else { text };
    &text[..text.floor_char_boundary(ADDRESS_MAX_BYTES)]
}

/// Returns a row's cells, one for each column. A line that is not an object becomes the first cell, so that nothing is lost.
pub fn cells(about: &FileFacts, row: FileRow) -> Vec<String> {
    let line = row.first().filter(|_| about.is_json());
    let mut cells = match line.map(|line| json::members(line)) {
        Some(Ok(members)) => {
            let of = |name: &String| members.iter().rfind(|(member, _)| member == name);
            let cell = |name: &String| of(name).map(|(_, value)| json::cell(value).into_owned()).unwrap_or_default();
            about.first.iter().map(cell).collect()
        }
        _ => row,
    };
    cells.resize(about.width, String::new());
    cells
}

/// Decodes the rows of a block.
pub fn decoded(body: &[u8]) -> Result<Vec<FileRow>, ApiError> {
    let block = TableBlock::decode(body).map_err(ApiError::server_error)?;
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    Ok(block.rows().map(|row| row.into_iter().map(text).collect()).collect())
}

/// Returns the stored rows within `from..to` in order, reading a few blocks at a time. Returns fewer if they do not fit into
/// memory at once, but at least one.
pub async fn rows(conn: &mut Conn, upload: &Upload, from: i64, to: i64) -> Result<Vec<FileRow>, ApiError> {
    let (mut rows, mut bytes) = (Vec::new(), 0_usize);
    let mut next = from;
    while next < to.min(upload.rows) {
        let blocks = uploads::blocks(conn, upload.org, upload.no, next, BLOCKS).await?;
        let before = next;
        for (first, body) in blocks {
            for (at, row) in (first..).zip(decoded(&body)?) {
                if at == next && at < to {
                    bytes += row.iter().map(String::len).sum::<usize>();
                    if bytes > AT_ONCE_BYTES && !rows.is_empty() {
                        return Ok(rows);
                    }
                    rows.push(row);
                    next += 1;
                }
            }
        }
        if next == before {
            return Err(ApiError::server_error("rows of an upload are missing"));
        }
    }
    Ok(rows)
}

/// Blocks read at a time.
const BLOCKS: i64 = 2;
/// Maximum size of the rows in memory, in bytes.
const AT_ONCE_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn about(kind: FileKind, first: &[&str]) -> FileFacts {
        let first: Vec<String> = first.iter().map(ToString::to_string).collect();
        FileFacts { width: first.len(), first, ..FileFacts::new("list".into(), kind) }
    }

    #[test]
    fn addresses_are_found_in_their_column() {
        let csv = about(FileKind::Csv, &["name", "email"]);
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<FileRow>();
        assert_eq!(address(&csv, &row(&["A", " a@x.org\t"]), 1), "a@x.org");
        assert_eq!(address(&csv, &row(&["A", "mailto:a@x.org?subject=hi"]), 1), "a@x.org");
        assert_eq!(address(&csv, &row(&["A"]), 1), "");
        assert_eq!(address(&csv, &row(&[]), 1), "");
        let long = format!("{}ü", "a".repeat(ADDRESS_MAX_BYTES - 1));
        assert_eq!(address(&csv, &row(&["", &long]), 1).len(), ADDRESS_MAX_BYTES - 1);
        let json = about(FileKind::Jsonl, &["id", "mail"]);
        assert_eq!(address(&json, &row(&[r#"{"mail":" a@x.org","id":1}"#]), 1), "a@x.org");
        assert_eq!(address(&json, &row(&["nonsense"]), 1), "");
        let twice = row(&[r#"{"mail":"b@x.org","mail":"a@x.org"}"#]);
        assert_eq!(
            (address(&json, &twice, 1).as_ref(), cells(&json, twice.clone())[1].as_str()),
            ("a@x.org", "a@x.org")
        );
    }

    #[test]
    fn a_row_may_have_no_address() {
        let about = about(FileKind::Csv, &["name", "Kontakt"]);
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<FileRow>();
        let of = |cells: &[&str], header| {
            let choice = ColumnChoice { column: Some(1), header };
            address_of(&about, (1, &row(cells)), choice).ok().map(Cow::into_owned)
        };
        assert_eq!(of(&["A", " a@x.org"], true).as_deref(), Some("a@x.org"));
        assert_eq!(of(&["A", "nonsense"], true).as_deref(), Some("nonsense"));
        for cells in [&["A"][..], &[], &["A", "\u{a0}"], &["A", "\u{1a}"], &["name", "Kontakt"], &["Name", "E-Mail"]] {
            assert_eq!(of(cells, true), None, "{cells:?}");
        }
        assert_eq!(of(&["name", "Kontakt"], false).as_deref(), Some("Kontakt"));
        let mut guessed = about.clone();
        guessed.add_guess(1);
        let of = |at, cells: &[&str]| {
            let choice = ColumnChoice { column: Some(1), header: true };
            address_of(&guessed, (at, &row(cells)), choice).ok().map(Cow::into_owned)
        };
        assert_eq!(of(1, &["\u{ef}", "a@x.org"]).as_deref(), Some("a@x.org"));
        assert_eq!(of(1, &["A", "a@\u{ef}.org"]), None);
        assert_eq!(of(2, &["A", "info@b\u{fc}cher.de"]).as_deref(), Some("info@b\u{fc}cher.de"));
    }

    #[test]
    fn rows_have_a_cell_for_each_column() {
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<FileRow>();
        assert_eq!(cells(&about(FileKind::Csv, &["a", "b", "c"]), row(&["1"])), ["1", "", ""]);
        let json = about(FileKind::Jsonl, &["id", "tags"]);
        assert_eq!(cells(&json, row(&[r#"{"tags":["x"],"id":1.50,"other":2}"#])), ["1.50", r#"["x"]"#]);
        assert_eq!(cells(&json, row(&["nonsense"])), ["nonsense", ""]);
    }
}
