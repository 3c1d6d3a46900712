//! Internal numbers of organizations: they make rows narrower than the API's ids would.

/// An organization's number. Assigned once, never shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrgNo(pub i64);

impl OrgNo {
    /// Derives the number from an id's bits: 41 bits of its time and 22 of its random bits. So numbers grow with time, and
    /// independent nodes do not assign the same one. The table enforces uniqueness.
    pub fn of_id(bits: u128) -> Self {
        let ms = (bits >> 80) & ((1 << 41) - 1);
        let random = bits & ((1 << 22) - 1);
        Self(i64::try_from(ms << 22 | random).expect("63 bits"))
    }
}

impl crate::db::StatementArgument for OrgNo {
    fn add(self, args: &mut crate::db::StatementArgs) {
        self.0.add(args);
    }
}
