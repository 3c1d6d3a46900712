//! The access log: one line for each request, also for one whose client went away.
//!
//! It names the route by its template. Raw paths, queries, addresses of peers and headers are never logged: they may hold an
//! e-mail address or a key.

use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::Response;
use hyper::body::Body as _;
use probity_engine::clock::Clock;
use probity_service::ops::metrics::{Answered, Observer};
use probity_service::request_id::RequestId;

/// What is said of a request that no route takes.
const NO_ROUTE: &str = "none";
/// The status in the log when the client went away before the answer, as nginx has it.
const CLIENT_GONE: u16 = 499;

/// The line of one request, written when the answer is there or the request is dropped.
pub(super) struct Line {
    id: RequestId,
    method: &'static str,
    route: Option<MatchedPath>,
    clock: Clock,
    began: Duration,
    observer: Option<Observer>,
    written: bool,
}

impl Line {
    pub(super) fn begin(id: RequestId, request: &Request, clock: Clock, observer: Option<Observer>) -> Self {
        let route = request.extensions().get::<MatchedPath>().cloned();
        Self { id, method: known(request.method()), route, clock, began: clock.elapsed(), observer, written: false }
    }

    pub(super) fn end(&mut self, response: &Response) {
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
            observer(&Answered { method: self.method, route, status, duration });
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.written {
            self.write(CLIENT_GONE, None);
        }
    }
}

/// A method may be any token that a client makes up; only the usual ones are repeated.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}
