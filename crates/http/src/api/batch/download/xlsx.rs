//! Rows as a workbook of one sheet: Office Open XML, every cell a string, none a formula.
//!
//! A cell that is a string is shown as it is, whatever it begins with, so nothing is put before it. Rows go to disk as they
//! come, and the workbook is packed from there: memory does not grow with the job. Both files are temporary ones without a
//! name, which the system removes even where the process is killed. Blocking threads write; the request waits, and where its
//! client goes away the writing ends with the next part. It does not wait long for its turn: a request has its deadline, and the
//! workbook takes its own time.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use probity_service::error::ApiError;
use probity_service::uploads::places::{Place, Places};
use probity_store::OrgNo;
use rust_xlsxwriter::{Workbook, Worksheet, XlsxError};
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;

use crate::api::batch::download::columns::{Columns, FileRow};
use crate::error::Refusal;

/// The type of workbooks.
pub(super) const CONTENT_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Rows of a sheet, that of the names included.
const SHEET_ROWS_MAX: i64 = 1_048_576;
/// Characters of a cell.
const CELL_CHARS_MAX: usize = 32_767;
/// How often a place is asked for, and the pause between: five seconds in all.
const TRIES_MAX: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);
/// Parts that are read ahead of the writing.
const AHEAD: usize = 2;
/// Bytes of a part of the answer.
const PART_BYTES: usize = 64 << 10;

/// Why there is no workbook.
#[derive(Debug, Error)]
enum Broken {
    #[error("a workbook was not written")]
    Writing(#[from] XlsxError),
    #[error("a temporary file failed")]
    File(#[from] std::io::Error),
    /// Nobody wants it any more.
    #[error("the rows ended early")]
    Unfinished,
}

/// What the reader of the rows tells the writer of the workbook.
enum Part {
    Rows(Vec<FileRow>),
    End,
}

/// A workbook as it is sent, with its size.
pub(super) struct Packed {
    pub(super) body: Body,
    pub(super) bytes: u64,
}

/// Where rows come from: parts in order, then none.
pub(super) trait Parts {
    /// Whose they are.
    fn org(&self) -> OrgNo;
    /// What is shown of them.
    fn columns(&self) -> Arc<Columns>;
    async fn next(&mut self) -> Result<Option<Vec<FileRow>>, Refusal>;
}

/// Refuses a job whose rows do not fit on a sheet.
pub(super) fn check(rows: i64) -> Result<(), Refusal> {
    if rows < SHEET_ROWS_MAX {
        return Ok(());
    }
    Err(ApiError::invalid("format", format_args!("a workbook can have at most {} rows; use csv", SHEET_ROWS_MAX - 1))
        .into())
}

/// A place for a workbook of an organization, soon; 503 where none comes free.
async fn place(places: &'static Places, org: OrgNo) -> Result<Place<'static>, Refusal> {
    for _ in 1..TRIES_MAX {
        if let Ok(place) = places.take(org) {
            return Ok(place);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(places.take(org)?)
}

/// Writes the workbook of all rows, where there is a place for it.
pub(super) async fn pack(places: &'static Places, mut rows: impl Parts) -> Result<Packed, Refusal> {
    let place = place(places, rows.org()).await?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let columns = rows.columns();
    let writing = tokio::task::spawn_blocking(move || {
        let _place = place;
        write(&columns, receiver)
    });
    while let Some(part) = rows.next().await? {
        // A writer that has ended tells why below.
        if sender.send(Part::Rows(part)).await.is_err() {
            break;
        }
    }
    let _ = sender.send(Part::End).await;
    let file = writing.await.map_err(ApiError::server_error)?.map_err(ApiError::server_error)?;
    let bytes = file.metadata().map_err(ApiError::server_error)?.len();
    Ok(Packed { body: body(tokio::fs::File::from_std(file)), bytes })
}

fn body(file: tokio::fs::File) -> Body {
    Body::from_stream(stream::try_unfold(file, async |mut file| {
        let mut part = Vec::with_capacity(PART_BYTES);
        file.read_buf(&mut part).await?;
        Ok::<_, std::io::Error>((!part.is_empty()).then(|| (Bytes::from(part), file)))
    }))
}

/// The whole workbook, from its beginning.
fn write(columns: &Columns, mut parts: mpsc::Receiver<Part>) -> Result<File, Broken> {
    let mut book = Workbook::new();
    book.set_tempdir(tempfile::env::temp_dir())?;
    let sheet = book.add_worksheet_with_constant_memory()?.set_name("results")?;
    let mut next = 0;
    line(sheet, &mut next, &columns.header())?;
    loop {
        match parts.blocking_recv() {
            Some(Part::Rows(rows)) => {
                for row in &rows {
                    line(sheet, &mut next, &columns.cells(row))?;
                }
            }
            Some(Part::End) => break,
            None => return Err(Broken::Unfinished),
        }
    }
    let mut file = tempfile::tempfile()?;
    book.save_to_writer(&mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

fn line<T: AsRef<str>>(sheet: &mut Worksheet, next: &mut u32, cells: &[T]) -> Result<(), XlsxError> {
    for (column, cell) in (0..).zip(cells) {
        let cell = cell.as_ref();
        // A sheet's longest cell; only the columns of an uploaded file can be longer.
        let end = cell.char_indices().nth(CELL_CHARS_MAX).map_or(cell.len(), |(end, _)| end);
        sheet.write_string(*next, column, &cell[..end])?;
    }
    *next += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use calamine::{Data, Range, Reader as _, Xlsx};
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;

    use super::*;
    use crate::api::batch::download::columns::HEADER;
    use probity_service::error::Code;
    use probity_service::published::batch::{BatchRow, RowHead};

    struct Given(std::vec::IntoIter<Vec<FileRow>>);

    /// As many as tests take beside each other.
    static PLENTY: Places = Places::new(1_000, 1_000, "full");
    const ORG: OrgNo = OrgNo(1);

    impl Parts for Given {
        fn org(&self) -> OrgNo {
            ORG
        }

        fn columns(&self) -> Arc<Columns> {
            Columns::of_job().into()
        }

        async fn next(&mut self) -> Result<Option<Vec<FileRow>>, Refusal> {
            Ok(self.0.next())
        }
    }

    fn rows(emails: &[String]) -> Vec<FileRow> {
        let head =
            |(index, email): (i64, &String)| RowHead { email: email.clone(), processed: false, index: Some(index) };
        (0..).zip(emails).map(head).map(|head| FileRow { row: BatchRow { head, done: None }, own: None }).collect()
    }

    /// The sheet and its formulas, as a reader of workbooks sees them.
    async fn read_back(parts: Vec<Vec<FileRow>>) -> (Range<Data>, Range<String>) {
        let packed = pack(&PLENTY, Given(parts.into_iter())).await.unwrap();
        let bytes = packed.body.collect().await.unwrap().to_bytes();
        assert_eq!(u64::try_from(bytes.len()).unwrap(), packed.bytes);
        let mut book = Xlsx::new(Cursor::new(bytes)).unwrap();
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
        assert_eq!(sheet.get_value((2_500, 8)), Some(&Data::String("2499".to_owned())));
    }

    #[tokio::test]
    async fn a_sheet_without_rows_has_its_names() {
        let (sheet, _) = read_back(vec![Vec::new()]).await;
        assert_eq!(sheet.height(), 1);
    }

    #[test]
    fn more_rows_than_a_sheet_has_are_refused() {
        assert!(check(1_048_575).is_ok());
        assert!(
            check(1_048_576).unwrap_err().message().starts_with("format: a workbook can have at most 1048575 rows")
        );
    }

    /// Rows that break off: the writer sees it and gives its place back.
    #[tokio::test]
    async fn what_breaks_off_is_not_written_to_its_end() {
        struct Breaking(Arc<AtomicUsize>);
        impl Parts for Breaking {
            fn org(&self) -> OrgNo {
                ORG
            }

            fn columns(&self) -> Arc<Columns> {
                Columns::of_job().into()
            }

            async fn next(&mut self) -> Result<Option<Vec<FileRow>>, Refusal> {
                match self.0.fetch_add(1, Ordering::Relaxed) {
                    0 => Ok(Some(rows(&["jo@example.org".to_owned()]))),
                    _ => Err(ApiError::unavailable("the database is gone").into()),
                }
            }
        }
        static FEW: Places = Places::new(2, 1, "full");
        for _ in 0..4 {
            let broken = pack(&FEW, Breaking(Arc::default())).await;
            assert!(broken.is_err_and(|error| error.code() == Code::ServiceUnavailable));
        }
        let (sender, receiver) = mpsc::channel(1);
        drop(sender);
        assert!(matches!(
            tokio::task::spawn_blocking(|| write(&Columns::of_job(), receiver)).await.unwrap(),
            Err(Broken::Unfinished)
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn an_organization_has_one_place_and_nobody_waits_long() {
        static FEW: Places = Places::new(2, 1, "full");
        let [one, other, third] = [1, 2, 3].map(OrgNo);
        let first = place(&FEW, one).await.unwrap();
        let soon = tokio::time::timeout(Duration::from_secs(6), place(&FEW, one));
        let refused = soon.await.expect("nobody waits for longer").unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::ServiceUnavailable, "full"));
        let _second = place(&FEW, other).await.unwrap();
        assert!(place(&FEW, third).await.is_err());
        let waiting = tokio::spawn(place(&FEW, third));
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
}
