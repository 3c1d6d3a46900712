//! Whole numbers in bodies, as JSON Schema understands them: `600.0` is the integer 600 (2020-12, section 6.1.1), which some
//! languages write for it. A fraction, a number out of range and a number as text are refused.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A whole number from 0 to 4,294,967,295.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole(pub u32);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 4294967295")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole, E> {
        u32::try_from(number).map(Whole).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole, E> {
        u32::try_from(number).map(Whole).map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Whole, E> {
        let whole = (number.fract() == 0.0).then(|| format!("{number:.0}").parse().ok()).flatten();
        whole.map(Whole).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_every_spelling() {
        let read = |text: &str| serde_json::from_str::<Whole>(text);
        let cases = [("0", 0), ("600", 600), ("600.0", 600), ("6e2", 600), ("0.0", 0), ("4294967295", u32::MAX)];
        for (text, number) in cases {
            assert_eq!(read(text).unwrap(), Whole(number), "{text}");
        }
        for refused in ["-1", "-1.0", "0.5", "4294967296", "4294967296.0", "1e300", "\"600\"", "null", "true", "[]"] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }
}
