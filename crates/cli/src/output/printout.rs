//! Output of commands: objects as in the API for programs, and views of them for users.

use anyhow::{Context as _, Result};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Style;
use super::table::{self, AnswerColumn};
use crate::exit::Exit;

/// View of objects for users.
#[derive(Clone, Copy)]
pub(crate) enum AnswerView {
    /// A table with a row per object.
    Rows(&'static [AnswerColumn]),
    /// A line per field of each object.
    Fields(&'static [AnswerColumn]),
    /// A table with one row per object, marked as removed.
    Removed(&'static [AnswerColumn]),
    /// A text for each object.
    Text(fn(&Value) -> String),
}

pub(crate) struct Printout {
    /// Each object as JSON, in one line.
    lines: Vec<String>,
    view: AnswerView,
    /// Text for users instead of an empty table.
    nothing: Option<&'static str>,
    /// Printed to standard error if there are no objects.
    note: Option<&'static str>,
    exit: Exit,
}

impl Printout {
    pub(crate) fn of<T: Serialize>(objects: impl IntoIterator<Item = T>, view: AnswerView) -> Result<Self> {
        let line = |object| serde_json::to_string(&object).context("the answer is not JSON");
        let lines = objects.into_iter().map(line).collect::<Result<_>>()?;
        Ok(Self { lines, view, nothing: None, note: None, exit: Exit::Done })
    }

    pub(crate) fn one(object: impl Serialize, view: AnswerView) -> Result<Self> {
        Self::of([object], view)
    }

    /// Sets the text for users if there are no objects.
    pub(crate) fn or_text(self, text: &'static str) -> Self {
        Self { nothing: Some(text), ..self }
    }

    /// Sets the note on standard error if there are no objects.
    pub(crate) fn or_note(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }

    /// Sets the exit status if there are objects.
    pub(crate) fn exit_if_any(self, exit: Exit) -> Self {
        if self.lines.is_empty() { self } else { Self { exit, ..self } }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    pub(crate) fn note(&self) -> Option<&'static str> {
        self.note.filter(|_| self.lines.is_empty())
    }

    /// Formats the objects, with a final line break unless there is nothing to print.
    pub(crate) fn render(&self, style: Style) -> Result<String> {
        if style == Style::Json {
            return Ok(self.lines.iter().flat_map(|line| [line, "\n"]).collect());
        }
        if let Some(text) = self.nothing.filter(|_| self.lines.is_empty()) {
            return Ok(text.to_owned());
        }
        let read = |line: &String| serde_json::from_str(line).context("the answer is not JSON");
        let objects: Vec<Value> = self.lines.iter().map(read).collect::<Result<_>>()?;
        Ok(match self.view {
            AnswerView::Rows(columns) => table::rows(columns, &objects),
            AnswerView::Fields(columns) => objects.iter().map(|one| table::fields(columns, one)).collect(),
            AnswerView::Removed(columns) => objects.iter().map(|one| table::removed(columns, one)).collect(),
            AnswerView::Text(text) => objects.iter().map(text).collect(),
        })
    }
}

/// Two objects as one, with the fields of the first before those of the second.
#[derive(Serialize)]
pub(crate) struct JoinedObjects<A, B> {
    #[serde(flatten)]
    first: A,
    #[serde(flatten)]
    second: B,
}

pub(crate) fn join<A, B>(first: A, second: B) -> JoinedObjects<A, B> {
    JoinedObjects { first, second }
}

/// An object with one field.
pub(crate) struct OneField<T>(pub(crate) &'static str, pub(crate) T);

impl<T: Serialize> Serialize for OneField<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}
