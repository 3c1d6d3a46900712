//! Location of a row for users: a line of a text, or a row of a sheet.

/// Translates lines of the text that is read. A sheet is read as CSV, without its blank rows and with line breaks in cells.
#[derive(Debug, Default)]
pub(super) struct RowPlaces {
    /// For a sheet: lines of its CSV, each with the row that begins there. Rows between two entries follow line by line.
    of_sheet: Option<Vec<(u64, u64)>>,
    /// Lines of CSV so far.
    #[cfg(feature = "xlsx")]
    lines: u64,
}

impl RowPlaces {
    #[cfg(feature = "xlsx")]
    pub(super) fn of_sheet() -> Self {
        Self { of_sheet: Some(Vec::new()), lines: 0 }
    }

    /// Adds a row of the sheet, with the record created from it.
    #[cfg(feature = "xlsx")]
    pub(super) fn add(&mut self, row: u64, record: &[u8]) {
        let line = self.lines + 1;
        let is_next = self.of(line) == row;
        if let Some(rows) = self.of_sheet.as_mut().filter(|_| !is_next) {
            rows.push((line, row));
        }
        let ends = |at: usize| match record[at] {
            b'\r' => record.get(at + 1) != Some(&b'\n'),
            byte => byte == b'\n',
        };
        self.lines += u64::try_from((0..record.len()).filter(|at| ends(*at)).count()).unwrap_or(u64::MAX);
    }

    pub(super) fn is_of_sheet(&self) -> bool {
        self.of_sheet.is_some()
    }

    fn of(&self, line: u64) -> u64 {
        let rows = self.of_sheet.as_deref().unwrap_or_default();
        let at = rows.partition_point(|(first, _)| *first <= line).checked_sub(1);
        at.map_or(line, |at| rows[at].1 + line - rows[at].0)
    }

    /// Names the place of a line.
    pub(super) fn name(&self, line: u64) -> String {
        let place = if self.is_of_sheet() { "row" } else { "line" };
        format!("{place} {}", self.of(line))
    }
}

#[cfg(all(test, feature = "xlsx"))]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_sheet_have_the_numbers_of_the_sheet() {
        let mut places = RowPlaces::of_sheet();
        let rows =
            [(1, "a\n"), (2, "\"b\r\nc\rd\"\n"), (3, "e\n"), (7, "f\n"), (8, "g\n"), (9, "\"h\n\"\n"), (10, "i\n")];
        for (row, record) in rows {
            places.add(row, record.as_bytes());
        }
        let names = [1, 2, 5, 6, 7, 8, 10].map(|line| places.name(line));
        assert_eq!(names, [1, 2, 3, 7, 8, 9, 10].map(|row| format!("row {row}")));
        assert_eq!(places.of_sheet.unwrap().len(), 3, "rows that follow each other need no entry");
        assert_eq!(RowPlaces::default().name(7), "line 7");
    }
}
