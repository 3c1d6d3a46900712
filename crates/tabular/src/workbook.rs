//! Workbooks in Office Open XML: the rows of one sheet, cell by cell.
//!
//! A workbook is a zip archive of XML, so forty kilobytes may claim gigabytes. Before anything understands it, [`parts`] unpacks
//! all of it once, counts, and throws it away. Then sheets are read as a stream: the size that a sheet claims for itself is
//! never believed, and no table of it is ever made. What stays in memory are the texts that its cells share, which [`parts`]
//! bounds. Formulas are not run: their last result is the cell's value.
//!
//! The parser of workbooks is not ours. A panic in it is a damaged workbook.

mod parts;

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{DataRef, ExcelDateTime, Reader as _, SheetVisible, Xlsx, XlsxError};

use crate::split::RECORD_MAX;
use crate::{CELL_MAX_BYTES, COLUMNS_MAX, Fault};

/// A workbook whose parts were looked through.
pub struct Workbook {
    book: Xlsx<BufReader<File>>,
    sheets: Vec<String>,
}

impl Workbook {
    /// Looks through a file and opens it.
    ///
    /// # Errors
    /// [`Fault`]: it is no workbook, unpacks to too much, or is damaged.
    pub fn open(file: File) -> Result<Self, Fault> {
        guarded(|| {
            let mut file = BufReader::new(file);
            parts::check(&mut file)?;
            let book = Xlsx::new(file).map_err(|error| damage(&error))?;
            let seen = book.sheets_metadata().iter().filter(|sheet| sheet.visible == SheetVisible::Visible);
            let sheets = seen.map(|sheet| sheet.name.clone()).collect();
            Ok(Self { book, sheets })
        })
    }

    /// The names of the sheets that can be seen, in their order.
    pub fn sheets(&self) -> &[String] {
        &self.sheets
    }

    /// Gives the rows of a sheet to `take`, those without any text left out; gives how many there were.
    ///
    /// # Errors
    /// [`Fault`]: the sheet is not there, damaged, too wide, or what `take` said.
    pub fn read(&mut self, sheet: &str, mut take: impl FnMut(Vec<String>) -> Result<(), Fault>) -> Result<u64, Fault> {
        if !self.sheets.iter().any(|name| name == sheet) {
            return Err(Fault::NoSheet);
        }
        guarded(|| self.rows(sheet, &mut take))
    }

    fn rows(&mut self, sheet: &str, take: &mut impl FnMut(Vec<String>) -> Result<(), Fault>) -> Result<u64, Fault> {
        let mut cells = match self.book.worksheet_cells_reader(sheet) {
            Ok(cells) => cells,
            // A sheet of one chart.
            Err(XlsxError::NotAWorksheet(_)) => return Ok(0),
            Err(error) => return Err(damage(&error)),
        };
        let mut rows = Rows { row: Vec::new(), at: 0, bytes: 0, given: 0, take };
        while let Some(cell) = cells.next_cell().map_err(|error| damage(&error))? {
            let (row, column) = cell.get_position();
            rows.cell(row, column, &text(cell.get_value()))?;
        }
        rows.end()?;
        Ok(rows.given)
    }
}

/// Rows in the making.
struct Rows<'a, T> {
    row: Vec<String>,
    /// Which row that is.
    at: u32,
    /// How long its texts are together: many cells may share a long one.
    bytes: usize,
    given: u64,
    take: &'a mut T,
}

impl<T: FnMut(Vec<String>) -> Result<(), Fault>> Rows<'_, T> {
    fn cell(&mut self, row: u32, column: u32, text: &str) -> Result<(), Fault> {
        // Cells without text are everywhere where somebody coloured a column.
        if text.trim().is_empty() {
            return Ok(());
        }
        if row < self.at {
            return Err(Fault::Damaged);
        }
        if row > self.at {
            self.end()?;
            self.at = row;
        }
        let number = u64::from(row) + 1;
        let column = usize::try_from(column).ok().filter(|column| *column < COLUMNS_MAX);
        let column = column.ok_or(Fault::TooManyColumns(number))?;
        if text.len() > CELL_MAX_BYTES {
            return Err(Fault::CellTooLong(number));
        }
        self.bytes += text.len();
        if self.bytes > RECORD_MAX {
            return Err(Fault::RowTooLong(number));
        }
        if self.row.len() <= column {
            self.row.resize(column + 1, String::new());
        }
        text.clone_into(&mut self.row[column]);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        if self.row.is_empty() {
            return Ok(());
        }
        self.given += 1;
        self.bytes = 0;
        (self.take)(std::mem::take(&mut self.row))
    }
}

fn text<'a>(value: &'a DataRef<'_>) -> Cow<'a, str> {
    match value {
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.into(),
        DataRef::SharedString(text) => (*text).into(),
        DataRef::Int(number) => number.to_string().into(),
        DataRef::Float(number) => number.to_string().into(),
        DataRef::Bool(value) => value.to_string().into(),
        DataRef::DateTime(at) => date(*at).into(),
        DataRef::Error(_) | DataRef::Empty => "".into(),
    }
}

/// A point in time as ISO 8601 writes it, without what is zero at its end; a length of time as the number of days that the
/// file has.
fn date(at: ExcelDateTime) -> String {
    if !at.is_datetime() {
        return at.as_f64().to_string();
    }
    let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
    let day = format!("{year:04}-{month:02}-{day:02}");
    if (hour, minute, second) == (0, 0, 0) { day } else { format!("{day} {hour:02}:{minute:02}:{second:02}") }
}

fn damage(error: &XlsxError) -> Fault {
    match error {
        XlsxError::Password => Fault::OldWorkbook,
        XlsxError::FileNotFound(_) | XlsxError::RelationshipNotFound => Fault::Archive,
        XlsxError::WorksheetNotFound(_) => Fault::NoSheet,
        _ => Fault::Damaged,
    }
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Fault::Damaged))
}

#[cfg(test)]
mod tests;
