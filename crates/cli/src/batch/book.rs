//! Output as a workbook, by the writer of the dashboard's downloads: the input's columns, then ours, and a sheet of figures.

use std::borrow::Cow;
use std::fs::File;

use anyhow::{Result, bail};
use probity_account::language::PageLanguage;
use probity_lists::rows::separator;
use probity_lists::split::{Eol, fields, unquote};
use probity_service::lists::download::values::CellValue;
use probity_service::lists::download::xlsx::book::{
    ResultsBook, RowFigure, RowSummary, SHEET_COLUMNS_MAX, SHEET_ROWS_MAX, WorkbookError,
};

use super::answer::FLAG_NAMES;
use super::form::{RowAnswer, column_names};
use super::output::RowForm;
use super::request::ListFormat;
use super::workfile::Imported;
use crate::exit;

/// Rows that a sheet may have above its rows: titles and the header.
const HEAD_ROWS: u64 = 32;

/// Records as rows of a sheet.
pub(super) struct BookForm {
    imported: Imported,
    /// Name of the list.
    title: String,
    above: Vec<Vec<String>>,
    header: Vec<String>,
    /// The workbook, from the first row on.
    book: Option<ResultsBook>,
}

impl BookForm {
    /// Refuses an input that does not fit on a sheet, before anything is verified.
    pub(super) fn open(imported: &Imported, title: String) -> Result<Self> {
        let rows = u64::from(imported.rows) + imported.without + imported.unreadable + HEAD_ROWS;
        if rows > SHEET_ROWS_MAX {
            bail!("a workbook can have at most {} rows; name the output .csv", SHEET_ROWS_MAX - HEAD_ROWS);
        }
        let form = Self { imported: imported.clone(), title, above: Vec::new(), header: Vec::new(), book: None };
        if form.width() + column_names("").len() > SHEET_COLUMNS_MAX {
            bail!("a workbook can have at most {SHEET_COLUMNS_MAX} columns; name the output .csv");
        }
        Ok(form)
    }
}

impl RowForm for BookForm {
    /// Adds the header, or a record above it; blank lines are omitted.
    fn verbatim(&mut self, _: Eol, is_above: bool, raw: &[u8], _: &mut Vec<u8>) {
        let is_separator = separator(raw).is_some();
        if self.imported.format != ListFormat::Csv || self.book.is_some() || is_separator {
            return;
        }
        let cells: Vec<String> = self.cells(raw).map(Cow::into_owned).collect();
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            return;
        }
        if is_above {
            self.above.push(cells);
        } else {
            self.header = cells;
        }
    }

    fn row(&mut self, _: Eol, email: &str, raw: &[u8], reply: &RowAnswer<'_>, _: &mut Vec<u8>) -> Result<()> {
        let mut values: Vec<CellValue<'_>> = Vec::with_capacity(self.width() + FLAG_NAMES.len() + 5);
        if self.imported.format == ListFormat::Csv {
            let kind = |column: usize| self.imported.kinds.get(column).copied().unwrap_or_default();
            values.extend(self.cells(raw).enumerate().map(|(column, cell)| CellValue::of_kind(kind(column), cell)));
            values.resize(self.width(), CellValue::Blank);
        } else {
            values.push(email.into());
        }
        let texts = [reply.status, reply.reason, &*reply.meta, &*reply.suggestion];
        values.extend(texts.map(CellValue::from));
        let has_verdict = !reply.status.is_empty();
        let flag = |number: usize| has_verdict.then_some(reply.flags >> number & 1 == 1);
        values.extend((0..FLAG_NAMES.len()).map(|number| CellValue::from(flag(number))));
        values.push((&*reply.domain).into());
        let figure =
            if has_verdict { RowFigure::Verdict(reply.status, reply.reason) } else { RowFigure::WithoutAddress };
        let mut book = self.book.take().map_or_else(|| self.new_book(), Ok)?;
        book.row(&values, figure).map_err(failed)?;
        self.book = Some(book);
        Ok(())
    }

    fn unreadable(&mut self, eol: Eol, _: bool, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.row(eol, &String::from_utf8_lossy(raw), raw, &RowAnswer::unreadable(), out)
    }

    /// Writes the workbook to a temporary file.
    fn finish(mut self: Box<Self>) -> Result<Option<File>> {
        let book = self.book.take().map_or_else(|| self.new_book(), Ok)?;
        book.finish().map(Some).map_err(failed)
    }
}

impl BookForm {
    fn new_book(&self) -> Result<ResultsBook> {
        let summary = RowSummary::of_all(self.title.clone(), PageLanguage::En);
        ResultsBook::begin(&self.above, &self.names(), summary).map_err(failed)
    }

    /// Number of the input's columns.
    fn width(&self) -> usize {
        if self.imported.format == ListFormat::Csv { self.imported.width as usize } else { 1 }
    }

    /// Returns the names of all columns, as in CSV. A column without a name gets its number, because a sheet always has a header.
    fn names(&self) -> Vec<String> {
        if self.imported.format != ListFormat::Csv {
            return std::iter::once("email".to_owned()).chain(column_names("")).collect();
        }
        let name = |column: usize| self.header.get(column).map(|name| name.trim()).filter(|name| !name.is_empty());
        let named = |column| name(column).map_or_else(|| format!("column {}", column + 1), str::to_owned);
        (0..self.width()).map(named).chain(column_names(&self.imported.suffix)).collect()
    }

    fn cells<'a>(&self, raw: &'a [u8]) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let dialect = self.imported.dialect();
        fields(raw, dialect).map(move |field| match unquote(field, dialect) {
            Cow::Borrowed(text) => String::from_utf8_lossy(text),
            Cow::Owned(text) => String::from_utf8_lossy(&text).into_owned().into(),
        })
    }
}

fn failed(error: WorkbookError) -> anyhow::Error {
    let message = "the workbook cannot be written; no verdict is lost, run again to continue";
    exit::local(anyhow::Error::new(error).context(message))
}
