//! Irregularities of an input: counted while it is read, and reported afterwards with the first line of each.

use probity_lists::absent::Absence;
use probity_lists::column::OtherAddresses;
use probity_lists::remarks::{Oddity, TextRemarks};
use probity_lists::rows::{Layout, TextForm};

use super::UNREADABLE_ROW;
use super::places::RowPlaces;

/// Maximum length of a column's name in a note, in characters, and maximum number of columns named.
const NAME_CHARS: usize = 40;
const COLUMNS_NAMED: usize = 5;

/// Irregularities of the input.
#[derive(Debug, Default)]
pub(super) struct InputOddities {
    pub(super) width: usize,
    pub(super) suffix: String,
    pub(super) ragged: Oddity,
    /// Rows without an address.
    pub(super) missing: Oddity,
    /// Rows with several addresses in one cell, and the number of addresses in the first of them.
    pub(super) several: Oddity,
    pub(super) in_cell: usize,
    /// Rows whose address is in a guessed encoding.
    pub(super) guessed: Oddity,
    pub(super) unreadable: Oddity,
    /// Reason why the first unreadable line could not be read.
    pub(super) why_unreadable: String,
    /// Rows with text that resembles an address.
    pub(super) addresses: u64,
    /// Addresses in other columns of CSV.
    pub(super) others: OtherAddresses,
}

impl InputOddities {
    pub(super) fn unreadable(&mut self, line: u64, why: String) {
        if self.unreadable.count == 0 {
            self.why_unreadable = why;
        }
        self.unreadable.meet(line);
    }

    /// Counts a row that is left out.
    pub(super) fn left_out(&mut self, absence: Absence, line: u64) {
        match absence {
            Absence::Blank => self.missing.meet(line),
            Absence::Guess => self.guessed.meet(line),
            Absence::Several(count) => {
                if self.several.count == 0 {
                    self.in_cell = count;
                }
                self.several.meet(line);
            }
        }
    }

    /// Returns the reason why nothing of the input can be verified.
    pub(super) fn refusal(&self, rows: u32, column: usize, layout: &Layout) -> Option<String> {
        if rows == 0 && self.unreadable.count > 0 {
            let (line, why) = (self.unreadable.line, &self.why_unreadable);
            return Some(format!("no line is a JSON object with an address; line {line}: {why}"));
        }
        if self.addresses > 0 || self.several.count + self.guessed.count > 0 || (rows == 0 && self.missing.count == 0) {
            return None;
        }
        let place = if column > 0 { format!(" in column {}", column + 1) } else { String::new() };
        Some(format!("no row has an address{place}{}", better_column(layout, Some(column))))
    }

    fn several_warning(&self, places: &RowPlaces) -> Option<String> {
        let one = format!("row has {} addresses in one cell and is left out", self.in_cell);
        let many = "rows have several addresses in one cell and are left out";
        warning(self.several, [&one, many], "", "; give each address a row of its own", places)
    }

    /// Warning about addresses in other columns, given the header.
    pub(super) fn others_warning(&self, header: &[String]) -> Option<String> {
        let columns = self.others.columns();
        let (first, _) = columns.first()?;
        let name = |column: usize| header.get(column).map(|name| name.trim()).filter(|name| !name.is_empty());
        let named = |(column, count): &(usize, u64)| {
            let short = name(*column).map(|name| name.chars().take(NAME_CHARS).collect::<String>());
            let name = short.map(|name| format!(" \"{}\"", crate::output::plain(&name))).unwrap_or_default();
            format!("column {}{name} has {count}", column + 1)
        };
        let these = columns.iter().take(COLUMNS_NAMED).map(named).collect::<Vec<_>>().join(", ");
        let (are, count) = match self.others.count() {
            1 => ("address in another column is", 1),
            count => ("addresses in other columns are", count),
        };
        Some(format!("{count} {are} not verified: {these}; --column {} verifies those of that column", first + 1))
    }

    pub(super) fn warnings(&self, column: usize, places: &RowPlaces) -> Vec<String> {
        // A row of a sheet ends with its last text.
        let ragged = if places.is_of_sheet() { Oddity::default() } else { self.ragged };
        let padded = format!("; all rows were padded to {} fields", self.width);
        let place = if column > 0 { format!(" (column {})", column + 1) } else { String::new() };
        let left_out = [format!("row has no address{place} and is"), format!("rows have no address{place} and are")];
        let guessed = [
            "row has an address in an unknown encoding and is left out",
            "rows have addresses in an unknown encoding and are left out",
        ];
        let unreadable = ["line could not be read and gets `invalid`", "lines could not be read and get `invalid`"];
        let (meta, why) = (format!(" ({UNREADABLE_ROW})"), format!(": {}", self.why_unreadable));
        let all = [
            warning(ragged, ["row differs", "rows differ"], " in the number of fields", &padded, places),
            warning(self.missing, left_out.each_ref().map(String::as_str), " left out", "", places),
            self.several_warning(places),
            warning(self.guessed, guessed, "", "; name it with --encoding to verify them", places),
            warning(self.unreadable, unreadable, &meta, &why, places),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Warnings about the text itself. `other`: encoding of its lines that are not UTF-8.
pub(super) fn remarked(remarks: &TextRemarks, other: Option<&str>, places: &RowPlaces) -> Vec<String> {
    let TextRemarks { foreign, nuls, hidden, stray, spanned, .. } = *remarks;
    let other = other.map(|other| format!(" read as {}", other.replace("windows", "Windows")));
    let not_utf8 = ["line is not UTF-8 and was", "lines are not UTF-8 and were"];
    let unclosed = ["quote is never closed and was", "quotes are never closed and were"];
    let lines = ["row spans several lines with addresses", "rows span several lines with addresses"];
    let all = [
        other.and_then(|other| warning(foreign, not_utf8, &other, "", places)),
        warning(nuls, ["row has", "rows have"], " NUL characters", "", places),
        warning(
            hidden,
            ["row has", "rows have"],
            " hidden characters around an address",
            "; clean these cells",
            places,
        ),
        warning(stray, unclosed, " ignored", "", places),
        warning(spanned, lines, "", "; check the quotes there", places),
    ];
    all.into_iter().flatten().collect()
}

/// Formats a warning: the number in singular or plural, the noun, and the place of the only or first one.
fn warning(
    Oddity { count, line }: Oddity,
    [one, many]: [&str; 2],
    what: &str,
    then: &str,
    places: &RowPlaces,
) -> Option<String> {
    let (these, place) = if count == 1 { (one, "in") } else { (many, "the first in") };
    (count > 0).then(|| format!("{count} {these}{what}, {place} {}{then}", places.name(line)))
}

/// Names the column that has addresses, if the requested one has none or does not exist.
pub(super) fn better_column(layout: &Layout, column: Option<usize>) -> String {
    match layout.sample.column(None, false) {
        Ok((better, _)) if Some(better) != column && layout.sample.addresses() > 0 && layout.form == TextForm::Csv => {
            format!("; set --column {}", better + 1)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_is_told_in_the_singular() {
        let mut oddities = InputOddities { width: 3, ..InputOddities::default() };
        oddities.ragged.meet(4);
        oddities.missing.meet(5);
        oddities.unreadable(6, "no JSON".to_owned());
        assert_eq!(
            oddities.warnings(0, &RowPlaces::default()),
            [
                "1 row differs in the number of fields, in line 4; all rows were padded to 3 fields".to_owned(),
                "1 row has no address and is left out, in line 5".to_owned(),
                format!("1 line could not be read and gets `invalid` ({UNREADABLE_ROW}), in line 6: no JSON"),
            ]
        );
        oddities.left_out(Absence::Several(3), 7);
        oddities.left_out(Absence::Guess, 8);
        assert_eq!(
            oddities.warnings(0, &RowPlaces::default())[2..4],
            [
                "1 row has 3 addresses in one cell and is left out, in line 7; give each address a row of its own",
                "1 row has an address in an unknown encoding and is left out, in line 8; name it with --encoding to verify them",
            ]
        );
        assert_eq!(oddities.others_warning(&[]), None);
        let names = ["email", "E-mail 2", ""].map(str::to_owned);
        oddities.others.row(&["a@x.org", "", "b@x.org"].map(str::to_owned), 0);
        oddities.others.row(&["", "c@x.org", "d@x.org"].map(str::to_owned), 0);
        assert_eq!(
            oddities.others_warning(&names).as_deref(),
            Some(
                "3 addresses in other columns are not verified: column 3 has 2, column 2 \"E-mail 2\" has 1; --column 3 verifies those of that column"
            ),
        );
        oddities.missing.meet(9);
        assert_eq!(
            oddities.warnings(1, &RowPlaces::default())[1],
            "2 rows have no address (column 2) and are left out, the first in line 5"
        );
    }
}
