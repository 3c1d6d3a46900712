//! Access log: one line per request, even if the client disconnects. Requests with API keys also go to the log that organizations
//! see.
//!
//! A line names the route by its template. Raw paths, queries, peer addresses and headers are never logged, because they may
//! hold an email address or a key.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use hyper::body::Body as _;
use probity_access::requests::{LoggedRequest, RequestLog};
use probity_contract::request_id::RequestId;
use probity_engine::clock::EngineClock;
use probity_service::callers::caller::Caller;
use probity_telemetry::metrics::{AnsweredRequest, Observer, method_label};

use crate::edge::shell::ShellConfig;

/// Route in the log for a request that no route matches.
const NO_ROUTE: &str = "none";
/// Status in the log if the client disconnects before the response, as in nginx.
const CLIENT_GONE: u16 = 499;

/// Caller with a key, once the guard has recognized it: such requests are in the organization's log. An extension of every request,
/// set at most once.
#[derive(Clone, Default)]
pub(crate) struct LoggedCaller(Arc<OnceLock<Caller>>);

impl LoggedCaller {
    pub(crate) fn put(&self, caller: &Caller) {
        // A second guard finds the same caller.
        let _ = self.0.set(caller.clone());
    }
}

/// Line of one request, written when the response is ready or the request is dropped.
pub(super) struct AccessLine {
    id: RequestId,
    method: &'static str,
    route: Option<MatchedPath>,
    clock: EngineClock,
    began: Duration,
    observer: Option<Observer>,
    log: Option<RequestLog>,
    caller: LoggedCaller,
    written: bool,
}

impl AccessLine {
    pub(crate) fn begin(id: RequestId, request: &Request, clock: EngineClock, config: &ShellConfig) -> Self {
        Self {
            id,
            method: method_label(request.method().as_str()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            clock,
            began: clock.elapsed(),
            observer: config.observer.clone(),
            log: config.log.clone(),
            caller: LoggedCaller::default(),
            written: false,
        }
    }

    /// Returns the slot for the caller, which the guard fills.
    pub(crate) fn caller(&self) -> LoggedCaller {
        self.caller.clone()
    }

    pub(crate) fn end(&mut self, response: &Response) {
        self.write(response.status().as_u16(), response.body().size_hint().exact());
    }

    fn write(&mut self, status: u16, bytes: Option<u64>) {
        self.written = true;
        let duration = self.clock.elapsed().saturating_sub(self.began);
        let route = self.route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
        let duration_ms = f64::from(u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)) / 1_000.0;
        tracing::info!(
            target: "probity_http::access",
            method = self.method,
            route,
            status,
            duration_ms,
            bytes,
            request_id = self.id.as_str(),
            "request answered"
        );
        if let Some(observer) = &self.observer {
            observer(&AnsweredRequest { method: self.method, route, status, duration });
        }
        if let (Some(log), Some(caller)) = (&self.log, self.caller.0.get())
            && let Some(key) = caller.key()
        {
            log.note(LoggedRequest {
                org: caller.org(),
                key: key.id,
                test: caller.is_test(),
                at: self.clock.now(),
                id: self.id.to_string(),
                method: self.method.to_owned(),
                route: route.to_owned(),
                status: i64::from(status),
                took_ms: i64::try_from(duration.as_millis()).unwrap_or(i64::MAX),
            });
        }
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        if !self.written {
            self.write(CLIENT_GONE, None);
        }
    }
}
