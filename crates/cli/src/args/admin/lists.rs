//! The command line of `lists`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use probity_core::verdict::{Reason, Status};

use super::{AdminOptions, SomeOrg};

/// Shown below the help of `lists`.
pub(in crate::args) const LISTS_EXAMPLES: &str = "\
Examples:
    probity lists add customers.xlsx --column 'E-mail' --forecast        what it would come to; nothing is spent
    probity lists add customers.xlsx --column 'E-mail'
    probity lists add - < addresses.txt
    probity lists list --status processing
    probity lists show job_01h455vb4pex5vsknk084sn02q
    probity lists rows job_01h455vb4pex5vsknk084sn02q --status risky --provider google
    probity lists download job_01h455vb4pex5vsknk084sn02q --format xlsx --original --out verified.xlsx
    probity lists find ann@example.com
    probity lists cancel job_01h455vb4pex5vsknk084sn02q

A running service verifies them.";

/// The states of jobs, as the API names them.
const STATUSES: [&str; 4] = ["queued", "processing", "completed", "cancelled"];
/// Where the addresses of jobs come from, as the API names it.
const SOURCES: [&str; 6] = ["api", "csv", "input", "widget", "zapier", "integration"];
/// The longest reference, in bytes.
const REFERENCE_MAX: usize = 255;
/// Rows without a verdict.
const PENDING: &str = "pending";

/// `lists`.
#[derive(Debug, Args)]
pub(crate) struct ListsArgs {
    /// What all of them take.
    #[command(flatten)]
    pub options: AdminOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: ListsCommand,
}

/// The commands about lists.
#[derive(Debug, Subcommand)]
pub(crate) enum ListsCommand {
    /// Has a list verified: CSV, a workbook (.xlsx), JSON lines or one address a line
    Add(NewListArgs),
    /// Lists those that there are, the newest first, whoever or whatever started them
    List {
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
        /// Those of this state only
        #[arg(long, value_parser = PossibleValuesParser::new(STATUSES))]
        status: Option<String>,
        /// Those that came from there only
        #[arg(long, value_parser = PossibleValuesParser::new(SOURCES))]
        source: Option<String>,
        /// Those that were made with test keys, and no others
        #[arg(long)]
        test: bool,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Shows how far one is, what came out by reason and by mail provider, and what it has cost
    Show(OneList),
    /// Shows rows of one with their verdicts, as far as it is
    Rows(RowsArgs),
    /// Writes all rows of one, or those of a verdict, as a file
    Download(DownloadArgs),
    /// Says where an address, or any address of a domain, stands in the lists whose rows are kept
    Find {
        /// A whole address, or a domain
        #[arg(value_name = "ADDRESS")]
        text: String,
        /// How many places at most
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        /// Whose.
        #[command(flatten)]
        org: SomeOrg,
    },
    /// Stops one; credits of what was not verified come back
    Cancel(OneList),
}

/// The list that a command is about.
#[derive(Debug, Args)]
pub(crate) struct OneList {
    /// The job's id
    #[arg(value_name = "JOB_ID")]
    pub job: String,
    /// It was made with a test key
    #[arg(long)]
    pub test: bool,
    /// Whose it is.
    #[command(flatten)]
    pub org: SomeOrg,
}

/// `lists add`.
#[derive(Debug, Args)]
pub(crate) struct NewListArgs {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The column with the addresses: its name, or its number from 1; default: found by name, then by content
    #[arg(long, value_name = "NAME|N")]
    pub column: Option<String>,
    /// The first row is data
    #[arg(long)]
    pub no_header: bool,
    /// The sheet of a workbook; default: the first with something in it
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// Says what it would come to (credits, time, what will stay unknown); nothing is spent, and the file is not kept
    #[arg(long)]
    pub forecast: bool,
    /// Your name for it, such as that of an export: with the same one the same list is added once within a day
    #[arg(long, value_name = "TEXT", value_parser = reference)]
    pub reference: Option<String>,
    /// Whose.
    #[command(flatten)]
    pub org: SomeOrg,
}

/// `lists rows`.
#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    /// Which list.
    #[command(flatten)]
    pub one: OneList,
    /// Those with this status; `pending`: without a verdict yet
    #[arg(long, value_parser = PossibleValuesParser::new(Status::ALL.map(Status::as_str).into_iter().chain([PENDING])))]
    pub status: Option<String>,
    /// Those with this reason
    #[arg(long, value_parser = PossibleValuesParser::new(Reason::ALL.iter().map(|reason| reason.as_str())))]
    pub reason: Option<String>,
    /// Those of this mail provider, by its id (`lists show` names them); `other`: of none that is known
    #[arg(long, value_name = "ID")]
    pub provider: Option<String>,
    /// Those with this text in the address
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Leaves the first N rows of the list out
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub after: u32,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
}

/// The forms of a file of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultsFormat {
    /// For spreadsheets: what one would run as a formula begins with '
    Csv,
    /// CSV as it is, for programs
    Raw,
    /// One JSON object a line
    Json,
    /// A workbook
    Xlsx,
}

/// `lists download`.
#[derive(Debug, Args)]
pub(crate) struct DownloadArgs {
    /// Which list.
    #[command(flatten)]
    pub one: OneList,
    /// The form of the file
    #[arg(long, value_enum, default_value = "csv")]
    pub format: ResultsFormat,
    /// Where it goes; default and `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// With the columns of the file that was added, as long as that is kept
    #[arg(long)]
    pub original: bool,
    /// Rows with this status only
    #[arg(long, value_parser = PossibleValuesParser::new(Status::ALL.map(Status::as_str)))]
    pub status: Option<String>,
    /// Rows with this reason only
    #[arg(long, value_parser = PossibleValuesParser::new(Reason::ALL.iter().map(|reason| reason.as_str())))]
    pub reason: Option<String>,
}

/// A text that the API takes for an `Idempotency-Key`.
fn reference(text: &str) -> Result<String, String> {
    let fits = (1..=REFERENCE_MAX).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits { Ok(text.to_owned()) } else { Err(format!("must be 1 to {REFERENCE_MAX} printable ASCII characters")) }
}
