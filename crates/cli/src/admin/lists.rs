//! Lists: added, followed, searched, downloaded, canceled.

pub(super) mod adding;
pub(in crate::admin) mod download;

use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use probity_account::id::JobId;
use probity_contract::published::jobs::{JobsQuery, SOURCES, STATUSES};
use probity_mail::verdict::{Reason, Status};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::jobs::acts::{cancel_list, list_jobs};
use probity_service::lists::lookup::find_places;
use probity_service::lists::progress::get_progress;
use probity_service::lists::slice::find_rows;
use serde_json::Value;

use self::adding::NewListArgs;
use self::download::DownloadArgs;
use super::OrgFlag;
use super::operator::{OrMissing as _, act_for, choose_org, first_page, query, staff};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, at_or, field, made, time};

/// Shown below the help of `lists`.
pub(super) const LISTS_EXAMPLES: &str = "\
Examples:
    probity lists add customers.xlsx --column 'E-mail' --forecast        prints a forecast; spends nothing
    probity lists add customers.xlsx --column 'E-mail'
    probity lists add - < addresses.txt
    probity lists list --status processing
    probity lists show job_01h455vb4pex5vsknk084sn02q
    probity lists rows job_01h455vb4pex5vsknk084sn02q --status risky --provider google
    probity lists download job_01h455vb4pex5vsknk084sn02q --format xlsx --original --out verified.xlsx
    probity lists find ann@example.com
    probity lists cancel job_01h455vb4pex5vsknk084sn02q

A running service verifies the lists.";

/// Rows without a verdict.
const PENDING: &str = "pending";

#[derive(Debug, Subcommand)]
pub(crate) enum ListsCommand {
    /// Verify a list: CSV, a workbook (.xlsx), JSON lines or one address per line
    Add(NewListArgs),
    /// Show all lists, newest first
    List {
        #[command(flatten)]
        org: OrgFlag,
        /// Filter by status
        #[arg(long, value_parser = PossibleValuesParser::new(STATUSES))]
        status: Option<String>,
        /// Filter by source
        #[arg(long, value_parser = PossibleValuesParser::new(SOURCES))]
        source: Option<String>,
        /// Show lists of test keys instead
        #[arg(long)]
        test: bool,
        /// Maximum number of lists
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show progress, results by reason and mail provider, and cost
    Show(ListArg),
    /// Show rows with their verdicts, also while the list runs
    Rows(RowsArgs),
    /// Write all rows, or those with a verdict, to a file
    Download(DownloadArgs),
    /// Find addresses by a part or by their domain in all lists whose rows are kept
    Find {
        /// Address, part of one, or domain
        #[arg(id = "q", value_name = "ADDRESS")]
        text: String,
        /// Maximum number of matches
        #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Cancel a list and release its credits
    Cancel(ListArg),
}

#[derive(Debug, Args)]
pub(crate) struct ListArg {
    /// Job ID
    #[arg(value_name = "JOB_ID")]
    pub job: String,
    /// Find the list among those of test keys
    #[arg(long)]
    pub test: bool,
    #[command(flatten)]
    pub org: OrgFlag,
}

#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    #[command(flatten)]
    pub one: ListArg,
    /// Filter by status; `pending`: no verdict yet
    #[arg(long, value_parser = PossibleValuesParser::new(Status::ALL.map(Status::as_str).into_iter().chain([PENDING])))]
    pub status: Option<String>,
    /// Filter by reason
    #[arg(long, value_parser = PossibleValuesParser::new(Reason::ALL.iter().map(|reason| reason.as_str())))]
    pub reason: Option<String>,
    /// Filter by ID of the mail provider (see `lists show`); `other`: no known provider
    #[arg(long, value_name = "ID")]
    pub provider: Option<String>,
    /// Filter by text in the address
    #[arg(id = "q", long = "search", value_name = "TEXT")]
    pub search: Option<String>,
    /// Skip the first N rows of the list
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub after: u32,
    /// Maximum number of rows
    #[arg(id = "per_page", long = "limit", value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
}

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
    at("NAME", "/name"),
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

/// Maximum number of rows per read of a job's rows.
const ROWS_PER_READ: usize = 500;

pub(super) async fn run(app: &Arc<App>, command: &ListsCommand) -> Result<Printout> {
    match command {
        ListsCommand::Add(args) => adding::add(app, args).await,
        ListsCommand::List { org, status, source, test, limit } => {
            let caller = staff(choose_org(app, org).await?, *test);
            let (source, status, page) = (source.clone(), status.clone(), first_page(*limit));
            let asked = JobsQuery { source, status, created_after: None, created_before: None, page };
            let found = list_jobs(app, &caller, asked).await?;
            Ok(Printout::of(found.data, LISTED)?.or_note("no lists found"))
        }
        ListsCommand::Show(one) => {
            let (caller, id) = reach(app, one).await?;
            let progress = get_progress(app, &caller, id).await;
            Printout::one(progress.or_missing(|| missing(&one.job))?, PROGRESS)
        }
        ListsCommand::Rows(args) => show_rows(app, args).await,
        ListsCommand::Download(args) => download::download(app, args).await,
        ListsCommand::Find { text, limit, org } => find(app, text, usize::try_from(*limit)?, org).await,
        ListsCommand::Cancel(one) => cancel(app, one).await,
    }
}

/// Returns the caller and the ID for an act on a list.
async fn reach(app: &App, one: &ListArg) -> Result<(Caller, JobId)> {
    let caller = staff(choose_org(app, &one.org).await?, one.test);
    Ok((caller, one.job.parse().map_err(|_| missing(&one.job))?))
}

fn missing(job: &str) -> anyhow::Error {
    anyhow!("there is no list {job}; to list all: `probity lists list`, for lists of test keys with --test")
}

/// View of a list's progress.
const PROGRESS: AnswerView = AnswerView::Text(progress);

fn progress(job: &Value) -> String {
    let reasons = table::entries(["REASON", "ROWS"], job, "/reasons");
    let providers = table::rows_at(PROVIDERS, job, "/providers");
    format!("{}\n{reasons}\n{providers}", table::fields(JOB, job))
}

/// Reads rows until there are enough. A slow read ends early.
async fn show_rows(app: &App, args: &RowsArgs) -> Result<Printout> {
    let (caller, id) = reach(app, &args.one).await?;
    let filters =
        [("status", &args.status), ("reason", &args.reason), ("provider", &args.provider), ("q", &args.search)];
    let filters = filters.map(|(name, value)| (name, value.as_deref()));
    let (limit, mut rows, mut after) = (usize::try_from(args.limit)?, Vec::new(), Some(i64::from(args.after)));
    while let Some(at) = after.filter(|_| rows.len() < limit) {
        let (at, per_page) = (at.to_string(), (limit - rows.len()).min(ROWS_PER_READ).to_string());
        let asked = query(filters.into_iter().chain([("after", Some(&*at)), ("per_page", Some(&*per_page))]))?;
        let slice = find_rows(app, &caller, id, asked).await.or_missing(|| missing(&args.one.job))?;
        rows.extend(slice.data);
        after = slice.next;
    }
    Ok(Printout::of(rows, AnswerView::Rows(ROWS))?.or_note("no rows found"))
}

/// Searches until there are enough matches. A slow search ends early.
async fn find(app: &App, text: &str, limit: usize, org: &OrgFlag) -> Result<Printout> {
    let caller = act_for(app, org).await?;
    let (mut places, mut next) = (Vec::new(), None::<String>);
    loop {
        let found = find_places(app, &caller, query([("q", Some(text)), ("next", next.as_deref())])?).await?;
        places.extend(found.data);
        next = found.next;
        if next.is_none() || places.len() >= limit {
            break;
        }
    }
    places.truncate(limit);
    Ok(Printout::of(places, AnswerView::Rows(PLACES))?.or_note("not found in any list whose rows are kept"))
}

async fn cancel(app: &App, one: &ListArg) -> Result<Printout> {
    let (caller, id) = reach(app, one).await?;
    let cancelled = cancel_list(app, &caller, id).await;
    Printout::one(cancelled.or_missing(|| missing(&one.job))?, PROGRESS)
}
