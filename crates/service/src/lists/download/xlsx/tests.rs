//! Tests of the workbook, through a reader of workbooks and by its parts.

use std::io::{Cursor, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use calamine::{Data, Range, Reader as _, Xlsx};
use futures_util::TryStreamExt as _;
use probity_account::language::PageLanguage;
use probity_contract::error::Code;
use probity_contract::published::jobs::batch::{BatchRow, RowDone, RowHead, RowOutcome, RowVerdict};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::jobs::{OutcomeKind, RowResult, SettledResult};
use proptest::prelude::*;

use super::*;
use crate::lists::download::columns::HEADER;

/// Parts of rows from an iterator.
struct Generated<I>(I);

/// More slots than a test uses.
fn plenty() -> Places {
    Places::new(1_000, 1_000, "full")
}
const ORG: OrgNo = OrgNo(1);

impl<I: Iterator<Item = Vec<OriginalRow>>> RowParts for Generated<I> {
    fn org(&self) -> OrgNo {
        ORG
    }

    fn columns(&self) -> Arc<FileColumns> {
        FileColumns::of_job().into()
    }

    fn summary(&self) -> RowSummary {
        RowSummary::of("=list".to_owned(), "=selection".to_owned(), PageLanguage::De)
    }

    async fn next(&mut self) -> Result<Option<Vec<OriginalRow>>, ApiError> {
        Ok(self.0.next())
    }
}

fn rows(emails: &[String]) -> Vec<OriginalRow> {
    let head = |(index, email): (i64, &String)| RowHead { email: email.clone(), processed: false, index: Some(index) };
    (0..).zip(emails).map(head).map(|head| OriginalRow { row: BatchRow { head, done: None }, own: None }).collect()
}

/// Returns the workbook.
async fn packed(parts: Vec<Vec<OriginalRow>>) -> Vec<u8> {
    let packed = pack(&plenty(), Generated(parts.into_iter())).await.unwrap();
    let length = packed.bytes;
    let bytes: Vec<u8> = packed.parts().try_collect::<Vec<Bytes>>().await.unwrap().concat();
    assert_eq!(u64::try_from(bytes.len()).unwrap(), length);
    bytes
}

/// Returns the sheet and its formulas, as a workbook reader parses them.
async fn read_back(parts: Vec<Vec<OriginalRow>>) -> (Range<Data>, Range<String>) {
    let mut book = Xlsx::new(Cursor::new(packed(parts).await)).unwrap();
    (book.worksheet_range("results").unwrap(), book.worksheet_formula("results").unwrap())
}

#[tokio::test]
async fn every_part_is_on_the_sheet_in_order() {
    let emails: Vec<String> = (0..2_500).map(|n| format!("user{n}@example.org")).collect();
    let parts = rows(&emails).chunks(1_000).map(<[_]>::to_vec).collect();
    let (sheet, _) = read_back(parts).await;
    let header: Vec<String> = sheet.rows().next().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(header, HEADER);
    let read: Vec<String> = sheet.rows().skip(1).map(|row| row[0].to_string()).collect();
    assert_eq!(read, emails);
    assert_eq!(sheet.get_value((2_500, 8)), Some(&Data::Float(2499.0)));
    assert_eq!(sheet.get_value((2_500, 2)), Some(&Data::Bool(false)));
    assert_eq!(sheet.get_value((2_500, 3)), Some(&Data::Empty));
}

#[tokio::test]
async fn a_sheet_without_rows_has_its_names() {
    let (sheet, _) = read_back(vec![Vec::new()]).await;
    assert_eq!(sheet.height(), 1);
}

/// A part of a workbook.
fn part(book: &[u8], name: &str) -> String {
    let mut text = String::new();
    zip::ZipArchive::new(Cursor::new(book)).unwrap().by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn the_sheet_is_ready_to_be_worked_with() {
    let book = packed(vec![rows(&["a@example.org".to_owned(), "ü".repeat(70)])]).await;
    let sheet = part(&book, "xl/worksheets/sheet1.xml");
    assert!(sheet.contains(r#"<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>"#), "{sheet}");
    assert!(sheet.contains(r#"<autoFilter ref="A1:I3"/>"#), "{sheet}");
    // As wide as the content, within bounds: the long address, and the header above nothing.
    let width = |column: usize| {
        let from = sheet.split(&format!(r#"<col min="{column}" max="{column}" width=""#)).nth(1).unwrap();
        from.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    assert!((50.0..53.0).contains(&width(1)) && (10.0..13.0).contains(&width(2)), "{sheet}");
    let bold = part(&book, "xl/styles.xml");
    assert!(sheet.contains(r#"<c r="A1" s="1" t="inlineStr">"#) && bold.contains("<b/>"), "{sheet}");
    assert!(
        sheet.contains(r#"<c r="I2"><v>0</v></c>"#) && sheet.contains(r#"<c r="C2" t="b"><v>0</v></c>"#),
        "{sheet}"
    );
    // The sheet of the rows opens, and is the first.
    assert!(part(&book, "xl/workbook.xml").contains(r#"<sheets><sheet name="results""#));
}

#[tokio::test]
async fn the_figures_are_those_of_the_rows() {
    let mut all = rows(&["a", "b", "c", "d", "e"].map(str::to_owned));
    for (row, reason) in
        all.iter_mut().zip([Reason::Nonexistent, Reason::Valid, Reason::Nonexistent, Reason::RoleBased])
    {
        row.row.done = Some(RowDone::Erased(RowOutcome::from(reason)));
    }
    let bytes = packed(all.chunks(2).map(<[_]>::to_vec).collect()).await;
    let chart = part(&bytes, "xl/charts/chart1.xml");
    for holds in
        ["<a:t>Ergebnisse</a:t>", "<c:doughnutChart>", "<c:f>summary!$B$6:$B$9</c:f>", r#"<a:srgbClr val="1F9A63"/>"#]
    {
        assert!(chart.contains(holds), "{holds} in {chart}");
    }
    let sheet = Xlsx::new(Cursor::new(bytes)).unwrap().worksheet_range("summary").unwrap();
    let shown: Vec<String> = sheet
        .rows()
        .map(|row| row.iter().map(ToString::to_string).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "=list",
        "Auswahl =selection",
        "Zeilen 5",
        "",
        "Status Zeilen Anteil In den Ergebnissen",
        "Zustellbar 1 0.2 passed",
        "Riskant 1 0.2 risky",
        "Unbekannt 0 0 unknown",
        "Unzustellbar 2 0.4 undeliverable",
        "Ausstehend 1 0.2",
        "",
        "Grund Zeilen Anteil In den Ergebnissen Status",
        "Postfach gibt es nicht 2 0.4 nonexistent Unzustellbar",
        "Nimmt E-Mails an 1 0.2 valid Zustellbar",
        "Funktionspostfach 1 0.2 role_based Riskant",
    ];
    assert_eq!(shown, expected);
}

/// Measures the cost of a workbook with rows of a typical completed list. Peak memory is that of this process.
#[tokio::test]
#[ignore = "a measurement, for docs/performance.md"]
#[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
async fn a_million_rows_are_written() {
    let kind = |reason| OutcomeKind {
        reason,
        findings: vec![reason],
        meta: String::new(),
        rule: String::new(),
        smtp_code: None,
        enhanced: None,
        host: None,
        provider: None,
        source: String::new(),
        flags: 0,
        charged: true,
    };
    let kinds =
        [Reason::Valid, Reason::Nonexistent, Reason::RoleBased, Reason::Valid].map(|reason| Arc::new(kind(reason)));
    let row = |index: usize| {
        let idx = i64::try_from(index).unwrap();
        let result = RowResult { idx, copies: 1, kind: kinds[index % kinds.len()].clone(), suggestion: None };
        let settled = SettledResult { result, at: Millis(1_795_000_000_000 + idx) };
        let domain = format!("customer{}.example", index % 997);
        let head = RowHead { email: format!("person.{index}@{domain}"), processed: true, index: Some(idx) };
        let done = Some(RowDone::Whole(RowVerdict::of(&settled, domain)));
        OriginalRow { row: BatchRow { head, done }, own: None }
    };
    for rows in [10_000, 1_000_000] {
        let begun = std::time::Instant::now();
        let parts = (0..rows).step_by(1_000).map(|from| (from..from + 1_000).map(row).collect());
        let bytes = pack(&plenty(), Generated(parts)).await.unwrap().bytes;
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        println!("{rows} rows: {:.2?}, {bytes} bytes, {peak}", begun.elapsed());
    }
}

#[test]
fn more_rows_than_a_sheet_has_are_refused() {
    assert!(check(1_048_575).is_ok());
    assert!(check(1_048_576).unwrap_err().message().starts_with("format: a workbook can have at most 1048575 rows"));
}

/// The rows break off: the writer notices and releases its slot.
#[tokio::test]
async fn what_breaks_off_is_not_written_to_its_end() {
    struct Breaking(Arc<AtomicUsize>);
    impl RowParts for Breaking {
        fn org(&self) -> OrgNo {
            ORG
        }

        fn columns(&self) -> Arc<FileColumns> {
            FileColumns::of_job().into()
        }

        fn summary(&self) -> RowSummary {
            RowSummary::of(String::new(), String::new(), PageLanguage::En)
        }

        async fn next(&mut self) -> Result<Option<Vec<OriginalRow>>, ApiError> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => Ok(Some(rows(&["jo@example.org".to_owned()]))),
                _ => Err(ApiError::unavailable("the database is gone")),
            }
        }
    }
    let few = Places::new(2, 1, "full");
    for _ in 0..4 {
        let broken = pack(&few, Breaking(Arc::default())).await;
        assert!(broken.is_err_and(|error| error.code() == Code::ServiceUnavailable));
    }
    let (sender, receiver) = mpsc::channel(1);
    drop(sender);
    assert!(matches!(
        tokio::task::spawn_blocking(|| write(
            &FileColumns::of_job(),
            RowSummary::of(String::new(), String::new(), PageLanguage::En),
            receiver
        ))
        .await
        .unwrap(),
        Err(WorkbookError::Unfinished)
    ));
}

#[tokio::test(start_paused = true)]
async fn an_organization_has_one_place_and_nobody_waits_long() {
    let few = Places::new(2, 1, "full");
    let [one, other, third] = [1, 2, 3].map(OrgNo);
    let first = place(&few, one).await.unwrap();
    let soon = tokio::time::timeout(Duration::from_secs(6), place(&few, one));
    let refused = soon.await.expect("nobody waits for longer").unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::ServiceUnavailable, "full"));
    let _second = place(&few, other).await.unwrap();
    assert!(place(&few, third).await.is_err());
    let waiting = tokio::spawn({
        let few = few.clone();
        async move { place(&few, third).await }
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(first);
    assert!(waiting.await.unwrap().is_ok(), "what comes free is taken");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn cells_are_text_whatever_they_begin_with(
        emails in prop::collection::vec("[-=+@＝＋－＠\t\r\n\0 \",;'a<&]{1,6}|_x00(41|0d)_[a_]{0,3}|.{1,40}", 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (sheet, formulas) = runtime.block_on(read_back(vec![rows(&emails)]));
        prop_assert!(formulas.is_empty());
        let read: Vec<Data> = sheet.rows().skip(1).map(|row| row[0].clone()).collect();
        prop_assert_eq!(read, emails.into_iter().map(Data::String).collect::<Vec<_>>());
    }
}
