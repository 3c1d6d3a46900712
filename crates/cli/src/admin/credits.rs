//! Credits: booked, listed, shown, audited.

use anyhow::Result;
use clap::Subcommand;
use clap::builder::TypedValueParser;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use probity_account::credits::CreditBucket;
use probity_contract::published::operator::OperatorPageQuery;
use probity_contract::published::operator::credits::{CreditAccount, CreditBalance};
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::operator::audit::audit_credits;
use probity_service::operator::credits::{
    CreditOrder, Until, adjust_credits, grant_credits, read_balance, read_ledger,
};

use super::installation::print_findings;
use super::operator::{act_for, first_page, print_one, print_rows};
use super::{OrgFlag, meaning, one_of};
use crate::config::duration;
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{self, AnswerColumn, at, field, time};

/// Shown below the help of `credits`.
pub(super) const CREDITS_EXAMPLES: &str = "\
Examples:
    probity credits grant --amount 10000
    probity credits grant --bucket subscription --amount 5000 --until 2026-12-31 --org org_01h455vb4pex5vsknk084sn02q
    probity credits grant --amount 10000 --reference INV-2027-001       repeating it grants nothing
    probity credits ledger
    probity credits show
    probity credits adjust --bucket prepaid --amount -250
    probity credits audit                            exit code 1 if there are discrepancies";

#[derive(Debug, Subcommand)]
pub(crate) enum CreditsCommand {
    /// Grant credits
    Grant {
        #[command(flatten)]
        org: OrgFlag,
        /// Kind of credits; subscription credits are spent first
        #[arg(long, value_parser = bucket(), default_value = "prepaid")]
        bucket: CreditBucket,
        /// Number of credits
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        amount: i64,
        /// Expiry of unused subscription credits: 30d, 2026-12-31 (the end of that day, UTC) or a time; default: the end of
        /// the plan's month, or never
        #[arg(long, value_name = "TIME", value_parser = time_to_come)]
        until: Option<Until>,
        /// Your reference, such as an invoice number; each reference grants once
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
    },
    /// List grants, corrections and expired credits, newest first
    Ledger {
        #[command(flatten)]
        org: OrgFlag,
        /// Maximum number of entries
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show available, held and spent credits
    Show(OrgFlag),
    /// Correct the balance of an organization, up or down
    Adjust {
        #[command(flatten)]
        org: OrgFlag,
        /// Kind of credits
        #[arg(long, value_parser = bucket())]
        bucket: CreditBucket,
        /// Credits to add; a negative number removes credits
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        amount: i64,
        /// Your reference; each reference corrects once
        #[arg(long, value_name = "TEXT")]
        reference: Option<String>,
    },
    /// Check that the credit accounts of all organizations agree; can run beside the service
    Audit,
}

fn bucket() -> impl TypedValueParser<Value = CreditBucket> {
    let names = [
        meaning("subscription", "Credits of a plan's month, spent first"),
        meaning("prepaid", "Credits that never expire"),
    ];
    one_of(names, CreditBucket::from_name)
}

const LEDGER: &[AnswerColumn] = &[
    time("AT", "/at"),
    at("KIND", "/kind"),
    at("SUBSCRIPTION", "/subscription"),
    at("PREPAID", "/prepaid"),
    at("CAUSE", "/cause"),
];

pub(super) async fn run(app: &App, command: &CreditsCommand) -> Result<Printout> {
    match command {
        CreditsCommand::Grant { org, bucket, amount, until, reference } => {
            let order = CreditOrder::grant(*bucket, *amount, *until, reference.clone())?;
            let caller = act_for(app, org).await?;
            let account = grant_credits(app, caller.org_id(), order).await?;
            print_booked(&caller, account)
        }
        CreditsCommand::Adjust { org, bucket, amount, reference } => {
            let order = CreditOrder::adjustment(*bucket, *amount, reference.clone())?;
            let caller = act_for(app, org).await?;
            let account = adjust_credits(app, caller.org_id(), order).await?;
            print_booked(&caller, account)
        }
        CreditsCommand::Ledger { org, limit } => {
            let caller = act_for(app, org).await?;
            let page = OperatorPageQuery(first_page(*limit));
            print_rows(&caller, read_ledger(app, caller.org_id(), Ok(page)).await?.data, LEDGER)
        }
        CreditsCommand::Show(some) => {
            let caller = act_for(app, some).await?;
            let balance = read_balance(app, caller.org_id()).await?;
            print_one(&caller, CreditBalance::from(&balance), BALANCE)
        }
        CreditsCommand::Audit => print_findings(audit_credits(app).await?),
    }
}

/// Prints a balance after a booking, with the available credits of both kinds.
fn print_booked(caller: &Caller, account: CreditAccount) -> Result<Printout> {
    let total = account.subscription.available.saturating_add(account.prepaid.available);
    print_one(caller, join(account, OneField("total", total)), BALANCE)
}

/// View of a balance: a row per kind of credits, and their sum; after a repeated booking, a note that it had no effect.
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

/// Parses `90d`, `2026-12-31` (the end of that day, UTC) or `2026-12-31T12:00:00Z`.
pub(crate) fn time_to_come(text: &str) -> Result<Until, String> {
    let text = text.trim();
    if let Some(ms) = duration::parse(text).filter(|ms| *ms > 0) {
        return Ok(Until::After(ms));
    }
    // The length check excludes a text with a time, which would parse as its day.
    let day = || text.parse::<Date>().ok().filter(|_| text.len() == "2026-12-31".len());
    let end = |day: Date| Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(|| day().and_then(end));
    let time = time.ok_or("must look like 90d, 2026-12-31 or 2026-12-31T12:00:00Z")?;
    Ok(Until::At(Millis(time.as_millisecond())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_and_a_time_is_exact() {
        let table = [
            ("90d", Some(Until::After(90 * 86_400_000))),
            ("1970-01-01", Some(Until::At(Millis(86_400_000)))),
            ("1970-01-01T00:00:01Z", Some(Until::At(Millis(1_000)))),
            ("1970-01-01T01:00:01+01:00", Some(Until::At(Millis(1_000)))),
            ("1970-01-01T00:00:01", None),
            ("2023-02-29", None),
            ("0d", None),
            ("tomorrow", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(time_to_come(text).ok(), expected, "{text:?}");
        }
    }
}
