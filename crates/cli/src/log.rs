//! Log lines on standard error. They carry neither addresses nor secrets; those who log see to that.

use std::io::Write as _;

use probity_server::ops::log::{self, JsonLines, levels};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, Settings};

/// Says something to people. Where nobody listens any more (`2>&1 | head`, a full disk) the work goes on all the same:
/// `eprintln!` would panic.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
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
            let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
            let lines = lines.with_ansi(false).log_internal_errors(false);
            tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        }
        LogFormat::Json => {
            let lines = JsonLines::new(std::io::stderr);
            tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        }
    }
    log::panics();
}
