//! Addresses beside the chosen column, which are not verified.

use probity_mail::address::bare_address;

use super::trimmed;
use crate::absent::addresses_in;

/// Numbers of addresses in the columns of a table.
#[derive(Clone, Debug, Default)]
pub struct OtherAddresses(Vec<u64>);

impl OtherAddresses {
    /// Counts the addresses of a row, but for those in its chosen column and their repetitions.
    pub fn row(&mut self, cells: &[String], chosen: usize) {
        let address = |cell: &str| bare_address(trimmed(cell)).to_ascii_lowercase();
        for (column, cell) in cells.iter().enumerate().filter(|(column, cell)| *column != chosen && cell.contains('@'))
        {
            let repeats = || cells.get(chosen).is_some_and(|chosen| address(chosen) == address(cell));
            let count = addresses_in(cell);
            if count > 0 && !repeats() {
                self.0.resize(self.0.len().max(column + 1), 0);
                self.0[column] += u64::try_from(count).unwrap_or(u64::MAX);
            }
        }
    }

    /// The columns that have some, with their numbers, the fullest first.
    pub fn columns(&self) -> Vec<(usize, u64)> {
        let mut columns: Vec<_> = self.0.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
        columns.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        columns
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_beside_the_chosen_column_are_counted() {
        let mut others = OtherAddresses::default();
        for row in [
            ["Ann", "a@x.org", "A@X.org", "b@x.org; c@x.org"],
            ["Bob", "", "@bob", "d@x.org"],
            ["Cid <c@x.org>", "c@x.org", "see notes @home", ""],
            ["Dee", "n/a", "Dee <d@x.org>", "e@x.org"],
        ] {
            others.row(&row.map(str::to_owned), 1);
        }
        assert_eq!((others.columns(), others.count()), (vec![(3, 4), (2, 1)], 5));
    }
}
