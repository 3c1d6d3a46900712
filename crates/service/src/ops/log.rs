//! Log lines: which are written, and their form in JSON.
//!
//! Each line is one JSON object with `timestamp` (UTC), `level`, `target`, `message`, `request_id` where the line belongs to a
//! request, and `fields` with everything else that was said. The order is fixed and everything is escaped, so no value that
//! came from outside can begin a line of its own (CWE-117). Libraries do not know our rule that no address, key or query
//! string is logged, so only their errors are shown, whatever level is asked for. Panics become lines like all others.

pub mod capture;

use std::fmt;
use std::io::Write as _;
use std::panic::PanicHookInfo;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The field of the request's span, and of lines that are written outside of it.
const REQUEST_ID: &str = "request_id";

/// Which lines are written: ours from `level` on, of libraries only errors.
pub fn levels(level: LevelFilter) -> Targets {
    Targets::new().with_default(LevelFilter::ERROR.min(level)).with_target("probity", level)
}

/// Sends panics to the log, with their place and without their message: messages quote values, and a value may be an address
/// or a key. Within a request the span adds its name. Call it once, when the log has begun: what panics before that is told as
/// the standard library does.
pub fn panics() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(place, "panic");
    }));
}

/// A layer that writes JSON lines.
pub struct JsonLines<W> {
    writer: W,
}

impl<W> JsonLines<W> {
    /// Writes to `writer`, one call for each line.
    pub fn new(writer: W) -> Self {
        Self { writer }
    }
}

/// The request that a span belongs to.
struct Named(String);

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut said = Said::default();
        attributes.record(&mut said);
        if let (Some(name), Some(span)) = (said.request_id, context.span(id)) {
            span.extensions_mut().insert(Named(name));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut said = Said::default();
        event.record(&mut said);
        if said.request_id.is_none() {
            let mut spans = context.event_scope(event).into_iter().flatten();
            said.request_id = spans.find_map(|span| span.extensions().get::<Named>().map(|Named(name)| name.clone()));
        }
        let mut line = said.line(event).to_string();
        line.push('\n');
        // Where nobody listens any more (a closed pipe, a full disk) the service goes on.
        let _ = self.writer.make_writer_for(event.metadata()).write_all(line.as_bytes());
    }
}

/// What an event or a span says.
#[derive(Default)]
struct Said {
    message: String,
    request_id: Option<String>,
    fields: Map<String, Value>,
}

impl Said {
    fn line(self, event: &Event<'_>) -> Line {
        let mut timestamp = String::new();
        // A clock that cannot be read leaves the line without a time.
        let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
        let (level, target) = (event.metadata().level().as_str(), event.metadata().target());
        Line { timestamp, level, target, said: self }
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (REQUEST_ID, Value::String(name)) => self.request_id = Some(name),
            (name, value) => {
                self.fields.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for Said {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}

/// A whole line.
struct Line {
    timestamp: String,
    level: &'static str,
    target: &'static str,
    said: Said,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { timestamp, level, target, said } = self;
        // A target is a path of modules or a literal of ours, and yet quoted like everything else.
        let text = |text: &str| Value::from(text);
        write!(f, "{{\"timestamp\":{},\"level\":\"{level}\",\"target\":{}", text(timestamp), text(target))?;
        write!(f, ",\"message\":{}", text(&said.message))?;
        if let Some(name) = &said.request_id {
            write!(f, ",\"request_id\":{}", text(name))?;
        }
        let fields = serde_json::to_string(&said.fields).map_err(|_| fmt::Error)?;
        write!(f, ",\"fields\":{fields}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::log::capture::Capture;

    /// The lines of a capture, each parsed.
    fn lines(capture: &Capture) -> Vec<Value> {
        capture.text().lines().map(|line| serde_json::from_str(line).expect("a line is one JSON object")).collect()
    }

    #[test]
    fn a_line_is_one_object_with_its_requests_name() {
        let (capture, guard) = Capture::start(LevelFilter::INFO);
        let span = tracing::error_span!("request", request_id = "req_1");
        span.in_scope(|| {
            let inner = tracing::error_span!("part", of = 3);
            inner.in_scope(|| tracing::error!(code = "server_error", tries = 2, ratio = 0.5, "request failed"));
        });
        tracing::info!(target: "probity_http::access", status = 200, request_id = "req_2");
        drop(guard);
        let [failed, access] = &lines(&capture)[..] else { panic!("two lines: {}", capture.text()) };
        assert_eq!((&failed["level"], &failed["message"]), (&"ERROR".into(), &"request failed".into()));
        assert_eq!((&failed["target"], &failed["request_id"]), (&module_path!().into(), &"req_1".into()));
        assert_eq!(failed["fields"], serde_json::json!({ "code": "server_error", "tries": 2, "ratio": 0.5 }));
        assert_eq!((&access["request_id"], &access["fields"]["status"]), (&"req_2".into(), &200.into()));
        let timestamp = failed["timestamp"].as_str().expect("a text");
        assert!(timestamp.parse::<jiff::Timestamp>().is_ok() && timestamp.ends_with('Z'), "{timestamp}");
        let first: Vec<_> = capture.text().split('"').skip(1).step_by(2).take(1).map(str::to_owned).collect();
        assert_eq!(first, ["timestamp"], "the order is fixed");
    }

    #[test]
    fn nothing_that_comes_from_outside_begins_a_line() {
        let (capture, guard) = Capture::start(LevelFilter::INFO);
        let evil = "a\n{\"level\":\"ERROR\"}\r\n\u{1b}[2J\u{2028}\"\\";
        tracing::info!(text = evil, other = ?evil, "{evil}");
        drop(guard);
        let [line] = &lines(&capture)[..] else { panic!("one line: {}", capture.text()) };
        assert_eq!((&line["message"], &line["fields"]["text"]), (&evil.into(), &evil.into()));
        assert!(!capture.text().trim_end().contains(['\n', '\r', '\u{1b}']));
    }

    #[test]
    fn of_libraries_only_errors_are_shown() {
        for (level, ours) in [(LevelFilter::TRACE, 2), (LevelFilter::WARN, 1), (LevelFilter::OFF, 0)] {
            let (capture, guard) = Capture::start(level);
            tracing::trace!("ours");
            tracing::warn!(target: "probity_engine::live", "ours");
            tracing::warn!(target: "sqlx::query", "a statement with an address");
            tracing::error!(target: "hyper", "broken");
            drop(guard);
            let of = |mine: bool| {
                let targets = lines(&capture).into_iter().filter_map(|line| line["target"].as_str().map(str::to_owned));
                targets.filter(|target| target.starts_with("probity") == mine).collect::<Vec<_>>()
            };
            assert_eq!(of(true).len(), ours, "{level}");
            assert_eq!(of(false), if level == LevelFilter::OFF { vec![] } else { vec!["hyper"] }, "{level}");
        }
    }
}
