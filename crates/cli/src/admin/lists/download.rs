//! The results of a list as a file.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use futures_util::StreamExt as _;
use probity_contract::published::jobs::download::DownloadQuery;
use probity_service::lists::download::{FileContent, find_download};
use serde::Serialize;

use super::{missing, reach};
use crate::admin::LocalOperator;
use crate::admin::operator::{OrMissing as _, fail, query};
use crate::args::{DownloadArgs, ResultsFormat};
use crate::exit::{Exit, ExitsWith};
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::field;

/// A file that was written.
#[derive(Serialize)]
struct WrittenFile {
    job: String,
    file: String,
    bytes: u64,
}

const WRITTEN: AnswerView =
    AnswerView::Text(|of| format!("{} bytes in {}\n", field(of, "/bytes"), plain(&field(of, "/file"))));

/// Writes a temporary file beside the target first, so that the target never shows a partial file.
pub(super) async fn download(operator: &LocalOperator<'_>, args: &DownloadArgs) -> Result<Printout> {
    let asked = read_options(args)?;
    let (caller, id) = reach(operator, &args.one).await?;
    let found = find_download(operator.app, &caller, id, asked).await.or_missing(|| missing(&args.one.job))?;
    let content = found.write().await?;
    let Some(out) = args.out.as_deref().filter(|out| out.as_os_str() != "-") else {
        write_parts(content, &mut std::io::stdout()).await?;
        return Printout::of(Vec::<WrittenFile>::new(), AnswerView::Text(|_| String::new()));
    };
    let part = PathBuf::from(format!("{}.part", out.display()));
    let written = write_whole(content, &part, out).await;
    if written.is_err() {
        // The file may not exist.
        let _ = std::fs::remove_file(&part);
    }
    let (job, file) = (args.one.job.clone(), out.display().to_string());
    Printout::one(WrittenFile { job, file, bytes: written? }, WRITTEN)
}

fn read_options(args: &DownloadArgs) -> Result<DownloadQuery> {
    let format = match args.format {
        ResultsFormat::Csv => "csv",
        ResultsFormat::Raw => "raw",
        ResultsFormat::Json => "ndjson",
        ResultsFormat::Xlsx => "xlsx",
    };
    let options = [
        Some(("format", format)),
        Some(("language", args.language.as_str())),
        args.original.then_some(("columns", "original")),
        args.status.as_deref().map(|status| ("status", status)),
        args.reason.as_deref().map(|reason| ("reason", reason)),
    ];
    query(&options.into_iter().flatten().collect::<Vec<_>>())
}

async fn write_whole(content: FileContent, part: &Path, out: &Path) -> Result<u64> {
    let mut file = File::create(part).with_context(|| format!("cannot write {}", part.display()))?;
    let written = write_parts(content, &mut file).await?;
    let local = || ExitsWith(Exit::Local);
    file.sync_all().with_context(|| format!("cannot write {}", part.display())).context(local())?;
    std::fs::rename(part, out).with_context(|| format!("cannot write {}", out.display())).context(local())?;
    Ok(written)
}

/// Writes each part before the next is made; returns the number of bytes.
async fn write_parts(mut content: FileContent, to: &mut impl Write) -> Result<u64> {
    let unwritten =
        |error| anyhow::Error::new(error).context("cannot write the results").context(ExitsWith(Exit::Local));
    let mut written = 0;
    while let Some(part) = content.parts.next().await {
        let part = part.map_err(fail)?;
        to.write_all(&part).map_err(unwritten)?;
        written += u64::try_from(part.len()).unwrap_or(u64::MAX);
    }
    to.flush().map_err(unwritten)?;
    Ok(written)
}
