//! Values of keys: accepted values of each type, and messages about all others.
//!
//! A type checks its own bounds, so that no value out of bounds reaches a section. A new kind of value is a type here or in
//! `types.rs` that implements [`KeyValue`].

use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::{duration, secret, size};

/// Part of a value that `probity config` and messages hide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    Public,
    /// A URL with a password.
    Password,
    Secret,
}

/// TOML type of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueForm {
    Text,
    Flag,
    Number,
    List,
}

impl ValueForm {
    /// Converts a text from the environment or a flag into the value that a file would contain; the key validates it.
    pub(crate) fn value(self, text: &str) -> Value {
        let as_text = || Value::String(text.to_owned());
        match (self, text) {
            (Self::Flag, "true" | "1" | "yes" | "on") => Value::Boolean(true),
            (Self::Flag, "false" | "0" | "no" | "off") => Value::Boolean(false),
            (Self::Text | Self::Flag, _) => as_text(),
            (Self::Number, _) => text.trim().parse().map_or_else(|_| as_text(), Value::Integer),
            (Self::List, _) => list(text),
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::Flag => "true or false",
            Self::Number => "a whole number",
            Self::List => "a list of texts, such as [\"one\", \"two\"]",
        }
    }
}

/// Parses a list as printed by `probity config`, or items separated by commas.
fn list(text: &str) -> Value {
    let printed = text.trim_start().starts_with('[').then(|| format!("list = {text}").parse::<Table>().ok());
    if let Some(value @ Value::Array(_)) = printed.flatten().and_then(|mut table| table.remove("list")) {
        return value;
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
}

/// Type of a key's value.
pub(crate) trait KeyValue: Sized {
    const FORM: ValueForm = ValueForm::Text;
    const SECRECY: Secrecy = Secrecy::Public;

    /// Describes the accepted values; follows "must be" in messages.
    fn wanted() -> String {
        Self::FORM.wanted().to_owned()
    }

    /// Reads a value. The error follows the key's name in messages, as in "must be true or false".
    fn read(value: &Value) -> Result<Self, String>;

    /// Describes the error of a value with another type or out of bounds. Secrets are not repeated.
    fn mismatch(value: &Value) -> String {
        let wanted = Self::wanted();
        match Self::SECRECY {
            Secrecy::Public => format!("must be {wanted}, not {}", found(value)),
            Secrecy::Password | Secrecy::Secret => format!("must be {wanted}"),
        }
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text {text:?}"),
        Value::Integer(number) => format!("the number {number}"),
        Value::Float(number) => format!("the number {number}"),
        Value::Boolean(flag) => format!("{flag}"),
        Value::Array(items) if items.iter().all(Value::is_str) => "a list".into(),
        Value::Array(_) => "a list with values other than text".into(),
        Value::Table(_) => "a section".into(),
        Value::Datetime(_) => "a date".into(),
    }
}

/// Lets serde read a field. Every value was checked before, so the error only needs to exist.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: KeyValue>(deserializer: D) -> Result<T, D::Error> {
    T::read(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// The same for a key that may be missing.
pub(crate) fn deserialize_some<'de, D: Deserializer<'de>, T: KeyValue>(d: D) -> Result<Option<T>, D::Error> {
    deserialize(d).map(Some)
}

pub(super) fn text<T: KeyValue>(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| T::mismatch(value))
}

/// Returns a text with a secret of this kind, unless it has the placeholder instead.
pub(super) fn text_with<'a, T: KeyValue>(kind: &str, value: &'a Value) -> Result<&'a str, String> {
    let text = text::<T>(value)?;
    if text.contains(secret::HIDDEN) {
        return Err(format!("this is what `probity config` prints in place of a {kind}; write the {kind} itself"));
    }
    Ok(text)
}

impl KeyValue for String {
    fn read(value: &Value) -> Result<Self, String> {
        text::<Self>(value).map(str::to_owned)
    }
}

impl KeyValue for bool {
    const FORM: ValueForm = ValueForm::Flag;

    fn read(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| Self::mismatch(value))
    }
}

/// A whole number with minimum and maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeNumber<T, const MIN: i64, const MAX: i64>(T);

impl<T: Copy, const MIN: i64, const MAX: i64> WholeNumber<T, MIN, MAX> {
    pub(crate) fn get(self) -> T {
        self.0
    }
}

impl<T: TryFrom<i64>, const MIN: i64, const MAX: i64> KeyValue for WholeNumber<T, MIN, MAX> {
    const FORM: ValueForm = ValueForm::Number;

    fn wanted() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn read(value: &Value) -> Result<Self, String> {
        let number = value.as_integer().filter(|number| (MIN..=MAX).contains(number));
        number.and_then(|number| T::try_from(number).ok()).map(Self).ok_or_else(|| Self::mismatch(value))
    }
}

/// A duration of at least `MIN` milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeSpan<const MIN: i64>(i64);

impl<const MIN: i64> TimeSpan<MIN> {
    pub(crate) fn ms(self) -> i64 {
        self.0
    }

    /// Returns whole milliseconds for an interface without negative durations.
    pub(crate) fn duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0.unsigned_abs())
    }
}

impl<const MIN: i64> KeyValue for TimeSpan<MIN> {
    fn wanted() -> String {
        match MIN {
            0 => duration::EXAMPLES.to_owned(),
            1..1_000 => format!("{}, longer than 0", duration::EXAMPLES),
            _ => format!("{}, at least {}s", duration::EXAMPLES, MIN / 1_000),
        }
    }

    fn read(value: &Value) -> Result<Self, String> {
        let ms = duration::parse(text::<Self>(value)?).filter(|ms| *ms >= MIN);
        ms.map(Self).ok_or_else(|| Self::mismatch(value))
    }
}

/// A size with minimum and maximum in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteSize<const MIN: u64, const MAX: u64>(usize);

impl<const MIN: u64, const MAX: u64> ByteSize<MIN, MAX> {
    pub(crate) fn bytes(self) -> usize {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> KeyValue for ByteSize<MIN, MAX> {
    fn wanted() -> String {
        format!("{}, from {} to {}", size::EXAMPLES, size::show(MIN), size::show(MAX))
    }

    fn read(value: &Value) -> Result<Self, String> {
        let bytes = size::parse(text::<Self>(value)?).filter(|bytes| (MIN..=MAX).contains(bytes));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).map(Self).ok_or_else(|| Self::mismatch(value))
    }
}

/// A type with one word for each of its values.
pub(crate) trait WordValue: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl<T: WordValue> KeyValue for T {
    fn wanted() -> String {
        let quoted: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        format!("one of {}", quoted.join(", "))
    }

    fn read(value: &Value) -> Result<Self, String> {
        let found = text::<Self>(value)?;
        T::WORDS
            .iter()
            .find(|(word, _)| *word == found)
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| Self::mismatch(value))
    }
}

/// Item of a list, written as text.
pub(crate) trait ListItem: Sized {
    /// Describes an item; follows "is not" in messages.
    const WANTED: &'static str;

    fn parse(text: &str) -> Option<Self>;
}

impl ListItem for String {
    const WANTED: &'static str = "a text";

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<T: ListItem> KeyValue for Vec<T> {
    const FORM: ValueForm = ValueForm::List;

    fn read(value: &Value) -> Result<Self, String> {
        let items = value.as_array().filter(|items| items.iter().all(Value::is_str));
        let items = items.ok_or_else(|| Self::mismatch(value))?;
        let item = |text| T::parse(text).ok_or_else(|| format!("{text:?} is not {}", T::WANTED));
        items.iter().filter_map(Value::as_str).map(item).collect()
    }
}
