//! Rows as they are stored, and what they show: cells in the order of the columns, or the address alone.

use std::borrow::Cow;

use probity_account::block::ADDRESS_MAX_BYTES;
use probity_account::block::table::TableBlock;
use probity_lists::json;
use probity_store::Conn;
use probity_store::uploads::{self, Upload};

use crate::error::ApiError;
use crate::uploads::about::{About, Kind};

/// A row as it is stored: its cells, or of JSON lines the line. Without cells: it was erased.
pub type Row = Vec<String>;

/// The text in the column with the addresses, without outer blanks; cut where it is longer than any job keeps, and longer
/// than any address is.
pub fn address<'a>(about: &About, row: &'a Row, column: usize) -> Cow<'a, str> {
    let text: Cow<'a, str> = match about.kind {
        Kind::Jsonl => {
            let name = about.first.get(column).map_or("", String::as_str);
            let found = row.first().and_then(|line| json::find(line, Some(name)).ok());
            found.and_then(|found| found.email).unwrap_or_default().into()
        }
        _ => row.get(column).map_or("", String::as_str).into(),
    };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(cut(text.trim_ascii())),
        Cow::Owned(text) => Cow::Owned(cut(text.trim_ascii()).to_owned()),
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(ADDRESS_MAX_BYTES)]
}

/// A row's cells, one for each column.
pub fn cells(about: &About, row: Row) -> Vec<String> {
    let mut cells = match about.kind {
        Kind::Jsonl => {
            let members = row.first().and_then(|line| json::members(line).ok()).unwrap_or_default();
            let of = |name: &String| members.iter().rfind(|(member, _)| member == name);
            let cell = |name: &String| of(name).map(|(_, value)| json::cell(value).into_owned()).unwrap_or_default();
            about.first.iter().map(cell).collect()
        }
        _ => row,
    };
    cells.resize(about.width, String::new());
    cells
}

/// Rows of a block.
pub fn decoded(body: &[u8]) -> Result<Vec<Row>, ApiError> {
    let block = TableBlock::decode(body).map_err(ApiError::server_error)?;
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    Ok(block.rows().map(|row| row.into_iter().map(text).collect()).collect())
}

/// The stored rows within `from..to`, in their order, a few blocks at a time: all, or as many of the first as are in memory
/// at once, but one at least.
pub async fn rows(conn: &mut Conn, upload: &Upload, from: i64, to: i64) -> Result<Vec<Row>, ApiError> {
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

/// Blocks that are read at once.
const BLOCKS: i64 = 2;
/// Texts of rows that are in memory at once.
const AT_ONCE_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn about(kind: Kind, first: &[&str]) -> About {
        let first: Vec<String> = first.iter().map(ToString::to_string).collect();
        About { width: first.len(), first, ..About::new("list".into(), kind) }
    }

    #[test]
    fn addresses_are_found_in_their_column() {
        let csv = about(Kind::Csv, &["name", "email"]);
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Row>();
        assert_eq!(address(&csv, &row(&["A", " a@x.org\t"]), 1), "a@x.org");
        assert_eq!(address(&csv, &row(&["A"]), 1), "");
        assert_eq!(address(&csv, &row(&[]), 1), "");
        let long = format!("{}ü", "a".repeat(ADDRESS_MAX_BYTES - 1));
        assert_eq!(address(&csv, &row(&["", &long]), 1).len(), ADDRESS_MAX_BYTES - 1);
        let json = about(Kind::Jsonl, &["id", "mail"]);
        assert_eq!(address(&json, &row(&[r#"{"mail":" a@x.org","id":1}"#]), 1), "a@x.org");
        assert_eq!(address(&json, &row(&["nonsense"]), 1), "");
        let twice = row(&[r#"{"mail":"b@x.org","mail":"a@x.org"}"#]);
        assert_eq!(
            (address(&json, &twice, 1).as_ref(), cells(&json, twice.clone())[1].as_str()),
            ("a@x.org", "a@x.org")
        );
    }

    #[test]
    fn rows_have_a_cell_for_each_column() {
        let row = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Row>();
        assert_eq!(cells(&about(Kind::Csv, &["a", "b", "c"]), row(&["1"])), ["1", "", ""]);
        let json = about(Kind::Jsonl, &["id", "tags"]);
        assert_eq!(cells(&json, row(&[r#"{"tags":["x"],"id":1.50,"other":2}"#])), ["1.50", r#"["x"]"#]);
        assert_eq!(cells(&json, row(&["nonsense"])), ["", ""]);
    }
}
