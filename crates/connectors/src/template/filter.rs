//! Filters of placeholders: a closed set of functions of one value.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::{Digest as _, Md5};
use probity_mail::time::Millis;
use serde_json::Value;

use crate::date;

/// Conversion of a value before it is inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// MD5 of the lower-case address, in hexadecimal.
    Md5Lower,
    /// Text in lower case.
    Lower,
    /// Text after the last occurrence; fails if there is none.
    AfterLast(String),
    /// Base64 with padding.
    Base64,
    /// Whole number from text.
    Number,
    /// Text from a number.
    Text,
    /// Letters, digits and underscores; anything else between them becomes one underscore.
    Word,
    Rfc3339,
    Rfc3339Ms,
    Date,
    Unix,
    UnixMs,
    Sql,
}

/// Filters without an argument; those for times come last.
const PLAIN: &[(&str, Filter)] = &[
    ("md5_lower", Filter::Md5Lower),
    ("lower", Filter::Lower),
    ("base64", Filter::Base64),
    ("number", Filter::Number),
    ("text", Filter::Text),
    ("word", Filter::Word),
    ("rfc3339", Filter::Rfc3339),
    ("rfc3339_ms", Filter::Rfc3339Ms),
    ("date", Filter::Date),
    ("unix", Filter::Unix),
    ("unix_ms", Filter::UnixMs),
    ("sql", Filter::Sql),
];

impl Filter {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some((_, filter)) = PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(filter.clone());
        }
        let argument = text.strip_prefix("after_last(\"").and_then(|rest| rest.strip_suffix("\")"));
        if let Some(argument) = argument.filter(|argument| !argument.is_empty() && !argument.contains('"')) {
            return Ok(Self::AfterLast(argument.to_owned()));
        }
        let names: Vec<_> = PLAIN.iter().map(|(name, _)| *name).collect();
        Err(format!("unknown filter {text:?}: there are {}, after_last(\"-\")", names.join(", ")))
    }

    /// Returns whether the filter turns a time into text or a number. Times require such a filter, because platforms read
    /// different forms.
    pub(crate) fn writes_time(&self) -> bool {
        matches!(self, Self::Rfc3339 | Self::Rfc3339Ms | Self::Date | Self::Unix | Self::UnixMs | Self::Sql)
    }

    /// Applies the filter. Errors never quote the value, which may be a credential.
    pub(super) fn apply(&self, value: &Value) -> Result<Value, String> {
        if self.writes_time() {
            let at = value.as_i64().ok_or("is not a time")?;
            return Ok(self.time(Millis(at)));
        }
        let text = crate::source::scalar(value).ok_or("is not text")?;
        match self {
            Self::Md5Lower => Ok(Value::String(hex(&Md5::digest(text.trim().to_lowercase())))),
            Self::Lower => Ok(Value::String(text.to_lowercase())),
            Self::AfterLast(mark) => match text.rsplit_once(mark.as_str()) {
                Some((_, after)) if !after.is_empty() => Ok(Value::String(after.to_owned())),
                _ => Err(format!("contains nothing after its last {mark:?}")),
            },
            Self::Text => Ok(Value::String(text)),
            Self::Word => word(&text).map(Value::String).ok_or_else(|| "has no letter and no digit".to_owned()),
            Self::Base64 => Ok(Value::String(BASE64_STANDARD.encode(text))),
            _ => text.parse::<i64>().map(Value::from).map_err(|_| "is not a whole number".to_owned()),
        }
    }

    fn time(&self, at: Millis) -> Value {
        match self {
            Self::Rfc3339 => date::rfc3339(at).into(),
            Self::Rfc3339Ms => at.to_rfc3339().into(),
            Self::Date => date::date(at).into(),
            Self::Sql => date::sql(at).into(),
            Self::Unix => at.0.div_euclid(1000).into(),
            _ => at.0.into(),
        }
    }
}

/// Returns the letters and digits of a text, with one underscore between its words.
fn word(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let word = words.collect::<Vec<_>>().join("_");
    (!word.is_empty()).then_some(word)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
