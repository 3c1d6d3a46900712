//! Lists: commands and output.

use std::path::PathBuf;

use serde_json::Value;

use super::told::{cell, cell_or};
use super::{DeskWish, Request, table};
use crate::args::{DownloadArgs, ListsCommand, NewListArgs, ResultsFormat, RowsArgs};
use crate::output::{self, plain};

/// List commands. Jobs are given by ID, other values as the API names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Add(NewList),
    List(Listing),
    Show(String),
    Rows(Rows),
    /// All rows of a job, as a file.
    Download(Download),
    /// An address or domain to find, and the maximum number of matches.
    Find(String, u32),
    Cancel(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewList {
    /// Input file; `None` means standard input.
    pub file: Option<PathBuf>,
    /// Name or number, from 1, of the address column.
    pub column: Option<String>,
    /// The first row is data.
    pub no_header: bool,
    /// Sheet of a workbook.
    pub sheet: Option<String>,
    /// Estimates only, without submitting.
    pub forecast: bool,
    /// Idempotency reference: a list is added once per reference.
    pub reference: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub status: Option<String>,
    pub source: Option<String>,
    pub limit: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub job: String,
    /// Filters by their API names.
    pub filters: Vec<(&'static str, String)>,
    /// Number of rows to skip.
    pub after: u32,
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Download {
    pub job: String,
    /// Download options by their API names.
    pub parameters: Vec<(&'static str, String)>,
    /// Output file; `None` means standard output.
    pub out: Option<PathBuf>,
}

pub(super) fn request(command: &ListsCommand) -> Request {
    let (org, test, wish) = match command {
        ListsCommand::Add(args) => (&args.org, false, Wish::Add(new(args))),
        ListsCommand::List { org, status, source, test, limit } => {
            (org, *test, Wish::List(Listing { status: status.clone(), source: source.clone(), limit: *limit }))
        }
        ListsCommand::Show(one) => (&one.org, one.test, Wish::Show(one.job.clone())),
        ListsCommand::Rows(args) => (&args.one.org, args.one.test, Wish::Rows(rows(args))),
        ListsCommand::Download(args) => (&args.one.org, args.one.test, Wish::Download(download(args))),
        ListsCommand::Find { text, limit, org } => (org, false, Wish::Find(text.clone(), *limit)),
        ListsCommand::Cancel(one) => (&one.org, one.test, Wish::Cancel(one.job.clone())),
    };
    Request::Desk { org: org.org.clone(), wish: DeskWish::Lists { wish, test } }
}

fn new(args: &NewListArgs) -> NewList {
    NewList {
        file: named(Some(&args.file)),
        column: args.column.clone(),
        no_header: args.no_header,
        sheet: args.sheet.clone(),
        forecast: args.forecast,
        reference: args.reference.clone(),
    }
}

/// Returns a file's path; `None` for standard input or output.
fn named(file: Option<&PathBuf>) -> Option<PathBuf> {
    file.filter(|file| file.as_os_str() != "-").cloned()
}

/// Returns the parameters that were given, with their names.
fn given<const N: usize>(all: [(&'static str, Option<String>); N]) -> Vec<(&'static str, String)> {
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn rows(args: &RowsArgs) -> Rows {
    let filters = given([
        ("status", args.status.clone()),
        ("reason", args.reason.clone()),
        ("provider", args.provider.clone()),
        ("q", args.search.clone()),
    ]);
    Rows { job: args.one.job.clone(), filters, after: args.after, limit: args.limit }
}

fn download(args: &DownloadArgs) -> Download {
    let format = match args.format {
        ResultsFormat::Csv => "csv",
        ResultsFormat::Raw => "raw",
        ResultsFormat::Json => "ndjson",
        ResultsFormat::Xlsx => "xlsx",
    };
    let parameters = given([
        ("format", Some(format.to_owned())),
        ("columns", args.original.then(|| "original".to_owned())),
        ("status", args.status.clone()),
        ("reason", args.reason.clone()),
    ]);
    Download { job: args.one.job.clone(), parameters, out: named(args.out.as_ref()) }
}

/// Formats jobs as a table, from `/v1/jobs`.
pub(crate) fn table(jobs: &[Value]) -> String {
    let row = |job: &Value| {
        let results = &job["results"];
        let counts = ["total", "passed", "undeliverable", "risky", "unknown"].map(|name| cell_or(&results[name], "-"));
        let head = [&job["id"], &job["status"], &job["source"], &job["created_at"]].map(cell);
        [head.to_vec(), counts.to_vec()].concat()
    };
    let head = ["JOB", "STATUS", "SOURCE", "CREATED", "ROWS", "PASSED", "UNDELIVERABLE", "RISKY", "UNKNOWN"];
    table::lines(&head, jobs.iter().map(row))
}

/// Formats the progress of jobs.
pub(crate) fn progress(jobs: &[Value]) -> String {
    jobs.iter().map(one_progress).collect()
}

fn one_progress(job: &Value) -> String {
    let done = format!("{} of {}", cell(&job["processed"]), cell(&job["rows"]));
    let credits = &job["credits"];
    let rows = [
        ("job", cell(&job["id"])),
        ("status", cell(&job["status"])),
        ("source", cell(&job["source"])),
        ("created", cell(&job["created_at"])),
        ("started", cell(&job["started_at"])),
        ("finished", cell(&job["finished_at"])),
        ("rows removed", cell(&job["purged_at"])),
        ("processed", done),
        ("passed", cell(&job["passed"])),
        ("undeliverable", cell(&job["undeliverable"])),
        ("risky", cell(&job["risky"])),
        ("unknown", cell(&job["unknown"])),
        ("credits spent", cell(&credits["spent"])),
        ("credits on hold", cell(&credits["set_aside"])),
        ("credits released", cell(&credits["returned"])),
    ];
    let reasons = job["reasons"].as_object().into_iter().flatten();
    let reasons = reasons.map(|(reason, rows)| vec![reason.clone(), cell(rows)]);
    let provider = |one: &Value| {
        let counts = ["processed", "passed", "undeliverable", "risky", "unknown"].map(|name| cell(&one[name]));
        [vec![cell_or(&one["id"], "other"), cell_or(&one["name"], "others")], counts.to_vec()].concat()
    };
    let providers = job["providers"].as_array().into_iter().flatten().map(provider);
    let head = ["PROVIDER", "NAME", "PROCESSED", "PASSED", "UNDELIVERABLE", "RISKY", "UNKNOWN"];
    let (reasons, providers) = (table::lines(&["REASON", "ROWS"], reasons), table::lines(&head, providers));
    format!("{}\n{reasons}\n{providers}", named_lines(&rows))
}

/// Minimum width of the name column, so that consecutive answers align.
const NAMES_COLUMNS: usize = 16;

/// Formats names and values, without empty values.
pub(super) fn named_lines(rows: &[(&str, String)]) -> String {
    let shown: Vec<_> = rows.iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = shown.iter().map(|(name, _)| name.len()).max().unwrap_or_default().max(NAMES_COLUMNS);
    let line = |(name, value): &(&str, String)| {
        // A value too long for the terminal wraps in its own column.
        output::folded(&format!("{name:<width$}  "), &plain(value), output::columns())
    };
    shown.into_iter().map(line).collect::<Vec<_>>().concat()
}

/// Formats the rows of a list as a table.
pub(crate) fn rows_table(rows: &[Value]) -> String {
    let row = |row: &Value| {
        let head = [&row["index"], &row["email"]].map(cell);
        let found = ["status", "reason", "suggestion", "provider"].map(|name| cell(&row[name]));
        [head.to_vec(), vec![cell_or(&Value::String(found[0].clone()), "pending")], found[1..].to_vec()].concat()
    };
    table::lines(&["ROW", "ADDRESS", "STATUS", "REASON", "SUGGESTION", "PROVIDER"], rows.iter().map(row))
}

/// Formats rows with their jobs.
pub(crate) fn places(rows: &[Value]) -> String {
    let row = |row: &Value| {
        let head = ["job", "created_at", "source", "index", "email"].map(|name| cell(&row[name]));
        [head.to_vec(), vec![cell_or(&row["status"], "pending"), cell(&row["reason"])]].concat()
    };
    table::lines(&["JOB", "CREATED", "SOURCE", "ROW", "ADDRESS", "STATUS", "REASON"], rows.iter().map(row))
}

/// Formats the estimates of lists.
pub(crate) fn forecasts(all: &[Value]) -> String {
    all.iter().map(forecast).collect()
}

fn forecast(of: &Value) -> String {
    let range = |from: &Value, to: &Value, open: &str| {
        let (from, to) = (cell(from), cell_or(to, open));
        if from == to { from } else { format!("{from} to {to}") }
    };
    let (counts, unknown, credits, time) = (&of["counts"], &of["unknown"], &of["credits"], &of["time"]);
    let enough = if credits["enough"] == Value::Bool(true) { "enough" } else { "not enough" };
    let rows = [
        ("addresses", cell(&counts["addresses"])),
        ("distinct", cell(&counts["distinct"])),
        ("duplicates", cell(&counts["duplicates"])),
        ("empty rows", cell(&counts["empty"])),
        ("invalid", cell(&counts["invalid"])),
        ("catch-all", cell(&of["accept_all"])),
        ("expected unknown", range(&unknown["low"], &unknown["high"], "not known")),
        ("credits to hold", cell(&credits["held"])),
        ("cost in credits", range(&credits["low"], &credits["high"], "not known")),
        ("available credits", format!("{}: {enough}", cell(&credits["available"]))),
        ("time in seconds", range(&time["low_s"], &time["high_s"], "not known")),
        ("slowest provider", cell(&time["slowest"])),
    ];
    let provider = |one: &Value| ["id", "name", "addresses", "held_until"].map(|name| cell(&one[name])).to_vec();
    let providers = of["providers"].as_array().into_iter().flatten().map(provider);
    let providers = table::lines(&["PROVIDER", "NAME", "ADDRESSES", "HELD UNTIL"], providers);
    format!("{}\n{providers}", named_lines(&rows))
}

/// Formats the files that were written.
pub(crate) fn written(files: &[Value]) -> String {
    let line = |file: &Value| format!("{} bytes in {}\n", cell(&file["bytes"]), plain(&cell(&file["file"])));
    files.iter().map(line).collect::<Vec<_>>().concat()
}
