//! Credits.

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;

use super::{Moment, Request, table};
use crate::args::CreditsCommand;

/// The two kinds of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bucket {
    /// Credits of a plan's month, spent first
    Subscription,
    /// Credits that never expire
    Prepaid,
}

/// Credits that are to be put in or taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Booking {
    /// Whose.
    pub org: Option<String>,
    /// Whether they are granted; a correction otherwise.
    pub is_grant: bool,
    /// Which.
    pub bucket: Bucket,
    /// How many; of a correction with its sign.
    pub amount: i64,
    /// When the rest of a grant expires.
    pub until: Option<Moment>,
    /// The operator's name for it.
    pub reference: Option<String>,
}

/// What there is of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Account {
    /// Can be spent.
    pub available: i64,
    /// Set aside for what is being done.
    pub held: i64,
    /// Spent so far.
    pub spent: i64,
}

/// What an organization has.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Balance {
    /// Whose.
    pub organization: String,
    /// Of a period.
    pub subscription: Account,
    /// Bought.
    pub prepaid: Account,
    /// What can be spent of both.
    pub total: i64,
}

pub(super) fn request(command: &CreditsCommand) -> Result<Request> {
    Ok(match command {
        CreditsCommand::Grant { bucket: Bucket::Prepaid, until: Some(_), .. } => {
            bail!("--until is for --bucket subscription; prepaid credits never expire")
        }
        CreditsCommand::Grant { org, bucket, amount, until, reference } => Request::Book(Booking {
            org: org.org.clone(),
            is_grant: true,
            bucket: *bucket,
            amount: *amount,
            until: *until,
            reference: reference.clone(),
        }),
        CreditsCommand::Ledger { org, limit } => Request::Ledger { org: org.org.clone(), limit: *limit },
        CreditsCommand::Show(some) => Request::Balance { org: some.org.clone() },
        CreditsCommand::Adjust { amount: 0, .. } => bail!("--amount 0 changes nothing"),
        CreditsCommand::Adjust { org, bucket, amount, reference } => Request::Book(Booking {
            org: org.org.clone(),
            is_grant: false,
            bucket: *bucket,
            amount: *amount,
            until: None,
            reference: reference.clone(),
        }),
        CreditsCommand::Audit => Request::AuditCredits,
    })
}

pub(super) fn table(balance: &Balance) -> String {
    let row = |name: &str, account: Account| {
        vec![name.to_owned(), account.available.to_string(), account.held.to_string(), account.spent.to_string()]
    };
    let sum = |of: fn(Account) -> i64| of(balance.subscription).saturating_add(of(balance.prepaid));
    let total = Account { available: balance.total, held: sum(|a| a.held), spent: sum(|a| a.spent) };
    let rows = [row("subscription", balance.subscription), row("prepaid", balance.prepaid), row("total", total)];
    table::lines(&["CREDITS", "AVAILABLE", "HELD", "SPENT"], rows.into_iter())
}
