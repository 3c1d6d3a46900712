//! What workbooks cost in memory, hostile ones and a large one that somebody needs: each is read by a process of its own, which
//! says at its end how much it had at most.
#![cfg(all(feature = "workbook", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene may panic")]
#![expect(clippy::print_stdout, reason = "the figures, and what a child says")]

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use probity_lists::workbook::Workbook;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The most that reading any workbook may take, in kilobytes, the program included.
const PEAK_MAX_KB: u64 = 150_000;
/// Names the file to a child.
const FILE: &str = "PROBITY_TEST_WORKBOOK";

const RELATION: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// A workbook of one sheet with these parts. Repeated text is written without being held.
struct Made {
    out: ZipWriter<File>,
    options: SimpleFileOptions,
}

impl Made {
    fn new(method: CompressionMethod) -> Self {
        let options = SimpleFileOptions::default().compression_method(method);
        let mut made = Self { out: ZipWriter::new(tempfile::tempfile().unwrap()), options };
        made.part(
            "_rels/.rels",
            &format!("<Relationships><Relationship Id='a' Type='{RELATION}/officeDocument' Target='xl/workbook.xml'/></Relationships>"),
        );
        made.part(
            "xl/_rels/workbook.xml.rels",
            &format!(
                "<Relationships><Relationship Id='s' Type='{RELATION}/worksheet' Target='worksheets/sheet1.xml'/>\
                 <Relationship Id='t' Type='{RELATION}/sharedStrings' Target='sharedStrings.xml'/>\
                 <Relationship Id='f' Type='{RELATION}/styles' Target='styles.xml'/></Relationships>"
            ),
        );
        made.part("xl/workbook.xml", "<workbook><sheets><sheet name='List' id='s'/></sheets></workbook>");
        made
    }

    fn part(&mut self, name: &str, content: &str) -> &mut Self {
        self.pieces(name, std::iter::once(content.to_owned()))
    }

    fn pieces(&mut self, name: &str, pieces: impl Iterator<Item = String>) -> &mut Self {
        self.out.start_file(name, self.options).unwrap();
        let mut out = std::io::BufWriter::new(&mut self.out);
        pieces.for_each(|piece| out.write_all(piece.as_bytes()).unwrap());
        drop(out);
        self
    }

    fn repeated(&mut self, name: &str, start: &str, piece: &str, times: usize, end: &str) -> &mut Self {
        let block = piece.repeat(1_000);
        let blocks = std::iter::repeat_n(block, times / 1_000);
        self.pieces(name, std::iter::once(start.to_owned()).chain(blocks).chain(std::iter::once(end.to_owned())))
    }

    fn save(self, path: &Path) {
        let mut file = self.out.finish().unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        std::io::copy(&mut file, &mut File::create(path).unwrap()).unwrap();
    }
}

const SHEET: &str = "xl/worksheets/sheet1.xml";
const TEXTS: &str = "xl/sharedStrings.xml";
const STYLES: &str = "xl/styles.xml";
const CELL: &str = "<worksheet><sheetData><row r='1'><c r='A1' t='s'><v>0</v></c></row></sheetData></worksheet>";

/// The peak of a child that reads this workbook, and what came of it.
fn peak(made: Made) -> (u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.xlsx");
    made.save(&path);
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output =
        child.args(["--exact", "a_child_reads", "--nocapture", "--ignored"]).env(FILE, &path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("read: ")).unwrap_or_else(|| panic!("{output:?}"));
    let (kilobytes, outcome) = line.split_once(' ').unwrap();
    (kilobytes.parse().unwrap(), outcome.to_owned())
}

#[test]
#[ignore = "only a child process reads so, with the name of a file"]
fn a_child_reads() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let read = || {
        let mut book = Workbook::open(File::open(path)?)?;
        let sheet = book.sheets()[0].clone();
        book.read(&sheet, |_, _| Ok(()))
    };
    let outcome = match read() {
        Ok(rows) => format!("{rows} rows"),
        Err(fault) => fault.to_string(),
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("\nread: {} {outcome}", most.trim().strip_suffix(" kB").unwrap());
}

/// Says what a workbook cost, and holds it against the bound.
fn bounded(what: &str, made: Made, expected: &str) {
    let (kilobytes, outcome) = peak(made);
    println!("{what}: {kilobytes} kB, {outcome}");
    assert!(outcome.contains(expected), "{what}: {outcome}");
    assert!(kilobytes < PEAK_MAX_KB, "{what}: {kilobytes} kB");
}

fn hostile() -> Made {
    Made::new(CompressionMethod::Deflated)
}

#[test]
#[ignore = "thorough"]
fn hostile_workbooks_take_no_more_memory_than_others() {
    let mut made = hostile();
    made.repeated(TEXTS, "<sst uniqueCount='25000000'>", "<si/>", 25_000_000, "</sst>").part(SHEET, CELL);
    bounded("25 million empty texts", made, "more than 4194304 shared texts");

    let mut made = hostile();
    made.repeated(TEXTS, "<sst>", "<si><t>xxxxxxxxxxxx</t></si>", 4_194_000, "</sst>").part(SHEET, CELL);
    bounded("4 million short texts", made, "1 rows");

    let mut made = hostile();
    made.repeated(TEXTS, "<sst>", &format!("<si><t>{}</t></si>", "x".repeat(4_000)), 25_000, "</sst>")
        .part(SHEET, CELL);
    bounded("100 MB of texts", made, "more than 64 MiB of shared texts");

    let mut made = hostile();
    made.repeated(TEXTS, "<sst><si>", "<r><t>xxxxxxxxxxxxxxx</t></r>", 2_000_000, "</si></sst>").part(SHEET, CELL);
    bounded("one text of 30 MB in many runs", made, "row 1 has a cell of more than");

    let format = format!(
        "<styleSheet><numFmts><numFmt numFmtId='200' formatCode='{}'/></numFmts><cellXfs>",
        "0".repeat(1 << 19)
    );
    let mut made = hostile();
    made.repeated(STYLES, &format, "<xf numFmtId='200'/>", 65_000, "</cellXfs></styleSheet>").part(SHEET, CELL);
    made.part(TEXTS, "<sst><si><t>x</t></si></sst>");
    bounded("a long format in 65,000 styles", made, "1 rows");

    for (what, start, piece, times, end, expected) in [
        ("deep elements", "<worksheet><sheetData>", "<a>", 10_000_000, "", "256 elements within each other"),
        (
            "empty rows",
            "<worksheet><sheetData>",
            "<row/>",
            2_200_000,
            "</sheetData></worksheet>",
            "empty rows included",
        ),
        (
            "empty cells",
            "<worksheet><sheetData>",
            "<c r='A1'/>",
            20_001_000,
            "</sheetData></worksheet>",
            "empty cells included",
        ),
        ("one long tag", "<worksheet a='", "<x ", 10_000_000, "'/>", "a tag or a text of more than 1 MiB"),
        (
            "merged ranges",
            CELL.strip_suffix("</worksheet>").unwrap(),
            "<mergeCell ref='A1:XFD1048576'/>",
            1_000_000,
            "</worksheet>",
            "1 rows",
        ),
        (
            "blanks between comments",
            "<worksheet>",
            "                                                                                                    <!---->",
            5_050_000,
            "",
            "more than 512 MiB when unpacked",
        ),
        (
            "a huge dimension",
            "<worksheet><dimension ref='A1:XFD1048576'/><sheetData>",
            "<row><c t='s'><v>0</v></c></row>",
            1_000_000,
            "</sheetData></worksheet>",
            "1000000 rows",
        ),
    ] {
        let mut made = hostile();
        made.part(TEXTS, "<sst><si><t>x</t></si></sst>").repeated(SHEET, start, piece, times, end);
        bounded(what, made, expected);
    }
}

#[test]
#[ignore = "thorough"]
fn a_million_rows_of_different_texts_are_read() {
    let rows = 1_000_000;
    let mut made = Made::new(CompressionMethod::Stored);
    let texts =
        (0..rows).map(|n| format!("<si><t>person.{n}@customer{}.example</t></si><si><t>Name {n}</t></si>", n % 997));
    made.pieces(TEXTS, std::iter::once("<sst>".to_owned()).chain(texts).chain(std::iter::once("</sst>".to_owned())));
    let lines = (0..rows).map(|n| {
        let (row, email, name) = (n + 1, 2 * n, 2 * n + 1);
        format!("<row r='{row}'><c r='A{row}' t='s'><v>{email}</v></c><c r='B{row}' t='s'><v>{name}</v></c><c r='C{row}'><v>{n}</v></c></row>")
    });
    let start = "<worksheet><sheetData>".to_owned();
    made.pieces(
        SHEET,
        std::iter::once(start).chain(lines).chain(std::iter::once("</sheetData></worksheet>".to_owned())),
    );
    bounded("a million rows", made, "1000000 rows");
}
