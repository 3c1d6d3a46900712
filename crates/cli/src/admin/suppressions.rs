//! Suppression lists of organizations: counts and changes. Their addresses are hashed and cannot be read. Outcomes of sent mail
//! fill them ([`outcomes`]).

mod files;
pub(super) mod outcomes;
mod sources;

use std::io::{BufRead as _, BufReader, Read};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use probity_account::suppression::SuppressionKind;
use probity_contract::published::privacy::suppressions::{Removal, SuppressionLookupQuery, SuppressionRemovalQuery};
use probity_lists::encoding::Decoded;
use probity_service::app::App;
use probity_service::callers::once::Once;
use probity_service::privacy::suppressions::{SuppressionAddition, add_addresses, get_all_lists, remove_addresses};
use serde_json::Value;

use super::operator::{act_for, print_one, print_rows, query};
use super::{OrgFlag, one_of};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{AnswerColumn, at, field, time_or};

/// Shown below the help of `suppressions`.
pub(super) const SUPPRESSIONS_EXAMPLES: &str = "\
Examples:
    probity suppressions count
    probity suppressions find jo@example.org
    probity suppressions add bounced jo@example.org
    probity suppressions add complained - < complaints.txt
    probity suppressions remove bounced --all";

#[derive(Debug, Subcommand)]
pub(crate) enum SuppressionsCommand {
    /// Show the number of addresses per list
    Count(OrgFlag),
    /// Show which lists have an address, in any spelling
    Find {
        /// Address to find
        #[arg(value_name = "ADDRESS")]
        email: String,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Add addresses to a list
    Add(SuppressionArgs),
    /// Remove addresses from a list
    Remove {
        #[command(flatten)]
        these: SuppressionArgs,
        /// Remove all addresses
        #[arg(long, conflicts_with = "emails")]
        all: bool,
    },
}

/// Suppression list and addresses.
#[derive(Debug, Args)]
pub(crate) struct SuppressionArgs {
    /// Suppression list
    #[arg(value_name = "LIST", value_parser = one_of(SuppressionKind::ALL.map(SuppressionKind::as_str), SuppressionKind::from_name))]
    pub list: SuppressionKind,
    /// Addresses; `-` reads them from standard input, one per line
    #[arg(id = "emails", value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    #[command(flatten)]
    pub org: OrgFlag,
}

/// Maximum length of an address line, in bytes; longer lines count as invalid.
const LINE_MAX: usize = 4_096;

const COUNTS: &[AnswerColumn] =
    &[at("LIST", "/list"), at("ADDRESSES", "/count"), time_or("CHANGED", "/changed_at", "never")];

const LOOKUPS: &[AnswerColumn] =
    &[at("LIST", "/list"), at("LISTED", "/lookup/listed"), time_or("SINCE", "/lookup/since", "never")];

pub(super) async fn run(app: &App, command: &SuppressionsCommand) -> Result<Printout> {
    match command {
        SuppressionsCommand::Count(some) => show(app, some, query([])?, COUNTS).await,
        SuppressionsCommand::Find { email, org } => show(app, org, query([("email", Some(&**email))])?, LOOKUPS).await,
        SuppressionsCommand::Add(these) => {
            let texts = read_addresses(these)?;
            let caller = act_for(app, &these.org).await?;
            let mut addition = SuppressionAddition::begin(app, &caller, these.list);
            addition.take_texts(app, &texts);
            let added = add_addresses(app, &Once::unkeyed(), &addition).await?;
            print_one(&caller, added, AnswerView::Text(|changed| changed_text(changed, "added")))
        }
        SuppressionsCommand::Remove { these, all } => {
            let removal = if *all { None } else { Some(Removal { emails: read_addresses(these)? }) };
            let caller = act_for(app, &these.org).await?;
            let query = SuppressionRemovalQuery { all: *all };
            let removed = remove_addresses(app, &caller, these.list, query, removal).await?;
            print_one(&caller, removed, AnswerView::Text(|changed| changed_text(changed, "removed")))
        }
    }
}

/// Shows each list, and whether it has the address that the query names.
async fn show(
    app: &App,
    some: &OrgFlag,
    query: SuppressionLookupQuery,
    columns: &'static [AnswerColumn],
) -> Result<Printout> {
    let caller = act_for(app, some).await?;
    print_rows(&caller, get_all_lists(app, &caller, query).await?.data, columns)
}

/// Returns the addresses of the arguments, or of standard input if the command says so.
pub(super) fn read_addresses(these: &SuppressionArgs) -> Result<Vec<String>> {
    if these.addresses.is_empty() {
        bail!("pass addresses, or `-` to read them from standard input, one per line");
    }
    if these.addresses == ["-"] {
        return lines(std::io::stdin().lock());
    }
    Ok(these.addresses.clone())
}

/// Reads one address per line. A line that is too long, or has characters of a guessed encoding, counts as an invalid address.
fn lines(from: impl Read) -> Result<Vec<String>> {
    let unread = "cannot read standard input";
    let mut text = BufReader::new(Decoded::open(from));
    let mut found = Vec::new();
    for line in text.by_ref().split(b'\n') {
        let line = line.context(unread)?;
        let text = if line.len() > LINE_MAX { String::new() } else { String::from_utf8_lossy(&line).trim().to_owned() };
        if !line.trim_ascii().is_empty() {
            found.push(text);
        }
    }
    if text.get_ref().is_guessed() {
        found.iter_mut().filter(|text| !text.is_ascii()).for_each(String::clear);
    }
    Ok(found)
}

fn changed_text(changed: &Value, what: &str) -> String {
    let [list, number, count] = ["/list", &format!("/{what}"), "/count"].map(|pointer| field(changed, pointer));
    let invalid = changed["invalid"].as_i64().filter(|invalid| *invalid > 0);
    let invalid = invalid.map_or_else(String::new, |invalid| format!("; {invalid} texts are not addresses"));
    format!("{list}: {number} {what}, {count} in total{invalid}\n")
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
        assert_eq!(lines(&b"jo@example.org\nj\xf6@example.org\n"[..]).unwrap(), ["jo@example.org", ""]);
        let marked = "\u{feff}jo@example.org\r\nann@example.org\r\n";
        let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [marked.as_bytes(), &wide] {
            assert_eq!(lines(text).unwrap(), ["jo@example.org", "ann@example.org"]);
        }
    }
}
