//! Workbooks as spreadsheet programs write them, and as only an attacker would.

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

/// The workbook with parts added or replaced.
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
    let taken = book.read(&sheet, |_, row| {
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
    // A colored column without text, far to the right.
    sheet.write_blank(3, 900, &Format::new().set_bold()).unwrap();
    sheet.write_string(5, 1, "no address").unwrap();
    book.add_worksheet().set_name("Other").unwrap();
    book.add_worksheet().set_name("Hidden").unwrap().set_hidden(true);
    let mut opened = Workbook::open(saved(&mut book)).unwrap();
    assert_eq!(opened.sheets(), ["Leute", "Other"]);
    let mut rows = Vec::new();
    let mut numbers = Vec::new();
    let given = opened.read("Leute", |number, row| {
        numbers.push(number);
        rows.push(row);
        Ok(())
    });
    assert_eq!(given.unwrap(), 3);
    let last = ["jörg@example.org", "30.5", "2026-11-21 19:30:00", "true", "2"];
    assert_eq!(rows, [&["email", "n", "since", "ok", "sum"][..], &last, &["", "no address"]]);
    assert_eq!(numbers, [1, 3, 6], "rows have the numbers that a spreadsheet shows");
    assert_eq!(opened.read("Other", |_, _| Ok(())).unwrap(), 0);
    for hidden in ["Hidden", "nobody"] {
        assert!(matches!(opened.read(hidden, |_, _| Ok(())), Err(FileFault::NoSheet)));
    }
}

/// The message with which a workbook is rejected.
fn refused(file: File) -> String {
    let mut book = match Workbook::open(file) {
        Ok(book) => book,
        Err(fault) => return fault.to_string(),
    };
    let sheet = book.sheets()[0].clone();
    book.read(&sheet, |_, _| Ok(())).unwrap_err().to_string()
}

/// Bounds that take long to reach are tested in `tests/memory.rs`.
#[test]
fn a_workbook_beyond_a_bound_is_refused_with_its_name() {
    let shared = |items: &str| format!("<sst>{items}</sst>").into_bytes();
    let styles = |items: &str| format!("<styleSheet>{items}</styleSheet>").into_bytes();
    let cell = format!("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>{}</t></is></c></row>", "x".repeat(2 << 20));
    let quoted = format!("<row a=\"{}\"/>", "<x ".repeat(1 << 20));
    let long = format!("<si><t>{}</t></si>", "x".repeat(60_000));
    let names = "<sheet name='n' r:id='rId1'/>".repeat(1_001);
    let formats: Vec<String> = (0..70_000).map(|n| format!("<numFmt numFmtId='{n}' formatCode='0'/>")).collect();
    let relations = |pieces: &str| format!("<Relationships>{pieces}</Relationships>").into_bytes();
    let unwanted = "<Relationship Id='x' Type='t/none' Target='none.xml'/>".repeat(2_001);
    let table: [(&str, Vec<u8>, &str); 11] = [
        ("xl/_rels/workbook.xml.rels", relations(&unwanted), "more than 2000 parts"),
        ("xl/_rels/workbook.xml.rels", relations(&"<Relationship/>".repeat(2_001)), "more than 2000 parts"),
        ("_rels/.rels", relations(&unwanted), "more than 2000 parts"),
        ("xl/sharedStrings.xml", shared(&long.repeat(1_200)), "more than 64 MiB of shared texts"),
        (
            "xl/styles.xml",
            styles(&format!("<cellXfs>{}</cellXfs>", "<xf/>".repeat(70_000))),
            "more than 65536 cell formats",
        ),
        ("xl/styles.xml", styles(&format!("<numFmts>{}</numFmts>", formats.concat())), "more than 65536 cell formats"),
        ("xl/workbook.xml", format!("<workbook>{names}</workbook>").into_bytes(), "more than 1000 sheets"),
        (SHEET, sheet_of(&cell), "a tag or a text of more than 1 MiB"),
        (SHEET, sheet_of(&quoted), "a tag or a text of more than 1 MiB"),
        (SHEET, sheet_of(&"<a>".repeat(1_000)), "more than 256 elements within each other"),
        (SHEET, vec![b' '; 2 << 20], "a tag or a text of more than 1 MiB"),
    ];
    for (name, part, expected) in table {
        let file = with_parts(list(), &[(name, &part)]);
        assert!(file.metadata().unwrap().len() < 2 << 20, "it is small: {expected}");
        assert_eq!(refused(file), format!("the workbook has {expected}; save the table as CSV"), "{name}");
    }
}

#[test]
fn each_sheet_is_the_first_part_that_has_its_id() {
    let relation = |n: usize, part: usize| {
        format!("<Relationship Id='r{n}' Type='t/worksheet' Target='/XL\\worksheets/sheet{part}.xml'/>")
    };
    let relations = (0..1_000).map(|n| relation(n, n % 2)).chain((0..999).map(|n| relation(n, 7)));
    let relations = format!("<Relationships>{}</Relationships>", relations.collect::<String>());
    let sheets: Vec<String> = (0..1_000).map(|n| format!("<sheet name='n{n}' r:id='r{n}'/>")).collect();
    let book = format!("<workbook>{}</workbook>", sheets.concat());
    let cell = |text: &str| sheet_of(&format!("<row><c t='str'><v>{text}</v></c></row>"));
    let parts: [(&str, &[u8]); 4] = [
        ("xl/_rels/workbook.xml.rels", relations.as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/worksheets/sheet0.xml", &cell("even")),
        ("xl/worksheets/sheet1.xml", &cell("odd")),
    ];
    let mut opened = Workbook::open(with_parts(list(), &parts)).unwrap();
    for (name, expected) in [("n0", "even"), ("n501", "odd"), ("n998", "even"), ("n999", "odd")] {
        let mut rows = Vec::new();
        let given = opened.read(name, |_, row| {
            rows.push(row);
            Ok(())
        });
        assert_eq!((given.unwrap(), rows), (1, vec![vec![expected.to_owned()]]), "{name}");
    }
}

#[test]
fn parts_that_nobody_needs_are_not_unpacked() {
    let noise = vec![b'x'; 4 << 20];
    let parts: [(&str, &[u8]); 2] = [("xl/media/image1.png", &noise), ("xl/worksheets/sheet9.xml", &noise)];
    assert_eq!(read(with_parts(list(), &parts)).unwrap().len(), 2);
}

#[test]
fn an_archive_that_claims_many_parts_or_long_names_is_refused() {
    let with_end = |change: &dyn Fn(&mut Vec<u8>, usize)| {
        let mut bytes = Vec::new();
        list().read_to_end(&mut bytes).unwrap();
        let end = bytes.len() - 22;
        assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
        change(&mut bytes, end);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        refused(file)
    };
    let many = with_end(&|bytes, end| bytes[end + 10..end + 12].copy_from_slice(&[0xff, 0xff]));
    assert!(many.contains("more than 2000 parts"), "{many}");
    // A contradicting second end, for directories of more than 65,534 parts.
    let large = with_end(&|bytes, end| {
        let mut second = b"PK\x06\x06".to_vec();
        second.extend(44_u64.to_le_bytes());
        second.extend([0; 12]);
        second.extend([50_000_000_u64.to_le_bytes(), 50_000_000_u64.to_le_bytes()].concat());
        second.extend([0xff; 16]);
        bytes.splice(end..end, second);
    });
    assert!(large.contains("more than 2000 parts"), "{large}");
    let mut out = ZipWriter::new(tempfile::tempfile().unwrap());
    for n in 0..100 {
        out.start_file(format!("{n:0>60000}"), SimpleFileOptions::default()).unwrap();
    }
    assert!(refused(out.finish().unwrap()).contains("a directory of more than 4 MiB"));
}

#[test]
fn what_a_part_claims_of_its_texts_is_not_believed() {
    let shared = |start: &str, end: &str| format!("{start}{}{end}", "<si><t>x</t></si>".repeat(4));
    let name = "xl/sharedStrings.xml";
    for count in ["4", "100000000000000000", "-1", "x"] {
        let part = shared(&format!("<sst count=\"{count}\" uniqueCount=\"{count}\">"), "</sst>");
        assert_eq!(read(with_parts(list(), &[(name, part.as_bytes())])).unwrap()[0], ["x", "x"], "{count}");
    }
    let wide = shared("<sst>", "</sst>").encode_utf16().collect::<Vec<u16>>();
    let wide: Vec<u8> = [0xfeff].iter().chain(&wide).flat_map(|unit| unit.to_le_bytes()).collect();
    assert_eq!(read(with_parts(list(), &[(name, &wide)])).unwrap_err(), "damaged");
    for part in ["<sst><si><t>x</t></si>", "<sst><si><t>x</si></t></sst>", "<sst><si><t>&nbsp;</t></si></sst>"] {
        assert_eq!(read(with_parts(list(), &[(name, part.as_bytes())])).unwrap_err(), "damaged", "{part}");
    }
}

#[test]
fn texts_are_read_as_they_are_shown() {
    let items = [
        "<si><t> trimmed </t></si>",
        "<si><t xml:space=\"preserve\"> kept </t></si>",
        "<si><r><t>two </t></r><r><rPr><b/></rPr><t xml:space='preserve'> runs</t></r></si>",
        "<si><t>&#x65E5;</t><rPh sb='0' eb='1'><t>reading</t></rPh></si>",
        "<si><t>&lt;a&amp;b&gt;_x000D_<![CDATA[<&]]></t></si>",
        "<x:si xmlns:x='urn:x'><x:t>prefixed</x:t></x:si>",
    ];
    let part = format!("<sst>{}</sst>", items.concat());
    let cells = ["0", "1", "2", "3", "4", "5"].map(|n| format!("<row><c t=\"s\"><v>{n}</v></c></row>")).concat();
    let rows = read(with_parts(list(), &[("xl/sharedStrings.xml", part.as_bytes()), (SHEET, &sheet_of(&cells))]));
    let rows: Vec<String> = rows.unwrap().concat();
    assert_eq!(rows, ["trimmed", " kept ", "two runs", "\u{65e5}", "<a&b>\r<&", "prefixed"]);
}

#[test]
fn cells_that_say_less_or_something_else_are_read_or_refused() {
    let row = |cells: &str| read(with_parts(list(), &[(SHEET, &sheet_of(&format!("<row>{cells}</row>")))]));
    let table: [(&str, &[&str]); 8] = [
        ("<c><v>1</v></c><c><f>SUM(A1)</f><v>2.50</v></c>", &["1", "2.5"]),
        ("<c t='str'><f>A1</f><v>a_x0041_</v></c><c t='e'><v>#N/A</v></c><c><v>x</v></c>", &["aA", "", "x"]),
        ("<c t='b'><v>1</v></c><c t='b'><v>0</v></c>", &["true", "false"]),
        ("<c t='d'><v>2026-11-21</v></c>", &["2026-11-21"]),
        ("<c t='inlineStr'><v>no</v><is><t>yes</t></is></c>", &["yes"]),
        ("<c r='C1'><v>3</v></c><c><v>4</v></c>", &["", "", "3", "4"]),
        ("<c/><c t='s'/><c><v>9</v><extLst><ext><v>no</v></ext></extLst></c>", &["", "", "9"]),
        ("<c s='9999'><v>5</v></c>", &["5"]),
    ];
    for (cells, expected) in table {
        assert_eq!(row(cells).unwrap(), [expected], "{cells}");
    }
    for cells in [
        "<c t='s'><v>99</v></c>",
        "<c t='s'><v>x</v></c>",
        "<c t='b'><v>2</v></c>",
        "<c t='?'><v>1</v></c>",
        "<c r='1'/>",
    ] {
        assert_eq!(row(cells).unwrap_err(), "damaged", "{cells}");
    }
}

#[test]
fn a_sheet_that_breaks_off_is_never_taken_for_the_whole() {
    let rows = "<row><c><v>1</v></c></row>".repeat(1_000);
    let whole = sheet_of(&rows);
    for end in [whole.len() - 5, whole.len() / 2, 100] {
        assert_eq!(read(with_parts(list(), &[(SHEET, &whole[..end])])).unwrap_err(), "damaged", "{end}");
    }
    // One flipped bit after the rows.
    let mut file = with_parts(list(), &[(SHEET, &[&whole[..], b"<!-- the end -->"].concat())]);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    let at = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap() + 16;
    bytes[at] ^= 1;
    let mut damaged = tempfile::tempfile().unwrap();
    damaged.write_all(&bytes).unwrap();
    damaged.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(read(damaged).unwrap_err(), "damaged");
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
    // Numbers beyond any sheet, which a parser may not handle.
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
    // Truncated at each tenth: an error, never a part of the list.
    let mut bytes = Vec::new();
    list().read_to_end(&mut bytes).unwrap();
    for tenth in 0..10 {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes[..bytes.len() * tenth / 10]).unwrap();
        assert!(read(file).is_err(), "{tenth}");
    }
}

/// Sheets are looked at before one of them is read. What cannot be read, or is endless, is left out; nothing of it counts later.
#[test]
fn the_sheet_with_the_addresses_comes_first() {
    let mut book = Written::new();
    book.add_worksheet().set_name("Cover").unwrap().write_column(0, 0, ["Questions to", "a@example.org"]).unwrap();
    book.add_worksheet().set_name("Damaged").unwrap();
    book.add_worksheet().set_name("Deep").unwrap();
    let list = book.add_worksheet().set_name("List").unwrap();
    list.write_column(0, 3, ["contact", "A <a@example.org>", "<b@example.org>", "c@example.org"]).unwrap();
    book.add_worksheet().set_name("Notes").unwrap().write_string(0, 0, "nothing").unwrap();
    let deep = "<a>".repeat(300);
    let parts = [
        ("xl/worksheets/sheet2.xml", b"<worksheet><sheetData><row>".to_vec()),
        ("xl/worksheets/sheet3.xml", sheet_of(&deep)),
    ];
    let parts = parts.each_ref().map(|(name, content)| (*name, &content[..]));
    let mut opened = Workbook::open(with_parts(saved(&mut book), &parts)).unwrap();
    let left = opened.package.left();
    let order = opened.by_addresses(200, 1 << 20);
    assert_eq!(order, ["List", "Cover", "Damaged", "Deep", "Notes"]);
    assert_eq!(opened.package.left(), left);
    assert_eq!(opened.by_addresses(2, 1 << 20)[0], "Cover", "with as many, the first");
    assert_eq!(opened.read("List", |_, _| Ok(())).unwrap(), 4);
    assert_eq!(opened.read("Deep", |_, _| Ok(())).unwrap_err().word(), "unpacks");
}

#[test]
fn addresses_behind_cells_are_read() {
    let mut book = Written::new();
    let sheet = book.add_worksheet();
    sheet.write_row(0, 0, ["Contact", "n"]).unwrap();
    let link = |to: &str, text: &str| rust_xlsxwriter::Url::new(to).set_text(text);
    sheet.write_url(1, 0, link("mailto:ann@example.org?subject=hi", "Ann Roe")).unwrap();
    let formula = rust_xlsxwriter::Formula::new("=HYPERLINK(\"mailto:bob@example.org\",\"Bob\")").set_result("Bob");
    sheet.write_formula(2, 0, formula).unwrap();
    sheet.write_url(3, 0, link("mailto:other@example.org", "cid@example.org")).unwrap();
    sheet.write_url(4, 0, link("https://example.org", "Dee")).unwrap();
    sheet.write_string(5, 0, "e@example.org").unwrap();
    // A linked name beside an address stays.
    sheet.write_url(6, 0, link("mailto:old@example.org", "Flo")).unwrap();
    sheet.write_string(6, 1, "f@example.org").unwrap();
    let rows = read(saved(&mut book)).unwrap();
    let expected = [
        &["Contact", "n"][..],
        &["Ann Roe <ann@example.org>"],
        &["Bob <bob@example.org>"],
        &["cid@example.org"],
        &["Dee"],
        &["e@example.org"],
        &["Flo", "f@example.org"],
    ];
    assert_eq!(rows, expected);
}

#[test]
fn addresses_that_only_a_formula_tells_are_read_or_named() {
    let text = |place: &str, text: &str| format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let formula = |place: &str, formula: &str| format!("<c r=\"{place}\" t=\"str\">{formula}<v>Ann</v></c>");
    let rows = [
        text("A1", "email") + &text("B1", "x"),
        formula("A2", "<f t=\"shared\" si=\"0\">HYPERLINK(\"mailto:\"&amp;B2,C2)</f>") + &text("B2", "a@x.org"),
        formula("A3", "<f t=\"shared\" si=\"0\"/>") + &text("B3", "b@x.org"),
        formula("A4", "<f>HYPERLINK(\"mailto:\"&amp;Other!B2,C2)</f>"),
        text("A5", "Bob"),
        text("A6", "Cid"),
        formula("A7", "<f t=\"shared\" si=\"1\">HYPERLINK(\"mailto:\"&amp;B$7,C7)</f>") + &text("B7", "e@x.org"),
        formula("A8", "<f t=\"shared\" si=\"1\"/>") + &text("B8", "Eve"),
    ];
    let rows = (1..).zip(rows).map(|(n, row)| format!("<row r=\"{n}\">{row}</row>")).collect::<Vec<_>>().concat();
    let sheet = format!(
        "<worksheet><sheetData>{rows}</sheetData><hyperlinks><hyperlink ref='A5:A6' r:id='r1'/></hyperlinks></worksheet>"
    );
    let links =
        "<Relationships><Relationship Id='r1' Target='mailto:c@x.org,d@x.org' TargetMode='External'/></Relationships>";
    let parts = [("xl/worksheets/_rels/sheet1.xml.rels", links.as_bytes()), (SHEET, sheet.as_bytes())];
    let mut book = Workbook::open(with_parts(list(), &parts)).unwrap();
    let (mut cells, name) = (Vec::new(), book.sheets()[0].clone());
    book.read(&name, |_, row| {
        cells.push(row[0].clone());
        Ok(())
    })
    .unwrap();
    let expected = [
        "email",
        "Ann <a@x.org>",
        "Ann <b@x.org>",
        "",
        "Bob <c@x.org,d@x.org>",
        "Cid <c@x.org,d@x.org>",
        "Ann <e@x.org>",
        "",
    ];
    assert_eq!(cells, expected);
    assert_eq!(book.unreadable(), Oddity { count: 2, line: 4 });
}

#[test]
fn links_beyond_the_bound_are_named_where_an_address_is_missing() {
    use std::fmt::Write as _;

    // Longest addresses, and few of them.
    let count = crate::bounds::LINK_BYTES_MAX / NAME_MAX + 40;
    let mut links = String::new();
    let (mut rows, mut places) = (String::new(), String::new());
    for n in 1..=count {
        let address = format!("{n:a>980}@example.org");
        write!(links, "<Relationship Id='r{n}' Target='mailto:{address}' TargetMode='External'/>").unwrap();
        let beside = if n == count { "<c t='inlineStr'><is><t>last@example.org</t></is></c>" } else { "" };
        write!(rows, "<row><c t='inlineStr'><is><t>N{n}</t></is></c>{beside}</row>").unwrap();
        write!(places, "<hyperlink ref='A{n}' r:id='r{n}'/>").unwrap();
    }
    let sheet = format!("<worksheet><sheetData>{rows}</sheetData><hyperlinks>{places}</hyperlinks></worksheet>");
    let links = format!("<Relationships>{links}</Relationships>");
    let parts = [("xl/worksheets/_rels/sheet1.xml.rels", links.as_bytes()), (SHEET, sheet.as_bytes())];
    let mut book = Workbook::open(with_parts(list(), &parts)).unwrap();
    let (mut named, mut found) = (0, 0);
    let name = book.sheets()[0].clone();
    book.read(&name, |_, row| {
        named += u64::from(row[0].starts_with('N') && !row[0].contains('@'));
        found += u64::from(row[0].ends_with("@example.org>"));
        Ok(())
    })
    .unwrap();
    assert!(found > 7_500 && named > 1, "{found} {named}");
    assert_eq!(book.unreadable(), Oddity { count: named - 1, line: found + 1 });
}

#[test]
fn links_choose_the_sheet_too() {
    let mut book = Written::new();
    book.add_worksheet().set_name("Cover").unwrap().write_string(0, 0, "List").unwrap();
    let sheet = book.add_worksheet().set_name("People").unwrap();
    sheet.write_url(1, 0, rust_xlsxwriter::Url::new("mailto:ann@example.org").set_text("Ann")).unwrap();
    assert_eq!(Workbook::open(saved(&mut book)).unwrap().by_addresses(200, 1 << 20), ["People", "Cover"]);
}

#[test]
fn a_cell_with_a_broken_number_is_blank_and_named() {
    let cell = |place: &str, number: &str| format!("<c r=\"{place}\" t=\"s\"><v>{number}</v></c>");
    let rows = format!(
        "<row r=\"1\">{}{}</row><row r=\"2\">{}{}</row><row r=\"3\">{}</row>",
        cell("A1", "0"),
        cell("B1", "1"),
        cell("A2", "99"),
        cell("B2", "3"),
        cell("A3", "x")
    );
    let mut book = Workbook::open(with_parts(list(), &[(SHEET, &sheet_of(&rows))])).unwrap();
    let mut read = Vec::new();
    let sheet = book.sheets()[0].clone();
    book.read(&sheet, |_, row| {
        read.push(row);
        Ok(())
    })
    .unwrap();
    assert_eq!(read, [["email", "name"], ["", "Ann"]]);
    assert_eq!(book.unreadable(), Oddity { count: 2, line: 2 });
}
