//! Request of a batch, and the checks before anything is changed.

use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::output::OutputTarget;
use super::workfile::{BatchHeader, Imported};
use super::{beside, input};
use crate::args::{BatchArgs, OutputFormat};
use crate::log;

/// What the command line requests.
#[derive(Clone, Debug)]
pub(super) struct BatchRequest {
    pub(super) work: PathBuf,
    /// Start of a new batch; `None` if only a work file was named.
    pub(super) begun: Option<BatchHeader>,
    pub(super) fresh: bool,
    pub(super) output: Option<PathBuf>,
    pub(super) output_format: Option<OutputFormat>,
    pub(super) quiet: bool,
}

impl BatchRequest {
    pub(super) fn of(args: &BatchArgs) -> Result<Self> {
        let (output, output_format, quiet) = (args.output.clone(), args.output_format, args.quiet);
        let Some(input) = &args.input else {
            let work = args.resume.clone().context("set an input or --resume")?;
            if !work.is_file() {
                bail!("there is no work file {}", work.display());
            }
            refuse_collisions(None, output.as_deref(), &work)?;
            return Ok(Self { work, begun: None, fresh: false, output, output_format, quiet });
        };
        let begun = BatchHeader {
            input: input.to_string_lossy().into_owned(),
            column: args.column.clone(),
            format: args.format,
            no_header: args.no_header,
            offline: args.reach.offline,
            sandbox: args.reach.sandbox,
            names: true,
            trims: true,
            output: output.clone(),
            output_format,
        };
        let work = args.work.clone().unwrap_or_else(|| work_place(input, output.as_deref()));
        refuse_collisions(Some(input), output.as_deref(), &work)?;
        if args.finish && !work.is_file() {
            bail!("--finish: no work file {}; run the batch without --finish", work.display());
        }
        Ok(Self { work, begun: Some(begun), fresh: args.fresh, output, output_format, quiet })
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
        ("unfinished output", target.as_ref().and_then(OutputTarget::part)),
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
        Err(_) => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        }
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
