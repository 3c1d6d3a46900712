//! Lists: added, followed, searched, downloaded, canceled.

mod adding;
mod download;

use anyhow::{Result, anyhow};
use probity_account::id::JobId;
use probity_contract::page::PageQuery;
use probity_contract::published::jobs::JobsQuery;
use probity_service::callers::caller::Caller;
use probity_service::jobs::acts::{cancel_list, list_jobs};
use probity_service::lists::lookup::find_places;
use probity_service::lists::progress::get_progress;
use probity_service::lists::slice::find_rows;
use serde_json::Value;

use super::LocalOperator;
use super::operator::{OrMissing as _, query, staff};
use crate::args::{ListArg, ListsCommand, OrgFlag, RowsArgs};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made, time};

#[cfg(test)]
pub(super) use adding::FORECAST;

const JOBS: &[AnswerColumn] = &[
    at("JOB", "/id"),
    at("STATUS", "/status"),
    at("SOURCE", "/source"),
    time("CREATED", "/created_at"),
    at_or("ROWS", "/results/total", "-"),
    at_or("PASSED", "/results/passed", "-"),
    at_or("UNDELIVERABLE", "/results/undeliverable", "-"),
    at_or("RISKY", "/results/risky", "-"),
    at_or("UNKNOWN", "/results/unknown", "-"),
];

const JOB: &[AnswerColumn] = &[
    at("job", "/id"),
    at("status", "/status"),
    at("source", "/source"),
    time("created", "/created_at"),
    time("started", "/started_at"),
    time("finished", "/finished_at"),
    time("rows removed", "/purged_at"),
    made("processed", |job| format!("{} of {}", field(job, "/processed"), field(job, "/rows"))),
    at("passed", "/passed"),
    at("undeliverable", "/undeliverable"),
    at("risky", "/risky"),
    at("unknown", "/unknown"),
    at("credits spent", "/credits/spent"),
    at("credits on hold", "/credits/set_aside"),
    at("credits released", "/credits/returned"),
];

const PROVIDERS: &[AnswerColumn] = &[
    at_or("PROVIDER", "/id", "other"),
    at_or("NAME", "/name", "others"),
    at("PROCESSED", "/processed"),
    at("PASSED", "/passed"),
    at("UNDELIVERABLE", "/undeliverable"),
    at("RISKY", "/risky"),
    at("UNKNOWN", "/unknown"),
];

pub(super) const ROWS: &[AnswerColumn] = &[
    at("ROW", "/index"),
    at("ADDRESS", "/email"),
    at_or("STATUS", "/status", "pending"),
    at("REASON", "/reason"),
    at("SUGGESTION", "/suggestion"),
    at("PROVIDER", "/provider"),
];

const PLACES: &[AnswerColumn] = &[
    at("JOB", "/job"),
    time("CREATED", "/created_at"),
    at("SOURCE", "/source"),
    at("ROW", "/index"),
    at("ADDRESS", "/email"),
    at_or("STATUS", "/status", "pending"),
    at("REASON", "/reason"),
];

pub(super) const LISTED: AnswerView = AnswerView::Rows(JOBS);

/// Maximum rows that one read of a job's rows gives.
const ROWS_PER_READ: usize = 500;

pub(super) async fn run(operator: &LocalOperator<'_>, command: &ListsCommand) -> Result<Printout> {
    match command {
        ListsCommand::Add(args) => adding::add(operator, args).await,
        ListsCommand::List { org, status, source, test, limit } => {
            let caller = staff(operator.choose_org(org).await?, *test);
            let (created_after, created_before) = (None, None);
            let page = PageQuery { per_page: *limit, cursor: None };
            let asked =
                JobsQuery { source: source.clone(), status: status.clone(), created_after, created_before, page };
            let found = list_jobs(operator.app, &caller, asked).await?;
            Ok(Printout::of(found.data, LISTED)?.or_note("no lists found"))
        }
        ListsCommand::Show(one) => {
            let (caller, id) = reach(operator, one).await?;
            let progress = get_progress(operator.app, &caller, id).await;
            Printout::one(progress.or_missing(|| missing(&one.job))?, PROGRESS)
        }
        ListsCommand::Rows(args) => show_rows(operator, args).await,
        ListsCommand::Download(args) => download::download(operator, args).await,
        ListsCommand::Find { text, limit, org } => find(operator, text, usize::try_from(*limit)?, org).await,
        ListsCommand::Cancel(one) => cancel(operator, one).await,
    }
}

/// Reports whether a command forecasts.
pub(super) fn forecasts(command: &ListsCommand) -> bool {
    matches!(command, ListsCommand::Add(args) if args.forecast)
}

/// Returns the caller and the ID for an act on a list.
async fn reach(operator: &LocalOperator<'_>, one: &ListArg) -> Result<(Caller, JobId)> {
    let caller = staff(operator.choose_org(&one.org).await?, one.test);
    Ok((caller, one.job.parse().map_err(|_| missing(&one.job))?))
}

fn missing(job: &str) -> anyhow::Error {
    anyhow!("there is no list {job}; to list all: `probity lists list`, for lists of test keys with --test")
}

/// The progress of a list for people.
pub(super) const PROGRESS: AnswerView = AnswerView::Text(|job: &Value| {
    let reasons = table::entries(["REASON", "ROWS"], job, "/reasons");
    let providers = table::rows_at(PROVIDERS, job, "/providers");
    format!("{}\n{reasons}\n{providers}", table::fields(JOB, job))
});

/// Reads rows until there are enough. A read ends early if it takes long.
async fn show_rows(operator: &LocalOperator<'_>, args: &RowsArgs) -> Result<Printout> {
    let (caller, id) = reach(operator, &args.one).await?;
    let filters =
        [("status", &args.status), ("reason", &args.reason), ("provider", &args.provider), ("q", &args.search)];
    let filters = filters.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let filters: Vec<(&str, &str)> = filters.collect();
    let (limit, mut rows, mut after) = (usize::try_from(args.limit)?, Vec::new(), Some(i64::from(args.after)));
    while let Some(at) = after.filter(|_| rows.len() < limit) {
        let (at, per_page) = (at.to_string(), (limit - rows.len()).min(ROWS_PER_READ).to_string());
        let asked = query(&[&filters[..], &[("after", &*at), ("per_page", &*per_page)]].concat())?;
        let slice = find_rows(operator.app, &caller, id, asked).await.or_missing(|| missing(&args.one.job))?;
        rows.extend(slice.data);
        after = slice.next;
    }
    Ok(Printout::of(rows, AnswerView::Rows(ROWS))?.or_note("no rows found"))
}

/// Searches until there are enough matches. A search ends early if it takes long.
async fn find(operator: &LocalOperator<'_>, text: &str, limit: usize, org: &OrgFlag) -> Result<Printout> {
    let caller = operator.act_for(org).await?;
    let (mut places, mut next) = (Vec::new(), None::<String>);
    loop {
        let cursor = next.as_deref().unwrap_or_default();
        let found = find_places(operator.app, &caller, query(&[("q", text), ("next", cursor)])?).await?;
        places.extend(found.data);
        next = found.next;
        if next.is_none() || places.len() >= limit {
            break;
        }
    }
    places.truncate(limit);
    Ok(Printout::of(places, AnswerView::Rows(PLACES))?.or_note("not found in any list whose rows are kept"))
}

async fn cancel(operator: &LocalOperator<'_>, one: &ListArg) -> Result<Printout> {
    let (caller, id) = reach(operator, one).await?;
    let cancelled = cancel_list(operator.app, &caller, id).await;
    Printout::one(cancelled.or_missing(|| missing(&one.job))?, PROGRESS)
}
