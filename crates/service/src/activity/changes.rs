//! Feed of changes for pages, so that they need no reload button.
//!
//! A page names its parts. The first page of each part is read regularly and compared with the previous read, so every visible
//! change is noticed, whichever node made it. A change that was reverted between two reads leaves events or jobs; these are
//! compared too, because the page may have read the state in between. Parts without changes are read less often.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::{DeliveryId, SessionId, WebhookId};
use probity_account::scope::Scope;
use probity_backend::lists::watch::Seat;
use probity_contract::error::{ApiError, Code};
use probity_contract::page::PageQuery;
use probity_contract::published::webhooks::DeliveriesQuery;
use probity_contract::query::{FromQuery, Query};
use probity_store::activity::events::EventSubject;
use serde::Serialize;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::accounts::keys::list_keys;
use crate::accounts::users::list_members;
use crate::activity::requests::{RequestsQuery, list_requests};
use crate::activity::timeline::{newest_about, newest_activity, newest_jobs};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::connections::ConnectionPlace;
use crate::connections::runs::list_runs;
use crate::lists::catalogue::{ListsQuery, list_named_lists, open_lists};
use crate::privacy::erasures::list_erasures;
use crate::webhooks::acts::list_webhooks;
use crate::webhooks::deliveries::{delivery_state, list_deliveries};

/// Interval between reads, and minimum interval between events.
const LOOK: Duration = Duration::from_secs(1);
/// Consecutive reads without a change after which only every [`RARELY`]th one happens.
const QUIET: u32 = 10;
const RARELY: u32 = 4;
/// Maximum number of parts per page.
const PARTS_MAX: usize = 8;
/// Maximum number of running lists to read.
const OPEN_MAX: i64 = 100;

#[derive(Clone, Debug)]
enum WatchedPart {
    Lists,
    Erasures,
    Webhooks,
    Keys,
    Team,
    Timeline,
    Requests,
    Deliveries(WebhookId),
    Delivery(WebhookId, DeliveryId),
    Runs(ConnectionPlace),
}

impl WatchedPart {
    fn of(text: &str) -> Option<Self> {
        Some(match text.split_once(':') {
            None => match text {
                "lists" => Self::Lists,
                "erasures" => Self::Erasures,
                "webhooks" => Self::Webhooks,
                "keys" => Self::Keys,
                "team" => Self::Team,
                "timeline" => Self::Timeline,
                "requests" => Self::Requests,
                _ => return None,
            },
            Some(("deliveries", id)) => Self::Deliveries(id.parse().ok()?),
            Some(("delivery", place)) => {
                let (webhook, id) = place.split_once('/')?;
                Self::Delivery(webhook.parse().ok()?, id.parse().ok()?)
            }
            Some(("runs", place)) => {
                let (provider, id) = place.split_once('/')?;
                Self::Runs(ConnectionPlace { provider: provider.to_owned(), id: id.parse().ok()? })
            }
            Some(_) => return None,
        })
    }

    /// Returns the scope that the part's route needs.
    fn scope(&self) -> Scope {
        match self {
            Self::Lists | Self::Timeline => Scope::ReadJobs,
            Self::Keys => Scope::WriteKeys,
            Self::Requests => Scope::ReadAccount,
            Self::Team => Scope::ReadTeam,
            Self::Erasures => Scope::WriteErasures,
            Self::Webhooks | Self::Deliveries(_) | Self::Delivery(..) => Scope::ReadWebhooks,
            Self::Runs(_) => Scope::ReadIntegrations,
        }
    }

    /// Returns a digest of the part's first page. Deleted, foreign and unknown parts have the same digest.
    async fn digest(&self, app: &App, caller: &Caller) -> Result<u64, ApiError> {
        match self.first_page(app, caller).await {
            Err(error) if error.code() == Code::NotFound => Ok(0),
            read => read,
        }
    }

    async fn first_page(&self, app: &App, caller: &Caller) -> Result<u64, ApiError> {
        let page = PageQuery::default();
        Ok(match self {
            // Running lists may be older than those of the first page; deleted ones are still jobs.
            Self::Lists => {
                let newest = list_named_lists(app, caller, ListsQuery::default()).await?;
                let running = open_lists(app, caller, OPEN_MAX).await?;
                digest_of(&(newest.data, running, newest_jobs(app, caller).await?))
            }
            Self::Erasures => digest_of(&list_erasures(app, caller, page).await?.data),
            Self::Webhooks => {
                let happened = newest_about(app, caller, |subject| matches!(subject, EventSubject::Webhook(_)));
                digest_of(&(list_webhooks(app, caller, page).await?.data, happened.await?))
            }
            Self::Keys => {
                let happened = newest_about(app, caller, |subject| matches!(subject, EventSubject::Key(_)));
                digest_of(&(list_keys(app, caller, page).await?.data, happened.await?))
            }
            Self::Team => {
                let happened = newest_about(app, caller, |subject| matches!(subject, EventSubject::Member(_)));
                digest_of(&(list_members(app, caller, page).await?.data, happened.await?))
            }
            Self::Requests => digest_of(&list_requests(app, caller, RequestsQuery::default()).await?.data),
            Self::Timeline => digest_of(&newest_activity(app, caller).await?),
            Self::Deliveries(id) => {
                digest_of(&list_deliveries(app, caller, *id, Ok(DeliveriesQuery { status: None, page })).await?.data)
            }
            Self::Delivery(webhook, id) => digest_of(&delivery_state(app, caller, (*webhook, *id)).await?),
            Self::Runs(place) => digest_of(&list_runs(app, caller, place, page).await?.data),
        })
    }
}

/// Digests rows only, because cursors differ each time.
fn digest_of(rows: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(rows).expect("rows are plain JSON").hash(&mut hasher);
    hasher.finish()
}

/// Parts whose changes a page follows.
#[derive(Clone, Debug)]
pub struct ChangesQuery(Vec<(String, WatchedPart)>);

impl FromQuery for ChangesQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let text = query.text("of")?.unwrap_or_default();
        let names: BTreeSet<&str> = text.split(',').collect();
        let parts: Option<Vec<_>> =
            names.into_iter().map(|name| Some((name.to_owned(), WatchedPart::of(name)?))).collect();
        let parts = parts.filter(|parts| parts.len() <= PARTS_MAX);
        let rule = "must be up to 8 of lists, erasures, webhooks, keys, team, timeline, requests, deliveries:ID, delivery:WEBHOOK/ID, runs:PLATFORM/ID, separated by commas";
        parts.map(Self).ok_or_else(|| ApiError::invalid("of", rule))
    }
}

impl ChangesQuery {
    /// Returns the scopes that the parts need.
    pub fn scopes(&self) -> Vec<Scope> {
        self.0.iter().map(|(_, part)| part.scope()).collect()
    }
}

/// Message to a page.
#[derive(Debug, PartialEq, Eq)]
pub enum PageChange {
    /// From now on, all changes are reported.
    Ready,
    /// The part with this name has changed.
    Of(String),
}

/// Feed of changes. Dropping it releases its seat.
pub struct ChangeFeed {
    app: Arc<App>,
    caller: Caller,
    parts: Vec<(String, WatchedPart, u64)>,
    /// Part to read next.
    at: usize,
    ticks: Interval,
    quiet: u32,
    begun: bool,
    ending: CancellationToken,
    _seat: Seat,
}

/// Follows the parts of a page that a session shows.
pub async fn follow_changes(
    app: &Arc<App>,
    caller: &Caller,
    session: SessionId,
    query: ChangesQuery,
) -> Result<ChangeFeed, ApiError> {
    if let Some(scope) = query.scopes().into_iter().find(|scope| !caller.scopes().contains(*scope)) {
        return Err(ApiError::forbidden_scope(caller.lacks(scope)));
    }
    let seat = app.watch.seat(caller.org(), session)?;
    let mut parts = Vec::with_capacity(query.0.len());
    for (name, part) in query.0 {
        let digest = part.digest(app, caller).await?;
        parts.push((name, part, digest));
    }
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    let (app, caller, ending) = (app.clone(), caller.clone(), app.watch.ending.clone());
    Ok(ChangeFeed { app, caller, parts, at: 0, ticks, quiet: 0, begun: false, ending, _seat: seat })
}

impl ChangeFeed {
    /// Returns the next change; `None` at the end. Cancel-safe.
    pub async fn next(&mut self) -> Option<PageChange> {
        if !self.begun {
            self.begun = true;
            return Some(PageChange::Ready);
        }
        loop {
            tokio::select! {
                () = self.ending.cancelled() => return None,
                _ = self.ticks.tick() => self.quiet = self.quiet.saturating_add(1),
            }
            if self.quiet > QUIET && !self.quiet.is_multiple_of(RARELY) {
                continue;
            }
            if let Some(changed) = self.look().await {
                self.quiet = 0;
                return Some(PageChange::Of(changed));
            }
        }
    }

    /// Reads the parts until one has changed. Continues after the last one read, because a part that changes constantly must not
    /// hide the others.
    async fn look(&mut self) -> Option<String> {
        for _ in 0..self.parts.len() {
            let at = self.at;
            let (_, part, before) = &self.parts[at];
            let read = part.digest(&self.app, &self.caller).await;
            self.at = (at + 1) % self.parts.len();
            // Failed reads are repeated at the next tick.
            let Ok(now) = read else { continue };
            if now != *before {
                self.parts[at].2 = now;
                return Some(self.parts[at].0.clone());
            }
        }
        None
    }
}
