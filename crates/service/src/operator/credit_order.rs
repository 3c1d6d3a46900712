//! Credit bookings that the operator orders, through the API or at the command line.

use probity_account::credits::{CreditBucket, UNLIMITED as CREDITS_MAX};
use probity_contract::error::ApiError;
use probity_contract::published::operator::credits::{AdjustCredits, GrantCredits};
use probity_mail::time::Millis;

/// Maximum length of a reference, in bytes.
const REFERENCE_MAX: usize = 100;

/// Credits to grant or to adjust, checked.
#[derive(Clone, Debug)]
pub struct CreditOrder {
    pub(super) bucket: CreditBucket,
    /// Number of credits; negative for an adjustment that removes credits.
    pub(super) amount: i64,
    /// Operator's reference for the booking, such as an invoice number; without one, every order books.
    pub(super) reference: Option<String>,
    /// Expiry of granted subscription credits.
    pub(super) until: Option<Until>,
}

impl CreditOrder {
    /// Orders a grant. Whether `until` has passed depends on earlier grants, so the act checks it.
    pub fn grant(
        bucket: CreditBucket,
        amount: i64,
        until: Option<Until>,
        reference: Option<String>,
    ) -> Result<Self, ApiError> {
        let reference = reference.map(read_reference).transpose()?;
        if !(1..=CREDITS_MAX).contains(&amount) {
            return Err(ApiError::invalid("amount", format_args!("must be from 1 to {CREDITS_MAX}")));
        }
        if until.is_some() && bucket == CreditBucket::Prepaid {
            return Err(ApiError::invalid("until", "is only for subscription credits; prepaid credits never expire"));
        }
        Ok(Self { bucket, amount, reference, until })
    }

    /// Orders an adjustment.
    pub fn adjustment(bucket: CreditBucket, amount: i64, reference: Option<String>) -> Result<Self, ApiError> {
        let reference = reference.map(read_reference).transpose()?;
        if amount == 0 || !(-CREDITS_MAX..=CREDITS_MAX).contains(&amount) {
            let bounds = format_args!("must be from -{CREDITS_MAX} to {CREDITS_MAX}, and not 0");
            return Err(ApiError::invalid("amount", bounds));
        }
        Ok(Self { bucket, amount, reference, until: None })
    }
}

impl TryFrom<GrantCredits> for CreditOrder {
    type Error = ApiError;

    fn try_from(grant: GrantCredits) -> Result<Self, ApiError> {
        let until = grant.until.map(|until| Until::At(until.0));
        Self::grant(read_bucket(&grant.bucket)?, grant.amount, until, Some(grant.reference))
    }
}

impl TryFrom<AdjustCredits> for CreditOrder {
    type Error = ApiError;

    fn try_from(adjustment: AdjustCredits) -> Result<Self, ApiError> {
        Self::adjustment(read_bucket(&adjustment.bucket)?, adjustment.amount, Some(adjustment.reference))
    }
}

fn read_bucket(name: &str) -> Result<CreditBucket, ApiError> {
    CreditBucket::from_name(name).ok_or_else(|| ApiError::invalid("bucket", "must be `prepaid` or `subscription`"))
}

fn read_reference(text: String) -> Result<String, ApiError> {
    let fits = (1..=REFERENCE_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    let form = || format!("must have 1 to {REFERENCE_MAX} printable ASCII characters without spaces");
    if fits { Ok(text) } else { Err(ApiError::invalid("reference", form())) }
}

/// Future time, as an operator enters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    At(Millis),
    /// Milliseconds from now, so that a repeated order is equal.
    After(i64),
}

impl Until {
    pub fn from(self, now: Millis) -> Millis {
        match self {
            Self::At(until) => until,
            Self::After(ms) => now + ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_short_and_plain() {
        for (text, fits) in [("INV-2027/1", true), ("", false), ("a b", false), ("ä", false), ("a\n", false)] {
            assert_eq!(read_reference(text.to_owned()).is_ok(), fits, "{text:?}");
        }
        assert!(read_reference("x".repeat(REFERENCE_MAX)).is_ok());
        assert!(read_reference("x".repeat(REFERENCE_MAX + 1)).is_err());
    }
}
