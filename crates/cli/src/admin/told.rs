//! Objects from the API's own routes: JSON unchanged for programs, a table for people.

use anyhow::{Context as _, Result};
use serde_json::Value;
use serde_json::value::RawValue;

/// API objects, and the function that formats them as a table.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// Objects as the API returned them, in order.
    pub objects: Vec<Box<RawValue>>,
    pub table: fn(&[Value]) -> String,
    /// Note for people if there are no objects.
    pub none: Option<&'static str>,
}

impl Told {
    /// Wraps an answer of one object.
    pub(crate) fn one(answer: String, table: fn(&[Value]) -> String) -> Result<Self> {
        Ok(Self::all(vec![RawValue::from_string(answer).context("the response is not JSON")?], table))
    }

    /// Wraps any number of objects.
    pub(crate) fn all(objects: Vec<Box<RawValue>>, table: fn(&[Value]) -> String) -> Self {
        Self { objects, table, none: None }
    }

    /// Sets the note for people if there are no objects.
    pub(crate) fn or_none(self, none: &'static str) -> Self {
        Self { none: Some(none), ..self }
    }

    /// Note printed besides the answer.
    pub(super) fn note(&self) -> Option<&'static str> {
        self.none.filter(|_| self.objects.is_empty())
    }

    pub(super) fn lines(&self) -> String {
        self.objects.iter().flat_map(|object| [object.get(), "\n"]).collect()
    }

    /// Formats the objects for people.
    pub(super) fn shown(&self) -> Result<String> {
        let read = |object: &RawValue| serde_json::from_str(object.get()).context("the response is not JSON");
        let values: Vec<Value> = self.objects.iter().map(|object| read(object)).collect::<Result<_>>()?;
        Ok((self.table)(&values))
    }
}

/// Formats a table cell: strings without quotes, `null` as an empty text.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats a table cell, with a given word for `null`.
pub(super) fn cell_or(value: &Value, otherwise: &str) -> String {
    Some(cell(value)).filter(|text| !text.is_empty()).unwrap_or_else(|| otherwise.to_owned())
}
