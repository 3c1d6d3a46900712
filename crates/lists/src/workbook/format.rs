//! Numbers as a reader of the sheet sees them: a number is a date if its cell's format has days or hours.

use std::collections::BTreeMap;

use probity_mail::time::{DAY_MS, civil_from_days};
use quick_xml::events::Event;

use super::package::Bounded;
use super::xml::{Xml, attributes};
use crate::FileFault;
use crate::bounds::{FORMATS_MAX, WorkbookBound};

/// Last day of the year 9999, counted from the beginning of 1900.
const DAYS_MAX: i64 = 2_958_465;
/// Days from the beginning of 1900 to the beginning of 1904, the origin of some workbooks.
const DAYS_TO_1904: i64 = 1_462;
/// Days from 1899-12-30, which is day 0 for all days after 1900-02-28, to 1970-01-01.
const DAYS_TO_1970: i64 = 25_569;

/// Display of a number by its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NumberKind {
    #[default]
    Plain,
    /// A point in time.
    Moment,
    /// A duration, which stays a number of days.
    Elapsed,
}

/// Kinds of a workbook's cell formats.
#[derive(Debug, Default)]
pub(super) struct Formats {
    kinds: Vec<NumberKind>,
    /// Whether days are counted from 1904.
    pub(super) from_1904: bool,
}

impl Formats {
    /// Reads the part that contains them.
    pub(super) fn read(mut part: Xml<impl Bounded>) -> Result<Self, FileFault> {
        let (mut formats, mut own) = (Self::default(), BTreeMap::new());
        let mut cells = false;
        loop {
            match part.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "numFmt" => {
                        let number =
                            attributes(&tag, |name, value| (name == "numFmtId").then(|| value.parse::<u32>()))?;
                        let kind = attributes(&tag, |name, value| (name == "formatCode").then(|| kind(value)))?;
                        if let (Some(Ok(number)), Some(kind)) = (number, kind) {
                            own.insert(number, kind);
                        }
                    }
                    "cellXfs" => cells = true,
                    "xf" if cells => {
                        let number =
                            attributes(&tag, |name, value| (name == "numFmtId").then(|| value.parse::<u32>()))?;
                        let number = number.and_then(Result::ok).unwrap_or_default();
                        formats.kinds.push(own.get(&number).copied().unwrap_or_else(|| builtin(number)));
                    }
                    _ => {}
                },
                Event::End(tag) if tag.local_name().as_ref() == "cellXfs" => cells = false,
                Event::Eof => return Ok(formats),
                _ => {}
            }
            if formats.kinds.len().max(own.len()) > FORMATS_MAX {
                return Err(WorkbookBound::Formats.into());
            }
        }
    }

    /// Formats a number with this cell format.
    pub(super) fn show(&self, number: f64, format: Option<usize>) -> String {
        let kind = format.and_then(|format| self.kinds.get(format)).copied().unwrap_or_default();
        if kind == NumberKind::Moment { moment(number, self.from_1904) } else { number.to_string() }
    }
}

/// Kind of a format by its text: days and hours outside of quotes and brackets mean a point in time, hours in brackets a duration.
/// Only the part for positive numbers counts.
fn kind(format: &str) -> NumberKind {
    let format = format.replace("&quot;", "\"");
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match character.to_ascii_lowercase() {
            // The next character is literal, omitted or repeated.
            '\\' | '_' | '*' => drop(characters.next()),
            '"' => drop(characters.find(|character| *character == '"')),
            '[' => {
                let inside: String = characters.by_ref().take_while(|character| *character != ']').collect();
                let inside = inside.to_ascii_lowercase();
                if ['h', 'm', 's'].iter().any(|unit| !inside.is_empty() && inside.chars().all(|other| other == *unit)) {
                    return NumberKind::Elapsed;
                }
            }
            ';' => break,
            'd' | 'm' | 'y' | 'h' | 's' => return NumberKind::Moment,
            _ => {}
        }
    }
    NumberKind::Plain
}

/// Built-in formats (ECMA-376 part 1, §18.8.30), including those of East Asia.
fn builtin(number: u32) -> NumberKind {
    match number {
        14..=22 | 27..=36 | 45 | 47 | 50..=58 => NumberKind::Moment,
        46 => NumberKind::Elapsed,
        _ => NumberKind::Plain,
    }
}

/// A number of days as an ISO 8601 date, with the time unless it is zero.
fn moment(number: f64, from_1904: bool) -> String {
    let origin = if from_1904 { DAYS_TO_1904 } else { 0 };
    #[expect(clippy::cast_possible_truncation, reason = "the number is within a few million before")]
    let (whole, part) = {
        let number = if number.is_finite() { number.clamp(0.0, 1e7) } else { 0.0 };
        (number.floor() as i64, (number.fract() * 86_400_000.0).round() as i64)
    };
    let (days, ms) = ((whole + origin + part / DAY_MS).min(DAYS_MAX), part % DAY_MS);
    let day = match days {
        // A day that never existed: 1900 counts as a leap year.
        60 => "1900-02-29".to_owned(),
        0..60 => date(days + 1),
        _ => date(days),
    };
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    if (hour, minute, second) == (0, 0, 0) { day } else { format!("{day} {hour:02}:{minute:02}:{second:02}") }
}

/// The date this many days after 1899-12-30.
fn date(days: i64) -> String {
    civil_from_days(days - DAYS_TO_1970).to_string()
}

#[cfg(test)]
mod tests {
    use calamine::{ExcelDateTime, ExcelDateTimeType};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_format_with_days_or_hours_makes_a_date() {
        let table = [
            ("General", NumberKind::Plain),
            ("0.00", NumberKind::Plain),
            ("yyyy-mm-dd", NumberKind::Moment),
            ("DD/MM/YY", NumberKind::Moment),
            ("h:mm AM/PM", NumberKind::Moment),
            ("[h]:mm:ss", NumberKind::Elapsed),
            ("[MM]:ss", NumberKind::Elapsed),
            ("[Red]0;[Blue]yyyy", NumberKind::Plain),
            ("[$-409]d-mmm", NumberKind::Moment),
            ("&quot;days&quot; 0", NumberKind::Plain),
            ("\"mm\"0\\d_y*s", NumberKind::Plain),
            ("#,##0\\ [$\u{20bd}-46D]", NumberKind::Plain),
            ("\"open", NumberKind::Plain),
            ("[open", NumberKind::Plain),
            ("", NumberKind::Plain),
        ];
        for (format, expected) in table {
            assert_eq!(kind(format), expected, "{format}");
        }
    }

    #[test]
    fn days_are_those_of_spreadsheets() {
        let table = [
            (0.0, false, "1899-12-31"),
            (1.0, false, "1900-01-01"),
            (59.0, false, "1900-02-28"),
            (60.0, false, "1900-02-29"),
            (61.0, false, "1900-03-01"),
            (46_347.812_5, false, "2026-11-21 19:30:00"),
            (0.0, true, "1904-01-01"),
            (2_958_465.0, false, "9999-12-31"),
            (1e300, false, "9999-12-31"),
            (-5.0, false, "1899-12-31"),
            (f64::NAN, false, "1899-12-31"),
            (46_347.999_999_999_9, false, "2026-11-22"),
        ];
        for (number, from_1904, expected) in table {
            assert_eq!(moment(number, from_1904), expected, "{number}");
        }
    }

    proptest! {
        #[test]
        fn another_reader_of_workbooks_agrees(days in 61_i64..2_957_000, second in 0_i64..86_400, from_1904: bool) {
            #[expect(clippy::cast_precision_loss, reason = "days and seconds are small")]
            let number = days as f64 + second as f64 / 86_400.0;
            let (year, month, day, hour, minute, second, _) =
                ExcelDateTime::new(number, ExcelDateTimeType::DateTime, from_1904).to_ymd_hms_milli();
            let time = if (hour, minute, second) == (0, 0, 0) { String::new() } else { format!(" {hour:02}:{minute:02}:{second:02}") };
            prop_assert_eq!(moment(number, from_1904), format!("{year:04}-{month:02}-{day:02}{time}"));
        }
    }
}
