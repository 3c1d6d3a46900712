//! Sources of outcomes: URLs to which an organization's sending services post events.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::Subcommand;
use probity_account::outcome::OutcomeSource;
use probity_contract::published::outcomes::sources::{CreateOutcomeSource, OutcomeSourceShown, SIGNING_KEY_MAX_BYTES};
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::outcomes::sources::{create_source, delete_source, list_sources};
use serde_json::Value;

use crate::admin::operator::{OrMissing as _, choose_org, marked, print_both, print_one, read_both, staff};
use crate::admin::{OrgFlag, name};
use crate::batch::input;
use crate::output::plain;
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{AnswerColumn, at, field, made, time_or};

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomeSourcesCommand {
    /// List sources, newest first, without their URLs
    List(OrgFlag),
    /// Create a source and print its URL once
    Add {
        /// Displayed name
        #[arg(value_parser = name)]
        name: String,
        /// Sending service
        #[arg(long, value_name = "SERVICE", value_parser = service)]
        service: OutcomeSource,
        /// File with the key with which the service signs, or with the ARN of the SNS topic; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        signing_key: Option<PathBuf>,
        /// Store its events as those of test keys
        #[arg(long)]
        test: bool,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Remove a source permanently; its URL stops working, and its outcomes stay
    Remove {
        /// Source ID
        #[arg(value_name = "SOURCE_ID")]
        source: String,
        #[command(flatten)]
        org: OrgFlag,
    },
}

/// Parses a service of the API.
fn service(text: &str) -> Result<OutcomeSource, String> {
    let known = OutcomeSource::SERVICES.into_iter().find(|service| service.as_str() == text);
    known.ok_or_else(|| format!("must be one of {}", OutcomeSource::SERVICES.map(OutcomeSource::as_str).join(", ")))
}

const SOURCES: &[AnswerColumn] = &[
    at("SOURCE", "/id"),
    at("SERVICE", "/service"),
    made("EVENTS AS OF", |one| if one["test"] == true { "test keys" } else { "live keys" }.to_owned()),
    time_or("LAST EVENT", "/last_event_at", "never"),
    at("NAME", "/name"),
];

pub(super) async fn run(app: &App, command: &OutcomeSourcesCommand) -> Result<Printout> {
    match command {
        OutcomeSourcesCommand::List(some) => print_both(&read_all(app, some).await?, SOURCES),
        OutcomeSourcesCommand::Add { name, service, signing_key, test, org } => {
            let caller = staff(choose_org(app, org).await?, *test);
            let signing_key = signing_key.as_deref().map(read_key).transpose()?;
            let asked = CreateOutcomeSource { name: name.clone(), service: *service, signing_key };
            let made = create_source(app, &caller, &Once::unkeyed(), asked).await?;
            print_one(&caller, marked(&caller, made), CREATED)
        }
        OutcomeSourcesCommand::Remove { source, org } => {
            let missing = || anyhow!("there is no source {source}; `probity outcomes sources list` shows all");
            let (all, id) = (read_all(app, org).await?, source.parse().ok());
            let found = all.into_iter().find(|(_, known)| Some(known.id()) == id);
            let (caller, known) = found.ok_or_else(missing)?;
            let deleted = delete_source(app, &caller, known.id()).await.or_missing(missing)?.deleted;
            let removed = join(marked(&caller, known), OneField("deleted", deleted));
            print_one(&caller, removed, AnswerView::Removed(SOURCES))
        }
    }
}

async fn read_all(app: &App, some: &OrgFlag) -> Result<Vec<(Caller, OutcomeSourceShown)>> {
    read_both(app, some, async |caller| Ok(list_sources(app, caller).await?.data)).await
}

/// Reads a key; `-` is standard input.
fn read_key(file: &Path) -> Result<String> {
    Ok(input::read_text(file, SIGNING_KEY_MAX_BYTES as u64 * 2)?.trim().to_owned())
}

/// View of a new source.
const CREATED: AnswerView = AnswerView::Text(|made: &Value| {
    let (id, url) = (field(made, "/id"), plain(&field(made, "/url")));
    let before = if url.starts_with('/') { " Put the service's public URL before it." } else { "" };
    format!(
        "Enter this URL in the webhook settings of the sending service. It contains a secret; it is shown once.{before}\n\n    \
         {url}\n\nsource: {id}\n"
    )
});
