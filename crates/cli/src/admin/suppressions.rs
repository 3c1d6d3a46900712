//! Suppression lists of organizations: counts and changes. Their addresses are hashed and cannot be read.

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

/// Maximum length of an address line, in bytes; longer lines count as invalid.
const LINE_MAX: usize = 4_096;

/// Suppression list commands. Lists are given by their API names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Count,
    /// A list, and addresses to add.
    Add(String, Vec<String>),
    /// A list, and addresses to remove.
    Remove(String, Vec<String>),
    /// A list to empty.
    Clear(String),
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct List {
    #[serde(rename = "list")]
    pub name: String,
    pub organization: String,
    /// Number of addresses.
    pub count: i64,
    /// Last change; `None` if the list is empty.
    #[serde(serialize_with = "super::maybe_time")]
    pub changed_at: Option<Millis>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Changed {
    #[serde(flatten)]
    pub list: List,
    /// Addresses added.
    pub added: i64,
    /// Addresses removed.
    pub removed: i64,
    /// Texts that are not addresses.
    pub invalid: i64,
}

/// Builds the request, reading addresses from standard input if the command says so.
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

/// Reads one address per line, in UTF-8 or UTF-16. An undecodable or overlong line counts as an invalid address.
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

/// Formats suppression lists with their match for one address.
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
