//! `probity batch`: verifies a whole list in bounded memory, without probing an address twice.
//!
//! ```text
//! input -> decode -> records -> work file          (import: once, before any probe)
//!                                  |  order: each mailbox once, domain by domain
//!                                  v
//!          engine <- feed <- rows; deferred rows wait and come again
//!             |
//!             v  outcomes
//!          writer -> work file (answers), output (in the input's order, as far as it is complete)
//! ```
//!
//! An interrupted run continues from the work file, after any interruption; see [`workfile`].

mod answer;
#[cfg(feature = "xlsx")]
mod book;
mod feed;
mod forecast;
mod form;
pub(crate) mod input;
mod order;
mod output;
mod progress;
pub(crate) mod request;
mod summary;
mod workfile;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use probity_backend::nodes::verifier::Verifier;
use probity_mail::time::Millis;
use tokio::sync::watch;

use self::answer::{AnswerTable, PutOff};
use self::feed::{Feed, Halt};
use self::form::Protect;
use self::order::{Order, RowCollector};
use self::output::{Output, OutputShape, OutputTarget};
use self::progress::RunProgress;
use self::request::{BatchRequest, ListFormat, OutputFormat, refuse_other};
use self::summary::RunSummary;
use self::workfile::{BatchHeader, Frame, Imported, WorkFile};
use self::writer::{OutcomeWriter, Reachability};
use crate::engine::ReachArgs;
use crate::exit::{Exit, ExitsWith, Signals};
use crate::log;

pub(crate) use self::request::BatchArgs;

/// Time for idle sessions to close.
const CLOSE_MS: u64 = 5_000;

/// An imported batch, ready for verification.
struct Batch {
    begun: BatchHeader,
    imported: Imported,
    order: Order,
    answers: AnswerTable,
    put_off: HashMap<u32, PutOff>,
    /// Whether the notes about the input were shown.
    is_noted: bool,
}

pub(crate) async fn run(args: &BatchArgs, verifier: Arc<dyn Verifier>) -> Result<Exit> {
    let stop = Arc::new(AtomicBool::new(false));
    let (halt, halted) = watch::channel(None);
    let listener = tokio::spawn(listen(halt.clone(), stop.clone()));
    let request = BatchRequest::of(args)?;
    let loaded = tokio::task::spawn_blocking(move || load(&request, &stop));
    let mut interrupted = halted.clone();
    let loaded = tokio::select! {
        loaded = loaded => loaded.context("the import failed")??,
        // Standard input may never end. Nothing has been verified, so nothing is lost.
        _ = interrupted.wait_for(Option::is_some) => {
            return Err(anyhow!("nothing was probed yet").context(ExitsWith(Exit::Interrupted)));
        }
    };
    let exit =
        if args.forecast { forecast::shown::print(verifier, loaded) } else { ask(args, verifier, loaded, halt).await };
    listener.abort();
    exit
}

/// Turns signals into halts: the first lets running work finish, the second does not, the third ends the program.
async fn listen(halt: watch::Sender<Option<Halt>>, stop: Arc<AtomicBool>) {
    let Ok(mut signals) = Signals::catch() else { return };
    loop {
        signals.next().await;
        stop.store(true, Ordering::Relaxed);
        let insisted = *halt.borrow() == Some(Halt::AtOnce);
        halt.send_modify(|halt| {
            *halt = Some(if halt.is_none() { Halt::Interrupted } else { Halt::AtOnce });
        });
        match (*halt.borrow(), insisted) {
            (Some(Halt::Interrupted), _) => {
                log::say("Stopping: probes in flight get 10 s. Press Ctrl-C again to stop at once.");
            }
            // Writing after the second signal may take a while.
            (_, true) => std::process::exit(Exit::Interrupted as i32),
            _ => {}
        }
    }
}

/// Returns the reach from the command line, or from the start of the work file that is continued.
pub(crate) fn reach(args: &BatchArgs) -> Result<ReachArgs> {
    let Some(path) = &args.resume else { return Ok(args.reach) };
    let file = std::fs::File::open(path).with_context(|| format!("cannot read the work file {}", path.display()))?;
    let begun = workfile::begun(file)?.with_context(|| format!("{} is not a work file", path.display()))?;
    Ok(ReachArgs { offline: begun.offline, sandbox: begun.sandbox })
}

/// Opens the work file: continues an existing one, or imports the input.
fn load(request: &BatchRequest, stop: &AtomicBool) -> Result<(WorkFile, Batch)> {
    let mut work = WorkFile::open(&request.work)?;
    if request.fresh && !work.is_new() && !work.reader().is_ours()? {
        bail!("{} is not a work file and was not changed", work.path.display());
    }
    if !work.is_new() && !request.fresh {
        if let Some(batch) = continued(request, &mut work)? {
            return Ok((work, batch));
        }
        request.say(&format!("The import in {} is incomplete or damaged; restarting it.", work.path.display()));
    }
    let begun =
        request.begun.clone().context("the import is incomplete or damaged; repeat the batch with its input")?;
    let imported = work.begin(&begun).and_then(|()| {
        let (imported, rows) = input::import(&begun, &mut work, stop)?;
        work.imported(&imported)?;
        Ok((imported, rows))
    });
    let (imported, rows) = match imported {
        Ok(imported) => imported,
        Err(error) => {
            // Nothing has been verified, so the file is useless.
            let _ = work.remove();
            return Err(error);
        }
    };
    for warning in &imported.warnings {
        request.say(&format!("note: {warning}"));
    }
    let answers = AnswerTable::new(imported.rows);
    Ok((work, Batch { begun, order: rows.order(), imported, answers, put_off: HashMap::new(), is_noted: true }))
}

/// Reads a batch from the work file; `None` if its import is incomplete.
fn continued(request: &BatchRequest, work: &mut WorkFile) -> Result<Option<Batch>> {
    let place = work.path.display().to_string();
    let Some(mut scan) = work.reader().scan()? else {
        bail!("{place} is not a work file of this version; set another file with --work");
    };
    let mut rows = RowCollector::new(true, true);
    let mut begun: Option<BatchHeader> = None;
    let imported = loop {
        match scan.next()? {
            Some((_, Frame::Begun(read))) => {
                rows = RowCollector::new(read.names, read.trims);
                begun = Some(read);
            }
            Some((place, Frame::Row { email, .. })) => rows.add(email, place),
            Some((_, Frame::Imported(imported))) => break *imported,
            Some(_) => {}
            None => return Ok(None),
        }
    };
    let begun = begun.with_context(|| format!("{place} is damaged"))?;
    if rows.count() != imported.rows {
        bail!("{place} is damaged; --fresh starts over");
    }
    if let Some(wanted) = &request.begun {
        refuse_other(wanted, &begun, &imported, &place)?;
    }
    let mut answers = AnswerTable::new(imported.rows);
    let (mut put_off, mut count) = (HashMap::new(), 0_u64);
    while let Some((at, frame)) = scan.next()? {
        match frame {
            Frame::Answer(answer) => {
                answers.keep(&answer, at);
                put_off.remove(&answer.row);
                count += 1;
            }
            Frame::PutOff(row) => {
                put_off.insert(row.row, row);
            }
            _ => bail!("{place} is damaged at {at}; --fresh starts over"),
        }
    }
    work.cut(scan.place)?;
    let order = rows.order();
    request.say(&format!("Continuing {place}: {count} of {} addresses have verdicts.", order.ask.len()));
    Ok(Some(Batch { begun, imported, order, answers, put_off, is_noted: false }))
}

/// Returns the output's path, format and protection.
fn destination(args: &BatchArgs, batch: &Batch) -> (PathBuf, OutputShape) {
    let path = args.output.clone().or_else(|| batch.begun.output.clone()).unwrap_or_else(|| PathBuf::from("-"));
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let by_name = match extension.as_deref() {
        Some("csv" | "tsv") => Some(OutputFormat::Csv),
        // A table stays a table, regardless of the file name.
        Some("txt") if batch.imported.format != ListFormat::Csv => Some(OutputFormat::Txt),
        Some("jsonl" | "ndjson") => Some(OutputFormat::Jsonl),
        Some("xlsx") => Some(OutputFormat::Xlsx),
        _ => None,
    };
    // Programs read standard output as text, unless a workbook was requested.
    let is_book = cfg!(feature = "xlsx") && batch.imported.workbook && path.as_os_str() != "-";
    let of_input = if is_book { OutputFormat::Xlsx } else { batch.imported.format.into() };
    let format = args.output_format.or(batch.begun.output_format).or(by_name).unwrap_or(of_input);
    let protect = match (args.raw, args.protect_all) {
        (true, _) => Protect::Nothing,
        (_, true) => Protect::All,
        _ if batch.imported.workbook => Protect::All,
        _ => Protect::Ours,
    };
    let input = Path::new(&batch.begun.input).file_name().filter(|name| *name != "-");
    let title = input.map_or_else(|| "list".to_owned(), |name| crate::output::plain(&name.to_string_lossy()));
    (path, OutputShape { format, protect, title })
}

/// Verifies every open address, then finishes or explains how to continue.
async fn ask(
    args: &BatchArgs,
    verifier: Arc<dyn Verifier>,
    (work, batch): (WorkFile, Batch),
    halt: watch::Sender<Option<Halt>>,
) -> Result<Exit> {
    let (path, shape) = destination(args, &batch);
    let Batch { begun, imported, order, answers, put_off, is_noted } = batch;
    let reader = work.reader();
    let output = Output::open(OutputTarget::at(&path), shape, &imported, &reader)?;
    let open = Arc::new(open_places(&order, &answers, &put_off));
    let answered = order.ask.iter().filter_map(|row| answers.get(*row)).map(|answer| answer.reason.status());
    let started = verifier.now();
    let progress = RunProgress::new(order.ask.len() as u64, answered, args.quiet, started);
    let order = Arc::new(order);
    let watched = !(args.keep_going || begun.offline || begun.sandbox);
    let writer = OutcomeWriter {
        verifier: verifier.clone(),
        order: order.clone(),
        work,
        answers,
        output,
        progress,
        halt: halt.clone(),
        reach: watched.then(Reachability::default),
        deferred: put_off.values().map(|row| (row.row, row.not_before)).collect(),
        forecast: None,
    };
    if args.finish {
        return finish(args, writer, (imported, is_noted), 0, None);
    }
    let (events, received) = std::sync::mpsc::channel();
    let waiting: Option<Vec<PutOff>> = (!args.quiet).then(|| put_off.values().cloned().collect());
    let written = tokio::task::spawn_blocking(move || {
        let forecast = waiting.and_then(|waiting| writer.foreseen(&waiting));
        OutcomeWriter { forecast, ..writer }.run(&received)
    });
    let lanes = lanes(&order);
    let feed = Feed { verifier: verifier.clone(), order, reader, writer: events, halt: halt.subscribe() };
    feed.run(lanes, open, put_off.into_values().collect()).await;
    let (writer, result) = written.await.context("the writer failed")?;
    verifier.close(CLOSE_MS).await;
    result?;
    let halt = *halt.borrow();
    let took_ms = verifier.now().since(started);
    finish(args, writer, (imported, is_noted), took_ms, halt)
}

/// Marks the places in the order that are open and not deferred.
fn open_places(order: &Order, answers: &AnswerTable, put_off: &HashMap<u32, PutOff>) -> Vec<bool> {
    order.ask.iter().map(|row| !answers.has(*row) && !put_off.contains_key(row)).collect()
}

/// Groups calls into lanes: all calls of one large domain share a lane.
fn lanes(order: &Order) -> Vec<Vec<Range<u32>>> {
    let mut lanes: Vec<Vec<Range<u32>>> = Vec::new();
    for call in order.calls() {
        match lanes.last_mut() {
            Some(lane) if order.is_within_domain(call.start) => lane.push(call),
            _ => lanes.push(vec![call]),
        }
    }
    lanes
}

/// Ends a run: moves complete or requested output into place, otherwise explains how to continue. The notes of the import may have
/// been shown already.
fn finish(
    args: &BatchArgs,
    writer: OutcomeWriter,
    (imported, is_noted): (Imported, bool),
    took_ms: i64,
    halt: Option<Halt>,
) -> Result<Exit> {
    let OutcomeWriter { verifier, work, mut output, progress, order, reach, answers, deferred, .. } = writer;
    // A stream gets no rows without verdicts, because a continued run writes all rows again.
    let at_once = halt == Some(Halt::AtOnce) && output.file().is_some();
    let mut left =
        Left { work: work.path.clone(), done: progress.done(), all: order.ask.len(), deferred, written: None };
    if !output.is_complete && (args.finish || at_once) {
        output.fill(&order, &answers, &left.deferred)?;
    }
    let unanswered = output.unanswered;
    if at_once && unanswered > 0 {
        left.written = output.file().map(Path::to_owned);
    }
    if !output.is_complete || left.written.is_some() {
        output.finish()?;
        return Err(left.explained(halt));
    }
    let tally = output.finish()?;
    work.remove()?;
    let mut warnings = imported.warnings;
    let noted = if is_noted { warnings.len() } else { 0 };
    let nobody = reach.filter(|_| !args.finish).and_then(|reach| reach.nobody(&verifier.counters()));
    warnings.extend(nobody.map(|nobody| explained(nobody).to_owned()));
    warnings.extend((unanswered > 0).then(|| format!("rows without a verdict: {unanswered}, reported as `unknown`")));
    debug_assert_eq!(tally.duplicates, order.duplicates() as u64);
    let summary = RunSummary {
        tally,
        rows: u64::from(imported.rows) + imported.unreadable,
        unreadable: imported.unreadable,
        asked: progress.done(),
        asked_now: progress.settled_now(),
        unmatched: verifier.counters().unmatched,
        took_ms,
        warnings,
        noted,
    };
    if args.json_summary {
        log::say(&summary.json());
    } else if !args.quiet {
        log::say(&summary.table());
    }
    Ok(if nobody.is_some() { Exit::NoNetwork } else { Exit::Done })
}

/// Explains a halt and what to do.
fn explained(halt: Halt) -> &'static str {
    match halt {
        Halt::Unreachable => {
            "No mail server could be reached. Port 25 is probably closed: run `probity doctor`. Many providers open it on \
             request. --keep-going continues anyway."
        }
        Halt::Nameless => {
            "No name could be looked up. Check the network and the resolvers in [dns], or run `probity doctor`. \
             --keep-going continues anyway."
        }
        Halt::Interrupted | Halt::AtOnce | Halt::Broken => "Stopped.",
    }
}

/// State after a run that stopped early.
struct Left {
    work: PathBuf,
    done: u64,
    all: usize,
    deferred: HashMap<u32, Millis>,
    /// Output, if it was written despite the halt.
    written: Option<PathBuf>,
}

impl Left {
    /// Explains why the run stopped and how to continue.
    fn explained(self, halt: Option<Halt>) -> anyhow::Error {
        let nobody = matches!(halt, Some(Halt::Unreachable | Halt::Nameless));
        let exit = if nobody { Exit::NoNetwork } else { Exit::Interrupted };
        let (why, place) = (explained(halt.unwrap_or(Halt::Interrupted)), self.work.display());
        let mut lines = vec![
            why.to_owned(),
            format!("{} of {} addresses have verdicts, kept in the work file.", self.done, self.all),
        ];
        if let Some(next) = self.deferred.values().min() {
            let next = progress::time_of_day(*next, &jiff::tz::TimeZone::system());
            lines.push(format!("Deferred addresses: {}, next at {next}.", self.deferred.len()));
        }
        lines.extend(
            self.written
                .map(|output| format!("{} has all rows; rows without a verdict are `unknown`.", output.display())),
        );
        lines.push(format!("To continue, run the same command again, or: probity batch --resume {place}"));
        lines.push("To end the batch without further probes, add --finish.".to_owned());
        anyhow!(lines.join("\n")).context(ExitsWith(exit))
    }
}
