//! Fields of JSON objects, without building their values.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Key of the verdict in a caller's object.
pub const ANSWER_KEY: &str = "probity";
/// Address fields if none is named; the first one present counts.
const NAMES: &[&str] = &["email", "Email", "email_address", "emailAddress", "e-mail", "mail", "address"];

/// Content of one line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JsonLine {
    /// The address; empty if the field is null; `None` if there is no such field or it is not a text.
    pub email: Option<String>,
    /// Whether the object already has the verdict's key.
    pub taken: bool,
    /// Whether the object has no fields.
    pub empty: bool,
}

/// Finds the address in one line. Of members with the same name the last counts, as in [`members`] and most JSON readers; the error
/// describes the line's problem.
pub fn find(line: &str, field: Option<&str>) -> Result<JsonLine, String> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let found = Search { field }.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(found)
}

/// Members of the object on a line, in order, with unparsed values.
///
/// # Errors
/// The line's problem, as text.
pub fn members(line: &str) -> Result<Vec<(String, Box<RawValue>)>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let found = deserializer.deserialize_map(Members).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(found)
}

/// A value as a cell shows it: a text as it is, null as nothing, all else as JSON.
pub fn cell(value: &RawValue) -> Cow<'_, str> {
    match value.get() {
        "null" => "".into(),
        text if text.starts_with('"') => serde_json::from_str::<String>(text).map_or(text.into(), Cow::Owned),
        other => other.into(),
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, Box<RawValue>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(member) = map.next_entry()? {
            found.push(member);
        }
        Ok(found)
    }
}

struct Search<'a> {
    field: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = JsonLine;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonLine, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = JsonLine;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonLine, A::Error> {
        let mut found = JsonLine { empty: true, ..JsonLine::default() };
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
            if this <= rank && this != usize::MAX {
                rank = this;
                found.email = map.next_value::<Text>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A text, null as an empty one, or `None` for anything else. Other values are skipped without being built: numbers may be too
/// large and arrays too deep.
struct Text(Option<String>);

impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOnly)
    }
}

struct TextOnly;

impl<'de> Visitor<'de> for TextOnly {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(Some(String::new())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
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
        assert_eq!(email(r#"{"email":null}"#, None).unwrap(), "");
        assert_eq!(email(r#"{"email":"b@x.org","mail":"c@x.org","email":"a@x.org"}"#, None).unwrap(), "a@x.org");
        assert_eq!(email(r#"{"to":"b@x.org","to":"a@x.org"}"#, Some("to")).unwrap(), "a@x.org");
        assert_eq!(email(r#"{"to":"b@x.org","to":1}"#, Some("to")), None);
        for value in ["[1,[2]]", "{\"a\":{}}", "true", "-1", "1", "1.5"] {
            assert_eq!(email(&format!("{{\"email\":{value},\"n\":1}}"), None), None, "{value}");
        }
        assert_eq!(email(r#"{"name":"a@x.org"}"#, None), None);
        assert!(find(r#"{"probity":1}"#, None).unwrap().taken);
        assert!(find("{}", None).unwrap().empty);
    }

    #[test]
    fn members_keep_their_order_and_their_values() {
        let line = r#"{"b":"\u0041\"","a":1.50,"n":null,"l":[1, {"x":2}],"b":true}"#;
        let found: Vec<(String, String, String)> = members(line)
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), cell(value).into_owned(), value.get().to_owned()))
            .collect();
        let expected = [
            ("b", "A\"", r#""\u0041\"""#),
            ("a", "1.50", "1.50"),
            ("n", "", "null"),
            ("l", r#"[1, {"x":2}]"#, r#"[1, {"x":2}]"#),
            ("b", "true", "true"),
        ];
        assert_eq!(found, expected.map(|(name, cell, raw)| (name.to_owned(), cell.to_owned(), raw.to_owned())));
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(members(&deep).unwrap().len(), 1);
        assert!(members("[1]").is_err() && members("{} x").is_err());
    }

    #[test]
    fn depth_and_huge_numbers_beside_the_address_do_no_harm() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        let found = find(&format!("{{\"x\":{deep},\"n\":1e999,\"email\":\"a@x.org\"}}"), None).unwrap();
        assert_eq!(found.email.unwrap(), "a@x.org");
        assert_eq!(find(&format!("{{\"email\":{deep}}}"), None).unwrap().email, None);
    }

    #[test]
    fn what_is_no_object_is_said() {
        for line in ["[]", "\"a@x.org\"", "{\"email\":", "{} {}", "nonsense", "{\"email\":1e999}"] {
            assert!(find(line, None).is_err(), "{line}");
        }
    }
}
