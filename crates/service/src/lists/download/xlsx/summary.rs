//! Sheet of the figures: rows by verdict and by reason, and a chart of the verdicts.
//!
//! It counts the rows of the file, which may be a selection of the list. It follows the rows, because programs that import a
//! workbook read its first sheet. Labels are translated; one column has the untranslated names as in the results.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use probity_account::language::PageLanguage;
use probity_letters::sheet::{SheetHeading, reason_words, status_words};
use probity_mail::verdict::{Reason, Status};
use rust_xlsxwriter::{Chart, ChartLegendPosition, ChartPoint, ChartSolidFill, Color, Format, Workbook};
use rust_xlsxwriter::{Worksheet, XlsxError};

use super::book::RowFigure;

const NAME: &str = "summary";
/// Verdicts in the order of the dashboard, with its colors.
const VERDICTS: [(Status, u32); 4] = [
    (Status::Passed, 0x1f_9a63),
    (Status::Risky, 0xc1_8407),
    (Status::Unknown, 0x7e_8ba1),
    (Status::Undeliverable, 0xd5_494a),
];
/// Word for rows without a verdict, as in filters.
const PENDING: &str = "pending";
/// Row of the verdicts' header; the list is named above it.
const VERDICTS_ROW: u32 = 4;
/// Width of the columns, in characters.
const WIDTHS: [u16; 5] = [30, 14, 12, 22, 18];
/// Column of the names as in the results.
const CODE: u16 = 3;
/// Column of the chart.
const CHART: u16 = 6;

/// Counts rows for the sheet.
pub struct RowSummary {
    title: String,
    /// Label of the selected rows.
    selection: String,
    language: PageLanguage,
    rows: u64,
    /// Rows by status and reason.
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

/// Formats of the sheet.
struct SheetFormats {
    title: Format,
    header: Format,
    share: Format,
}

impl RowSummary {
    pub(in crate::lists::download) fn of(title: String, selection: String, language: PageLanguage) -> Self {
        Self { title, selection, language, rows: 0, counts: BTreeMap::new() }
    }

    /// Summary of all rows of a list.
    pub fn of_all(title: String, language: PageLanguage) -> Self {
        Self::of(title, SheetHeading::AllRows.text(language).to_owned(), language)
    }

    pub(super) fn count(&mut self, figure: RowFigure) {
        let key = match figure {
            RowFigure::WithoutAddress => return,
            RowFigure::Pending => (PENDING, ""),
            RowFigure::Verdict(status, reason) => (status, reason),
        };
        self.rows += 1;
        *self.counts.entry(key).or_default() += 1;
    }

    pub(super) fn write(&self, book: &mut Workbook) -> Result<(), XlsxError> {
        let formats = SheetFormats {
            title: Format::new().set_bold().set_font_size(14),
            header: Format::new().set_bold(),
            share: Format::new().set_num_format("0.0%"),
        };
        let sheet = book.add_worksheet().set_name(NAME)?;
        for (column, width) in (0..).zip(WIDTHS) {
            sheet.set_column_width(column, width)?;
        }
        let title: String = self.title.chars().take(255).collect();
        sheet.write_string_with_format(0, 0, title, &formats.title)?;
        sheet.write_string(1, 0, self.word(SheetHeading::Selection))?.write_string(1, 1, self.selection.as_str())?;
        sheet.write_string(2, 0, self.word(SheetHeading::Rows))?.write_number(2, 1, number(self.rows))?;
        let next = self.verdicts(sheet, &formats)?;
        self.reasons(sheet, next + 1, &formats)?;
        sheet.insert_chart(1, CHART, &self.chart())?;
        Ok(())
    }

    fn word(&self, heading: SheetHeading) -> &'static str {
        heading.text(self.language)
    }

    /// Writes the rows of each verdict; returns the next free row.
    fn verdicts(&self, sheet: &mut Worksheet, formats: &SheetFormats) -> Result<u32, XlsxError> {
        self.header(sheet, VERDICTS_ROW, &[SheetHeading::Status], formats)?;
        let mut next = VERDICTS_ROW + 1;
        let of =
            |name: &str| self.counts.iter().filter(|((status, _), _)| *status == name).map(|(_, count)| count).sum();
        for (status, _) in VERDICTS {
            let (code, words) = (status.as_str(), status_words(self.language, status));
            self.figure(sheet, next, (words, code), of(code), formats)?;
            next += 1;
        }
        let pending = of(PENDING);
        if pending > 0 {
            self.figure(sheet, next, (self.word(SheetHeading::Pending), ""), pending, formats)?;
            next += 1;
        }
        Ok(next)
    }

    /// Writes the rows of each reason, the most frequent first.
    fn reasons(&self, sheet: &mut Worksheet, at: u32, formats: &SheetFormats) -> Result<(), XlsxError> {
        self.header(sheet, at, &[SheetHeading::Reason, SheetHeading::Status], formats)?;
        let mut reasons: Vec<_> = self.counts.iter().filter(|((status, _), _)| *status != PENDING).collect();
        reasons.sort_by_key(|(_, count)| Reverse(**count));
        for (row, ((status, reason), count)) in (at + 1..).zip(reasons) {
            let words = Reason::from_name(reason).map_or(*reason, |of| reason_words(self.language, of));
            self.figure(sheet, row, (words, reason), *count, formats)?;
            let status = VERDICTS.iter().find(|(of, _)| of.as_str() == *status);
            sheet.write_string(row, CODE + 1, status.map_or("", |(of, _)| status_words(self.language, *of)))?;
        }
        Ok(())
    }

    fn figure(
        &self,
        sheet: &mut Worksheet,
        row: u32,
        (words, code): (&str, &str),
        count: u64,
        formats: &SheetFormats,
    ) -> Result<(), XlsxError> {
        let share = number(count) / number(self.rows.max(1));
        sheet.write_string(row, 0, words)?.write_number(row, 1, number(count))?.write_string(row, CODE, code)?;
        sheet.write_number_with_format(row, 2, share, &formats.share).map(drop)
    }

    /// Writes the header of a table: label, number, share, name as in the results, and the remaining cells.
    fn header(
        &self,
        sheet: &mut Worksheet,
        row: u32,
        names: &[SheetHeading],
        formats: &SheetFormats,
    ) -> Result<(), XlsxError> {
        let figures = [SheetHeading::Rows, SheetHeading::Share, SheetHeading::Code];
        let all = names.iter().take(1).chain(&figures).chain(names.iter().skip(1));
        for (column, name) in (0..).zip(all) {
            sheet.write_string_with_format(row, column, self.word(*name), &formats.header)?;
        }
        Ok(())
    }

    /// Draws a ring of the verdicts in their colors.
    fn chart(&self) -> Chart {
        let (first, last) = (VERDICTS_ROW + 1, VERDICTS_ROW + 4);
        let points = VERDICTS.map(|(_, color)| {
            ChartPoint::new().set_format(&mut ChartSolidFill::new().set_color(Color::RGB(color)).clone())
        });
        let mut chart = Chart::new_doughnut();
        let rows = chart.add_series();
        rows.set_categories((NAME, first, 0, last, 0)).set_values((NAME, first, 1, last, 1)).set_points(&points);
        chart.title().set_name(self.word(SheetHeading::Verdicts));
        chart.legend().set_position(ChartLegendPosition::Right);
        chart.set_hole_size(60).set_width(420).set_height(280).set_alt_text(self.word(SheetHeading::ChartText));
        chart
    }
}

#[expect(clippy::cast_precision_loss, reason = "a sheet has a million rows")]
fn number(count: u64) -> f64 {
    count as f64
}
