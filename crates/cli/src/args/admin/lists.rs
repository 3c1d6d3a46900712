use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use probity_account::language::PageLanguage;
use probity_mail::verdict::{Reason, Status};

use super::OrgFlag;

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

/// Job states of the API.
const STATUSES: [&str; 4] = ["queued", "processing", "completed", "cancelled"];
/// Job sources of the API.
const SOURCES: [&str; 6] = ["api", "csv", "input", "widget", "zapier", "integration"];
/// Maximum length of a reference, in bytes.
const REFERENCE_MAX: usize = 255;
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
    /// Find an address, or any address of a domain, in all lists whose rows are kept
    Find {
        /// Complete address, or domain
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
pub(crate) struct NewListArgs {
    /// File to verify; `-` is standard input
    #[arg(id = "name", value_name = "FILE")]
    pub file: PathBuf,
    /// Column with the addresses, by name or by number from 1; default: detected by name, then by content
    #[arg(long, value_name = "NAME|N")]
    pub column: Option<String>,
    /// Treat the first row as data
    #[arg(id = "header", long = "no-header")]
    pub no_header: bool,
    /// Sheet of a workbook; default: the first with content
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// Print only a forecast (credits, time, unknown addresses); spend nothing, and do not keep the file
    #[arg(long)]
    pub forecast: bool,
    /// Your reference, such as the name of an export; repeating the command within a day shows the existing list
    #[arg(long, value_name = "TEXT", value_parser = reference)]
    pub reference: Option<String>,
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

/// Formats of downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultsFormat {
    /// CSV for spreadsheets: cells that one would run as a formula begin with '
    Csv,
    /// CSV without that protection, for programs
    Raw,
    /// One JSON object per line
    Json,
    /// Workbook
    Xlsx,
}

#[derive(Debug, Args)]
pub(crate) struct DownloadArgs {
    #[command(flatten)]
    pub one: ListArg,
    /// File format
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ResultsFormat,
    /// Output file; default and `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Put the columns of the added file before the results, while that file is kept
    #[arg(id = "columns", long = "original")]
    pub original: bool,
    /// Filter by status
    #[arg(long, value_parser = PossibleValuesParser::new(Status::ALL.map(Status::as_str)))]
    pub status: Option<String>,
    /// Filter by reason
    #[arg(long, value_parser = PossibleValuesParser::new(Reason::ALL.iter().map(|reason| reason.as_str())))]
    pub reason: Option<String>,
    /// Language of the summary in a workbook
    #[arg(long, default_value = "en", value_parser = PossibleValuesParser::new(PageLanguage::ALL.map(PageLanguage::as_str)))]
    pub language: String,
}

/// Checks a text as the API checks an `Idempotency-Key`.
fn reference(text: &str) -> Result<String, String> {
    let fits = (1..=REFERENCE_MAX).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits { Ok(text.to_owned()) } else { Err(format!("must be 1 to {REFERENCE_MAX} printable ASCII characters")) }
}
