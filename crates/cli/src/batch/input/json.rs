//! One field of a JSON object, without building the object.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// Under this key our answer is put into an object of the caller.
pub(crate) const ANSWER_KEY: &str = "probity";
/// Fields that are taken for the address where none is named, the first that is there.
const NAMES: &[&str] = &["email", "Email", "email_address", "emailAddress", "e-mail", "mail", "address"];

/// What one line brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The address; none where the field is missing, null or no text.
    pub email: Option<String>,
    /// Whether the object has a field where our answer would go.
    pub taken: bool,
    /// Whether the object has no field at all.
    pub empty: bool,
}

/// Looks for the address in one line; the error says what is wrong with the line.
pub(crate) fn find(line: &str, field: Option<&str>) -> Result<Found, String> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let found = Search { field }.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(found)
}

struct Search<'a> {
    field: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found { empty: true, ..Found::default() };
        let mut rank = usize::MAX;
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            found.empty = false;
            found.taken |= key == ANSWER_KEY;
            let this = match self.field {
                Some(field) => {
                    if field == key {
                        0
                    } else {
                        usize::MAX
                    }
                }
                None => NAMES.iter().position(|name| *name == key).unwrap_or(usize::MAX),
            };
            if this < rank {
                rank = this;
                found.email = map.next_value::<Text>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A text, or anything else as nothing.
struct Text(Option<String>);

impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_str().map(str::to_owned)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_found_wherever_it_is() {
        let email = |line: &str, field| find(line, field).unwrap().email;
        assert_eq!(email(r#"{"id":1,"email":"a@x.org","x":{"email":"no"}}"#, None).unwrap(), "a@x.org");
        assert_eq!(email(r#"{"mail":"b@x.org","email":"a@x.org"}"#, None).unwrap(), "a@x.org");
        assert_eq!(email(r#"{"to":"a\u0040x.org"}"#, Some("to")).unwrap(), "a@x.org");
        assert_eq!(email(r#"{"email":null}"#, None), None);
        assert_eq!(email(r#"{"email":[1]}"#, None), None);
        assert!(find(r#"{"probity":1}"#, None).unwrap().taken);
        assert!(find("{}", None).unwrap().empty);
    }

    #[test]
    fn what_is_no_object_is_said() {
        for line in ["[]", "\"a@x.org\"", "{\"email\":", "{} {}", "nonsense"] {
            assert!(find(line, None).is_err(), "{line}");
        }
    }
}
