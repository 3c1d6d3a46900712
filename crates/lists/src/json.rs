//! Fields of JSON objects, without building their values.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
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
    /// The largest number of a verdict's key that the object has: 1 for `probity`, 2 for `probity_2`; 0 without one.
    pub taken: u16,
    /// Whether the object has no fields.
    pub empty: bool,
}

/// Finds the address in one line. Of members with the same name the last counts, as in [`members`] and most JSON readers; the error
/// describes the line's problem.
pub fn find(line: &str, field: Option<&str>) -> Result<JsonLine, String> {
    let mut found = JsonLine { empty: true, ..JsonLine::default() };
    let mut rank = usize::MAX;
    read(line, |key, value| {
        found.empty = false;
        found.taken = found.taken.max(answer_number(&key));
        let this = match field {
            Some(field) => (field == key).then_some(0),
            None => NAMES.iter().position(|name| *name == key),
        };
        if let Some(this) = this.filter(|this| *this <= rank) {
            rank = this;
            found.email = text(value)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// The number of a verdict's key; 0 for other keys.
fn answer_number(key: &str) -> u16 {
    match key.strip_prefix(ANSWER_KEY) {
        Some("") => 1,
        Some(rest) => rest.strip_prefix('_').and_then(|number| number.parse().ok()).unwrap_or(0),
        None => 0,
    }
}

/// Members of the object on a line, in order, with unparsed values.
///
/// # Errors
/// The line's problem, as text.
pub fn members(line: &str) -> Result<Vec<(String, Box<RawValue>)>, String> {
    let mut found = Vec::new();
    read(line, |name, value| {
        found.push((name.into_owned(), value.to_owned()));
        Ok(())
    })?;
    Ok(found)
}

/// Keys for the columns of a row: their names, but for a number behind those that are taken.
pub fn keys(names: impl IntoIterator<Item = String>, taken: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = taken.iter().map(ToString::to_string).collect();
    let key = |name: String| {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        free.find(|key| taken.insert(key.clone())).unwrap_or_default()
    };
    names.into_iter().map(key).collect()
}

/// A value as a cell shows it: a text as it is, null as nothing, all else as JSON.
pub fn cell(value: &RawValue) -> Cow<'_, str> {
    match value.get() {
        "null" => "".into(),
        text if text.starts_with('"') => serde_json::from_str::<String>(text).map_or(text.into(), Cow::Owned),
        other => other.into(),
    }
}

/// A text, null as an empty one, or `None` for anything else.
fn text(value: &RawValue) -> Result<Option<String>, &'static str> {
    match value.get() {
        "null" => Ok(Some(String::new())),
        text if text.starts_with('"') => serde_json::from_str(text).map(Some).map_err(|_| "invalid escape"),
        number if number.parse::<f64>().is_ok_and(f64::is_infinite) => Err("number out of range"),
        _ => Ok(None),
    }
}

/// Gives each member of the object on a line to `take`. Values are skipped without being built: numbers may be too large and arrays
/// too deep.
fn read<'de, T>(line: &'de str, take: T) -> Result<(), String>
where
    T: FnMut(Cow<'de, str>, &'de RawValue) -> Result<(), &'static str>,
{
    let mut deserializer = serde_json::Deserializer::from_str(line);
    let read = deserializer.deserialize_map(Members(take));
    read.and_then(|()| deserializer.end()).map_err(|error| error.to_string())
}

struct Members<T>(T);

impl<'de, T: FnMut(Cow<'de, str>, &'de RawValue) -> Result<(), &'static str>> Visitor<'de> for Members<T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, value)) = map.next_entry()? {
            (self.0)(name, value).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_different() {
        let keys = |names: [&str; 4], taken| keys(names.map(str::to_owned), taken);
        assert_eq!(keys(["a", "a_2", "a", "b"], &[]), ["a", "a_2", "a_3", "b"]);
        assert_eq!(keys(["a", "a", "a_2", "b"], &["b"]), ["a", "a_2", "a_2_2", "b_2"]);
    }

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
        for (line, taken) in [
            (r#"{"probity":1}"#, 1),
            (r#"{"probity_3":1,"probity":1}"#, 3),
            (r#"{"probity_x":1,"probity7":1}"#, 0),
            (r#"{"probity_99999":1,"email":"a"}"#, 0),
        ] {
            assert_eq!(find(line, None).unwrap().taken, taken, "{line}");
        }
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
