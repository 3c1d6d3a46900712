//! Internal numbers of organizations: they make rows narrower than the API's ids would.

use crate::db::error::Result;
use crate::db::{Tx, args, statements};
use crate::records::TypedStatements as _;

statements! {
    LOCK = "SELECT org_no FROM org WHERE org_no = $1 {for_update}";
}

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

/// Locks an organization's row until the transaction ends, which blocks concurrent additions.
/// [`StoreError::NotFound`](crate::StoreError::NotFound): there is no such organization.
pub(crate) async fn lock(tx: &mut Tx, org: OrgNo) -> Result<()> {
    tx.one::<OrgNo>(&LOCK, args![org]).await.map(drop)
}
