//! Request of a batch, and the checks before anything is changed.

use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use probity_lists::encoding::{CHOICES, TextEncoding, chosen};
use serde::{Deserialize, Serialize};

use super::input;
use super::output::OutputTarget;
use super::workfile::{BatchHeader, Imported};
use crate::engine::ReachArgs;
use crate::files::{beside, parent};
use crate::log;

/// List formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum ListFormat {
    /// Separated by comma, semicolon, tab or bar, with or without a header
    Csv,
    /// One address per line
    Txt,
    /// One JSON object per line
    Jsonl,
}

/// Formats of a batch's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum OutputFormat {
    /// Columns as in the input, or the address, before those of the verdict
    Csv,
    /// One line per row
    Txt,
    /// One JSON object per line
    Jsonl,
    /// Workbook with a sheet of the rows and one of their figures
    Xlsx,
}

impl From<ListFormat> for OutputFormat {
    fn from(format: ListFormat) -> Self {
        match format {
            ListFormat::Csv => Self::Csv,
            ListFormat::Txt => Self::Txt,
            ListFormat::Jsonl => Self::Jsonl,
        }
    }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are independent")]
pub(crate) struct BatchArgs {
    /// List to verify: CSV, a workbook (.xlsx), JSON lines or one address per line; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "resume")]
    pub input: Option<PathBuf>,
    /// Output file; default and `-`: standard output
    #[arg(short, long, value_name = "OUTPUT")]
    pub output: Option<PathBuf>,
    /// Column with the addresses, by name or by number from 1; default: detected by name, then by content
    #[arg(long, value_name = "NAME|N")]
    pub column: Option<String>,
    /// Treat the first row of a CSV list as data
    #[arg(long)]
    pub no_header: bool,
    /// Input format; default: detected by file name, then by content
    #[arg(long, value_enum)]
    pub format: Option<ListFormat>,
    /// Encoding of lines that are not UTF-8, such as windows-1252; default: detected by their text
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub encoding: Option<TextEncoding>,
    /// Output format; default: detected by file name, else the format of the input, where standard output gets CSV for a workbook
    #[arg(long, value_enum)]
    pub output_format: Option<OutputFormat>,
    /// Work file; default: OUTPUT.probity-work
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub work: Option<PathBuf>,
    /// Continue from a work file, without the input
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pub resume: Option<PathBuf>,
    /// Discard the work file and restart
    #[arg(long)]
    pub fresh: bool,
    /// End an interrupted batch without further probes: rows without a verdict become `unknown`
    #[arg(long, conflicts_with = "fresh")]
    pub finish: bool,
    /// Only print how long the list takes at least, from the limits of the sites that receive it; probe and look up nothing
    #[arg(long, conflicts_with_all = ["fresh", "finish"])]
    pub forecast: bool,
    /// Probing profile; overrides `probe.profile`
    #[arg(long, value_name = "polite|open")]
    pub profile: Option<String>,
    /// Maximum time that an address may stay deferred, as in 30m; overrides `probe.patience` and `probe.held_back`
    #[arg(long, value_name = "TIME")]
    pub patience: Option<String>,
    /// Write the appended CSV cells unprotected; by default, cells that a spreadsheet would run as a formula get a leading '
    #[arg(long, conflicts_with = "protect_all")]
    pub raw: bool,
    /// Protect the input's own CSV cells too, which changes them
    #[arg(long)]
    pub protect_all: bool,
    /// Continue if no mail server is reachable
    #[arg(long)]
    pub keep_going: bool,
    /// Show no notes, progress or summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the summary to standard error as one JSON object
    #[arg(long)]
    pub json_summary: bool,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Reads the name of an encoding, as uploads do.
pub(crate) fn encoding(word: &str) -> Result<TextEncoding, String> {
    let names = || CHOICES.map(|encoding| encoding.name().to_ascii_lowercase()).join(", ");
    chosen(word).ok_or_else(|| format!("must be one of {}", names()))
}

/// Request of the command line.
#[derive(Debug)]
pub(super) struct BatchRequest {
    pub(super) work: PathBuf,
    /// Start of a new batch; `None` if only a work file was named.
    pub(super) begun: Option<BatchHeader>,
    pub(super) fresh: bool,
    pub(super) quiet: bool,
}

impl BatchRequest {
    pub(super) fn of(args: &BatchArgs) -> Result<Self> {
        let (output, quiet) = (args.output.as_deref(), args.quiet);
        let Some(input) = &args.input else {
            let work = args.resume.clone().context("set an input or --resume")?;
            if !work.is_file() {
                bail!("there is no work file {}", work.display());
            }
            refuse_collisions(None, output, &work)?;
            return Ok(Self { work, begun: None, fresh: false, quiet });
        };
        let begun = BatchHeader {
            input: input.to_string_lossy().into_owned(),
            column: args.column.clone(),
            format: args.format,
            encoding: args.encoding,
            no_header: args.no_header,
            offline: args.reach.offline,
            sandbox: args.reach.sandbox,
            names: true,
            trims: true,
            output: args.output.clone(),
            output_format: args.output_format,
        };
        let work = args.work.clone().unwrap_or_else(|| work_place(input, output));
        refuse_collisions(Some(input), output, &work)?;
        if args.finish && !work.is_file() {
            bail!("--finish: no work file {}; run the batch without --finish", work.display());
        }
        Ok(Self { work, begun: Some(begun), fresh: args.fresh, quiet })
    }

    pub(super) fn say(&self, text: &str) {
        if !self.quiet {
            log::say(text);
        }
    }
}

/// Rejects names with which one file would overwrite another. At the end, the work file is deleted and the unfinished output
/// renamed, so any other file of the same name would be lost.
fn refuse_collisions(input: Option<&Path>, output: Option<&Path>, work: &Path) -> Result<()> {
    let target = output.map(OutputTarget::at).filter(OutputTarget::is_file);
    let files = [
        ("input", input),
        ("output", target.as_ref().map(|target| target.path.as_path())),
        ("unfinished output", target.as_ref().and_then(|target| target.part.as_deref())),
        ("work file", Some(work)),
    ];
    for (n, (role, path)) in files.iter().enumerate() {
        for (other_role, other) in &files[n + 1..] {
            let place = path.and_then(file_place);
            if let Some(other) = other
                && place.is_some()
                && place == file_place(other)
            {
                bail!("{} would be both {role} and {other_role}; choose another file", other.display());
            }
        }
    }
    Ok(())
}

/// Resolves the path of a file, following links; `None` for standard input and output, devices and pipes.
fn file_place(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        _ if path.as_os_str() == "-" => None,
        Ok(real) => real.is_file().then_some(real),
        Err(_) => Some(parent(path).canonicalize().ok()?.join(path.file_name()?)),
    }
}

/// Chooses the work file's path: beside the output, else beside the input, else in the temporary directory.
fn work_place(input: &Path, output: Option<&Path>) -> PathBuf {
    const SUFFIX: &str = ".probity-work";
    match output {
        Some(output) if OutputTarget::at(output).is_file() => beside(output, SUFFIX),
        _ if input.as_os_str() != "-" => beside(input, SUFFIX),
        // Everyone may write there. A predictable name could be taken by another user or an old run.
        _ => {
            let number = std::hash::RandomState::new().hash_one(std::process::id());
            std::env::temp_dir().join(format!("stdin-{number:016x}{SUFFIX}"))
        }
    }
}

/// Refuses to continue a batch with another input or other settings.
pub(super) fn refuse_other(wanted: &BatchHeader, begun: &BatchHeader, imported: &Imported, place: &str) -> Result<()> {
    let settings = [
        ("--column", wanted.column != begun.column),
        ("--format", wanted.format != begun.format),
        ("--encoding", wanted.encoding != begun.encoding),
        ("--no-header", wanted.no_header != begun.no_header),
        ("--offline", wanted.offline != begun.offline),
        ("--sandbox", wanted.sandbox != begun.sandbox),
    ];
    if let Some((name, _)) = settings.iter().find(|(_, differs)| *differs) {
        bail!("{place} belongs to a batch with another {name}; --fresh starts over, --work sets another work file");
    }
    let (size, hash) = input::Digested::new(input::open(Path::new(&wanted.input))?)
        .finish()
        .with_context(|| format!("cannot read {}", wanted.input))?;
    if (size, &hash) != (imported.size, &imported.hash) {
        bail!(
            "{place} belongs to another input ({} bytes; {} has {size}{}); --fresh starts over, --work sets another work file",
            imported.size,
            wanted.input,
            if size == imported.size { " too, but with different content" } else { "" }
        );
    }
    Ok(())
}
