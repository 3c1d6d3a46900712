//! Workbooks as input and output.

use std::fs::File;
use std::io::BufReader;

use calamine::{Data, Reader as _, Xlsx};

use super::*;

/// Returns a workbook with a cover, and a sheet with a title, blank rows, numbers, booleans, and a row without an address.
fn customers() -> Vec<u8> {
    let mut book = rust_xlsxwriter::Workbook::new();
    book.add_worksheet().set_name("Cover").unwrap().write_column(0, 0, ["List", "a@x.org"]).unwrap();
    let sheet = book.add_worksheet().set_name("Kunden").unwrap();
    sheet.write_string(0, 0, "=title").unwrap();
    sheet.write_row(1, 0, ["Name", "E-Mail", "Nr"]).unwrap();
    for (row, (name, email)) in (2..).zip([("=1+1", "A <ok@x.org>"), ("B, \"C\"\nD", "none@x.org"), ("ü;ü", "")]) {
        sheet.write_string(row, 0, name).unwrap();
        sheet.write_string(row, 1, email).unwrap();
        sheet.write_number(row, 2, row).unwrap();
    }
    book.save_to_buffer().unwrap()
}

/// Returns the rows of a sheet, which must have no formula.
fn sheet(bench: &Bench, file: &str, name: &str) -> Vec<Vec<Data>> {
    let mut book: Xlsx<_> = calamine::open_workbook(bench.path(file)).unwrap();
    assert!(book.worksheet_formula(name).unwrap().is_empty());
    book.worksheet_range(name).unwrap().rows().map(<[Data]>::to_vec).collect()
}

fn texts(row: &[Data]) -> Vec<String> {
    row.iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workbook_comes_back_as_csv_without_formulas_on_request() {
    let bench = Bench::new("in.xlsx", &customers());
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.xlsx", "out.csv", &[]).await.unwrap();
    let output = bench.read("out.csv");
    assert!(output.starts_with("\"'=title\"\nName,E-Mail,Nr,probity_status,"), "{output}");
    for begins in
        ["\n\"'=1+1\",A <ok@x.org>,2,passed,valid,", "\n\"B, \"\"C\"\"\nD\",none@x.org,3,undeliverable,", "\nü;ü,,4,"]
    {
        assert!(output.contains(begins), "{begins} in {output}");
    }
    bench.run(&fake, "in.xlsx", "raw.csv", &["--raw"]).await.unwrap();
    assert!(bench.read("raw.csv").contains("\n=1+1,A <ok@x.org>,2,"));
    for (name, content, said) in
        [("in.pdf", &b"%PDF-1.7"[..], "this is a PDF"), ("in.zip", b"PK\x05\x06", "the workbook is damaged")]
    {
        let bench = Bench::new(name, content);
        let refused = bench.run(&fake, name, "out.csv", &[]).await.unwrap_err();
        assert!(format!("{refused:#}").contains(said), "{refused:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workbook_comes_back_as_one() {
    let bench = Bench::new("in.xlsx", &customers());
    let fake = Arc::new(Fake::default());
    bench.run(&fake, "in.xlsx", "out.xlsx", &[]).await.unwrap();
    let rows = sheet(&bench, "out.xlsx", "results");
    assert_eq!(texts(&rows[0])[..3], ["=title", "", ""]);
    let header = texts(&rows[1]);
    assert_eq!(header[..5], ["Name", "E-Mail", "Nr", "probity_status", "probity_reason"]);
    assert_eq!(header.last().unwrap(), "probity_domain");
    assert_eq!(texts(&rows[2])[..5], ["=1+1", "A <ok@x.org>", "2", "passed", "valid"]);
    assert_eq!(
        (&rows[2][2], &rows[2][7]),
        (&Data::Float(2.0), &Data::Bool(false)),
        "numbers and truth values are such"
    );
    assert_eq!(texts(&rows[3])[..4], ["B, \"C\"\nD", "none@x.org", "3", "undeliverable"]);
    assert_eq!(texts(&rows[4])[..6], ["ü;ü", "", "4", "", "", "no_address"]);
    assert_eq!((rows.len(), &rows[4][7]), (5, &Data::Empty));
    let figures = sheet(&bench, "out.xlsx", "summary");
    assert_eq!(texts(&figures[0])[0], "in.xlsx");
    assert_eq!(figures[2][1], Data::Float(2.0), "the row without an address does not count");
    // A name without a format takes that of the input.
    bench.run(&fake, "in.xlsx", "out", &[]).await.unwrap();
    let mut book = Xlsx::new(BufReader::new(File::open(bench.path("out")).unwrap())).unwrap();
    assert_eq!(book.worksheet_range("results").unwrap().height(), 5);
    bench.run(&fake, "in.xlsx", "forced.xlsx", &["--output-format", "jsonl"]).await.unwrap();
    assert!(bench.read("forced.xlsx").starts_with('{'));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_lists_become_workbooks() {
    let inputs = [
        ("in.csv", "sep=;\r\nKunden;;\r\n;;\r\nNr;E-Mail;PLZ\r\n1;ok@x.org;01067\r\n\r\n2;none@x.org;50667\r\n"),
        ("bare.csv", "1;ok@x.org;01067\r\n2;none@x.org;50667\r\n"),
        ("in.txt", "ok@x.org\nnone@x.org\n"),
        ("in.jsonl", "{\"email\":\"ok@x.org\"}\n{\"email\":\"none@x.org\"}\n"),
    ];
    let heads: [(usize, &[&str]); 4] = [
        (1, &["Nr", "E-Mail", "PLZ", "probity_status"]),
        (0, &["column 1", "column 2", "column 3", "probity_status"]),
        (0, &["email", "probity_status"]),
        (0, &["email", "probity_status"]),
    ];
    for ((name, content), (at, head)) in inputs.into_iter().zip(heads) {
        let bench = Bench::new(name, content.as_bytes());
        bench.run(&Arc::new(Fake::default()), name, "out.xlsx", &[]).await.unwrap();
        let rows = sheet(&bench, "out.xlsx", "results");
        assert_eq!(texts(&rows[at])[..head.len()], *head, "{name}");
        let status = head.len() - 1;
        let statuses: Vec<String> = rows[at + 1..].iter().map(|row| row[status].to_string()).collect();
        assert_eq!(statuses, ["passed", "undeliverable"], "{name}");
        if status == 3 {
            let first = (&rows[at + 1][0], &rows[at + 1][2]);
            assert_eq!(first, (&Data::Float(1.0), &Data::String("01067".into())), "{name}: a code is no number");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workbook_of_an_interrupted_run_has_every_row() {
    let bench = Bench::new("in.csv", csv(600).as_bytes());
    bench.run(&Arc::new(Fake::default()), "in.csv", "expected.xlsx", &[]).await.unwrap();
    bench.crash(200, "in.csv", "out.xlsx").await;
    bench.run(&Arc::new(Fake::default()), "in.csv", "out.xlsx", &[]).await.unwrap();
    for name in ["results", "summary"] {
        assert_eq!(sheet(&bench, "out.xlsx", name), sheet(&bench, "expected.xlsx", name));
    }
}

#[test]
fn notes_name_the_rows_of_the_sheet() {
    let mut book = rust_xlsxwriter::Workbook::new();
    let sheet = book.add_worksheet();
    sheet.write_row(2, 0, ["Name", "E-Mail"]).unwrap();
    sheet.write_row(3, 0, ["A\nB\r\nC", "ok@x.org"]).unwrap();
    sheet.write_row(8, 0, ["D", "a@x.org; b@x.org; c@x.org"]).unwrap();
    sheet.write_row(9, 0, ["E", ""]).unwrap();
    sheet.write_row(11, 0, ["F", ""]).unwrap();
    let bench = Bench::new("in.xlsx", &book.save_to_buffer().unwrap());
    let request = BatchRequest::of(&bench.args("in.xlsx", "out.xlsx", &[])).unwrap();
    let (_, batch) = load(&request, &AtomicBool::new(false)).unwrap();
    let warnings = batch.imported.warnings.join("\n");
    assert!(warnings.contains("3 addresses in one cell and is left out, in row 9"), "{warnings}");
    assert!(warnings.contains("2 rows have no address (column 2) and are left out, the first in row 10"), "{warnings}");
    assert!(!warnings.contains("differ"), "a row of a sheet ends with its last text: {warnings}");
}

#[test]
fn more_rows_than_a_sheet_has_are_refused_before_anything_is_verified() {
    let bench = Bench::new("in.csv", b"email\nok@x.org\n");
    let request = BatchRequest::of(&bench.args("in.csv", "out.xlsx", &[])).unwrap();
    let mut imported = load(&request, &AtomicBool::new(false)).unwrap().1.imported;
    assert!(book::BookForm::open(&imported, String::new()).is_ok());
    imported.without = 1 << 20;
    let refused = book::BookForm::open(&imported, String::new()).err().unwrap();
    assert_eq!(refused.to_string(), "a workbook can have at most 1048544 rows; name the output .csv");
}
