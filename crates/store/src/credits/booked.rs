//! Ledger rows for credits added to or removed from an account, other than by spending: the rows that users ask about.

use probity_account::credits::{CreditBucket, Split};
use probity_mail::time::Millis;

use super::CreditBooking;
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, Tx, args, statements};
use crate::number::OrgNo;
use crate::records::record;

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
    let rows = conn.rows(&PAGE, args![org, before, at_most]).await?;
    let mut page = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    let Some(last) = page.last().map(|row| row.at) else { return Ok(page) };
    page.retain(|row| row.at > last);
    let moment = conn.rows(&MOMENT, args![org, last]).await?;
    let mut moment = moment.iter().map(read).collect::<Result<Vec<_>>>()?;
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
    conn.first(&ONE, args![org, kind.as_str(), cause]).await?.as_ref().map(read).transpose()
}

impl LedgerBooking {
    /// Whether it matches a booking; for a grant, including the requested end.
    pub fn is(&self, booking: &CreditBooking<'_>, until: Option<Millis>) -> bool {
        let amount = match booking.bucket {
            CreditBucket::Subscription => Split { subscription: booking.amount, prepaid: 0 },
            CreditBucket::Prepaid => Split { subscription: 0, prepaid: booking.amount },
        };
        let is_until = self.asked_until.is_none_or(|asked| asked == until);
        self.amount == amount && self.cause == booking.cause && is_until
    }
}

fn read(row: &ResultRow) -> Result<LedgerBooking> {
    let until: Option<i64> = row.get("asked_until")?;
    Ok(record!(row => LedgerBooking {
        kind, cause = "ref", at;
        amount: record!(row => Split { subscription, prepaid }),
        asked_until: until.map(|until| (until != FOR_GOOD).then_some(Millis(until))),
    }))
}
