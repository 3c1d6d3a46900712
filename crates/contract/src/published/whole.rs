//! Whole numbers in bodies, as JSON Schema defines them: `600.0` is the integer 600 (2020-12, section 6.1.1), as some languages
//! write it. Fractions and numbers as text are rejected.
//!
//! Deserialization accepts a number of any size. The field checks its bounds ([`Whole::within`]), so that the error names them.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::error::ApiError;

/// Whole number. A number beyond 64 bits is capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole(pub i64);

impl Whole {
    /// Returns the number if it is within the bounds of its field. `besides` names other allowed values in the error, such as
    /// `, or null`.
    pub fn within(self, field: &str, least: u32, most: u32, besides: &str) -> Result<i64, ApiError> {
        if (i64::from(least)..=i64::from(most)).contains(&self.0) {
            return Ok(self.0);
        }
        Err(ApiError::invalid(field, format_args!("must be a whole number from {least} to {most}{besides}")))
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(WholeReader)
    }
}

struct WholeReader;

impl de::Visitor<'_> for WholeReader {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole, E> {
        Ok(Whole(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole, E> {
        Ok(Whole(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Whole, E> {
        if number.fract() != 0.0 {
            return Err(E::invalid_value(de::Unexpected::Float(number), &self));
        }
        let outermost = if number < 0.0 { i64::MIN } else { i64::MAX };
        Ok(Whole(format!("{number:.0}").parse().unwrap_or(outermost)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_every_spelling() {
        let read = |text: &str| serde_json::from_str::<Whole>(text);
        let cases = [
            ("0", 0),
            ("600", 600),
            ("600.0", 600),
            ("6e2", 600),
            ("0.0", 0),
            ("-0.0", 0),
            ("-1", -1),
            ("-1.0", -1),
            ("4294967296", 4_294_967_296),
            ("18446744073709551615", i64::MAX),
            ("1e300", i64::MAX),
            ("-1e300", i64::MIN),
        ];
        for (text, number) in cases {
            assert_eq!(read(text).unwrap(), Whole(number), "{text}");
        }
        for refused in ["0.5", "-0.5", "\"600\"", "null", "true", "[]"] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_refusal_names_the_bounds_that_hold() {
        assert_eq!(Whole(1).within("seats", 1, 9, "").unwrap(), 1);
        assert_eq!(Whole(9).within("seats", 1, 9, "").unwrap(), 9);
        for refused in [i64::MIN, -1, 0, 10, i64::MAX] {
            let refused = Whole(refused).within("seats", 1, 9, ", or null").unwrap_err();
            assert_eq!(refused.message(), "seats: must be a whole number from 1 to 9, or null");
        }
    }
}
