//! Workbooks as spreadsheet programs write them, and as nobody but an attacker does.

use std::io::{Read, Seek, SeekFrom, Write};

use rust_xlsxwriter::{ExcelDateTime as Date, Format, Workbook as Written};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::*;

fn saved(book: &mut Written) -> File {
    let mut file = tempfile::tempfile().unwrap();
    book.save_to_writer(&mut file).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

fn list() -> File {
    let mut book = Written::new();
    let sheet = book.add_worksheet();
    sheet.write_row(0, 0, ["email", "name"]).unwrap();
    sheet.write_row(1, 0, ["a@example.org", "Ann"]).unwrap();
    saved(&mut book)
}

/// The workbook with parts put in, or in the place of those that it had.
fn with_parts(file: File, parts: &[(&str, &[u8])]) -> File {
    let mut archive = ZipArchive::new(file).unwrap();
    let mut out = ZipWriter::new(tempfile::tempfile().unwrap());
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).unwrap();
        if !parts.iter().any(|(name, _)| *name == part.name().unwrap()) {
            out.start_file(part.name().unwrap(), SimpleFileOptions::default()).unwrap();
            std::io::copy(&mut part, &mut out).unwrap();
        }
    }
    for (name, content) in parts {
        out.start_file(*name, SimpleFileOptions::default()).unwrap();
        out.write_all(content).unwrap();
    }
    let mut file = out.finish().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

fn read(file: File) -> Result<Vec<Vec<String>>, &'static str> {
    let mut rows = Vec::new();
    let mut book = Workbook::open(file).map_err(|fault| fault.word())?;
    let sheet = book.sheets().first().cloned().ok_or("no_sheet")?;
    let taken = book.read(&sheet, |row| {
        rows.push(row);
        Ok(())
    });
    taken.map(|_| rows).map_err(|fault| fault.word())
}

fn sheet_of(rows: &str) -> Vec<u8> {
    let name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    format!("<worksheet xmlns=\"{name}\"><sheetData>{rows}</sheetData></worksheet>").into_bytes()
}

const SHEET: &str = "xl/worksheets/sheet1.xml";

#[test]
fn cells_are_read_as_a_reader_sees_them() {
    let mut book = Written::new();
    let sheet = book.add_worksheet().set_name("Leute").unwrap();
    sheet.write_row(0, 0, ["email", "n", "since", "ok", "sum"]).unwrap();
    sheet.write_string(2, 0, "jörg@example.org").unwrap();
    sheet.write_number(2, 1, 30.5).unwrap();
    let date = Format::new().set_num_format("yyyy-mm-dd hh:mm");
    sheet.write_datetime_with_format(2, 2, Date::parse_from_str("2026-11-21T19:30").unwrap(), &date).unwrap();
    sheet.write_boolean(2, 3, true).unwrap();
    sheet.write_formula(2, 4, rust_xlsxwriter::Formula::new("=1+1").set_result("2")).unwrap();
    // A coloured column without text, far to the right.
    sheet.write_blank(3, 900, &Format::new().set_bold()).unwrap();
    sheet.write_string(5, 1, "no address").unwrap();
    book.add_worksheet().set_name("Other").unwrap();
    book.add_worksheet().set_name("Hidden").unwrap().set_hidden(true);
    let mut opened = Workbook::open(saved(&mut book)).unwrap();
    assert_eq!(opened.sheets(), ["Leute", "Other"]);
    let mut rows = Vec::new();
    let given = opened.read("Leute", |row| {
        rows.push(row);
        Ok(())
    });
    assert_eq!(given.unwrap(), 3);
    let last = ["jörg@example.org", "30.5", "2026-11-21 19:30:00", "true", "2"];
    assert_eq!(rows, [&["email", "n", "since", "ok", "sum"][..], &last, &["", "no address"]]);
    assert_eq!(opened.read("Other", |_| Ok(())).unwrap(), 0);
    for hidden in ["Hidden", "nobody"] {
        assert!(matches!(opened.read(hidden, |_| Ok(())), Err(Fault::NoSheet)));
    }
}

#[test]
fn a_bomb_is_refused_before_anything_understands_it() {
    let zeros = vec![b' '; usize::try_from(UNPACKED).unwrap()];
    let bomb = with_parts(list(), &[(SHEET, &zeros)]);
    assert!(bomb.metadata().unwrap().len() < 2 << 20, "the bomb is small");
    assert_eq!(read(bomb).unwrap_err(), "unpacks");
    let styles = vec![b' '; 17 << 20];
    assert_eq!(read(with_parts(list(), &[("xl/styles.xml", &styles)])).unwrap_err(), "unpacks");
    let cell = format!("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>{}</t></is></c></row>", "x".repeat(2 << 20));
    assert_eq!(read(with_parts(list(), &[(SHEET, &sheet_of(&cell))])).unwrap_err(), "unpacks");
}

/// More than a part may unpack to.
const UNPACKED: u64 = (512 << 20) + 1;

#[test]
fn an_archive_that_claims_many_parts_is_refused() {
    let mut bytes = Vec::new();
    list().read_to_end(&mut bytes).unwrap();
    let end = bytes.len() - 22;
    assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
    bytes[end + 10..end + 12].copy_from_slice(&[0xff, 0xff]);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(read(file).unwrap_err(), "unpacks");
}

#[test]
fn room_is_not_made_for_texts_that_are_only_claimed() {
    let shared = |start: &str, end: &str| format!("{start}{}{end}", "<si><t>x</t></si>".repeat(4));
    let name = "xl/sharedStrings.xml";
    let claims = [
        ("<sst uniqueCount=\"100000000000000000\">", "</sst>", "unpacks"),
        ("<s:sst xmlns:s='urn:s' uniqueCount = '9999999999999'>", "</s:sst>", "unpacks"),
        ("<?xml version='1.0' encoding='ISO-2022-JP'?><sst unique\x1b(BCount=\"99999999999\">", "</sst>", "damaged"),
    ];
    for (start, end, word) in claims {
        let part = shared(start, end);
        assert_eq!(read(with_parts(list(), &[(name, part.as_bytes())])).unwrap_err(), word, "{start}");
    }
    let wide = shared("<sst uniqueCount=\"100000000000000000\">", "</sst>").encode_utf16().collect::<Vec<u16>>();
    let wide: Vec<u8> = [0xfeff].iter().chain(&wide).flat_map(|unit| unit.to_le_bytes()).collect();
    assert_eq!(read(with_parts(list(), &[(name, &wide)])).unwrap_err(), "damaged");
    // Cells may well point to few texts many times.
    let part = shared("<sst count=\"1000000\" uniqueCount=\"4\">", "</sst>");
    assert!(read(with_parts(list(), &[(name, part.as_bytes())])).is_ok());
}

#[test]
fn a_text_that_many_cells_share_counts_as_often_as_it_is_shared() {
    let part = format!("<sst uniqueCount=\"1\"><si><t>{}</t></si></sst>", "x".repeat(60_000));
    let cells = |row: usize, columns: usize| {
        let cells = (0..columns).map(|_| "<c t=\"s\"><v>0</v></c>");
        format!("<row r=\"{row}\">{}</row>", cells.collect::<String>())
    };
    let book = |rows: &str| with_parts(list(), &[("xl/sharedStrings.xml", part.as_bytes()), (SHEET, &sheet_of(rows))]);
    assert_eq!(read(book(&[cells(1, 17), cells(2, 17)].concat())).unwrap().len(), 2);
    assert_eq!(read(book(&[cells(1, 17), cells(2, 18)].concat())).unwrap_err(), "row_too_long");
}

#[test]
fn a_sheet_under_another_name_is_bounded_as_well() {
    let cell = format!("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>{}</t></is></c></row>", "x".repeat(17 << 20));
    for name in ["xl/worksheets/sheet1.bin", "xl/media/image1.png"] {
        let target = name.strip_prefix("xl/").unwrap();
        let rels = format!(
            "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
             Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"{target}\"/>\
             </Relationships>"
        );
        let parts = [("xl/_rels/workbook.xml.rels", rels.as_bytes()), (name, &sheet_of(&cell))];
        assert_eq!(read(with_parts(list(), &parts)).unwrap_err(), "unpacks", "{name}");
    }
}

#[test]
fn what_a_sheet_claims_of_its_size_is_not_believed() {
    let rows = "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>a@example.org</t></is></c></row>\
                <row r=\"1048576\"><c r=\"B1048576\" t=\"inlineStr\"><is><t>end</t></is></c></row>";
    let name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let sheet = format!(
        "<worksheet xmlns=\"{name}\"><dimension ref=\"A1:XFD1048576\"/><sheetData>{rows}</sheetData></worksheet>"
    );
    let read_back = read(with_parts(list(), &[(SHEET, sheet.as_bytes())])).unwrap();
    assert_eq!(read_back, [&["a@example.org"][..], &["", "end"]]);
    let far = "<row r=\"1\"><c r=\"XFD1\" t=\"inlineStr\"><is><t>x</t></is></c></row>";
    assert_eq!(read(with_parts(list(), &[(SHEET, &sheet_of(far))])).unwrap_err(), "too_many_columns");
    // Numbers beyond any sheet, with which a parser may not cope.
    let huge = "<row r=\"1\"><c r=\"ZZZZZZZZZZZZ1\"><v>1</v></c></row>";
    assert_eq!(read(with_parts(list(), &[(SHEET, &sheet_of(huge))])).unwrap_err(), "damaged");
    let back = "<row r=\"2\"><c r=\"A2\"><v>1</v></c></row><row r=\"1\"><c r=\"A1\"><v>1</v></c></row>";
    assert_eq!(read(with_parts(list(), &[(SHEET, &sheet_of(back))])).unwrap_err(), "damaged");
}

#[test]
fn entities_are_not_declared() {
    let lol = b"<!DOCTYPE s [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]><sst><si><t>&b;</t></si></sst>";
    assert_eq!(read(with_parts(list(), &[("xl/sharedStrings.xml", lol)])).unwrap_err(), "damaged");
    let outside = b"<!DOCTYPE s [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><sst><si><t>&x;</t></si></sst>";
    assert_eq!(read(with_parts(list(), &[("xl/sharedStrings.xml", outside)])).unwrap_err(), "damaged");
}

#[test]
fn what_is_no_workbook_is_said() {
    let mut archive = ZipWriter::new(tempfile::tempfile().unwrap());
    archive.start_file("content.xml", SimpleFileOptions::default()).unwrap();
    archive.write_all(b"<office/>").unwrap();
    let mut other = archive.finish().unwrap();
    other.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(read(other).unwrap_err(), "archive");
    // Cut at every tenth: an error, never a part of the list.
    let mut bytes = Vec::new();
    list().read_to_end(&mut bytes).unwrap();
    for tenth in 0..10 {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes[..bytes.len() * tenth / 10]).unwrap();
        assert!(read(file).is_err(), "{tenth}");
    }
}
