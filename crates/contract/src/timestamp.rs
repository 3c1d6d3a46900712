//! Timestamps in requests and responses: ISO 8601, with the milliseconds of [`Millis`].
//!
//! Requests may use any offset (RFC 3339). Responses always end in `Z` and have 3 decimals, so that two timestamps compare as
//! text. A time without an offset is rejected, because it is ambiguous.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use probity_mail::time::Millis;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

use crate::schema::describe;

/// Zero of [`Millis`].
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Timestamp in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Millis);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339())
    }
}

impl From<Millis> for Timestamp {
    fn from(at: Millis) -> Self {
        Self(at)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl FromStr for Timestamp {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        // Parsed as date, time and offset: jiff's timestamps end a day before 9999-12-31, which people write for "never".
        let pieces = Pieces::parse(text).map_err(|_| NoTime)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else { return Err(NoTime) };
        let there = pieces.date().to_datetime(time).duration_since(EPOCH);
        let ms = there.as_millis() - i128::from(offset.seconds()) * 1_000;
        i64::try_from(ms).map(|ms| Self(Millis(ms))).map_err(|_| NoTime)
    }
}

/// Error for a text that is not a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO 8601 time with an offset, such as 2027-01-31T12:00:00Z")]
pub struct NoTime;

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

describe!(
    Timestamp = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("Time in ISO 8601; responses use UTC."))
        .examples(["2026-11-21T09:00:00.000Z"])
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_goes_out_in_utc_with_milliseconds() {
        for (ms, text) in [(0, "1970-01-01T00:00:00.000Z"), (1_795_251_600_123, "2026-11-21T09:00:00.123Z")] {
            assert_eq!(Timestamp(Millis(ms)).to_string(), text);
            assert_eq!(serde_json::to_value(Timestamp(Millis(ms))).unwrap(), text);
        }
        assert!(Timestamp(Millis(i64::MAX)).to_string().starts_with("9999-"));
    }

    #[test]
    fn a_time_comes_in_with_any_offset() {
        let parse = |text: &str| serde_json::from_value::<Timestamp>(text.into());
        assert_eq!(parse("1970-01-01T01:00:00+01:00").unwrap(), Timestamp(Millis(0)));
        assert_eq!(parse("1970-01-01T00:00:00.5Z").unwrap(), Timestamp(Millis(500)));
        for (last, ms) in [
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("9999-12-31T23:59:59+14:00", 253_402_300_799_000 - 50_400_000),
            ("9999-12-30T12:00:00-05:00", 253_402_189_200_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ] {
            assert_eq!(parse(last).unwrap(), Timestamp(Millis(ms)), "{last}");
        }
        for refused in [
            "",
            "tomorrow",
            "2027-01-31",
            "2027-01-31Z",
            "2027-02-30T12:00:00Z",
            "2027-01-31T12:00:00[UTC]",
            "2027-01-31T12:00:00",
            "1795251600",
        ] {
            assert!(parse(refused).is_err(), "{refused:?}");
        }
    }
}
