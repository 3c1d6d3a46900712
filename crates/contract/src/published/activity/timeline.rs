//! Response types of the timeline. Clients distinguish events by `type`.

use std::collections::BTreeMap;

use probity_account::id::{ConnId, JobId};
use probity_store::activity::events::{self, AccountChange, StoredAccountEvent};
use probity_store::activity::timeline::EventCounts;
use probity_store::jobs::{Job, JobState};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

use crate::error::ApiError;
use crate::parameters::{bounded, describe_query};
use crate::published::jobs::{sources, status, statuses};
use crate::query::{FromQuery, Query};
use crate::schema;
use crate::timestamp::Timestamp;

/// Number of events: minimum, default, maximum.
const EVENTS: (i64, i64, i64) = (1, 60, 200);

/// Length of the window in days: minimum, default, maximum.
const DAYS: (i64, i64, i64) = (1, 30, 90);

const TRIGGERS: [&str; 8] = ["manual", "autofloss", "instafloss", "decay_protection", "api", "cron", "staff", "system"];

/// Part of the timeline to show.
#[derive(Clone, Copy, Debug)]
pub struct TimelineQuery {
    /// Number of days to look back.
    pub days: i64,
    /// Maximum number of events.
    pub limit: i64,
}

impl FromQuery for TimelineQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { days: query.whole_within("days", DAYS)?, limit: query.whole_within("limit", EVENTS)? })
    }
}

describe_query! { TimelineQuery:
    "days" = "Days to look back, 1 to 90, default 30.", bounded(DAYS, "^0*([1-9]|[1-8][0-9]|90)$"), 30;
    "limit" = "Maximum number of events, 1 to 200, default 60.",
        bounded(EVENTS, "^0*([1-9]|[1-9][0-9]|1[0-9]{2}|200)$"), 60;
}

/// Account activity.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Timeline {
    /// Time at which the response was generated.
    pub generated_at: Timestamp,
    /// Time window.
    pub window: TimelineWindow,
    /// Counts for the whole window.
    pub summary: TimelineSummary,
    /// Newest events, newest first.
    pub events: Vec<TimelineEvent>,
}

/// A time range.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct TimelineWindow {
    /// Start of the window.
    pub since: Timestamp,
    /// End of the window.
    pub until: Timestamp,
    /// Length in days.
    #[schema(examples(30), minimum = 1, maximum = 90)]
    pub days: i64,
}

/// Event counts of a window.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineSummary {
    /// Jobs that started processing or are queued.
    #[schema(examples(1), minimum = 0)]
    jobs: u64,
    #[schema(schema_with = by_trigger)]
    jobs_by_trigger: BTreeMap<String, u64>,
    /// Settings changes.
    #[schema(examples(0), minimum = 0)]
    settings_changes: u64,
    /// Account events and changes of connections.
    #[schema(examples(0), minimum = 0)]
    account_events: u64,
    /// Whether there are more events than `events` shows.
    #[schema(examples(false))]
    truncated: bool,
}

impl TimelineSummary {
    /// Builds the summary from jobs by trigger and counts of other events. `shown` is the number of events in the response.
    pub fn of(started: BTreeMap<Option<String>, u64>, counted: EventCounts, shown: usize) -> Self {
        let EventCounts { settings_changes, account_events } = counted;
        let jobs: u64 = started.values().sum();
        let jobs_by_trigger = started.into_iter().filter_map(|(trigger, n)| Some((trigger?, n))).collect();
        let truncated = u64::try_from(shown).is_ok_and(|shown| shown < jobs + settings_changes + account_events);
        Self { jobs, jobs_by_trigger, settings_changes, account_events, truncated }
    }
}

/// An event.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum TimelineEvent {
    /// A job.
    Job(Box<TimelineJobEvent>),
    /// A settings change.
    Settings(TimelineSettingsEvent),
    /// A change of a connection.
    Connection(TimelineConnectionEvent),
    /// An account event.
    Account(TimelineAccountEvent),
}

/// A job.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineJobEvent {
    #[serde(rename = "type")]
    #[schema(schema_with = job_kind)]
    kind: &'static str,
    /// Start of processing; until then, the time at which the job was accepted.
    at: Timestamp,
    /// The job.
    job: TimelineJob,
    #[schema(schema_with = triggers)]
    trigger: Option<String>,
    /// Whether the trigger was recorded at the start; otherwise it was inferred later.
    #[schema(examples(true))]
    trigger_explicit: bool,
    /// Origin of the job, as a dotted path.
    #[schema(required, examples("api.batch_verify"))]
    source_action: Option<String>,
    /// Actor that started the job; null if unknown.
    #[schema(required)]
    actor: Option<Actor>,
}

/// A settings change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineSettingsEvent {
    #[serde(rename = "type")]
    #[schema(schema_with = settings_kind)]
    kind: &'static str,
    /// Time of the change.
    at: Timestamp,
    /// Setting, as a dotted path.
    #[schema(examples("organization.retention_days"))]
    setting: String,
    #[schema(schema_with = value_before)]
    before: Value,
    #[schema(schema_with = value_after)]
    after: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::connection_id)]
    connection_id: Option<ConnId>,
    /// Actor that changed the setting; null if unknown.
    #[schema(required)]
    actor: Option<Actor>,
}

/// A change of a connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineConnectionEvent {
    #[serde(rename = "type")]
    #[schema(schema_with = connection_kind)]
    kind: &'static str,
    /// Time of the change.
    at: Timestamp,
    #[schema(schema_with = schema::connection_id)]
    connection_id: ConnId,
    /// Platform, by its name in the API.
    #[schema(examples("mailchimp"))]
    provider: String,
    #[schema(schema_with = connection_changes)]
    change: &'static str,
    /// Run that was started or decided about; omitted for other changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::job_id)]
    run_id: Option<JobId>,
    /// Contacts of the run that the change is about; omitted if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(12), minimum = 0)]
    contacts: Option<i64>,
    /// Actor; null if unknown.
    #[schema(required)]
    actor: Option<Actor>,
}

/// An account event.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TimelineAccountEvent {
    #[serde(rename = "type")]
    #[schema(schema_with = account_kind)]
    event: &'static str,
    /// Time of the event.
    at: Timestamp,
    #[schema(schema_with = happenings)]
    kind: &'static str,
    /// Key, member or webhook that the event is about; left out if it is about the account or its actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    subject: Option<TimelineSubject>,
    /// Actor; null if unknown.
    #[schema(required)]
    actor: Option<Actor>,
}

/// Job of an event.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct TimelineJob {
    #[schema(schema_with = schema::job_id)]
    id: JobId,
    #[schema(schema_with = statuses)]
    status: &'static str,
    #[schema(schema_with = sources)]
    source: String,
    /// Name given by a user or with the submission, or that of the file; null without one.
    #[schema(required, examples("customers.csv"))]
    name: Option<String>,
    /// Provider, if the source is `integration`.
    #[schema(required, examples(json!(null)))]
    source_integration: Option<String>,
    /// Start of processing; null until then.
    #[schema(required)]
    started_at: Option<Timestamp>,
    /// Finish time; null until then.
    #[schema(required)]
    finished_at: Option<Timestamp>,
    /// Results; null until the job is completed.
    #[schema(required)]
    results: Option<TimelineJobResults>,
}

/// Rows of an event's job, counted by verdict.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
struct TimelineJobResults {
    /// Submitted rows.
    #[schema(examples(3), minimum = 0)]
    total: i64,
    /// Rows that passed.
    #[schema(examples(1), minimum = 0)]
    passed: i64,
    /// Rows that did not pass.
    #[schema(examples(2), minimum = 0)]
    failed: i64,
}

/// Actor of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Actor {
    #[serde(rename = "type")]
    #[schema(schema_with = actors)]
    kind: &'static str,
    /// Actor ID, if the actor has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("key_01h455vb4pex5vsknk084sn02q"))]
    id: Option<String>,
}

/// Subject of an account event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TimelineSubject {
    #[serde(rename = "type")]
    #[schema(schema_with = subjects)]
    kind: &'static str,
    /// ID of the key, member, webhook or job.
    #[schema(examples("key_01h455vb4pex5vsknk084sn02q"))]
    id: String,
}

impl From<events::EventSubject> for TimelineSubject {
    fn from(subject: events::EventSubject) -> Self {
        let (kind, id) = match subject {
            events::EventSubject::Key(id) => ("api_key", id.to_string()),
            events::EventSubject::Member(id) => ("user", id.to_string()),
            events::EventSubject::Webhook(id) => ("webhook", id.to_string()),
            events::EventSubject::Job(id) => ("job", id.to_string()),
        };
        Self { kind, id }
    }
}

impl From<events::EventActor> for Actor {
    fn from(actor: events::EventActor) -> Self {
        let (kind, id) = match actor {
            events::EventActor::User(id) => ("user", Some(id.to_string())),
            events::EventActor::ApiKey(id) => ("api_key", Some(id.to_string())),
            events::EventActor::Staff => ("staff", None),
            events::EventActor::System => ("system", None),
        };
        Self { kind, id }
    }
}

impl TimelineEvent {
    /// Builds the event of a job.
    pub fn job(job: &Job) -> Result<Self, ApiError> {
        TimelineJobEvent::of(job).map(Box::new).map(Self::Job)
    }

    /// Builds the event of anything but a job.
    pub fn of(event: StoredAccountEvent) -> Self {
        let (at, actor) = (event.at.into(), event.actor.map(Actor::from));
        match event.what {
            AccountChange::SettingsChange { setting, before, after, connection } => {
                Self::Settings(TimelineSettingsEvent {
                    kind: "settings_change",
                    at,
                    setting,
                    before,
                    after,
                    connection_id: connection,
                    actor,
                })
            }
            AccountChange::ConnectionChange { connection, provider, change, run } => {
                Self::Connection(TimelineConnectionEvent {
                    kind: "connection_change",
                    at,
                    connection_id: connection,
                    provider,
                    change: change.as_str(),
                    run_id: run.map(|run| run.id),
                    contacts: run.and_then(|run| run.contacts),
                    actor,
                })
            }
            AccountChange::Account(kind, subject) => Self::Account(TimelineAccountEvent {
                event: "account_event",
                at,
                kind: kind.as_str(),
                subject: subject.map(Into::into),
                actor,
            }),
        }
    }

    pub fn at(&self) -> Timestamp {
        match self {
            Self::Job(event) => event.at,
            Self::Settings(event) => event.at,
            Self::Connection(event) => event.at,
            Self::Account(event) => event.at,
        }
    }
}

impl TimelineJobEvent {
    /// Builds the event of a job.
    ///
    /// # Errors
    /// Fails if the stored actor is damaged.
    fn of(job: &Job) -> Result<Self, ApiError> {
        let actor = job.actor.as_deref().map(events::EventActor::from_json).transpose()?;
        let counts = job.counts;
        let results = TimelineJobResults { total: job.rows, passed: counts.passed, failed: counts.failed() };
        let shown = TimelineJob {
            id: job.id,
            status: status(job.state),
            source: job.source.clone(),
            name: job.title.clone(),
            source_integration: job.integration.clone(),
            started_at: job.started_at.map(Into::into),
            finished_at: job.finished_at.map(Into::into),
            results: (job.state == JobState::Completed).then_some(results),
        };
        Ok(Self {
            kind: "job",
            at: job.started_at.unwrap_or(job.created_at).into(),
            job: shown,
            trigger: job.started_by.clone(),
            trigger_explicit: job.started_by.is_some(),
            source_action: job.source_action.clone(),
            actor: actor.map(Actor::from),
        })
    }
}

schema::schemas! {
    job_kind = schema::one_of(["job"], "Type of event.");
    settings_kind = schema::one_of(["settings_change"], "Type of event.");
    account_kind = schema::one_of(["account_event"], "Type of event.");
    connection_kind = schema::one_of(["connection_change"], "Type of event.");
    connection_changes = schema::one_of(events::ConnectionEventKind::ALL.map(events::ConnectionEventKind::as_str),
        "Change. `connected`: created. `disconnected`: deleted, or refused by the platform. `reconnected`: got \
        credentials that the platform accepts. `renamed`: got another name. `run_started`, `run_confirmed`, `run_cancelled`: a \
        member, a key or the operator started a run, confirmed its planned actions, or canceled it. `actions_approved`, \
        `contacts_kept`: decisions in the review.");
    happenings = schema::one_of(events::AccountEventKind::ALL.map(events::AccountEventKind::as_str),
        "Kind of account event.");
    value_before = any_value("Previous value. For long lists, the number of `entries` and the `removed` ones, or `N \
        entries`. Hidden values read `redacted`.", 90);
    value_after = any_value("New value, in the same form; for long lists, with the `added` entries.", 30);
    actors = schema::one_of(["user", "api_key", "staff", "system"], "Kind of actor.");
    subjects = schema::one_of(["api_key", "user", "webhook", "job"], "Kind of subject.");
    triggers = schema::with_example(schema::or_null(schema::one_of(TRIGGERS, "Trigger of the job. `manual`: a person in the \
        dashboard. `autofloss`: new contacts, every night. `instafloss`: a new contact, at once. `decay_protection`: \
        contacts verified again. `api`: this API. `staff`: support staff. `cron`, `system`: other work of the service. Null if \
        unknown.")), "api");
}

fn any_value(means: &str, example: i64) -> Object {
    let any = SchemaType::AnyValue;
    ObjectBuilder::new().schema_type(any).description(Some(means)).examples([example]).build()
}

fn by_trigger() -> Object {
    let count = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    ObjectBuilder::new()
        .description(Some("Jobs by trigger; jobs with an unknown trigger are not included."))
        .additional_properties(Some(utoipa::openapi::RefOr::T(count().into())))
        .examples([serde_json::json!({"api": 1})])
        .build()
}
