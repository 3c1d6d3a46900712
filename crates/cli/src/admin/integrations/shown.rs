//! Views of platforms, connections and runs.

use serde_json::Value;

use crate::output::plain;
use crate::output::printout::AnswerView;
use crate::output::table::{self, AnswerColumn, at, at_or, cell, field, made, time, time_or};

pub(super) const PLATFORMS: &[AnswerColumn] = &[
    at("PLATFORM", "/type"),
    at("CONNECTIONS", "/connection_count"),
    at("DISCONNECTED", "/disconnected_count"),
    made("NAME", |one| {
        let beta = if one["platform"]["beta"] == true { " (beta)" } else { "" };
        format!("{}{beta}", field(one, "/platform/name"))
    }),
    made("ACTIONS", |one| names_of(one, "/platform/actions", "action")),
];

const ABOUT: &[AnswerColumn] = &[
    at("platform", "/type"),
    at("name", "/platform/name"),
    at("lists contacts", "/platform/contacts"),
    at("lists", "/platform/lists"),
    at("corrects typos", "/platform/fix_typos"),
    at("beta", "/platform/beta"),
    at("documentation", "/platform/docs"),
    at("checked", "/platform/checked"),
];

const CREDENTIALS: &[AnswerColumn] = &[
    at("CREDENTIAL", "/name"),
    made("KIND", |one| {
        let kind = field(one, "/kind");
        if one["optional"] == true { format!("{kind}, optional") } else { kind }
    }),
    at("CHOICES", "/choices"),
    at("LABEL", "/label"),
    at("WHERE", "/help"),
];

const ACTIONS: &[AnswerColumn] = &[at("ACTION", "/action"), at("NOTE", "/note")];

const OWN: &[AnswerColumn] = &[at("CONNECTION", "/id"), at("STATUS", "/status"), at("NAME", "/name")];

pub(super) const CONNECTIONS: &[AnswerColumn] = &[
    at("CONNECTION", "/id"),
    at("PLATFORM", "/type"),
    at("STATUS", "/status"),
    made("OF", |one| if one["test"] == true { "test keys" } else { "live keys" }.to_owned()),
    at_or("ACTION", "/settings/action", "none"),
    time_or("LAST RUN", "/last_synced_at", "never"),
    at("NAME", "/name"),
];

const ONE: &[AnswerColumn] = &[
    at("connection", "/id"),
    at("platform", "/type"),
    at("name", "/name"),
    at("status", "/status"),
    at("disconnected by", "/disconnected_reason"),
    time("disconnected", "/disconnected_at"),
    time("created", "/created_at"),
    time_or("last run", "/last_synced_at", "never"),
    at_or("action", "/settings/action", "none: contacts are only verified"),
    at("aggressiveness", "/settings/aggressiveness"),
    made("acts upon", |one| {
        let more = table::set_flags(one, "/settings/checks");
        format!("invalid, illegitimate, blacklisted{}{more}", if more.is_empty() { "" } else { ", " })
    }),
    at("manual mode", "/settings/manual_mode"),
    at("changed without confirmation", "/settings/unconfirmed_contacts"),
    at("or percent", "/settings/unconfirmed_percent"),
    at("corrects typos", "/settings/fix_typos"),
    at("autofloss", "/settings/autofloss"),
    at("decay protection", "/settings/decay_protection"),
    at("days of a period", "/settings/decay_days"),
    at("instafloss", "/settings/instafloss"),
    at_or("lists", "/settings/lists", "all"),
    at("tag", "/settings/tag"),
    at("field", "/settings/field"),
    at("blacklist rules", "/settings/blacklist_count"),
    at("whitelist rules", "/settings/whitelist_count"),
];

const SCHEDULE: &[AnswerColumn] = &[
    at("RUN", "/trigger"),
    time_or("NEXT", "/next_at", "once it is connected"),
    at("WAITS FOR", "/waits_for"),
    at("FAILURES", "/failures"),
    time_or("LAST", "/last_run_at", "never"),
];

const PROMISE: &[AnswerColumn] = &[
    at("time zone", "/time_zone"),
    made("new contacts", |of| {
        format!("by {}, within {} s", field(of, "/instafloss/method"), field(of, "/instafloss/within_s"))
    }),
    made("webhook", |of| {
        let webhook = &of["instafloss"]["webhook"];
        let fault = webhook["fault"].as_str().map(|fault| format!(": {fault}"));
        field(webhook, "/state") + &fault.unwrap_or_default()
    }),
    time_or("last event", "/instafloss/webhook/last_event_at", "none"),
    made("measured", |of| {
        let sum = &of["instafloss"];
        if sum["measured"] == 0 {
            return "nothing in 7 days".to_owned();
        }
        format!("median {} s, longest {} s", field(sum, "/median_s"), field(sum, "/longest_s"))
    }),
];

/// A connection with its automatic runs.
pub(super) const SCHEDULED: AnswerView = AnswerView::Text(|one| {
    let of = &one["schedule"];
    let about = format!("{}\n{}", table::fields(ONE, one), table::fields(PROMISE, of));
    let Some(runs) = of["runs"].as_array().filter(|runs| !runs.is_empty()) else {
        return format!("{about}\nNo automatic runs.\n");
    };
    format!("{about}\n{}", table::rows(SCHEDULE, runs))
});

pub(super) const TESTED: &[AnswerColumn] = &[
    at("connection", "/id"),
    at("platform", "/type"),
    at("accepted", "/credential_valid"),
    at("reason", "/reason"),
    time("tested", "/tested_at"),
];

pub(super) const LISTS: &[AnswerColumn] =
    &[at("LIST", "/id"), at_or("CONTACTS", "/count", "not known"), at("NAME", "/name")];

pub(super) const RULES: &[AnswerColumn] = &[
    at("RULE", "/id"),
    at("MATCH", "/match"),
    made("LOOKS AT", |one| table::set_flags(one, "/applies_to")),
    at("KEYWORD", "/keyword"),
];

pub(super) const CHANGES: &[AnswerColumn] = &[
    time("CHANGED", "/changed_at"),
    at("EMAIL", "/email"),
    at("BEFORE", "/previous_status"),
    at("STATUS", "/status"),
    at("REASON", "/reason"),
    at("RUN", "/run_id"),
    at("ROW", "/index"),
];

pub(super) const RUNS: &[AnswerColumn] = &[
    at("RUN", "/id"),
    at("STATE", "/state"),
    at("TRIGGER", "/trigger"),
    time("STARTED", "/created_at"),
    at("CONTACTS", "/contacts"),
    at("VERIFIED", "/rows"),
    at("PLANNED", "/actions/planned"),
    at("DUE", "/actions/due"),
    at("DONE", "/actions/done"),
    at("FAILED", "/actions/failed"),
    at("IGNORED", "/actions/ignored"),
];

const RUN_FIELDS: &[AnswerColumn] = &[
    at("run", "/id"),
    at("connection", "/connection_id"),
    made("state", |run| match field(run, "/held_by") {
        held if held.is_empty() => field(run, "/state"),
        held => format!("{} ({held})", field(run, "/state")),
    }),
    at("waits because", "/held_reason"),
    at("fault", "/fault"),
    at("trigger", "/trigger"),
    at("dry run", "/dry_run"),
    time("started", "/created_at"),
    time("waits until", "/waits_until"),
    time("confirmed", "/confirmed_at"),
    time("finished", "/finished_at"),
    at("contacts", "/contacts"),
    at("without address", "/skipped"),
    at("to verify", "/rows"),
    at("actions planned", "/actions/planned"),
    at("actions due", "/actions/due"),
    at("actions done", "/actions/done"),
    at("actions failed", "/actions/failed"),
    at("actions ignored", "/actions/ignored"),
];

const COUNTS: &[AnswerColumn] = &[
    at("ACTION", "/action"),
    at("REASON", "/reason"),
    at("PLANNED", "/planned"),
    at("DUE", "/due"),
    at("DONE", "/done"),
    at("FAILED", "/failed"),
    at("IGNORED", "/ignored"),
];

const EXAMPLES: &[AnswerColumn] = &[
    at("ADDRESS", "/email"),
    at("ACTION", "/action"),
    at("REASON", "/reason"),
    at("STATE", "/state"),
    at("NEW ADDRESS", "/suggestion"),
    at("BEFORE", "/before"),
    at("MESSAGE", "/message"),
];

pub(super) const PLANNED: &[AnswerColumn] = &[
    at("RUN", "/run_id"),
    at("ROW", "/index"),
    at("ADDRESS", "/email"),
    at("ACTION", "/action"),
    at("REASON", "/reason"),
    at("REPLY", "/reply"),
    at("NEW ADDRESS", "/suggestion"),
    time("VERIFIED", "/verified_at"),
    at("DOUBT", "/doubt"),
];

const DECIDED_FIELDS: &[AnswerColumn] = &[at("actions decided", "/decided"), at("unchanged", "/unchanged")];

const UNCHANGED: &[AnswerColumn] = &[at("RUN", "/run_id"), at("ROW", "/index"), at("REASON", "/reason")];

/// View of decisions.
pub(super) const DECIDED: AnswerView = AnswerView::Text(|decided| {
    table::fields(DECIDED_FIELDS, decided) + &table::section(UNCHANGED, decided, "/unchanged_decisions")
});

/// View of a platform.
pub(super) const PLATFORM: AnswerView = AnswerView::Text(|one| {
    let credentials = table::rows_at(CREDENTIALS, one, "/platform/credentials");
    let actions = table::rows_at(ACTIONS, one, "/platform/actions");
    let own = ["/connections", "/disconnected_connections"].map(|own| table::section(OWN, one, own));
    format!("{}\n{credentials}\n{actions}{}", table::fields(ABOUT, one), own.concat())
});

/// View of a connection.
pub(super) const CONNECTION: AnswerView = AnswerView::Fields(ONE);

/// View of a deleted connection.
pub(super) const DELETED: AnswerView =
    AnswerView::Text(|one| format!("{} is disconnected, and its credentials are erased\n", field(one, "/id")));

/// View of a removed rule.
pub(super) const RULE_REMOVED: AnswerView = AnswerView::Text(|one| format!("{} is removed\n", field(one, "/id")));

/// View of a run, with the command that confirms it.
pub(in crate::admin) const RUN: AnswerView = AnswerView::Text(|run| {
    let mut text = table::fields(RUN_FIELDS, run);
    text += &table::section(COUNTS, run, "/counts");
    text += &table::section(EXAMPLES, run, "/examples");
    if run["state"] == "needs_confirmation" && run["actions"]["planned"] != 0 {
        let [connection, id, planned] =
            ["/connection_id", "/id", "/actions/planned"].map(|pointer| plain(&field(run, pointer)));
        let command = format!("probity integrations runs confirm {connection} {id} --actions {planned}");
        text.extend(["\nto let it happen: ", &command, "\n"]);
    }
    text
});

fn names_of(one: &Value, list: &str, name: &str) -> String {
    let all = one.pointer(list).and_then(Value::as_array).into_iter().flatten();
    all.map(|each| cell(each.get(name))).collect::<Vec<_>>().join(", ")
}
