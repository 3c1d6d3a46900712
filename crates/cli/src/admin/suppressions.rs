//! Suppression lists of organizations: counted and changed. What is on them nobody can read.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};

use anyhow::{Context as _, Result, bail};
use probity_lists::encoding::Decoded;
use probity_mail::time::Millis;
use serde::Serialize;
use serde_json::Value;

use super::told::{cell, cell_or};
use super::{DeskWish, Request, moment_text, table};
use crate::args::{SuppressionsCommand, TheseAddresses};

/// The longest line that can be an address, in bytes: longer ones are counted as none.
const LINE_MAX: usize = 4_096;

/// What is asked about suppression lists, which are named in the API's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// How many addresses they have.
    Count,
    /// Addresses on one.
    Add(String, Vec<String>),
    /// Addresses off it.
    Remove(String, Vec<String>),
    /// All addresses off it.
    Clear(String),
}

/// A list as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct List {
    /// Which.
    #[serde(rename = "list")]
    pub name: String,
    /// Whose.
    pub organization: String,
    /// How many addresses are on it.
    pub count: i64,
    /// When it was changed last; `None` where it is empty.
    #[serde(serialize_with = "super::maybe_time")]
    pub changed_at: Option<Millis>,
}

/// What a change came to.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Changed {
    /// The list after it.
    #[serde(flatten)]
    pub list: List,
    /// Addresses that came on the list.
    pub added: i64,
    /// Addresses that went.
    pub removed: i64,
    /// Texts that are no addresses.
    pub invalid: i64,
}

/// What is asked; lists of addresses are read from standard input where a command says so.
pub(super) fn request(command: &SuppressionsCommand) -> Result<Request> {
    let (org, wish) = match command {
        SuppressionsCommand::Find { email, org } => {
            return Ok(Request::Desk { org: org.org.clone(), wish: DeskWish::FindSuppression(email.clone()) });
        }
        SuppressionsCommand::Count(some) => (some, Wish::Count),
        SuppressionsCommand::Add(these) => (&these.org, Wish::Add(these.list.clone(), addresses(these)?)),
        SuppressionsCommand::Remove { these, all: true } => (&these.org, Wish::Clear(these.list.clone())),
        SuppressionsCommand::Remove { these, all: false } => {
            (&these.org, Wish::Remove(these.list.clone(), addresses(these)?))
        }
    };
    Ok(Request::Suppressions { org: org.org.clone(), wish })
}

fn addresses(these: &TheseAddresses) -> Result<Vec<String>> {
    if these.addresses.is_empty() {
        bail!("pass addresses, or `-` to read them from standard input, one per line");
    }
    if these.addresses == ["-"] {
        return lines(std::io::stdin().lock());
    }
    Ok(these.addresses.clone())
}

/// One address a line, in UTF-8 or UTF-16; a line that is no text, or too long to be one, is an address that is none.
fn lines(from: impl Read) -> Result<Vec<String>> {
    let unread = "cannot read standard input";
    let text = BufReader::new(Decoded::open(from).context(unread)?);
    let mut found = Vec::new();
    for line in text.split(b'\n') {
        let line = line.context(unread)?;
        let text = if line.len() > LINE_MAX { String::new() } else { String::from_utf8_lossy(&line).trim().to_owned() };
        if !line.trim_ascii().is_empty() {
            found.push(text);
        }
    }
    Ok(found)
}

pub(super) fn table(lists: &[List]) -> String {
    let row = |one: &List| {
        vec![one.name.clone(), one.count.to_string(), one.changed_at.map_or_else(|| "never".to_owned(), moment_text)]
    };
    table::lines(&["LIST", "ADDRESSES", "CHANGED"], lists.iter().map(row))
}

/// Lists with what they say of one address.
pub(crate) fn found(lists: &[Value]) -> String {
    let row = |list: &Value| {
        let lookup = &list["lookup"];
        let listed = if lookup["listed"] == Value::Bool(true) { "yes" } else { "no" };
        vec![cell(&list["list"]), listed.to_owned(), cell_or(&lookup["since"], "never")]
    };
    table::lines(&["LIST", "LISTED", "SINCE"], lists.iter().map(row))
}

pub(super) fn shown(changed: &Changed) -> String {
    let Changed { list, added, removed, invalid } = changed;
    let mut text = format!("{name}: {added} added, {removed} removed, {} in total", list.count, name = list.name);
    if *invalid > 0 {
        let _ = write!(text, "; {invalid} texts are not addresses");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_line_by_line() {
        let long = format!("{}@example.org", "a".repeat(LINE_MAX));
        let text = format!("jo@example.org\r\n\n  \n ann@example.org \n{long}\n\u{fc}@example.org");
        let expected = ["jo@example.org", "ann@example.org", "", "\u{fc}@example.org"];
        assert_eq!(lines(text.as_bytes()).unwrap(), expected);
        assert_eq!(lines(&b"\xff\n"[..]).unwrap(), ["\u{fffd}"]);
        let marked = "\u{feff}jo@example.org\r\nann@example.org\r\n";
        let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [marked.as_bytes(), &wide] {
            assert_eq!(lines(text).unwrap(), ["jo@example.org", "ann@example.org"]);
        }
    }
}
