//! Log lines on standard error. They contain neither addresses nor secrets; callers must ensure that.
//!
//! A terminal may have one status line, which is redrawn in place. Any other output clears it first.

use std::io::{self, Stderr, Write};
use std::sync::{Mutex, PoisonError};

use probity_telemetry::log;
use probity_telemetry::log::{JsonLines, levels};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// A status line is visible. Locked during all output, so that lines never mix.
static STATUS: Mutex<bool> = Mutex::new(false);

/// Clears the terminal's current line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Replaces the status line; an empty text clears it. The text must be shorter than the terminal's width.
pub(crate) fn status(text: &str) {
    let mut shown = STATUS.lock().unwrap_or_else(PoisonError::into_inner);
    if *shown || !text.is_empty() {
        let _ = write!(io::stderr().lock(), "{CLEAR_LINE}{text}");
    }
    *shown = !text.is_empty();
}

/// Standard error for whole lines.
struct Lines(Stderr);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut shown = STATUS.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *shown) {
            self.0.write_all(CLEAR_LINE.as_bytes())?;
        }
        self.0.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn lines() -> Lines {
    Lines(io::stderr())
}

/// Prints a message for people. If standard error is closed (`2>&1 | head`, a full disk), work continues; `eprintln!` would panic.
pub(crate) fn say(text: &str) {
    let _ = lines().write_all(format!("{text}\n").as_bytes());
}

/// Starts logging, including panics. `verbose` counts the `-v` flags, which can only raise the configured level.
pub(crate) fn start(configured: LevelFilter, format: LogFormat, verbose: u8) {
    let asked = match verbose {
        0 => configured,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let levels = levels(configured.max(asked));
    match format {
        LogFormat::Text => {
            let lines = tracing_subscriber::fmt::layer().with_writer(lines);
            let lines = lines.with_ansi(false).log_internal_errors(false);
            tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        }
        LogFormat::Json => {
            let lines = JsonLines::new(lines);
            tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        }
    }
    log::panics();
}
