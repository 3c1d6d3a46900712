//! Preview of settings: how they would change the verdicts of the organization's last list.
//!
//! A result stores its finding before settings are applied, so both the current and the proposed settings can be applied to
//! it. Nothing is changed. Only the rows that fit into [`TIME_MAX`] are evaluated; the response has their number.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use probity_account::id::JobId;
use probity_account::overrides::{IGNORABLE, IgnorableReason, Overrides, Wishes};
use probity_backend::lists::rows;
use probity_contract::error::ApiError;
use probity_contract::published::accounts::settings::SettingsPatch;
use probity_contract::timestamp::Timestamp;
use probity_mail::address::bare_address;
use probity_mail::verdict::{Finding, Reason, Verdict};
use probity_store::accounts::{organization, settings};
use probity_store::jobs::{self, Job, JobFilter, OutcomeKind};
use serde::Serialize;

use crate::accounts::settings::SettingsUpdate;
use crate::app::App;
use crate::callers::caller::Caller;

/// Longest evaluation.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Rows read at a time.
const STEP: i64 = 8_000;
/// Number of recent lists among which to find one whose rows are still stored.
const JOBS: i64 = 20;

/// Effect of proposed settings.
#[derive(Serialize)]
pub struct SettingsTrial {
    /// Evaluated list; null if there is none.
    job: Option<TriedList>,
}

/// Effect of proposed settings on a list.
#[derive(Serialize)]
struct TriedList {
    id: JobId,
    finished_at: Option<Timestamp>,
    rows: i64,
    /// Number of rows evaluated, from the first.
    looked_at: i64,
    /// Verdict counts under the current settings, and under the proposed ones.
    before: VerdictSums,
    after: VerdictSums,
    /// Rows whose verdict changes.
    changed: i64,
    /// Rows whose verdict each override would change on its own.
    each: ChangesByOverride,
}

/// Rows by status and by reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct VerdictSums {
    statuses: BTreeMap<&'static str, i64>,
    reasons: BTreeMap<&'static str, i64>,
}

impl VerdictSums {
    fn add(&mut self, reason: Reason) {
        *self.statuses.entry(reason.status().as_str()).or_default() += 1;
        *self.reasons.entry(reason.as_str()).or_default() += 1;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ChangesByOverride {
    ignored_reasons: BTreeMap<&'static str, i64>,
    ignored_statuses: BTreeMap<&'static str, i64>,
    banned_words: i64,
    role_words: i64,
}

/// Rules to compare: current, proposed, and each proposed override on its own.
struct TrialRules {
    standing: Overrides,
    wished: Overrides,
    banned: Overrides,
    roles: Overrides,
}

impl TrialRules {
    fn of(standing: &Wishes, wished: &Wishes) -> Self {
        let banned = Wishes { banned_words: wished.banned_words.clone(), ..Wishes::default() };
        let roles = Wishes { role_words: wished.role_words.clone(), ..Wishes::default() };
        let [standing, wished, banned, roles] = [standing, wished, &banned, &roles].map(Overrides::new);
        Self { standing, wished, banned, roles }
    }
}

/// Applies proposed settings to the last completed list, and counts the verdicts that would change.
pub async fn try_settings(app: &App, caller: &Caller, patch: SettingsPatch) -> Result<SettingsTrial, ApiError> {
    let _place = app.searches.place(caller.org()).await?;
    let mut conn = app.store.read().await?;
    let org = organization::by_no(&mut conn, caller.org()).await?;
    let standing = settings::read(&mut conn, org.no).await?;
    let wished = SettingsUpdate::of(patch, app, &org)?.applied_to(&standing);
    let completed = JobFilter { status: Some("completed".into()), ..JobFilter::default() };
    let last = jobs::page(&mut conn, org.no, &completed, None, JOBS).await?;
    let Some(job) = last.into_iter().find(|job| job.purged_at.is_none()) else {
        return Ok(SettingsTrial { job: None });
    };
    drop(conn);
    let rules = TrialRules::of(&standing.overrides, &wished.overrides);
    Ok(SettingsTrial { job: Some(tried(app, &job, &rules).await?) })
}

async fn tried(app: &App, job: &Job, rules: &TrialRules) -> Result<TriedList, ApiError> {
    let begun = app.clock.elapsed();
    let mut tried = TriedList {
        id: job.id,
        finished_at: job.finished_at.map(Into::into),
        rows: job.rows,
        looked_at: 0,
        before: VerdictSums::default(),
        after: VerdictSums::default(),
        changed: 0,
        each: ChangesByOverride::default(),
    };
    while tried.looked_at < job.rows && app.clock.elapsed().saturating_sub(begun) < TIME_MAX {
        let (from, to) = (tried.looked_at, (tried.looked_at + STEP).min(job.rows));
        // Released after each step, so other requests can use it.
        let mut conn = app.store.read().await?;
        let emails = rows::emails(&mut conn, job, from, to).await?;
        let standing = jobs::outcomes(&mut conn, job.org, job.no, from, to).await?;
        drop(conn);
        for (index, standing) in standing {
            let email = usize::try_from(index - from).ok().and_then(|at| emails.get(at)?.as_deref());
            tried.add(&standing.result.kind, email.map_or("", bare_address), rules);
        }
        tried.looked_at = to;
        tokio::task::yield_now().await;
    }
    Ok(tried)
}

impl TriedList {
    fn add(&mut self, kind: &OutcomeKind, email: &str, rules: &TrialRules) {
        let raw = raw(kind);
        let (before, after) = (rules.standing.apply(&raw, email).reason, rules.wished.apply(&raw, email).reason);
        self.before.add(before);
        self.after.add(after);
        self.changed += i64::from(before != after);
        self.each.add(&raw, email, rules);
    }
}

impl ChangesByOverride {
    /// Counts the verdicts that each override changes on its own.
    fn add(&mut self, raw: &Verdict, email: &str, rules: &TrialRules) {
        if let Some(gate) = IgnorableReason::ALL.into_iter().find(|gate| gate.reason() == raw.reason) {
            *self.ignored_reasons.entry(gate.as_str()).or_default() += 1;
        }
        if let Some(status) = IGNORABLE.into_iter().find(|status| *status == raw.reason.status()) {
            *self.ignored_statuses.entry(status.as_str()).or_default() += 1;
        }
        self.banned_words += i64::from(rules.banned.apply(raw, email).reason != raw.reason);
        self.role_words += i64::from(rules.roles.apply(raw, email).reason != raw.reason);
    }
}

/// Returns the verdict of a finding, ignoring which rule decided it, because overrides do not use that.
fn raw(kind: &OutcomeKind) -> Verdict {
    let rule: Arc<str> = Arc::from("");
    let finding = |reason: &Reason| Finding { reason: *reason, meta: "".into(), rule: rule.clone() };
    Verdict::of(kind.findings.iter().map(finding).collect(), &rule)
}
