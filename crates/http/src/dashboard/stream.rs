//! Streams of server-sent events for pages.
//!
//! A `beat` every [`BEAT`] keeps proxies from closing the connection, detects disconnected clients, and shows the page that the
//! connection works, because scripts cannot see comments. A stream ends with its feed, and when its session ends or loses the
//! required scopes, checked every [`SESSION`].

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use probity_account::scope::Scope;
use probity_service::accounts::people::sessions;
use probity_service::app::App;
use tokio::time::{Interval, MissedTickBehavior};

use crate::person::guard::Person;

/// Interval of beats.
const BEAT: Duration = Duration::from_secs(15);
/// Interval at which the session is checked.
const SESSION: Duration = Duration::from_secs(3);
/// Time after which a browser reconnects.
const RETRY: &str = "retry: 2000\n\n";
/// Event of a beat. Browsers ignore events without data.
const STILL_HERE: Bytes = Bytes::from_static(b"event: beat\ndata: {}\n\n");

static BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Source of a stream's events.
pub(crate) trait PageFeed: Send + 'static {
    /// Returns the next event in wire format; `None` at the end. Cancel-safe. The first event comes immediately.
    fn next_event(&mut self) -> impl Future<Output = Option<String>> + Send;
}

/// Formats an event. JSON has no line breaks of its own.
pub(crate) fn event(name: &str, json: &str) -> String {
    format!("event: {name}\ndata: {json}\n\n")
}

/// Responds with the events of a feed, as long as the member has the scopes.
pub(crate) fn respond<F: PageFeed>(app: Arc<App>, person: Person, scopes: Vec<Scope>, feed: F) -> Response {
    let (beat, look) = (every(BEAT), every(SESSION));
    let listener = StreamedPage { app, person, scopes, feed, beat, look, unsure: false, begun: false };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // Proxies that buffer responses would delay events.
        (BUFFERING.clone(), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(stream::unfold(listener, StreamedPage::next))).into_response()
}

/// Creates an interval whose first tick comes after one period.
fn every(time: Duration) -> Interval {
    let mut ticks = tokio::time::interval(time);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    ticks
}

/// Page that receives a stream.
struct StreamedPage<F> {
    app: Arc<App>,
    person: Person,
    scopes: Vec<Scope>,
    feed: F,
    beat: Interval,
    look: Interval,
    /// Whether a check of the session was interrupted.
    unsure: bool,
    begun: bool,
}

impl<F: PageFeed> StreamedPage<F> {
    /// Returns the next bytes to send; `None` at the end.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.begun {
            self.begun = true;
            let first = format!("{RETRY}{}", self.feed.next_event().await?);
            return Some((Ok(first.into()), self));
        }
        let Self { app, person, scopes, feed, beat, look, unsure, .. } = &mut self;
        // An event arrived before the last session check ended.
        if *unsure && !sessions::still_signed_in(app, person, scopes).await {
            return None;
        }
        *unsure = false;
        let over = async {
            loop {
                look.tick().await;
                *unsure = true;
                if !sessions::still_signed_in(app, person, scopes).await {
                    return;
                }
                *unsure = false;
            }
        };
        // The session check must not interrupt a slow feed.
        let told = tokio::select! {
            event = feed.next_event() => event?.into(),
            () = over => return None,
            _ = beat.tick() => STILL_HERE,
        };
        Some((Ok(told), self))
    }
}
