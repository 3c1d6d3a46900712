//! Sheet of the rows: a bold header that stays visible, filters, and columns as wide as their content.
//!
//! Rows are written to disk as they arrive; column widths and the filter are written at the end. No cell is a formula, even if
//! its text begins like one.

use rust_xlsxwriter::{Format, Worksheet, XlsxError};

use crate::lists::download::values::CellValue;

pub(super) const NAME: &str = "results";
/// Maximum characters of a cell.
const CELL_CHARS_MAX: usize = 32_767;
/// Width of a column, in characters.
const WIDTH_MIN: usize = 6;
const WIDTH_MAX: usize = 50;
/// Width of a filter's button, and of the margins of a cell.
const BUTTON_CHARS: usize = 3;
const MARGIN_CHARS: usize = 1;
/// Width of a date and time.
const MOMENT_CHARS: usize = 19;
/// First characters of scripts whose letters are twice as wide.
const WIDE_FROM: char = '\u{1100}';

const DAY_MS: f64 = 86_400_000.0;
/// 1970-01-01 in the days of spreadsheets.
const EPOCH_DAYS: f64 = 25_569.0;

/// The sheet, to which rows are added.
pub(super) struct ResultsSheet {
    sheet: Worksheet,
    moment: Format,
    header: u32,
    next: u32,
    widths: Vec<usize>,
}

impl ResultsSheet {
    /// Starts the sheet with its header, below the uploaded file's records above the header.
    pub(super) fn begin(mut sheet: Worksheet, above: &[Vec<String>], header: &[String]) -> Result<Self, XlsxError> {
        sheet.set_name(NAME)?;
        let (bold, moment) = (Format::new().set_bold(), Format::new().set_num_format("yyyy-mm-dd hh:mm:ss"));
        let mut at = 0;
        for cells in above {
            for (column, cell) in (0..).zip(cells) {
                sheet.write_string(at, column, cut(cell))?;
            }
            at += 1;
        }
        sheet.set_freeze_panes(at + 1, 0)?;
        for (column, name) in (0..).zip(header) {
            sheet.write_string_with_format(at, column, cut(name), &bold)?;
        }
        let widths = header.iter().map(|name| wider(WIDTH_MIN, name).saturating_add(BUTTON_CHARS)).collect();
        Ok(Self { sheet, moment, header: at, next: at + 1, widths })
    }

    pub(super) fn row(&mut self, values: &[CellValue<'_>]) -> Result<(), XlsxError> {
        let row = self.next;
        for ((column, value), width) in (0..).zip(values).zip(&mut self.widths) {
            match value {
                CellValue::Blank => continue,
                CellValue::Text(text) => {
                    *width = wider(*width, text);
                    self.sheet.write_string(row, column, cut(text))?
                }
                CellValue::Number(number) => {
                    *width = wider(*width, &number.to_string());
                    self.sheet.write_number(row, column, *number)?
                }
                CellValue::Flag(flag) => self.sheet.write_boolean(row, column, *flag)?,
                CellValue::Moment(moment) => {
                    *width = MOMENT_CHARS.max(*width);
                    #[expect(clippy::cast_precision_loss, reason = "milliseconds of thousands of years are exact")]
                    let days = moment.0.0 as f64 / DAY_MS + EPOCH_DAYS;
                    self.sheet.write_number_with_format(row, column, days, &self.moment)?
                }
            };
        }
        self.next += 1;
        Ok(())
    }

    /// Ends the sheet, which is the one that opens.
    pub(super) fn finish(self) -> Result<Worksheet, XlsxError> {
        let Self { mut sheet, header, next, widths, .. } = self;
        for (column, width) in (0..).zip(&widths) {
            let width = u16::try_from(width.min(&WIDTH_MAX) + MARGIN_CHARS).unwrap_or(u16::MAX);
            sheet.set_column_width(column, width)?;
        }
        if let Some(last) = widths.len().checked_sub(1).and_then(|last| u16::try_from(last).ok()) {
            sheet.autofilter(header, 0, next - 1, last)?;
        }
        sheet.set_active(true);
        Ok(sheet)
    }
}

/// Returns the width of a column that also contains this text. Long texts are measured only up to the maximum width.
fn wider(width: usize, text: &str) -> usize {
    if text.len() <= width || width >= WIDTH_MAX {
        return width;
    }
    let signs = text.chars().take(WIDTH_MAX).map(|c| if c < WIDE_FROM { 1 } else { 2 });
    width.max(signs.sum())
}

/// Cuts a text to the maximum length of a cell; only columns of an uploaded file can be longer.
fn cut(text: &str) -> &str {
    if text.len() <= CELL_CHARS_MAX {
        return text;
    }
    &text[..text.char_indices().nth(CELL_CHARS_MAX).map_or(text.len(), |(end, _)| end)]
}
