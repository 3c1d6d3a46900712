//! Oddities of an input: counted while it is read, and said afterwards with the first line of each.

use probity_lists::remarks::{Oddity, TextRemarks};
use probity_lists::rows::{Layout, TextForm};

use super::input::UNREADABLE_ROW;

/// Oddities of the input.
#[derive(Debug, Default)]
pub(super) struct InputOddities {
    pub(super) width: usize,
    pub(super) suffix: String,
    pub(super) ragged: Oddity,
    pub(super) missing: Oddity,
    pub(super) unreadable: Oddity,
    /// Why the first unreadable line could not be read.
    pub(super) why_unreadable: String,
    /// Rows with something like an address.
    pub(super) addresses: u64,
}

impl InputOddities {
    pub(super) fn unreadable(&mut self, line: u64, why: String) {
        if self.unreadable.count == 0 {
            self.why_unreadable = why;
        }
        self.unreadable.meet(line);
    }

    /// Reason why nothing of the input can be verified.
    pub(super) fn refusal(&self, rows: u32, column: usize, layout: &Layout) -> Option<String> {
        if rows == 0 && self.unreadable.count > 0 {
            let (line, why) = (self.unreadable.line, &self.why_unreadable);
            return Some(format!("no line is a JSON object with an address; line {line}: {why}"));
        }
        if self.addresses > 0 || (rows == 0 && self.missing.count == 0) {
            return None;
        }
        let place = if column > 0 { format!(" in column {}", column + 1) } else { String::new() };
        Some(format!("no row has an address{place}{}", better_column(layout, column)))
    }

    pub(super) fn warnings(&self, column: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let Oddity { count, line } = self.ragged;
        if count > 0 {
            warnings.push(format!(
                "{count} rows differ in the number of fields, the first in line {line}; all rows were padded to {} fields",
                self.width
            ));
        }
        let Oddity { count, line } = self.missing;
        if count > 0 {
            let place = if column > 0 { format!(" (column {})", column + 1) } else { String::new() };
            warnings.push(format!("{count} rows have no address{place} and are left out, the first in line {line}"));
        }
        let Oddity { count, line } = self.unreadable;
        if count > 0 {
            warnings.push(format!(
                "{count} lines could not be read and get `invalid` ({UNREADABLE_ROW}), the first is line {line}: {}",
                self.why_unreadable
            ));
        }
        warnings
    }
}

/// Warnings about the text itself. `other`: encoding of its lines that are not UTF-8.
pub(super) fn remarked(remarks: &TextRemarks, other: Option<&str>) -> Vec<String> {
    let mut warnings = Vec::new();
    let TextRemarks { foreign, nuls, stray, .. } = *remarks;
    if let Some(other) = other.map(|other| other.replace("windows", "Windows")) {
        let Oddity { count, line } = foreign;
        warnings.push(format!("{count} lines are not UTF-8 and were read as {other}, the first is line {line}"));
    }
    if nuls.count > 0 {
        warnings.push(format!("{} rows have NUL characters, the first in line {}", nuls.count, nuls.line));
    }
    if stray.count > 0 {
        let Oddity { count, line } = stray;
        warnings.push(format!("{count} quotes are never closed and were ignored, the first in line {line}"));
    }
    warnings
}

/// Names the column that has addresses, if the requested one has none.
fn better_column(layout: &Layout, column: usize) -> String {
    match layout.sample.column(None, false) {
        Ok((better, _)) if better != column && layout.form == TextForm::Csv => format!("; set --column {}", better + 1),
        _ => String::new(),
    }
}
