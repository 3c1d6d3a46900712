//! Streams of server-sent events for pages.
//!
//! A `beat` every [`BEAT`] keeps proxies from closing the connection, finds clients that have gone, and shows the page that the
//! connection works: a browser's scripts cannot see comments. A stream ends with its feed, and when its session ends or may no
//! longer read what the feed tells, checked every [`SESSION`].

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

/// What a stream tells.
pub(crate) trait PageFeed: Send + 'static {
    /// The next event as it is sent; none at the end. Dropping the future loses nothing. The first comes at once.
    fn next_event(&mut self) -> impl Future<Output = Option<String>> + Send;
}

/// An event. JSON has no line breaks of its own.
pub(crate) fn event(name: &str, json: &str) -> String {
    format!("event: {name}\ndata: {json}\n\n")
}

/// The events of a feed, as long as the person has the scopes.
pub(crate) fn respond<F: PageFeed>(app: Arc<App>, person: Person, scopes: Vec<Scope>, feed: F) -> Response {
    let (beat, look) = (every(BEAT), every(SESSION));
    let listener = StreamedPage { app, person, scopes, feed, beat, look, unsure: false, begun: false };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // Proxies that gather answers would hold events back.
        (BUFFERING.clone(), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(stream::unfold(listener, StreamedPage::next))).into_response()
}

/// Ticks for the first time when the time has passed once.
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
    /// What is sent next; none at the end.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.begun {
            self.begun = true;
            let first = format!("{RETRY}{}", self.feed.next_event().await?);
            return Some((Ok(first.into()), self));
        }
        let Self { app, person, scopes, feed, beat, look, unsure, .. } = &mut self;
        // An event came before the last look at the session ended.
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
        // Looking after the session must not interrupt a slow feed.
        let told = tokio::select! {
            event = feed.next_event() => event?.into(),
            () = over => return None,
            _ = beat.tick() => STILL_HERE,
        };
        Some((Ok(told), self))
    }
}
