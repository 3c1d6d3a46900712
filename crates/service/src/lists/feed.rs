//! Feed of a list's progress: its current state, then each change.
//!
//! The feed ends with its list and when the service stops.

use std::sync::Arc;

use probity_account::id::{JobId, SessionId};
use probity_backend::lists::watch::{Seat, WatchedProgress};
use probity_contract::error::ApiError;
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::callers::caller::Caller;

/// Feed of a list. Dropping it releases its seat.
pub struct ListFeed {
    seen: Receiver<WatchedProgress>,
    ending: CancellationToken,
    begun: bool,
    over: bool,
    _seat: Seat,
}

/// Follows a list that a caller sees; the stream is one of its session's.
pub async fn follow_list(app: &App, caller: &Caller, session: SessionId, id: JobId) -> Result<ListFeed, ApiError> {
    let seat = app.watch.seat(caller.org(), session)?;
    let seen = app.watch.look(&app.store, app.clock, (caller.org(), id, caller.is_test())).await?;
    Ok(ListFeed { seen, ending: app.watch.ending.clone(), begun: false, over: false, _seat: seat })
}

impl ListFeed {
    /// Returns the next [`JobProgress`](probity_backend::lists::progress::JobProgress) as one line of JSON; `None` at the end.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<str>> {
        if self.over {
            return None;
        }
        if self.begun {
            tokio::select! {
                () = self.ending.cancelled() => return None,
                changed = self.seen.changed() => changed.ok()?,
            }
        }
        self.begun = true;
        let seen = self.seen.borrow_and_update();
        self.over = seen.over;
        Some(seen.text.clone())
    }
}
