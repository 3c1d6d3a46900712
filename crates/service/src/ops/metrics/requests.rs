//! Requests: how many, how long, how many at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// The method, `OTHER` when it is none of the usual.
    pub method: &'static str,
    /// The template of the route, `none` when the path is unknown.
    pub route: &'a str,
    /// The status; 499 when the client went away before the answer.
    pub status: u16,
    /// From the end of the request's header section to the answer's.
    pub duration: Duration,
}

/// Somebody who is told of every answer.
pub type Observer = Arc<dyn Fn(&Answered<'_>) + Send + Sync>;

/// Upper bounds in seconds: from an answer out of a cache to the longest timeout of a live call.
const BOUNDS: [f64; 15] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// The methods that the shell names.
const METHODS: [&str; 8] = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "OTHER"];
/// The statuses that the service gives, the usual ones first; every other one is counted as "other".
const STATUSES: [(u16, &str); 22] = [
    (200, "200"),
    (201, "201"),
    (401, "401"),
    (402, "402"),
    (429, "429"),
    (400, "400"),
    (404, "404"),
    (204, "204"),
    (304, "304"),
    (403, "403"),
    (405, "405"),
    (408, "408"),
    (409, "409"),
    (413, "413"),
    (415, "415"),
    (422, "422"),
    (431, "431"),
    (499, "499"),
    (500, "500"),
    (502, "502"),
    (503, "503"),
    (504, "504"),
];
const OTHER: &str = "other";

type Requests = Family<[(&'static str, String); 3], Counter>;
type Durations = Family<[(&'static str, String); 2], Histogram, fn() -> Histogram>;

/// The series of one route and method.
struct Series {
    /// In the order of [`STATUSES`], and one for all others.
    statuses: [OnceLock<Counter>; STATUSES.len() + 1],
    duration: Histogram,
}

/// The series of one route, by method.
type Route = [OnceLock<Series>; METHODS.len()];

/// Requests.
pub struct Http {
    requests: Requests,
    durations: Durations,
    in_flight: Gauge,
    /// Bounded by the router: routes come by their template.
    routes: RwLock<BTreeMap<Box<str>, Arc<Route>>>,
}

impl Http {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (requests, in_flight) = (Requests::default(), Gauge::default());
        let durations = Durations::new_with_constructor(|| Histogram::new(BOUNDS));
        registry.register(
            "probity_http_requests",
            "Requests that were answered, or left by the client (499)",
            requests.clone(),
        );
        registry.register(
            "probity_http_request_duration_seconds",
            "From the end of a request's headers to its answer",
            durations.clone(),
        );
        registry.register("probity_http_requests_in_flight", "Requests under way", in_flight.clone());
        Self { requests, durations, in_flight, routes: RwLock::default() }
    }

    /// Books an answer.
    pub fn answered(&self, answered: &Answered<'_>) {
        let method = METHODS.iter().position(|method| *method == answered.method).unwrap_or(METHODS.len() - 1);
        let route = self.route(answered.route);
        let series = route[method].get_or_init(|| self.series(answered.route, METHODS[method]));
        let status = STATUSES.iter().position(|(status, _)| *status == answered.status).unwrap_or(STATUSES.len());
        let counter = series.statuses[status].get_or_init(|| {
            let text = STATUSES.get(status).map_or(OTHER, |(_, text)| text);
            let labels = [("route", answered.route), ("method", METHODS[method]), ("status", text)];
            self.requests.get_or_create_owned(&labels.map(|(key, value)| (key, value.to_owned())))
        });
        counter.inc();
        series.duration.observe(answered.duration.as_secs_f64());
    }

    /// Counts a request as under way until the guard is dropped.
    pub fn enter(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    fn route(&self, template: &str) -> Arc<Route> {
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

/// A request under way.
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
