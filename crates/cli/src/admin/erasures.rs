//! Erasure requests and their outcome.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Subcommand;
use probity_account::id::ErasureId;
use probity_lists::submission::ADDRESS_MAX_BYTES;
use probity_mail::address::trimmed;
use probity_service::app::App;
use probity_service::privacy::erasures::{erase_addresses, get_erasure, list_erasures};
use probity_service::privacy::traces::{AddressTraces, SoughtAddresses, find_traces};
use serde_json::Value;

use super::OrgFlag;
use super::operator::{OrMissing as _, act_for, first_page, print_one, print_rows, query};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{AnswerColumn, at, cell, made, time, time_or};

/// Shown below the help of `erasures`.
pub(super) const ERASURES_EXAMPLES: &str = "\
Examples:
    probity erasures find ann@example.com            what an erasure would reach
    probity erasures erase ann@example.com           from everything submitted before
    probity erasures erase --file addresses.txt --org org_01h455vb4pex5vsknk084sn02q
    probity erasures list
    probity erasures show era_01h455vb4pex5vsknk084sn02q

A running service erases the addresses.";

#[derive(Debug, Subcommand)]
pub(crate) enum ErasuresCommand {
    /// Erase addresses; this cannot be undone
    Erase {
        #[command(flatten)]
        org: OrgFlag,
        /// Addresses to erase
        #[arg(id = "emails", value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// File with more addresses, one per line
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Count the lists and deliveries that an erasure would reach; changes nothing
    Find {
        #[command(flatten)]
        org: OrgFlag,
        /// Addresses to look for
        #[arg(id = "emails", value_name = "ADDRESS", required = true)]
        addresses: Vec<String>,
    },
    /// List erasure requests, newest first
    List {
        #[command(flatten)]
        org: OrgFlag,
        /// Maximum number of erasure requests
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show whether an erasure request is complete, and what was erased
    Show {
        /// Erasure ID
        #[arg(value_name = "ERASURE_ID")]
        erasure: String,
        #[command(flatten)]
        org: OrgFlag,
    },
}

/// Maximum size of a file of addresses, in bytes.
const FILE_MAX: u64 = 64 << 20;

const TRACES: &[AnswerColumn] = &[at("LISTS", "/lists"), at("DELIVERIES", "/deliveries")];

const ERASURES: &[AnswerColumn] = &[
    at("ID", "/id"),
    at("ADDRESSES", "/addresses"),
    time("REQUESTED", "/requested_at"),
    time_or("COMPLETED", "/completed_at", "not yet"),
    made("REMOVED", removed),
];

fn removed(erasure: &Value) -> String {
    let tables = erasure["removed"].as_object().into_iter().flatten();
    tables.map(|(table, count)| format!("{table} {}", cell(Some(count)))).collect::<Vec<_>>().join(", ")
}

pub(super) async fn run(app: &App, command: &ErasuresCommand) -> Result<Printout> {
    match command {
        ErasuresCommand::Erase { org, addresses, file } => {
            let emails = read_addresses(addresses, file.as_deref())?;
            let caller = act_for(app, org).await?;
            print_rows(&caller, erase_addresses(app, &caller, &emails).await?.data, ERASURES)
        }
        ErasuresCommand::Find { org, addresses } => find(app, org, addresses).await,
        ErasuresCommand::List { org, limit } => {
            let caller = act_for(app, org).await?;
            print_rows(&caller, list_erasures(app, &caller, first_page(*limit)).await?.data, ERASURES)
        }
        ErasuresCommand::Show { erasure, org } => {
            let caller = act_for(app, org).await?;
            let missing = || anyhow!("there is no erasure {erasure}; `probity erasures list` shows the last ones");
            let id: ErasureId = erasure.parse().map_err(|_| missing())?;
            print_one(&caller, get_erasure(app, &caller, id).await.or_missing(missing)?, AnswerView::Rows(ERASURES))
        }
    }
}

/// Adds up the responses of the search.
async fn find(app: &App, org: &OrgFlag, addresses: &[String]) -> Result<Printout> {
    let emails = read_addresses(addresses, None)?;
    let caller = act_for(app, org).await?;
    let mut whole = AddressTraces { lists: 0, deliveries: 0, next: None };
    loop {
        let sought = SoughtAddresses { emails: emails.clone() };
        let part = find_traces(app, &caller, query([("next", whole.next.as_deref())])?, sought).await?;
        whole.lists += part.lists;
        whole.deliveries += part.deliveries;
        whole.next = part.next;
        if whole.next.is_none() {
            return print_one(&caller, whole, AnswerView::Rows(TRACES));
        }
    }
}

/// Returns the addresses of the arguments and of the file, each once.
pub(super) fn read_addresses(addresses: &[String], file: Option<&Path>) -> Result<Vec<String>> {
    let mut emails: BTreeSet<String> = addresses.iter().cloned().collect();
    if let Some(file) = file {
        let place = file.display();
        let opened = File::open(file).with_context(|| format!("cannot read {place}"))?;
        let mut text = String::new();
        let read = opened.take(FILE_MAX + 1).read_to_string(&mut text);
        let read = read.with_context(|| format!("cannot read {place}"))?;
        if u64::try_from(read).is_ok_and(|read| read > FILE_MAX) {
            bail!("{place} is larger than {} MiB: split it", FILE_MAX >> 20);
        }
        emails.extend(text.lines().map(trimmed).filter(|line| !line.is_empty()).map(str::to_owned));
    }
    // Checked before the first erasure, because none can be undone.
    if let Some(email) = emails.iter().find(|email| trimmed(email).is_empty() || email.len() > ADDRESS_MAX_BYTES) {
        bail!("an address has {} bytes: it must have 1 to {ADDRESS_MAX_BYTES}; nothing was erased", email.len());
    }
    if emails.is_empty() {
        bail!("no addresses: pass some, or set --file to a file with one per line");
    }
    Ok(emails.into_iter().collect())
}
