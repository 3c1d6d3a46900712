//! Credit bookings that the operator orders, through the API or at the command line.

use std::str::FromStr;

use probity_account::credits::{CreditBucket, UNLIMITED};
use probity_contract::error::ApiError;
use probity_contract::published::operator::credits::{AdjustCredits, GrantCredits};
use probity_mail::time::Millis;

/// Maximum length of a reference, in bytes.
const REFERENCE_MAX: usize = 100;
/// Maximum credits of one booking; those of an unlimited plan.
const CREDITS_MAX: i64 = UNLIMITED;

/// Credits to grant or to adjust.
#[derive(Clone, Debug)]
pub struct CreditOrder {
    pub bucket: CreditBucket,
    /// Number of credits; negative for an adjustment that removes credits.
    pub amount: i64,
    /// Operator's reference for the booking; without one, every order books.
    pub reference: Option<Reference>,
    /// Expiry of granted subscription credits.
    pub until: Option<Until>,
}

impl TryFrom<GrantCredits> for CreditOrder {
    type Error = ApiError;

    fn try_from(grant: GrantCredits) -> Result<Self, ApiError> {
        let (bucket, reference) = (read_bucket(&grant.bucket)?, read_reference(&grant.reference)?);
        if !(1..=CREDITS_MAX).contains(&grant.amount) {
            return Err(ApiError::invalid("amount", format_args!("must be from 1 to {CREDITS_MAX}")));
        }
        if grant.until.is_some() && bucket == CreditBucket::Prepaid {
            return Err(ApiError::invalid("until", "is only for subscription credits; prepaid credits never expire"));
        }
        let until = grant.until.map(|until| Until::At(until.0));
        Ok(Self { bucket, amount: grant.amount, reference: Some(reference), until })
    }
}

impl TryFrom<AdjustCredits> for CreditOrder {
    type Error = ApiError;

    fn try_from(adjustment: AdjustCredits) -> Result<Self, ApiError> {
        let (bucket, reference) = (read_bucket(&adjustment.bucket)?, read_reference(&adjustment.reference)?);
        let amount = adjustment.amount;
        if amount == 0 || !(-CREDITS_MAX..=CREDITS_MAX).contains(&amount) {
            let bounds = format_args!("must be from -{CREDITS_MAX} to {CREDITS_MAX}, and not 0");
            return Err(ApiError::invalid("amount", bounds));
        }
        Ok(Self { bucket, amount, reference: Some(reference), until: None })
    }
}

fn read_bucket(name: &str) -> Result<CreditBucket, ApiError> {
    CreditBucket::from_name(name).ok_or_else(|| ApiError::invalid("bucket", "must be `prepaid` or `subscription`"))
}

fn read_reference(text: &str) -> Result<Reference, ApiError> {
    text.parse().map_err(|fault| ApiError::invalid("reference", fault))
}

/// Expiry of granted credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    At(Millis),
    /// Milliseconds after the grant, so that a repetition orders the same.
    After(i64),
}

impl Until {
    pub(super) fn of_grant_at(self, at: Millis) -> Millis {
        match self {
            Self::At(until) => until,
            Self::After(ms) => at + ms,
        }
    }
}

/// Operator's reference for a booking, such as an invoice number. Each reference books once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference(String);

impl Reference {
    /// Returns the booking's cause in the ledger.
    pub(super) fn cause(&self) -> String {
        format!("ref:{}", self.0)
    }
}

impl FromStr for Reference {
    type Err = NoReference;

    fn from_str(text: &str) -> Result<Self, NoReference> {
        let fits = (1..=REFERENCE_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err(NoReference) }
    }
}

/// Invalid reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {REFERENCE_MAX} printable ASCII characters without spaces")]
pub struct NoReference;

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
