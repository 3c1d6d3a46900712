//! Place of a value in a response: a JSON Pointer (RFC 6901), a header, or the key of a map entry.
//!
//! There is no richer query language, because filters and recursion would let an untrusted document determine the amount of
//! work.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Whole document.
impl Default for Source {
    fn default() -> Self {
        Self::Pointer(String::new())
    }
}

/// Maximum length of a pointer, in bytes.
const POINTER_MAX: usize = 256;

/// Place of a value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Source {
    /// JSON Pointer; the empty one is the whole document.
    Pointer(String),
    /// Response header, as in `header:Retry-After`.
    Header(String),
    /// Key under which a record is stored, as in `{"17": {...}}`.
    Key,
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == "key" {
            return Ok(Self::Key);
        }
        if let Some(name) = text.strip_prefix("header:") {
            let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            return if fits {
                Ok(Self::Header(name.to_owned()))
            } else {
                Err(format!("{text:?}: name a header, as in header:Retry-After"))
            };
        }
        if text.len() > POINTER_MAX {
            return Err(format!("a pointer has at most {POINTER_MAX} bytes"));
        }
        let tilde_fits = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        if (text.is_empty() || text.starts_with('/')) && tilde_fits {
            return Ok(Self::Pointer(text));
        }
        Err(format!("{text:?} is not a place; write a JSON Pointer such as /data/0/id, header:Name, or key"))
    }
}

/// Reads the place of records, which only a document has.
pub(crate) fn pointer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Source, D::Error> {
    let source = Source::deserialize(deserializer)?;
    if matches!(source, Source::Pointer(_)) {
        return Ok(source);
    }
    Err(D::Error::custom("records are in the body; write a JSON Pointer such as /data"))
}

/// Document of a response to search in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub body: &'a Value,
    pub headers: &'a [(String, String)],
    pub key: Option<&'a str>,
}

impl Source {
    /// Returns the value within the document; `None` if it is missing or null, or the place is another.
    pub(crate) fn within<'a>(&self, found: Found<'a>) -> Option<&'a Value> {
        let Self::Pointer(pointer) = self else { return None };
        found.body.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Returns the value; `None` if it is missing or null.
    pub(crate) fn value(&self, found: Found<'_>) -> Option<Value> {
        match self {
            Self::Pointer(_) => self.within(found).cloned(),
            Self::Header(_) | Self::Key => self.text(found).map(Value::String),
        }
    }

    /// Returns the value as text; `None` if it is missing, null, an array or an object.
    pub(crate) fn text(&self, found: Found<'_>) -> Option<String> {
        match self {
            Self::Pointer(_) => self.within(found).and_then(scalar),
            Self::Header(name) => header(found.headers, name).map(str::to_owned),
            Self::Key => found.key.map(str::to_owned),
        }
    }
}

/// Returns a text, number or boolean as text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the first header with a name, ignoring case.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_pointer_header_and_key() {
        let body = serde_json::json!({"a": [{"b/c": 7}], "n": null});
        let headers = [("Retry-After".to_owned(), "30".to_owned())];
        let found = Found { body: &body, headers: &headers, key: Some("17") };
        let text = |source: &str| Source::try_from(source.to_owned()).unwrap().text(found);
        assert_eq!(text("/a/0/b~1c").as_deref(), Some("7"));
        assert_eq!(text("header:retry-after").as_deref(), Some("30"));
        assert_eq!(text("key").as_deref(), Some("17"));
        assert_eq!(text("/n"), None);
        assert_eq!(text("/a"), None);
    }

    #[test]
    fn other_notations_are_refused() {
        for wrong in ["a.b", "$.a", "header:", "header:a b", "/a~2"] {
            assert!(Source::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
