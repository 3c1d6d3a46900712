//! Sheets of known cells: every row with text is returned, with its number, and nothing else is.

#![cfg(feature = "workbook")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene may panic")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use probity_lists::workbook::Workbook;
use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const ROOT: &str = "<Relationships><Relationship Id='r' Type='t/officeDocument' Target='book.xml'/></Relationships>";
const BOOK: &str = "<workbook><sheets><sheet name='s' r:id='r'/></sheets></workbook>";
const SHEETS: &str = "<Relationships><Relationship Id='r' Type='t/worksheet' Target='sheet.xml'/></Relationships>";

type SheetRows = Vec<(u64, Vec<String>)>;

/// A workbook with this sheet.
fn workbook(sheet: &str) -> File {
    let mut out = ZipWriter::new(tempfile::tempfile().unwrap());
    for (name, part) in
        [("_rels/.rels", ROOT), ("book.xml", BOOK), ("_rels/book.xml.rels", SHEETS), ("sheet.xml", sheet)]
    {
        out.start_file(name, SimpleFileOptions::default()).unwrap();
        out.write_all(part.as_bytes()).unwrap();
    }
    let mut file = out.finish().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

/// The sheet of these rows, each with as many rows left out before it.
fn sheet(rows: &[(u64, Vec<String>)]) -> (String, SheetRows) {
    let (mut sheet, mut expected, mut number) = (String::new(), SheetRows::new(), 0);
    for (left_out, cells) in rows {
        number += 1 + left_out;
        write!(sheet, "<row r='{number}'>").unwrap();
        for cell in cells {
            write!(sheet, "<c t='inlineStr'><is><t xml:space='preserve'>{cell}</t></is></c>").unwrap();
        }
        sheet.push_str("</row>");
        let blank = |cell: &String| if cell.trim().is_empty() { String::new() } else { cell.clone() };
        let mut cells: Vec<String> = cells.iter().map(blank).collect();
        cells.truncate(cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1));
        if !cells.is_empty() {
            expected.push((number, cells));
        }
    }
    (format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>"), expected)
}

proptest! {
    #[test]
    fn rows_in_are_rows_out(
        rows in prop::collection::vec((0_u64..4, prop::collection::vec("|[ \u{a0}]{1,2}|[a-c@.;\u{fc}\u{4f1a} ]{1,9}", 0..6)), 0..40),
    ) {
        let (text, expected) = sheet(&rows);
        let mut read = SheetRows::new();
        let given = Workbook::open(workbook(&text)).unwrap().read("s", |number, row| {
            read.push((number, row));
            Ok(())
        });
        prop_assert_eq!(given.unwrap(), expected.len() as u64);
        prop_assert_eq!(read, expected);
    }
}
