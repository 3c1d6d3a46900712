//! What put credits into an account or took them out, but for what was spent: the rows of the ledger that people ask about.

use probity_account::credits::{Bucket, Split};
use probity_mail::time::Millis;

use super::Booking;
use crate::db::{Conn, Row, Tx, args, statements};
use crate::error::{Result, StoreError};
use crate::number::OrgNo;

/// What stands for a grant that was asked for without an end: no grant ends before it was made.
const FOR_GOOD: i64 = 0;

/// What kind of a booking it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Credits were granted.
    Grant,
    /// Credits have ended.
    Expire,
    /// The account was corrected.
    Adjust,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Grant, Self::Expire, Self::Adjust];

    /// The name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Expire => "expire",
            Self::Adjust => "adjust",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = ();
    fn from_str(name: &str) -> std::result::Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or(())
    }
}

/// A row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked {
    /// What it was.
    pub kind: Kind,
    /// What caused it.
    pub cause: String,
    /// How many credits of each bucket; of a correction with its sign.
    pub amount: Split,
    /// When.
    pub at: Millis,
    /// Of a grant, until when it was asked for, none for good ([`ask_until`]); none where that is not known.
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

/// What was booked before a time, the newest first. A page ends with a whole moment, so it may have a few more than `at_most`;
/// the next begins before the last row's time.
pub async fn page(conn: &mut Conn, org: OrgNo, before: Millis, at_most: i64) -> Result<Vec<Booked>> {
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

/// Keeps until when a grant was asked for, in its transaction: what is told apart when it is asked for again.
pub async fn ask_until(tx: &mut Tx, booking: &Booking<'_>, until: Option<Millis>) -> Result<()> {
    let until = until.map_or(FOR_GOOD, |until| until.0);
    tx.execute(&ASK_UNTIL, args![booking.org, booking.cause, until]).await?;
    Ok(())
}

/// What a cause has booked; none where it has not.
pub async fn of_cause(conn: &mut Conn, org: OrgNo, kind: Kind, cause: &str) -> Result<Option<Booked>> {
    conn.first(&ONE, args![org, kind.as_str(), cause]).await?.as_ref().map(read).transpose()
}

impl Booked {
    /// Whether it is what a booking says; of a grant, with the end for which that asks.
    pub fn is(&self, booking: &Booking<'_>, until: Option<Millis>) -> bool {
        let amount = match booking.bucket {
            Bucket::Subscription => Split { subscription: booking.amount, prepaid: 0 },
            Bucket::Prepaid => Split { subscription: 0, prepaid: booking.amount },
        };
        let is_until = self.asked_until.is_none_or(|asked| asked == until);
        self.amount == amount && self.cause == booking.cause && is_until
    }
}

fn read(row: &Row) -> Result<Booked> {
    let (kind, until): (String, Option<i64>) = (row.get("kind")?, row.get("asked_until")?);
    Ok(Booked {
        kind: kind.parse().map_err(|()| StoreError::corrupt("the kind of a booking"))?,
        cause: row.get("ref")?,
        amount: Split { subscription: row.get("subscription")?, prepaid: row.get("prepaid")? },
        at: Millis(row.get("at")?),
        asked_until: until.map(|until| (until != FOR_GOOD).then_some(Millis(until))),
    })
}
