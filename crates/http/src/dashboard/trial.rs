//! `POST /app/settings/trial`: what other settings would have changed in the organization's last list.
//!
//! A result keeps what was found before the settings were applied, so they can be applied anew: those that stand, and those
//! that are wished for. Nothing is changed. Only as many rows are looked at as fit into [`TIME_MAX`]; the answer says how many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use probity_account::id::JobId;
use probity_account::overrides::{Gate, IGNORABLE, Overrides, Wishes};
use probity_mail::verdict::{Finding, Reason, Verdict};
use probity_service::app::App;
use probity_service::lists::rows;
use probity_service::published::settings::SettingsPatch;
use probity_service::timestamp::Timestamp;
use probity_store::jobs::{self, Filter, Job, Kind};
use probity_store::{organization, settings};
use serde::Serialize;

use crate::api::organization::settings::Change;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;

/// How long rows are looked at.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Rows that are read together.
const STEP: i64 = 8_000;
/// Lists among which the last one is looked for whose rows are still there.
const JOBS: i64 = 20;

/// What wishes would change.
#[derive(Serialize)]
pub(crate) struct Trial {
    /// Null where there is no list to try them on.
    job: Option<Tried>,
}

/// What they would change in a list.
#[derive(Serialize)]
struct Tried {
    id: JobId,
    finished_at: Option<Timestamp>,
    rows: i64,
    /// Rows that were looked at, from the first on.
    looked_at: i64,
    /// With the settings that stand, and with those that are wished for.
    before: Sums,
    after: Sums,
    /// Rows whose verdict is another one.
    changed: i64,
    /// Rows whose verdict each override would change if there were no other.
    each: Each,
}

/// Rows by status, and by reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Sums {
    statuses: BTreeMap<&'static str, i64>,
    reasons: BTreeMap<&'static str, i64>,
}

impl Sums {
    fn add(&mut self, reason: Reason) {
        *self.statuses.entry(reason.status().as_str()).or_default() += 1;
        *self.reasons.entry(reason.as_str()).or_default() += 1;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Each {
    ignored_reasons: BTreeMap<&'static str, i64>,
    ignored_statuses: BTreeMap<&'static str, i64>,
    banned_words: i64,
    role_words: i64,
}

/// The wishes, made ready: as they stand, as they are wished for, and the words of those by themselves.
struct Rules {
    standing: Overrides,
    wished: Overrides,
    banned: Overrides,
    roles: Overrides,
}

impl Rules {
    fn of(standing: &Wishes, wished: &Wishes) -> Self {
        let banned = Wishes { banned_words: wished.banned_words.clone(), ..Wishes::default() };
        let roles = Wishes { role_words: wished.role_words.clone(), ..Wishes::default() };
        let [standing, wished, banned, roles] = [standing, wished, &banned, &roles].map(Overrides::new);
        Self { standing, wished, banned, roles }
    }
}

/// Tries settings on the last list. The body is that of a change of the settings.
pub(crate) async fn try_settings(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(patch): JsonBody<SettingsPatch>,
) -> Result<Json<Trial>, Refusal> {
    let _place = app.searches.place(caller.org()).await?;
    let mut conn = app.store.read().await?;
    let org = organization::by_no(&mut conn, caller.org()).await?;
    let change = Change::of(patch, &app, &org)?;
    let standing = settings::read(&mut conn, org.no).await?;
    let wished = change.applied_to(&standing);
    let completed = Filter { status: Some("completed".into()), ..Filter::default() };
    let last = jobs::page(&mut conn, org.no, &completed, None, JOBS).await?;
    let Some(job) = last.into_iter().find(|job| job.purged_at.is_none()) else { return Ok(Json(Trial { job: None })) };
    drop(conn);
    let rules = Rules::of(&standing.overrides, &wished.overrides);
    Ok(Json(Trial { job: Some(tried(&app, &job, &rules).await?) }))
}

async fn tried(app: &App, job: &Job, rules: &Rules) -> Result<Tried, Refusal> {
    let begun = app.clock.elapsed();
    let mut tried = Tried {
        id: job.id,
        finished_at: job.finished_at.map(Into::into),
        rows: job.rows,
        looked_at: 0,
        before: Sums::default(),
        after: Sums::default(),
        changed: 0,
        each: Each::default(),
    };
    while tried.looked_at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        let (from, to) = (tried.looked_at, (tried.looked_at + STEP).min(job.rows));
        // Given back after each step, so that others have their turn.
        let mut conn = app.store.read().await?;
        let emails = rows::emails(&mut conn, job, from, to).await?;
        let standing = jobs::outcomes(&mut conn, job.org, job.no, from, to).await?;
        drop(conn);
        for (index, standing) in standing {
            let email = usize::try_from(index - from).ok().and_then(|at| emails.get(at)?.as_deref());
            tried.add(&standing.result.kind, email.map_or("", |email| email.trim_ascii()), rules);
        }
        tried.looked_at = to;
        tokio::task::yield_now().await;
    }
    Ok(tried)
}

impl Tried {
    fn add(&mut self, kind: &Kind, email: &str, rules: &Rules) {
        let raw = raw(kind);
        let (before, after) = (rules.standing.apply(&raw, email).reason, rules.wished.apply(&raw, email).reason);
        self.before.add(before);
        self.after.add(after);
        self.changed += i64::from(before != after);
        self.each.add(&raw, email, rules);
    }
}

impl Each {
    /// By itself, ignoring something changes the verdicts that say it.
    fn add(&mut self, raw: &Verdict, email: &str, rules: &Rules) {
        if let Some(gate) = Gate::ALL.into_iter().find(|gate| gate.reason() == raw.reason) {
            *self.ignored_reasons.entry(gate.as_str()).or_default() += 1;
        }
        if let Some(status) = IGNORABLE.into_iter().find(|status| *status == raw.reason.status()) {
            *self.ignored_statuses.entry(status.as_str()).or_default() += 1;
        }
        self.banned_words += i64::from(rules.banned.apply(raw, email).reason != raw.reason);
        self.role_words += i64::from(rules.roles.apply(raw, email).reason != raw.reason);
    }
}

/// What was found, without who decided it: overrides do not look at that.
fn raw(kind: &Kind) -> Verdict {
    let rule: Arc<str> = Arc::from("");
    let finding = |reason: &Reason| Finding { reason: *reason, meta: "".into(), rule: rule.clone() };
    Verdict::of(kind.findings.iter().map(finding).collect(), &rule)
}
