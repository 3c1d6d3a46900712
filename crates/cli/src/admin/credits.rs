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

/// A grant or correction of credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Booking {
    pub org: Option<String>,
    /// Grant, or else a correction.
    pub is_grant: bool,
    pub bucket: Bucket,
    /// Number of credits; negative for a correction that takes credits.
    pub amount: i64,
    /// Expiry of the unspent rest of a grant.
    pub until: Option<Moment>,
    /// The operator's idempotency reference.
    pub reference: Option<String>,
}

/// Credits of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Account {
    pub available: i64,
    /// Credits on hold.
    pub held: i64,
    /// Credits spent so far.
    pub spent: i64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Balance {
    pub organization: String,
    /// Credits of the plan's period.
    pub subscription: Account,
    /// Bought credits.
    pub prepaid: Account,
    /// Available credits of both kinds.
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
