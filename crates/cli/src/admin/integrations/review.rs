//! Review of planned actions.

use anyhow::Result;
use probity_contract::page::PageQuery;
use probity_contract::published::connections::ReviewDecisions;
use probity_service::callers::once::Once;
use probity_service::connections::review::{decide_review, list_review};
use serde_json::{Value, json};

use super::runs::{missing, reach_run};
use super::{reach, shown};
use crate::admin::LocalOperator;
use crate::admin::operator::{OrMissing as _, body, print_one, print_rows};
use crate::args::ReviewCommand;
use crate::output::printout::Printout;

pub(super) async fn run(operator: &LocalOperator<'_>, command: &ReviewCommand) -> Result<Printout> {
    match command {
        ReviewCommand::List { one, limit } => {
            let (caller, place) = reach(operator, one).await?;
            let page = PageQuery { per_page: *limit, cursor: None };
            let found = list_review(operator.app, &caller, &place, page).await?;
            let printout = print_rows(&caller, found.data, shown::PLANNED)?;
            Ok(printout.or_note("no action waits for a decision"))
        }
        ReviewCommand::Decide { one, decision, rows } => {
            let (caller, place, id) = reach_run(operator, one).await?;
            let word = |row: &i64| json!({ "run_id": id, "index": row, "decision": decision });
            let asked: ReviewDecisions = body(json!({ "decisions": rows.iter().map(word).collect::<Vec<Value>>() }))?;
            let decided = decide_review(operator.app, &caller, &place, &Once::unkeyed(), asked)
                .await
                .or_missing(|| missing(one))?;
            print_one(&caller, decided, shown::DECIDED)
        }
    }
}
