//! The results of a list as a file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use futures_util::StreamExt as _;
use probity_account::language::PageLanguage;
use probity_contract::published::jobs::download::DownloadQuery;
use probity_mail::verdict::{Reason, Status};
use probity_service::app::App;
use probity_service::lists::download::{FileContent, find_download};
use serde_json::{Value, json};

use super::{ListArg, missing, reach};
use crate::admin::meaning;
use crate::admin::operator::{OrMissing as _, query};
use crate::exit;
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::field;

#[derive(Debug, Args)]
pub(crate) struct DownloadArgs {
    #[command(flatten)]
    pub one: ListArg,
    /// File format
    #[arg(long, default_value = "csv", value_parser = PossibleValuesParser::new(formats()))]
    pub format: String,
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

const WRITTEN: AnswerView =
    AnswerView::Text(|of| format!("{} bytes in {}\n", field(of, "/bytes"), plain(&field(of, "/file"))));

pub(super) async fn download(app: &Arc<App>, args: &DownloadArgs) -> Result<Printout> {
    let asked = read_options(args)?;
    let (caller, id) = reach(app, &args.one).await?;
    let found = find_download(app, &caller, id, asked).await.or_missing(|| missing(&args.one.job))?;
    deliver(found.write().await?, ("job", &args.one.job), args.out.as_deref()).await
}

/// Writes a file about a list or a connection to standard output, or to a path: to a temporary file beside it first, so that the
/// target never shows a partial file.
pub(in crate::admin) async fn deliver(
    content: FileContent,
    (kind, id): (&str, &str),
    out: Option<&Path>,
) -> Result<Printout> {
    let Some(out) = out.filter(|out| out.as_os_str() != "-") else {
        write_parts(content, &mut std::io::stdout()).await?;
        return Printout::of(Vec::<Value>::new(), AnswerView::Text(|_| String::new()));
    };
    let part = PathBuf::from(format!("{}.part", out.display()));
    let written = write_whole(content, &part, out).await;
    if written.is_err() {
        // The file may not exist.
        let _ = std::fs::remove_file(&part);
    }
    Printout::one(json!({ (kind): id, "file": out.display().to_string(), "bytes": written? }), WRITTEN)
}

fn formats() -> [PossibleValue; 4] {
    [
        meaning("csv", "CSV for spreadsheets: cells that one would run as a formula begin with '"),
        meaning("raw", "CSV without that protection, for programs"),
        meaning("json", "One JSON object per line"),
        meaning("xlsx", "Workbook"),
    ]
}

fn read_options(args: &DownloadArgs) -> Result<DownloadQuery> {
    query([
        ("format", Some(if args.format == "json" { "ndjson" } else { &*args.format })),
        ("language", Some(&*args.language)),
        ("columns", args.original.then_some("original")),
        ("status", args.status.as_deref()),
        ("reason", args.reason.as_deref()),
    ])
}

async fn write_whole(content: FileContent, part: &Path, out: &Path) -> Result<u64> {
    let mut file = File::create(part).with_context(|| format!("cannot write {}", part.display()))?;
    let written = write_parts(content, &mut file).await?;
    file.sync_all().with_context(|| format!("cannot write {}", part.display())).map_err(exit::local)?;
    std::fs::rename(part, out).with_context(|| format!("cannot write {}", out.display())).map_err(exit::local)?;
    Ok(written)
}

/// Writes each part before the next is created; returns the number of bytes.
async fn write_parts(mut content: FileContent, to: &mut impl Write) -> Result<u64> {
    let unwritten = |error| exit::local(anyhow::Error::new(error).context("cannot write the results"));
    let mut written = 0;
    while let Some(part) = content.parts.next().await {
        let part = part.map_err(|error| exit::local(anyhow::Error::from_boxed(error)))?;
        to.write_all(&part).map_err(unwritten)?;
        written += u64::try_from(part.len()).unwrap_or(u64::MAX);
    }
    to.flush().map_err(unwritten)?;
    Ok(written)
}
