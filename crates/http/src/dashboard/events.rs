//! `GET /app/jobs/{id}/events`: where a list stands, whenever it has come on, as server-sent events.
//!
//! Each event is the whole of [`Progress`](probity_service::lists::progress::Progress): whoever missed some has missed nothing,
//! and `Last-Event-ID` is not
//! looked at. A `beat` every [`BEAT`] keeps what stands in between from closing the connection, finds out who has gone, and
//! tells the
//! page that the connection stands: of comments a browser's scripts hear nothing. A stream ends when the list does, when the
//! service ends, and when its session is over or may not read lists any more, which is
//! looked after every [`SESSION`].

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use probity_account::scope::Scope;
use probity_service::app::App;
use probity_service::lists::watch::{Seat, Seen};
use tokio::sync::watch::Receiver;
use tokio::time::{Interval, MissedTickBehavior};

use crate::api::batch::Named;
use crate::error::Refusal;
use crate::person::guard;
use crate::person::guard::Person;

/// How often something is said where there is nothing to say.
const BEAT: Duration = Duration::from_secs(15);
/// How often it is looked after whether the session goes on.
const SESSION: Duration = Duration::from_secs(3);
/// What a browser is told of how soon to come back, and the event of a beat; one without data would not be told of.
const RETRY: &str = "retry: 2000\n\n";
const STILL_HERE: Bytes = Bytes::from_static(b"event: beat\ndata: {}\n\n");

static BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The events of a list.
pub(crate) async fn get_events(
    State(app): State<Arc<App>>,
    person: Person,
    Named(id): Named,
) -> Result<Response, Refusal> {
    let session = &person.signed_in.session;
    let seat = app.watch.seat(session.org, session.id)?;
    let seen = app.watch.look(&app.store, (session.org, id)).await?;
    let (beat, look) = (every(BEAT), every(SESSION));
    let listener = Listener { app, person, seen, beat, look, begun: false, over: false, _seat: seat };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // Proxies that gather answers would hold events back.
        (BUFFERING.clone(), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(stream::unfold(listener, Listener::next))).into_response())
}

/// Ticks for the first time when the time has passed once.
fn every(time: Duration) -> Interval {
    let mut ticks = tokio::time::interval(time);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    ticks
}

/// One who looks.
struct Listener {
    app: Arc<App>,
    person: Person,
    seen: Receiver<Seen>,
    beat: Interval,
    look: Interval,
    begun: bool,
    over: bool,
    _seat: Seat,
}

impl Listener {
    /// What is sent next; none at the end.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.over {
            return None;
        }
        if !self.begun {
            self.begun = true;
            let first = format!("{RETRY}{}", self.event());
            return Some((Ok(first.into()), self));
        }
        let ending = self.app.watch.ending.clone();
        loop {
            tokio::select! {
                () = ending.cancelled() => return None,
                changed = self.seen.changed() => {
                    changed.ok()?;
                    let event = self.event();
                    return Some((Ok(event.into()), self));
                }
                _ = self.look.tick() => if !guard::goes_on(&self.app, &self.person, Scope::ReadJobs).await {
                    return None;
                },
                _ = self.beat.tick() => return Some((Ok(STILL_HERE), self)),
            }
        }
    }

    fn event(&mut self) -> String {
        let seen = self.seen.borrow_and_update();
        self.over = seen.over;
        // JSON has no line breaks of its own.
        format!("event: progress\ndata: {}\n\n", seen.text)
    }
}
