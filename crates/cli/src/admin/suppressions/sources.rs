//! Sources of outcomes: URLs to which an organization's sending services post events.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use probity_account::id::OutcomeSourceId;
use probity_contract::published::outcomes::sources::{CreateOutcomeSource, OutcomeSourceShown, SIGNING_KEY_MAX_BYTES};
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::outcomes::sources::{create_source, delete_source, list_sources};
use probity_service::store::OrgRecord;
use serde_json::Value;

use crate::admin::LocalOperator;
use crate::admin::operator::{DeletedObject, MarkedObject, OrMissing as _, each_with_org, print_one, staff};
use crate::args::OutcomeSourcesCommand;
use crate::batch::input;
use crate::output::plain;
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::{self, AnswerColumn, at, field, made, time_or};

const SOURCES: &[AnswerColumn] = &[
    at("SOURCE", "/id"),
    at("SERVICE", "/service"),
    made("EVENTS AS OF", |one| if one["test"] == true { "test keys" } else { "live keys" }.to_owned()),
    time_or("LAST EVENT", "/last_event_at", "never"),
    at("NAME", "/name"),
];

pub(super) async fn run(operator: &LocalOperator<'_>, command: &OutcomeSourcesCommand) -> Result<Printout> {
    match command {
        OutcomeSourcesCommand::List(some) => {
            let org = operator.choose_org(some).await?;
            let mut all = Vec::new();
            for test in [false, true] {
                let (caller, found) = read_sort(operator, &org, test).await?;
                all.extend(each_with_org(&caller, found));
            }
            Printout::of(all, AnswerView::Rows(SOURCES))
        }
        OutcomeSourcesCommand::Add { name, service, signing_key, test, org } => {
            let caller = staff(operator.choose_org(org).await?, *test);
            let signing_key = signing_key.as_deref().map(read_key).transpose()?;
            let asked = CreateOutcomeSource { name: name.clone(), service: *service, signing_key };
            let made = create_source(operator.app, &caller, &Once::unkeyed(), asked).await?;
            print_one(&caller, MarkedObject { test: *test, object: made }, CREATED)
        }
        OutcomeSourcesCommand::Remove { source, org } => {
            let missing = || anyhow!("there is no source {source}; `probity outcomes sources list` shows all");
            let org = operator.choose_org(org).await?;
            let id: OutcomeSourceId = source.parse().map_err(|_| missing())?;
            for test in [false, true] {
                let (caller, found) = read_sort(operator, &org, test).await?;
                let Some(known) = found.into_iter().find(|known| known.object.id() == id) else { continue };
                let removed = delete_source(operator.app, &caller, id).await;
                let deleted = removed.or_missing(missing)?.deleted;
                return print_one(&caller, DeletedObject { answer: known, deleted }, REMOVED);
            }
            Err(missing())
        }
    }
}

/// Returns all sources of one sort, and the operator as the caller who sees them.
async fn read_sort(
    operator: &LocalOperator<'_>,
    org: &OrgRecord,
    test: bool,
) -> Result<(Caller, Vec<MarkedObject<OutcomeSourceShown>>)> {
    let caller = staff(org.clone(), test);
    let found = list_sources(operator.app, &caller).await?.data;
    Ok((caller, found.into_iter().map(|source| MarkedObject { test, object: source }).collect()))
}

/// Reads a key; `-` is standard input.
fn read_key(file: &Path) -> Result<String> {
    let mut text = String::new();
    let read = input::open(file)?.take(SIGNING_KEY_MAX_BYTES as u64 * 2).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", input::place(file)))?;
    Ok(text.trim().to_owned())
}

/// A removed source for people.
const REMOVED: AnswerView =
    AnswerView::Text(|one| format!("{}\n{} is removed\n", table::rows(SOURCES, [one]), field(one, "/id")));

/// A new source for people.
const CREATED: AnswerView = AnswerView::Text(|made: &Value| {
    let (id, url) = (field(made, "/id"), plain(&field(made, "/url")));
    let before = if url.starts_with('/') { " Put the service's public URL before it." } else { "" };
    format!(
        "Enter this URL in the webhook settings of the sending service. It contains a secret; it is shown once.{before}\n\n    \
         {url}\n\nsource: {id}\n"
    )
});
