//! Metrics of HTTP requests: number, duration and concurrency.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Completed request.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest<'a> {
    /// Method; `OTHER` if it is not a common one.
    pub method: &'static str,
    /// Template of the route; `none` if the path is unknown.
    pub route: &'a str,
    /// Status; 499 if the client disconnected before the response.
    pub status: u16,
    /// Time from the end of the request's headers to the response's headers.
    pub duration: Duration,
}

/// Function that receives every completed request.
pub type Observer = Arc<dyn Fn(&AnsweredRequest<'_>) + Send + Sync>;

/// Upper bounds in seconds, from a cached response to the longest timeout of a live call.
const BOUNDS: [f64; 15] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Methods with their own label.
const METHODS: [&str; 8] = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "OTHER"];
/// Statuses of the service, common ones first. All others are counted as "other".
const STATUSES: [u16; 22] =
    [200, 201, 401, 402, 429, 400, 404, 204, 304, 403, 405, 408, 409, 413, 415, 422, 431, 499, 500, 502, 503, 504];
const OTHER: &str = "other";

/// Returns the label of a method. A method can be any token that a client invents, so those without a label are not repeated.
pub fn method_label(method: &str) -> &'static str {
    METHODS.into_iter().find(|known| *known == method).unwrap_or("OTHER")
}

type Requests = Family<[(&'static str, String); 3], Counter>;
type Durations = Family<[(&'static str, String); 2], Histogram, fn() -> Histogram>;

/// Series of one route and method.
struct Series {
    /// In the order of [`STATUSES`], followed by one for all others.
    statuses: [OnceLock<Counter>; STATUSES.len() + 1],
    duration: Histogram,
}

/// Series of one route, by method.
type RouteSeries = [OnceLock<Series>; METHODS.len()];

pub struct Http {
    requests: Requests,
    durations: Durations,
    in_flight: Gauge,
    /// Bounded by the router, which passes templates of routes.
    routes: RwLock<BTreeMap<Box<str>, Arc<RouteSeries>>>,
}

impl Http {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (requests, in_flight) = (Requests::default(), Gauge::default());
        let durations = Durations::new_with_constructor(|| Histogram::new(BOUNDS));
        registry.register(
            "probity_http_requests",
            "Responses by route template; 499: the client left first",
            requests.clone(),
        );
        registry.register(
            "probity_http_request_duration_seconds",
            "Time from the end of the request headers to the response",
            durations.clone(),
        );
        registry.register("probity_http_requests_in_flight", "Requests in flight", in_flight.clone());
        Self { requests, durations, in_flight, routes: RwLock::default() }
    }

    /// Counts a completed request.
    pub fn answered(&self, answered: &AnsweredRequest<'_>) {
        let method = METHODS.iter().position(|method| *method == answered.method).unwrap_or(METHODS.len() - 1);
        let route = self.route(answered.route);
        let series = route[method].get_or_init(|| self.series(answered.route, METHODS[method]));
        let status = STATUSES.iter().position(|status| *status == answered.status).unwrap_or(STATUSES.len());
        let counter = series.statuses[status].get_or_init(|| {
            let text = STATUSES.get(status).map_or_else(|| OTHER.to_owned(), ToString::to_string);
            let (route, method) = (answered.route.to_owned(), METHODS[method].to_owned());
            self.requests.get_or_create_owned(&[("route", route), ("method", method), ("status", text)])
        });
        counter.inc();
        series.duration.observe(answered.duration.as_secs_f64());
    }

    /// Counts a request as in progress until the guard is dropped.
    pub fn enter(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    fn route(&self, template: &str) -> Arc<RouteSeries> {
        if let Some(route) = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(template) {
            return route.clone();
        }
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.entry(template.into()).or_default().clone()
    }

    fn series(&self, route: &str, method: &'static str) -> Series {
        let labels = [("route", route.to_owned()), ("method", method.to_owned())];
        let duration = self.durations.get_or_create_owned(&labels);
        Series { statuses: [const { OnceLock::new() }; STATUSES.len() + 1], duration }
    }
}

/// Request in progress.
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
