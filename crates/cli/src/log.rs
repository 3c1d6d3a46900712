//! Log lines on standard error. They carry neither addresses nor secrets; those who log see to that.

use std::io::Write as _;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, Settings};

/// Says something to people. Where nobody listens any more (`2>&1 | head`, a full disk) the work goes on all the same:
/// `eprintln!` would panic.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Starts logging; `verbose` counts the `-v` of the command line and can only say more than the configuration.
pub(crate) fn start(settings: &Settings, verbose: u8) {
    let configured: LevelFilter = settings.log_level.parse().unwrap_or(LevelFilter::WARN);
    let asked = match verbose {
        0 => configured,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Libraries know nothing of our rule about addresses, so only their errors are shown.
    let levels = Targets::new().with_default(LevelFilter::ERROR).with_target("probity", configured.max(asked));
    let layer =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).log_internal_errors(false);
    match settings.log_format {
        LogFormat::Text => tracing_subscriber::registry().with(layer.with_filter(levels)).init(),
        LogFormat::Json => tracing_subscriber::registry().with(layer.json().with_filter(levels)).init(),
    }
}
