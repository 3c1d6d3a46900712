//! Credits that the operator puts in or takes out, and what the ledger says of them.

use std::str::FromStr;

use probity_account::credits::{Balance, Bucket};
use probity_account::id::Id;
use probity_mail::time::Millis;
use probity_store::credits::booked::{self, Kind};
use probity_store::credits::{self, Booking};
use probity_store::events::{AccountEvent, Actor};
use probity_store::organization::{self, Org};
use probity_store::{Result, ScopedFutureExt as _, StoreError, Tx, plans};

use crate::admin::{Admin, happened};

pub use probity_store::credits::booked::Booked;

/// The longest reference, in bytes.
const REFERENCE_MAX: usize = 100;

/// The operator's own name for a booking, such as the number of an invoice: with the same one it is booked once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference(String);

impl Reference {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Reference {
    type Err = NoReference;
    fn from_str(text: &str) -> std::result::Result<Self, NoReference> {
        let fits = (1..=REFERENCE_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err(NoReference) }
    }
}

/// A text that is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {REFERENCE_MAX} printable ASCII characters without spaces")]
pub struct NoReference;

/// What is to be booked.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Which credits.
    pub bucket: Bucket,
    /// How many; of a correction with its sign.
    pub amount: i64,
    /// The operator's name for it; none where it is never repeated.
    pub reference: Option<&'a Reference>,
}

impl Asked<'_> {
    /// Without a reference.
    pub fn plain(bucket: Bucket, amount: i64) -> Self {
        Self { bucket, amount, reference: None }
    }
}

/// When credits are to end that are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Then.
    At(Millis),
    /// So many milliseconds after they are granted.
    After(i64),
}

impl Until {
    fn of_grant_at(self, at: Millis) -> Millis {
        match self {
            Self::At(until) => until,
            Self::After(ms) => at + ms,
        }
    }
}

/// Why nothing was booked.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The reference stands at another booking.
    #[error("the reference is already used for another booking of this organization; choose another")]
    ReferenceUsed,
    /// A month has ended, and the next cannot begin yet: as it begins, it would end what came in before.
    #[error(
        "the organization's month has ended, and the start of the next one would end these credits. First lift the \
         restriction or select a configured plan, or book prepaid credits instead"
    )]
    MonthWaits,
    /// The database, or the account does not cover it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Admin {
    /// Grants credits; those of a subscription end at `until` or, on a plan whose months end, with the month that runs.
    pub async fn grant(&self, org: &Org, bucket: Bucket, amount: i64, until: Option<Millis>) -> Result<Balance> {
        match self.grant_once(org, Asked::plain(bucket, amount), until.map(Until::At)).await {
            Ok((balance, _)) => Ok(balance),
            Err(BookError::Store(error)) => Err(error),
            Err(BookError::ReferenceUsed | BookError::MonthWaits) => Err(StoreError::Conflict),
        }
    }

    /// Corrects an account up or down.
    pub async fn adjust(&self, org: &Org, bucket: Bucket, amount: i64) -> Result<Balance> {
        match self.adjust_once(org, Asked::plain(bucket, amount)).await {
            Ok((balance, _)) => Ok(balance),
            Err(BookError::Store(error)) => Err(error),
            Err(BookError::ReferenceUsed | BookError::MonthWaits) => Err(StoreError::Conflict),
        }
    }

    /// Grants credits once for a reference; says whether it was now. The same reference with another amount or end is another
    /// booking, on whatever plan.
    pub async fn grant_once(
        &self,
        org: &Org,
        asked: Asked<'_>,
        until: Option<Until>,
    ) -> std::result::Result<(Balance, bool), BookError> {
        self.book(org, asked, Kind::Grant, until).await
    }

    /// Corrects an account once for a reference; says whether it was now.
    pub async fn adjust_once(&self, org: &Org, asked: Asked<'_>) -> std::result::Result<(Balance, bool), BookError> {
        self.book(org, asked, Kind::Adjust, None).await
    }

    /// Whether credits were granted for a reference.
    pub async fn has_granted(&self, org: &Org, reference: &Reference) -> Result<bool> {
        let cause = self.cause(Some(reference));
        let before = booked::of_cause(&mut self.instance.store.read().await?, org.no, Kind::Grant, &cause).await?;
        Ok(before.is_some())
    }

    /// When an organization's subscription credits end; none where they stay.
    pub async fn subscription_end(&self, org: &Org) -> Result<Option<Millis>> {
        credits::subscription_end(&mut self.instance.store.read().await?, org.no).await
    }

    async fn book(
        &self,
        org: &Org,
        asked: Asked<'_>,
        kind: Kind,
        until: Option<Until>,
    ) -> std::result::Result<(Balance, bool), BookError> {
        let at = self.now();
        let cause = self.cause(asked.reference);
        let booking = Booking { org: org.no, bucket: asked.bucket, amount: asked.amount, cause: &cause, at };
        let booked = self.instance.store.write(|tx| self.put(tx, &booking, kind, until).scope_boxed());
        let now = match booked.await {
            Ok(true) => true,
            // The reference counts first: what was booked may not be covered a second time, or its month may be over.
            refused @ (Ok(false) | Err(StoreError::Conflict | StoreError::InsufficientCredits { .. })) => {
                let before = booked::of_cause(&mut self.instance.store.read().await?, org.no, kind, &cause).await?;
                match (before, refused) {
                    (Some(before), _) if before.is(&booking, until.map(|until| until.of_grant_at(before.at))) => false,
                    (Some(_), _) => return Err(BookError::ReferenceUsed),
                    (None, Err(error)) => return Err(error.into()),
                    (None, Ok(_)) => return Err(BookError::MonthWaits),
                }
            }
            Err(error) => return Err(error.into()),
        };
        Ok((self.balance(org).await?, now))
    }

    /// Books within a transaction. More for a subscription lies in the month that has begun, whether or not the upkeep has come to
    /// that; false where the month cannot begin now.
    async fn put(&self, tx: &mut Tx, booking: &Booking<'_>, kind: Kind, until: Option<Until>) -> Result<bool> {
        let Booking { org: no, bucket, amount, at, .. } = *booking;
        let mut org = organization::lock(tx, no).await?;
        if bucket == Bucket::Subscription && amount > 0 {
            plans::renew(tx, no, &self.plans, at).await?;
            org = organization::by_no(tx, no).await?;
            if self.waits_for_month(&org, at) {
                return Ok(false);
            }
        }
        let event = match kind {
            Kind::Adjust => {
                credits::adjust(tx, booking).await?;
                AccountEvent::CreditsAdjusted
            }
            Kind::Grant | Kind::Expire => {
                let asked = until.map(|until| until.of_grant_at(at));
                credits::grant(tx, booking, self.end_of_month(&org, at).or(asked)).await?;
                booked::ask_until(tx, booking, asked).await?;
                AccountEvent::CreditsGranted
            }
        };
        happened(tx, no, at, Actor::Staff, event).await?;
        Ok(true)
    }

    /// What was booked before a time, the newest first: grants, corrections and what has ended, not what was spent. A page ends
    /// with a whole moment, so it may be a little longer than `at_most`.
    pub async fn bookings(&self, org: &Org, before: Option<Millis>, at_most: u32) -> Result<Vec<Booked>> {
        let before = before.unwrap_or(Millis(i64::MAX));
        booked::page(&mut self.instance.store.read().await?, org.no, before, i64::from(at_most)).await
    }

    /// A cause of its own for each act without a reference.
    fn cause(&self, reference: Option<&Reference>) -> String {
        if let Some(reference) = reference {
            return format!("ref:{}", reference.as_str());
        }
        let id: Id<probity_account::id::Event> = crate::random::id(self.now());
        format!("staff:{id}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_short_and_plain() {
        for (text, fits) in [("INV-2027/1", true), ("", false), ("a b", false), ("ä", false), ("a\n", false)] {
            assert_eq!(text.parse::<Reference>().is_ok(), fits, "{text:?}");
        }
        assert!("x".repeat(REFERENCE_MAX).parse::<Reference>().is_ok());
        assert!("x".repeat(REFERENCE_MAX + 1).parse::<Reference>().is_err());
    }
}
