//! The embedded texts, and the operator's files that change them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::ListError;
use super::text_set::TextSet;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// The names of the lists; each is a file `NAME.txt`.
        pub const FILES: &[&str] = &[$($name),*];

        fn embedded(name: &str) -> &'static str {
            match name {
                $($name => include_str!(concat!("../../../data/", $name, ".txt")),)*
                _ => "",
            }
        }
    };
}

embedded!(
    "disposable",
    "disposable_exchangers",
    "disposable_words",
    "free",
    "gibberish",
    "guard",
    "mailboxes",
    "no_catch_all",
    "parked_exchangers",
    "popular",
    "providers",
    "relay",
    "role",
    "role_parts",
);

/// Embedded texts with the changes laid over them.
pub(super) struct ListTexts<'c> {
    changes: &'c BTreeMap<String, String>,
}

impl<'c> ListTexts<'c> {
    /// Refuses names of files that no list has.
    pub(super) fn new(changes: &'c BTreeMap<String, String>) -> Result<Self, ListError> {
        for file in changes.keys() {
            let stem = file.strip_suffix(".txt").unwrap_or("");
            let name = stem.strip_suffix(".add").or_else(|| stem.strip_suffix(".remove")).unwrap_or(stem);
            if !FILES.contains(&name) {
                let what = format!("no list has this name; lists are {}", FILES.join(", "));
                return Err(ListError { file: file.clone(), line: 0, what });
            }
        }
        Ok(Self { changes })
    }

    /// The text of a list after all changes.
    pub(super) fn text(&self, name: &str) -> Cow<'static, str> {
        let base: Cow<'static, str> = match self.changes.get(&format!("{name}.txt")) {
            Some(replaced) => Cow::Owned(replaced.clone()),
            None => Cow::Borrowed(embedded(name)),
        };
        let added = self.changes.get(&format!("{name}.add.txt"));
        let removed = self.changes.get(&format!("{name}.remove.txt"));
        if added.is_none() && removed.is_none() {
            return base;
        }
        let gone: BTreeSet<&str> = removed.map(|text| text.lines().map(key).collect()).unwrap_or_default();
        // Added lines come first: where a key stands twice, the first line counts.
        let lines = added.map(String::as_str).unwrap_or_default().lines().chain(base.lines());
        let mut text = String::with_capacity(base.len());
        for line in lines.filter(|line| line.starts_with('#') || !gone.contains(key(line))) {
            text.push_str(line);
            text.push('\n');
        }
        Cow::Owned(text)
    }

    /// The file that a bad line of `name` most likely stands in.
    fn blame(&self, name: &str, line: usize) -> (String, usize) {
        let add = format!("{name}.add.txt");
        match self.changes.get(&add) {
            Some(text) if line <= text.lines().count() => (add, line),
            Some(text) => (format!("{name}.txt"), line - text.lines().count()),
            None => (format!("{name}.txt"), line),
        }
    }
}

fn key(line: &str) -> &str {
    line.split_once('\t').map_or(line, |(key, _)| key).trim_end_matches('\r')
}

/// The set of a list's keys.
pub(super) fn set(source: &ListTexts<'_>, name: &str) -> Result<TextSet, ListError> {
    TextSet::new(source.text(name)).map_err(|bad| {
        let (file, line) = source.blame(name, bad.line);
        ListError { file, line, what: bad.what.into() }
    })
}

/// Keys of an embedded list in the order of its text.
#[cfg(test)]
pub(super) fn embedded_keys(name: &str) -> impl Iterator<Item = &'static str> {
    embedded(name).lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(key)
}
