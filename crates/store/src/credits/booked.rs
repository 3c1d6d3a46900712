//! Ledger rows for credits added to or removed from an account, other than by spending: the rows that users ask about.

use probity_account::credits::Split;
use probity_mail::time::Millis;

use super::{CreditBooking, in_bucket};
use crate::db::error::Result;
use crate::db::{Conn, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::{TypedStatements as _, records};

/// Marks a grant requested without an end: no grant ends before it was made.
const FOR_GOOD: i64 = 0;

probity_mail::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BookingKind {
        Grant = "grant",
        Expire = "expire",
        /// Manual correction.
        Adjust = "adjust",
    }
}
crate::records::names!(BookingKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerBooking {
    pub kind: BookingKind,
    pub cause: String,
    /// Credits of each bucket; signed for a correction.
    pub amount: Split,
    pub at: Millis,
    /// Requested end of a grant, inner `None` for no end ([`ask_until`]); outer `None` if unknown.
    pub asked_until: Option<Option<Millis>>,
}

statements! {
    PAGE = "SELECT kind, ref, subscription, prepaid, at, asked_until FROM ledger \
            WHERE org_no = $1 AND kind IN ('grant', 'expire', 'adjust') AND at < $2 ORDER BY at DESC LIMIT $3";
    MOMENT = "SELECT kind, ref, subscription, prepaid, at, asked_until FROM ledger \
              WHERE org_no = $1 AND kind IN ('grant', 'expire', 'adjust') AND at = $2";
    ASK_UNTIL = "UPDATE ledger SET asked_until = $3 WHERE org_no = $1 AND kind = 'grant' AND ref = $2";
    ONE = "SELECT kind, ref, subscription, prepaid, at, asked_until FROM ledger WHERE org_no = $1 AND kind = $2 AND ref = $3";
}

/// Bookings before a time, newest first. A page includes all rows of its last moment, so it may exceed `at_most`; the next page
/// begins before the last row's time.
pub async fn page(conn: &mut Conn, org: OrgNo, before: Millis, at_most: i64) -> Result<Vec<LedgerBooking>> {
    let mut page: Vec<LedgerBooking> = conn.all(&PAGE, args![org, before, at_most]).await?;
    let Some(last) = page.last().map(|row| row.at) else { return Ok(page) };
    page.retain(|row| row.at > last);
    let mut moment: Vec<LedgerBooking> = conn.all(&MOMENT, args![org, last]).await?;
    moment.sort_by(|a, b| (a.kind.as_str(), &a.cause).cmp(&(b.kind.as_str(), &b.cause)));
    page.extend(moment);
    Ok(page)
}

/// Stores the requested end of a grant, in its transaction, to compare it with a repeated request.
pub async fn ask_until(tx: &mut Tx, booking: &CreditBooking<'_>, until: Option<Millis>) -> Result<()> {
    let until = until.map_or(FOR_GOOD, |until| until.0);
    tx.execute(&ASK_UNTIL, args![booking.org, booking.cause, until]).await.map(drop)
}

/// The booking of a cause, if there is one.
pub async fn of_cause(conn: &mut Conn, org: OrgNo, kind: BookingKind, cause: &str) -> Result<Option<LedgerBooking>> {
    conn.find(&ONE, args![org, kind, cause]).await
}

impl LedgerBooking {
    /// Whether it matches a booking; for a grant, including the requested end.
    pub fn is(&self, booking: &CreditBooking<'_>, until: Option<Millis>) -> bool {
        let is_until = self.asked_until.is_none_or(|asked| asked == until);
        self.amount == in_bucket(booking.bucket, booking.amount) && self.cause == booking.cause && is_until
    }
}

records!(row => LedgerBooking {
    kind, cause = "ref", at;
    amount: row.record()?,
    asked_until: row.get::<Option<i64>>("asked_until")?.map(|until| (until != FOR_GOOD).then_some(Millis(until))),
});
