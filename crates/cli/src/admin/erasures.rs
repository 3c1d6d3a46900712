//! Erasure requests and their outcome.

use std::collections::BTreeMap;
use std::io::Read as _;

use anyhow::{Context as _, Result, bail};
use probity_mail::time::Millis;
use serde::Serialize;

use super::{Request, moment_text, table};
use crate::args::ErasuresCommand;

/// Maximum size of a file of addresses, in bytes.
const FILE_MAX: u64 = 64 << 20;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Erasure {
    pub id: String,
    pub organization: String,
    pub status: &'static str,
    pub addresses: i64,
    #[serde(serialize_with = "super::time")]
    pub requested_at: Millis,
    #[serde(serialize_with = "super::maybe_time")]
    pub completed_at: Option<Millis>,
    /// Entries erased, by table.
    pub removed: BTreeMap<String, u64>,
}

/// Erasure commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ErasureWish {
    Erase {
        /// `None`: the only organization.
        org: Option<String>,
        emails: Vec<String>,
    },
    /// Newest first.
    List {
        /// `None`: the only organization.
        org: Option<String>,
        limit: u32,
    },
    Show {
        /// `None`: the only organization.
        org: Option<String>,
        erasure: String,
    },
}

impl ErasureWish {
    pub(crate) fn org(&self) -> Option<&str> {
        let (Self::Erase { org, .. } | Self::List { org, .. } | Self::Show { org, .. }) = self;
        org.as_deref()
    }
}

pub(super) fn request(command: &ErasuresCommand) -> Result<Request> {
    let wish = match command {
        ErasuresCommand::Erase { org, addresses, file } => {
            let mut emails = addresses.clone();
            if let Some(file) = file {
                let place = file.display();
                let opened = std::fs::File::open(file).with_context(|| format!("cannot read {place}"))?;
                let mut text = String::new();
                let read = opened.take(FILE_MAX + 1).read_to_string(&mut text);
                let read = read.with_context(|| format!("cannot read {place}"))?;
                if u64::try_from(read).is_ok_and(|read| read > FILE_MAX) {
                    bail!("{place} is larger than {} MiB: split it", FILE_MAX >> 20);
                }
                emails.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
            }
            if emails.is_empty() {
                bail!("no addresses: pass some, or set --file to a file with one per line");
            }
            ErasureWish::Erase { org: org.org.clone(), emails }
        }
        ErasuresCommand::List { org, limit } => ErasureWish::List { org: org.org.clone(), limit: *limit },
        ErasuresCommand::Show { org, erasure } => ErasureWish::Show { org: org.org.clone(), erasure: erasure.clone() },
    };
    Ok(Request::Erasures(wish))
}

pub(super) fn table(erasures: &[Erasure]) -> String {
    let row = |one: &Erasure| {
        let done = one.completed_at.map_or_else(|| "not yet".to_owned(), moment_text);
        let removed: Vec<String> = one.removed.iter().map(|(table, count)| format!("{table} {count}")).collect();
        vec![one.id.clone(), one.addresses.to_string(), moment_text(one.requested_at), done, removed.join(", ")]
    };
    table::lines(&["ID", "ADDRESSES", "REQUESTED", "COMPLETED", "REMOVED"], erasures.iter().map(row))
}
