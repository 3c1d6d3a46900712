//! Review of planned actions.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser};
use probity_contract::published::connections::ReviewDecisions;
use probity_service::app::App;
use probity_service::callers::once::Once;
use probity_service::connections::review::{decide_review, list_review};
use probity_service::connections::review_file::find_review_file;
use serde_json::{Value, json};

use super::runs::{RunArg, missing, reach_run};
use super::{ConnectionArg, reach, shown};
use crate::admin::lists::download::deliver;
use crate::admin::meaning;
use crate::admin::operator::{OrMissing as _, body, first_page, print_one, print_rows};
use crate::output::printout::Printout;

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// List planned actions of runs that wait
    List {
        #[command(flatten)]
        one: ConnectionArg,
        /// Maximum number of actions
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Write all planned actions of runs that wait as CSV: cells that a spreadsheet would run as a formula begin with '
    Download {
        #[command(flatten)]
        one: ConnectionArg,
        /// Output file; default and `-`: standard output
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Decide about planned actions of a run; those to be done are done at once
    Decide {
        #[command(flatten)]
        one: RunArg,
        /// Decision
        #[arg(value_name = "DECISION", value_parser = PossibleValuesParser::new(decisions()))]
        decision: String,
        /// Rows of the actions, as listed
        #[arg(id = "decisions", required = true, value_name = "ROW", value_parser = clap::value_parser!(i64).range(0..))]
        rows: Vec<i64>,
    },
}

fn decisions() -> [PossibleValue; 3] {
    [
        meaning("act", "do it"),
        meaning("ignore", "do not do it in this run"),
        meaning("whitelist", "the verdict is wrong: add a whitelist rule for the address"),
    ]
}

pub(super) async fn run(app: &Arc<App>, command: &ReviewCommand) -> Result<Printout> {
    match command {
        ReviewCommand::List { one, limit } => {
            let (caller, place) = reach(app, one).await?;
            let found = list_review(app, &caller, &place, first_page(*limit)).await?;
            let printout = print_rows(&caller, found.data, shown::PLANNED)?;
            Ok(printout.or_note("no action waits for a decision"))
        }
        ReviewCommand::Download { one, out } => {
            let (caller, place) = reach(app, one).await?;
            let file = find_review_file(app, &caller, &place).await?;
            deliver(file.write(), ("connection", &one.connection), out.as_deref()).await
        }
        ReviewCommand::Decide { one, decision, rows } => {
            let (caller, place, id) = reach_run(app, one).await?;
            let word = |row: &i64| json!({ "run_id": id, "index": row, "decision": decision });
            let asked: ReviewDecisions = body(json!({ "decisions": rows.iter().map(word).collect::<Vec<Value>>() }))?;
            let decided =
                decide_review(app, &caller, &place, &Once::unkeyed(), asked).await.or_missing(|| missing(one))?;
            print_one(&caller, decided, shown::DECIDED)
        }
    }
}
