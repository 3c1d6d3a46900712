//! `GET /app/jobs/{id}/events`: the progress of a list, as server-sent events.
//!
//! Each event is a whole [`JobProgress`](probity_backend::lists::progress::JobProgress), so missed events do no harm, and
//! `Last-Event-ID` is ignored. [`stream`] describes their duration and end.

use axum::response::Response;
use probity_account::id::JobId;
use probity_account::scope::Scope;
use probity_service::lists::feed::{ListFeed, follow_list};

use crate::dashboard::stream;
use crate::dashboard::stream::PageFeed;
use crate::handler::{Call, PathId, Refusal};
use crate::person::guard::Person;

impl PageFeed for ListFeed {
    async fn next_event(&mut self) -> Option<String> {
        Some(stream::event("progress", &self.next().await?))
    }
}

/// Streams the events of a list.
pub(crate) async fn get_events(
    Call(app, caller): Call,
    person: Person,
    PathId(id): PathId<JobId>,
) -> Result<Response, Refusal> {
    let feed = follow_list(&app, &caller, person.signed_in.session.id, id).await?;
    Ok(stream::respond(app, person, vec![Scope::ReadJobs], feed))
}
