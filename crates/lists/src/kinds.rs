//! Kinds of columns: those that have only numbers or only truth values are such in a workbook of results, too.
//!
//! A cell counts as a number only if the number is written like it, so that a code with leading zeros, a long number and a
//! decimal with its zeros stay the texts that they are. One other cell makes the whole column text: half of a column as
//! numbers would be sorted apart. The first row does not count, since it may be a header.

use serde::{Deserialize, Serialize};

/// Longest whole part of a number: a spreadsheet shows longer ones as powers of ten.
const WHOLE_BYTES_MAX: usize = 11;
/// Longest number: the decimals of any floating point number fit.
const NUMBER_BYTES_MAX: usize = 24;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    #[default]
    Text,
    Numbers,
    Flags,
}

impl ColumnKind {
    /// Returns the kind of a cell that is not empty.
    fn of(cell: &str) -> Self {
        match () {
            () if number(cell).is_some() => Self::Numbers,
            () if flag(cell).is_some() => Self::Flags,
            () => Self::Text,
        }
    }
}

/// Returns the number that a cell is.
pub fn number(cell: &str) -> Option<f64> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let whole = digits.split('.').next().unwrap_or_default();
    let fits = digits.starts_with(|c: char| c.is_ascii_digit())
        && cell.len() <= NUMBER_BYTES_MAX
        && whole.len() <= WHOLE_BYTES_MAX;
    let number = cell.parse::<f64>().ok().filter(|_| fits)?;
    (number.to_string() == cell).then_some(number)
}

/// Returns the truth value that a cell is.
pub fn flag(cell: &str) -> Option<bool> {
    match cell {
        "true" | "TRUE" => Some(true),
        "false" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Kinds of the columns of a file that is being read; `None` for a column with empty cells only.
#[derive(Debug, Default)]
pub struct ColumnKinds(Vec<Option<ColumnKind>>);

impl ColumnKinds {
    /// Takes a row of cells.
    pub fn row(&mut self, cells: &[String]) {
        for (column, cell) in cells.iter().enumerate() {
            self.cell(column, cell, false);
        }
    }

    /// Takes a cell. `is_text`: it is a text, whatever it looks like.
    pub fn cell(&mut self, column: usize, cell: &str, is_text: bool) {
        if self.0.len() <= column {
            self.0.resize(column + 1, None);
        }
        let known = &mut self.0[column];
        if cell.is_empty() || *known == Some(ColumnKind::Text) {
            return;
        }
        let kind = if is_text { ColumnKind::Text } else { ColumnKind::of(cell) };
        let same = known.is_none_or(|known| known == kind);
        *known = Some(if same { kind } else { ColumnKind::Text });
    }

    /// Returns the kinds, in the order of the columns.
    pub fn finish(self) -> Vec<ColumnKind> {
        self.0.into_iter().map(Option::unwrap_or_default).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ColumnKind::{Flags, Numbers, Text};
    use super::*;

    #[test]
    fn only_what_is_written_like_a_number_is_one() {
        for cell in ["0", "7", "-7", "12.5", "99999999999", "0.30000000000000004", "-0.001"] {
            assert_eq!(number(cell).map(|number| number.to_string()).as_deref(), Some(cell));
        }
        let texts = ["", "-", "01067", "1.50", "1e5", "+49", "12,5", "1 000", " 1", "NaN", "inf", "-inf", "0x1", ".5"];
        for cell in texts.into_iter().chain(["123456789012", "0.1234567890123456789012345", "１２", "=1"]) {
            assert_eq!(number(cell), None, "{cell:?}");
        }
    }

    #[test]
    fn one_other_cell_makes_a_column_text() {
        let mut kinds = ColumnKinds::default();
        let rows =
            [["1", "true", "01067", "", "1", ""], ["", "false", "50667", "", "x", "2"], ["2.5", "", "1", "", "2", ""]];
        for row in rows {
            kinds.row(&row.map(str::to_owned));
        }
        kinds.cell(5, "3", true);
        assert_eq!(kinds.finish(), [Numbers, Flags, Text, Text, Text, Text]);
    }
}
