//! The numbers that stand for organizations inside: rows are narrower with them than with the API's ids.

/// An organization's number. Given once, never shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrgNo(pub i64);

impl OrgNo {
    /// The number that belongs to an id's bits: 41 bits of its time and 22 of its random ones, so that numbers grow with
    /// time and nodes that never talk do not give the same one. Uniqueness is the table's to keep.
    pub fn of_id(bits: u128) -> Self {
        let ms = (bits >> 80) & ((1 << 41) - 1);
        let random = bits & ((1 << 22) - 1);
        Self(i64::try_from(ms << 22 | random).expect("63 bits"))
    }
}

impl crate::db::Argument for OrgNo {
    fn add(self, args: &mut crate::db::Args) {
        self.0.add(args);
    }
}
