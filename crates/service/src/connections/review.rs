//! Review of planned actions: listed, then approved or rejected.

use std::collections::BTreeMap;

use probity_account::connections::{BrakeReason, ContactAction, KeywordMatch, KeywordParts, KeywordRule, RuleKind};
use probity_account::id::JobId;
use probity_backend::connections::rows::{ContactRow, contact_rows};
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::connections::{
    DECISIONS_MAX, DecisionWord, PlannedAction, ReviewDecided, ReviewDecisionGiven, ReviewDecisions, UnchangedDecision,
};
use probity_mail::address::bare_address;
use probity_mail::verdict::Reason;
use probity_store::activity::events::ConnectionEventKind;
use probity_store::connections::actions::{self, PlannedReview, ReviewDecision};
use probity_store::connections::connection::{self, StoredConnection};
use probity_store::connections::rules::NewRule;
use probity_store::connections::runs;
use probity_store::jobs::JobNo;
use probity_store::{Conn, ScopedFutureExt as _, StoreError};

use super::rules::{RULES_MAX, add_recorded};
use super::runs::note;
use super::{ConnectionPlace, stored_job, visible};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::in_conflict;
use crate::callers::once::Once;

/// Recorded reason of an action that was rejected: by a user, a key or the operator, alone or with a rule of the whitelist.
const REJECTED: &str = "rejected in the review";

/// Names of the decisions in the timeline.
const NOTED: [(ReviewDecision, ConnectionEventKind); 2] = [
    (ReviewDecision::Act, ConnectionEventKind::ActionsApproved),
    (ReviewDecision::Ignore, ConnectionEventKind::ContactsKept),
];

/// Lists the planned actions of runs that wait for review, in row order.
pub async fn list_review(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    query: PageQuery,
) -> Result<List<PlannedAction>, ApiError> {
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let list = format!("/v1/integrations/connections/{}/review", of.id);
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), list)?;
    let mut found = actions::page(&mut conn, of.org, of.id, asked.after, asked.at_most()).await?;
    let next = asked.cut(&mut found, |one| (one.job, one.action.idx));
    Ok(List::new(reviewed(&mut conn, &of, &found).await?, next))
}

/// Returns planned actions with their contacts. Those of erased rows are missing.
pub(super) async fn reviewed(
    conn: &mut Conn,
    of: &StoredConnection,
    found: &[PlannedReview],
) -> Result<Vec<PlannedAction>, ApiError> {
    let mut shown = Vec::with_capacity(found.len());
    for of_run in found.chunk_by(|a, b| a.job == b.job) {
        let rows: Vec<i64> = of_run.iter().map(|one| one.action.idx).collect();
        let mut known = rows_of(conn, of, of_run[0].job, &rows).await?;
        shown.extend(of_run.iter().filter_map(|one| Some(with_contact(one, known.remove(&one.action.idx)?))));
    }
    Ok(shown)
}

async fn rows_of(
    conn: &mut Conn,
    of: &StoredConnection,
    job: JobNo,
    rows: &[i64],
) -> Result<BTreeMap<i64, ContactRow>, ApiError> {
    match stored_job(conn, of.org, job).await?.filter(|_| !rows.is_empty()) {
        Some(job) => contact_rows(conn, &job, rows).await,
        None => Ok(BTreeMap::new()),
    }
}

fn with_contact(planned: &PlannedReview, row: ContactRow) -> PlannedAction {
    let (action, kind) = (&planned.action, &row.outcome.result.kind);
    let reply = kind.smtp_code.map(|code| match &kind.enhanced {
        Some(enhanced) => format!("{code} {enhanced}"),
        None => code.to_string(),
    });
    PlannedAction {
        run_id: planned.run,
        index: action.idx,
        email: row.email,
        contact_id: row.contact.id,
        action: action.kind.as_str(),
        status: action.reason.status().as_str(),
        reason: Reason::as_str(action.reason),
        host: kind.host.clone().filter(|_| reply.is_some()),
        reply,
        held_by: planned.brake.map(BrakeReason::as_str),
        suggestion: row.outcome.result.suggestion.filter(|_| action.kind == ContactAction::Fix),
        doubt: action.doubt.clone(),
        verified_at: action.verified_at.into(),
    }
}

/// Decides about planned actions. Approved actions start at once; addresses with wrong verdicts are added to the whitelist.
pub async fn decide_review(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    once: &Once,
    asked: ReviewDecisions,
) -> Result<ReviewDecided, ApiError> {
    let mut conn = app.store.read().await?;
    let (_, of) = visible(&mut conn, app, caller, place).await?;
    let decisions = checked(&of, asked.decisions)?;
    let given = decisions.values().map(BTreeMap::len).sum();
    let (mut by_job, mut runs_of) = (BTreeMap::new(), BTreeMap::new());
    for (run, decisions) in decisions {
        let run = runs::by_id(&mut conn, of.org, of.id, run).await?;
        let acts = decisions.values().any(|word| act_of(*word) == ReviewDecision::Act);
        if acts && (of.disconnected.is_some() || run.account_tag[..] != of.account_tag[..]) {
            let why = "the connection is disconnected, or has other credentials than the run; start another run, and decide \
                       about its actions";
            return Err(ApiError::conflict(why));
        }
        by_job.insert(run.job.0, decisions);
        runs_of.insert(run.job.0, run.id);
    }
    let fresh = whitelist(app, &mut conn, &of, &by_job).await?;
    drop(conn);
    let now = app.now();
    let acts = by_job.values().flat_map(BTreeMap::values).any(|word| act_of(*word) == ReviewDecision::Act);
    let (of, by_job, runs_of, fresh) = (&of, &by_job, &runs_of, &fresh);
    let decided = app.store.write(|tx| {
        async move {
            if acts {
                runs::end_poll(tx, of.org, of.id, now).await?;
            }
            if !fresh.is_empty() {
                // First: if the list is full, nothing is decided.
                let locked = connection::lock(tx, of.org, of.id, of.test).await?;
                if add_recorded(tx, caller, (&locked, RuleKind::Whitelist), fresh, now).await?.is_none() {
                    return Ok(None);
                }
            }
            let mut unchanged = Vec::new();
            for ((job, decisions), run) in by_job.iter().zip(runs_of.values()) {
                let acts = decisions.iter().map(|(idx, word)| (*idx, act_of(*word))).collect();
                let left = actions::decide(tx, (of.org, JobNo(*job)), &acts, Some(REJECTED), now).await?;
                for (decision, change) in NOTED {
                    let made = acts.iter().filter(|(idx, act)| **act == decision && !left.contains_key(*idx)).count();
                    if made > 0 {
                        note(tx, caller, of, (change, *run, i64::try_from(made).ok()), now).await?;
                    }
                }
                unchanged.extend(left.into_iter().map(|(idx, why)| UnchangedDecision::of(*run, idx, why)));
            }
            let shown = ReviewDecided::of(given, unchanged);
            once.keep(tx, &shown).await?;
            Ok::<_, StoreError>(Some(shown))
        }
        .scope_boxed()
    });
    let running = "another run of this connection is in progress; decide again after its end";
    let decided = decided.await.map_err(|error| in_conflict(error, running))?;
    app.wake.runs.notify_one();
    decided
        .ok_or_else(|| ApiError::conflict(format!("a whitelist can have at most {RULES_MAX} rules; delete some first")))
}

fn act_of(word: DecisionWord) -> ReviewDecision {
    match word {
        DecisionWord::Act => ReviewDecision::Act,
        DecisionWord::Ignore | DecisionWord::Whitelist => ReviewDecision::Ignore,
    }
}

/// Decisions by run and row.
type ByRun = BTreeMap<JobId, BTreeMap<i64, DecisionWord>>;

fn checked(of: &StoredConnection, given: Vec<ReviewDecisionGiven>) -> Result<ByRun, ApiError> {
    if given.is_empty() || given.len() > DECISIONS_MAX {
        return Err(ApiError::invalid("decisions", format_args!("must have 1 to {DECISIONS_MAX} decisions")));
    }
    let acts = given.iter().any(|one| one.decision == DecisionWord::Act);
    if acts && of.test {
        return Err(ApiError::conflict("a test connection never acts; create one in live mode or with a live key"));
    }
    if acts && of.disconnected.is_some() {
        return Err(ApiError::conflict("the connection is disconnected; reconnect it first"));
    }
    let mut by_run = ByRun::new();
    for (at, one) in given.into_iter().enumerate() {
        if one.index.0 < 0 {
            return Err(ApiError::invalid(&format!("decisions[{at}].index"), "must be at least 0"));
        }
        if by_run.entry(one.run_id).or_default().insert(one.index.0, one.decision).is_some() {
            let field = format!("decisions[{at}]");
            return Err(ApiError::invalid(&field, "must not repeat an earlier action"));
        }
    }
    Ok(by_run)
}

/// Returns whitelist rules for addresses with wrong verdicts. They need no `exclusions` in the plan: a customer who corrects a
/// verdict of ours must not lose the contact in the next run.
async fn whitelist(
    app: &App,
    conn: &mut Conn,
    of: &StoredConnection,
    by_job: &BTreeMap<i64, BTreeMap<i64, DecisionWord>>,
) -> Result<Vec<NewRule>, ApiError> {
    let parts = KeywordParts { localpart: false, domain: false, email: true };
    let mut fresh: BTreeMap<[u8; 16], NewRule> = BTreeMap::new();
    for (job, decisions) in by_job {
        let wrong = decisions.iter().filter(|(_, word)| **word == DecisionWord::Whitelist);
        let rows: Vec<i64> = wrong.map(|(idx, _)| *idx).collect();
        // Rows without an action to decide about are not changed, so neither is the whitelist.
        let rows = actions::waiting(conn, of.org, JobNo(*job), &rows).await?;
        for row in rows_of(conn, of, JobNo(*job), &rows).await?.into_values() {
            let rule = KeywordRule::new(bare_address(&row.email), KeywordMatch::Exact, parts).map_err(|fault| {
                ApiError::invalid("decisions", format_args!("has an address that cannot be a rule: it {fault}"))
            })?;
            let tag = app.secrets.keyword_rule(of.id, RuleKind::Whitelist, &rule);
            fresh.insert(tag, NewRule { id: probity_access::secrets::random::id(app.now()), tag, rule });
        }
    }
    Ok(fresh.into_values().collect())
}
