//! Log lines: which are written, and their JSON form.
//!
//! Each line is one JSON object with `timestamp` (UTC), `level`, `target`, `message`, `request_id` if it belongs to a request,
//! and `fields` with everything else. The order is fixed and all text is escaped, so that no value from outside can start a
//! line of its own (CWE-117). Libraries do not follow our rule that no address, key or query string is logged. Only their
//! errors are therefore written, at any level. Panics are written like all other lines.

use std::fmt;
use std::io::Write as _;
use std::panic::PanicHookInfo;

use serde::Serialize;
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

/// Field of a request's span, and of lines that are written outside of it.
const REQUEST_ID: &str = "request_id";

/// Selects lines: ours from `level` on, and only the errors of libraries.
pub fn levels(level: LevelFilter) -> Targets {
    Targets::new().with_default(LevelFilter::ERROR.min(level)).with_target("probity", level)
}

/// Logs panics with their location but without their message, which may quote an address or a key. Within a request, the span
/// adds its ID. Call once, when the log is set up. The standard library reports earlier panics.
pub fn panics() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(place, "panic");
    }));
}

/// Layer that writes JSON lines.
pub struct JsonLines<W> {
    writer: W,
}

impl<W> JsonLines<W> {
    /// Creates a layer that writes to `writer`, with one call per line.
    pub fn new(writer: W) -> Self {
        Self { writer }
    }
}

/// ID of the request to which a span belongs.
struct RequestName(String);

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut said = LogContent::default();
        attributes.record(&mut said);
        if let (Some(name), Some(span)) = (said.request_id, context.span(id)) {
            span.extensions_mut().insert(RequestName(name));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut said = LogContent::default();
        event.record(&mut said);
        if said.request_id.is_none() {
            let mut spans = context.event_scope(event).into_iter().flatten();
            said.request_id =
                spans.find_map(|span| span.extensions().get::<RequestName>().map(|RequestName(name)| name.clone()));
        }
        let mut line = serde_json::to_vec(&said.line(event)).expect("texts and numbers always become JSON");
        line.push(b'\n');
        // If the line cannot be written (a closed pipe, a full disk), the service continues.
        let _ = self.writer.make_writer_for(event.metadata()).write_all(&line);
    }
}

/// A line, in the order of its parts. A target is a module path or a literal of ours.
#[derive(Serialize)]
struct LogLine {
    timestamp: String,
    level: &'static str,
    target: &'static str,
    #[serde(flatten)]
    said: LogContent,
}

/// Content of an event or a span.
#[derive(Default, Serialize)]
struct LogContent {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    fields: Map<String, Value>,
}

impl LogContent {
    fn line(self, event: &Event<'_>) -> LogLine {
        let mut timestamp = String::new();
        // If the clock cannot be read, the line has no time.
        let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
        let (level, target) = (event.metadata().level().as_str(), event.metadata().target());
        LogLine { timestamp, level, target, said: self }
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

impl Visit for LogContent {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_capture::Capture;

    /// Returns the parsed lines of a capture.
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
            tracing::warn!(target: "probity_engine::verifier::live", "ours");
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
