//! Credits: booked, listed, shown, audited.

use anyhow::{Context as _, Result, bail};
use probity_account::credits::CreditBucket;
use probity_contract::page::PageQuery;
use probity_contract::published::operator::OperatorPageQuery;
use probity_contract::published::operator::credits::{CreditAccount, CreditBalance};
use probity_service::operator::audit::audit_credits;
use probity_service::operator::credits::{
    CreditOrder, Reference, Until, adjust_credits, grant_credits, read_balance, read_ledger,
};
use serde::Serialize;

use super::LocalOperator;
use super::installation::print_findings;
use super::operator::{each_with_org, refuse, with_org};
use crate::args::CreditsCommand;
use crate::args::TimeArg;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, time};

const LEDGER: &[AnswerColumn] = &[
    time("AT", "/at"),
    at("KIND", "/kind"),
    at("SUBSCRIPTION", "/subscription"),
    at("PREPAID", "/prepaid"),
    at("CAUSE", "/cause"),
];

/// A balance after a booking, with the sum.
#[derive(Serialize)]
struct BookedBalance {
    #[serde(flatten)]
    account: CreditAccount,
    /// Available credits of both kinds.
    total: i64,
}

impl From<CreditAccount> for BookedBalance {
    fn from(account: CreditAccount) -> Self {
        let total = account.subscription.available.saturating_add(account.prepaid.available);
        Self { account, total }
    }
}

pub(super) async fn run(operator: &LocalOperator<'_>, command: &CreditsCommand) -> Result<Printout> {
    let app = operator.app;
    match command {
        CreditsCommand::Grant { org, bucket, amount, until, reference } => {
            check_until(*bucket, *until)?;
            let caller = operator.act_for(org).await?;
            let until = until.map(|until| end_of(operator, until)).transpose()?;
            let order = CreditOrder {
                bucket: *bucket,
                amount: *amount,
                reference: read_reference(reference.as_deref())?,
                until,
            };
            let account = grant_credits(app, caller.org_id(), order).await.map_err(refuse)?;
            Printout::one(with_org(&caller, BookedBalance::from(account)), BALANCE)
        }
        CreditsCommand::Adjust { org, bucket, amount, reference } => {
            check_amount(*amount)?;
            let caller = operator.act_for(org).await?;
            let order = CreditOrder {
                bucket: *bucket,
                amount: *amount,
                reference: read_reference(reference.as_deref())?,
                until: None,
            };
            let account = adjust_credits(app, caller.org_id(), order).await.map_err(refuse)?;
            Printout::one(with_org(&caller, BookedBalance::from(account)), BALANCE)
        }
        CreditsCommand::Ledger { org, limit } => {
            let caller = operator.act_for(org).await?;
            let page = OperatorPageQuery(PageQuery { per_page: *limit, cursor: None });
            let entries = read_ledger(app, caller.org_id(), Ok(page)).await.map_err(refuse)?;
            Printout::of(each_with_org(&caller, entries.data), AnswerView::Rows(LEDGER))
        }
        CreditsCommand::Show(some) => {
            let caller = operator.act_for(some).await?;
            let balance = read_balance(app, caller.org_id()).await.map_err(refuse)?;
            Printout::one(with_org(&caller, CreditBalance::from(&balance)), BALANCE)
        }
        CreditsCommand::Audit => print_findings(audit_credits(app).await.map_err(refuse)?),
    }
}

/// Refuses an expiry of credits that have none.
pub(super) fn check_until(bucket: CreditBucket, until: Option<TimeArg>) -> Result<()> {
    if bucket == CreditBucket::Prepaid && until.is_some() {
        bail!("--until is for --bucket subscription; prepaid credits never expire");
    }
    Ok(())
}

/// Refuses a correction by nothing.
pub(super) fn check_amount(amount: i64) -> Result<()> {
    if amount == 0 {
        bail!("--amount 0 changes nothing");
    }
    Ok(())
}

fn read_reference(text: Option<&str>) -> Result<Option<Reference>> {
    text.map(str::parse).transpose().context("--reference")
}

/// Resolves a future time. A relative time stays relative, so that repeating a request gives the same value.
fn end_of(operator: &LocalOperator<'_>, moment: TimeArg) -> Result<Until> {
    operator.resolve("until", moment).map(|until| match moment {
        TimeArg::At(_) => Until::At(until),
        TimeArg::After(ms) => Until::After(ms),
    })
}

/// A balance for people: a row per kind of credits, and their sum; after a repeated booking, that it had no effect.
pub(super) const BALANCE: AnswerView = AnswerView::Text(|balance| {
    const KINDS: [&str; 2] = ["subscription", "prepaid"];
    const STATES: [&str; 3] = ["available", "held", "spent"];
    let row = |kind: &str| {
        let states = STATES.map(|state| field(balance, &format!("/{kind}/{state}")));
        [vec![kind.to_owned()], states.to_vec()].concat()
    };
    let number = |kind: &str, state: &str| balance[kind][state].as_i64().unwrap_or_default();
    let sum = |state: &str| KINDS.iter().map(|kind| number(kind, state)).fold(0, i64::saturating_add).to_string();
    let total = [vec!["total".to_owned()], STATES.map(sum).to_vec()].concat();
    let table = table::lines(&["CREDITS", "AVAILABLE", "HELD", "SPENT"], KINDS.map(row).into_iter().chain([total]));
    let is_repeated = balance["booked"] == false;
    table + if is_repeated { "\nNothing was booked: the reference was already used.\n" } else { "" }
});
