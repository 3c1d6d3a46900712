//! Any bytes as the sheet of a workbook: the reader never panics, and no row is lost. A sheet of known cells is read as they are,
//! each row with its number; rows without text are passed over.

#![no_main]

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use libfuzzer_sys::fuzz_target;
use probity_lists::FileFault;
use probity_lists::workbook::Workbook;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const ROOT: &str = "<Relationships><Relationship Id='r' Type='t/officeDocument' Target='book.xml'/></Relationships>";
const BOOK: &str = "<workbook><sheets><sheet name='s' r:id='r'/></sheets></workbook>";
const SHEETS: &str = "<Relationships><Relationship Id='r' Type='t/worksheet' Target='sheet.xml'/></Relationships>";

type SheetRows = Vec<(u64, Vec<String>)>;

/// A workbook with this sheet.
fn workbook(sheet: &[u8]) -> File {
    let mut out = ZipWriter::new(tempfile::tempfile().expect("there is room"));
    let parts = [
        ("_rels/.rels", ROOT.as_bytes()),
        ("book.xml", BOOK.as_bytes()),
        ("_rels/book.xml.rels", SHEETS.as_bytes()),
        ("sheet.xml", sheet),
    ];
    for (name, part) in parts {
        out.start_file(name, SimpleFileOptions::default().compression_method(CompressionMethod::Stored))
            .expect("there is room");
        out.write_all(part).expect("there is room");
    }
    let mut file = out.finish().expect("there is room");
    file.seek(SeekFrom::Start(0)).expect("a file");
    file
}

/// The rows of the sheet; asserts that as many are returned as are counted, in their order.
fn rows(file: File) -> Result<SheetRows, FileFault> {
    let mut rows = SheetRows::new();
    let given = Workbook::open(file)?.read("s", |number, row| {
        rows.push((number, row));
        Ok(())
    })?;
    assert_eq!(given, u64::try_from(rows.len()).expect("a few"));
    assert!(rows.is_sorted_by(|one, next| one.0 < next.0), "each row has a number of its own");
    assert!(rows.iter().all(|(_, row)| row.iter().any(|cell| !cell.is_empty())), "no row is blank");
    Ok(rows)
}

/// A sheet of known cells: a line is a row, whose first byte may leave rows out before it; tabs separate its cells.
fn known(bytes: &[u8]) -> (String, SheetRows) {
    let (mut sheet, mut expected, mut number) = (String::new(), SheetRows::new(), 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        number += 1 + u64::from(line.first().is_some_and(u8::is_ascii_digit)) * 3;
        let text = String::from_utf8_lossy(line);
        let mut row: Vec<String> = text
            .split('\t')
            .map(|cell| cell.replace(|c: char| c.is_control() || "<>&_\u{fffe}\u{ffff}".contains(c), "-"))
            .collect();
        sheet.push_str(&format!("<row r='{number}'>"));
        for cell in &row {
            sheet.push_str(&format!("<c t='inlineStr'><is><t xml:space='preserve'>{cell}</t></is></c>"));
        }
        sheet.push_str("</row>");
        row.iter_mut().filter(|cell| cell.trim().is_empty()).for_each(String::clear);
        while row.last().is_some_and(String::is_empty) {
            row.pop();
        }
        if !row.is_empty() {
            expected.push((number, row));
        }
    }
    (format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>"), expected)
}

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::tempfile().expect("there is room");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("there is room");
    drop(rows(file));
    drop(rows(workbook(bytes)));
    let within = [b"<worksheet><sheetData>", bytes, b"</sheetData></worksheet>"].concat();
    drop(rows(workbook(&within)));
    let (sheet, expected) = known(bytes);
    match rows(workbook(sheet.as_bytes())) {
        Ok(read) => assert_eq!(read, expected, "every row with text is returned, with its number"),
        Err(fault) => assert!(
            matches!(
                fault,
                FileFault::TooManyColumns(_)
                    | FileFault::CellTooLong(_)
                    | FileFault::RowTooLong(_)
                    | FileFault::Unpacks(_)
            ),
            "{fault}"
        ),
    }
});
