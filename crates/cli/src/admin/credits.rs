//! Credits: booked, listed, shown, audited.

use anyhow::Result;
use probity_contract::page::PageQuery;
use probity_contract::published::operator::OperatorPageQuery;
use probity_contract::published::operator::credits::{CreditAccount, CreditBalance};
use probity_service::operator::audit::audit_credits;
use probity_service::operator::credits::{CreditOrder, adjust_credits, grant_credits, read_balance, read_ledger};
use serde::Serialize;

use super::LocalOperator;
use super::installation::print_findings;
use super::operator::{print_one, print_rows};
use crate::args::CreditsCommand;
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
            let order = CreditOrder::grant(*bucket, *amount, *until, reference.clone())?;
            let caller = operator.act_for(org).await?;
            let account = grant_credits(app, caller.org_id(), order).await?;
            print_one(&caller, BookedBalance::from(account), BALANCE)
        }
        CreditsCommand::Adjust { org, bucket, amount, reference } => {
            let order = CreditOrder::adjustment(*bucket, *amount, reference.clone())?;
            let caller = operator.act_for(org).await?;
            let account = adjust_credits(app, caller.org_id(), order).await?;
            print_one(&caller, BookedBalance::from(account), BALANCE)
        }
        CreditsCommand::Ledger { org, limit } => {
            let caller = operator.act_for(org).await?;
            let page = OperatorPageQuery(PageQuery { per_page: *limit, cursor: None });
            print_rows(&caller, read_ledger(app, caller.org_id(), Ok(page)).await?.data, LEDGER)
        }
        CreditsCommand::Show(some) => {
            let caller = operator.act_for(some).await?;
            let balance = read_balance(app, caller.org_id()).await?;
            print_one(&caller, CreditBalance::from(&balance), BALANCE)
        }
        CreditsCommand::Audit => print_findings(audit_credits(app).await?),
    }
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
