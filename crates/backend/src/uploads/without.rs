//! Rows of a file that are not in its job, because they have no address.

/// Rows without an address, by their numbers within the file: a bit for each row, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsWithout(Vec<u8>);

impl RowsWithout {
    pub fn of(bits: Vec<u8>) -> Self {
        Self(bits)
    }

    pub fn add(&mut self, row: i64) {
        let Some((byte, bit)) = place(row) else { return };
        if self.0.len() <= byte {
            self.0.resize(byte + 1, 0);
        }
        self.0[byte] |= bit;
    }

    pub fn has(&self, row: i64) -> bool {
        place(row).is_some_and(|(byte, bit)| self.0.get(byte).is_some_and(|bits| bits & bit != 0))
    }

    /// Returns the bits; empty if there are no such rows.
    pub fn bits(&self) -> &[u8] {
        &self.0
    }
}

fn place(row: i64) -> Option<(usize, u8)> {
    Some((usize::try_from(row / 8).ok()?, 1 << u8::try_from(row % 8).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_as_they_went_in() {
        let mut without = RowsWithout::default();
        assert!(without.bits().is_empty());
        for row in [0, 7, 8, 999_999] {
            without.add(row);
        }
        let without = RowsWithout::of(without.bits().to_vec());
        let found: Vec<i64> = (0..1_000_009).filter(|row| without.has(*row)).collect();
        assert_eq!(found, [0, 7, 8, 999_999]);
        assert!(!without.has(-1));
    }
}
