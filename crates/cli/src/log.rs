//! Log lines on standard error. They carry neither addresses nor secrets; those who log see to that.
//!
//! A terminal may have one status line, which is drawn again and again: everything else that is written takes it away first.

use std::io::{self, Stderr, Write};
use std::sync::{Mutex, PoisonError};

use probity_server::ops::log::{self, JsonLines, levels};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, Settings};

/// Whether the terminal shows a status line now. Held while anything is written, so that lines never mix.
static STATUS: Mutex<bool> = Mutex::new(false);

/// Takes what stands in the terminal's current line away.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Shows a status line in place of the one before; an empty one takes it away. It must be shorter than the terminal is wide.
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

/// Says something to people. Where nobody listens any more (`2>&1 | head`, a full disk) the work goes on all the same:
/// `eprintln!` would panic.
pub(crate) fn say(text: &str) {
    let _ = lines().write_all(format!("{text}\n").as_bytes());
}

/// Starts logging, of panics too; `verbose` counts the `-v` of the command line and can only say more than the configuration.
pub(crate) fn start(settings: &Settings, verbose: u8) {
    let configured: LevelFilter = settings.log_level.parse().unwrap_or(LevelFilter::WARN);
    let asked = match verbose {
        0 => configured,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let levels = levels(configured.max(asked));
    match settings.log_format {
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
