//! What the API's own routes answered: programs get its objects as they are, people a table of them.

use anyhow::{Context as _, Result};
use serde_json::Value;
use serde_json::value::RawValue;

/// Objects of the API, and how people are shown them.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// In the API's words and order.
    pub objects: Vec<Box<RawValue>>,
    /// Shows all of them.
    pub table: fn(&[Value]) -> String,
    /// What people are told besides where there are none.
    pub none: Option<&'static str>,
}

impl Told {
    /// One answer that is one object.
    pub(crate) fn one(answer: String, table: fn(&[Value]) -> String) -> Result<Self> {
        Ok(Self::all(vec![RawValue::from_string(answer).context("the response is not JSON")?], table))
    }

    /// Objects, however many.
    pub(crate) fn all(objects: Vec<Box<RawValue>>, table: fn(&[Value]) -> String) -> Self {
        Self { objects, table, none: None }
    }

    /// The same; where there are none, people are told so.
    pub(crate) fn or_none(self, none: &'static str) -> Self {
        Self { none: Some(none), ..self }
    }

    /// What is said beside the answer.
    pub(super) fn note(&self) -> Option<&'static str> {
        self.none.filter(|_| self.objects.is_empty())
    }

    /// The objects as text for programs, one a line.
    pub(super) fn lines(&self) -> String {
        self.objects.iter().flat_map(|object| [object.get(), "\n"]).collect()
    }

    /// The objects as text for people.
    pub(super) fn shown(&self) -> Result<String> {
        let read = |object: &RawValue| serde_json::from_str(object.get()).context("the response is not JSON");
        let values: Vec<Value> = self.objects.iter().map(|object| read(object)).collect::<Result<_>>()?;
        Ok((self.table)(&values))
    }
}

/// A cell of a table: text without its quotes, and nothing where there is nothing.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A cell where there may be nothing, which is said with a word.
pub(super) fn cell_or(value: &Value, otherwise: &str) -> String {
    Some(cell(value)).filter(|text| !text.is_empty()).unwrap_or_else(|| otherwise.to_owned())
}
