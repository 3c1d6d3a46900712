//! Request and response types of `/v1/integrations`.

mod changes;
mod checks;
mod connection;
mod credentials;
mod hook;
mod integration;
mod names;
mod patch;
mod review;
mod rules;
mod run;
mod schedule;

pub use changes::{ChangedVerdict, VerdictChangesQuery};
pub use checks::{ChecksPatch, ConnectionChecks};
pub use connection::{
    ConnectionSettingsShown, ConnectionShown, ConnectionStatus, ConnectionTest, CreateConnection, DisconnectReason,
    DisconnectedConnection, PlatformList,
};
pub use credentials::EnteredCredentials;
pub use hook::{EventHookShown, EventHookState};
pub use integration::{
    CredentialForm, FormerConnection, Integration, IntegrationDetail, PlatformAction, PlatformShown, PrimaryConnection,
};
pub use patch::{ConnectionPatch, LISTS_MAX, is_list_id};
pub use review::{
    DECISIONS_MAX, DecisionWord, PlannedAction, ReviewDecided, ReviewDecisionGiven, ReviewDecisions, UnchangedDecision,
};
pub use rules::{
    AddKeywordRules, DeletedKeywordRule, KeywordPartsGiven, KeywordPartsShown, KeywordRuleGiven, KeywordRuleShown,
    KeywordRulesAdded, RULES_AT_ONCE_MAX, RulesQuery,
};
pub use run::{ConfirmRun, RunActions, RunCount, RunDetail, RunExample, RunParts, RunShown, StartRun};
pub use schedule::{NewContactPromise, ScheduleShown, ScheduledRun};
