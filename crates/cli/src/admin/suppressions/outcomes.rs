//! Outcomes of sent mail, from files: logs, bounces, complaints, tables. They fill the suppression lists.

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use probity_contract::published::outcomes::report::{OutcomeEvent, OutcomesReported};
use probity_contract::timestamp::Timestamp;
use probity_lists::bounces::FoundOutcome;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::outcomes::report::{OutcomeReport, report_outcomes};
use serde_json::Value;

use super::files::{OutcomeBatch, OutcomeForm, files, read_file};
use super::sources;
use super::sources::OutcomeSourcesCommand;
use crate::admin::operator::{act_for, print_one};
use crate::admin::{OrgFlag, one_of};
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::field;

/// Shown below the help of `outcomes`.
pub(in crate::admin) const OUTCOMES_EXAMPLES: &str = "\
Examples:
    probity outcomes import /var/log/mail.log
    probity outcomes import ~/Maildir/.Bounces
    probity outcomes import bounces.mbox
    probity outcomes import outcomes.csv --org org_01h455vb4pex5vsknk084sn02q
    probity outcomes sources add 'Newsletter' --service mailgun --signing-key key.txt
    probity outcomes sources list";

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomesCommand {
    /// Import outcomes of sent mail: bounces, complaints and deliveries
    ///
    /// Hard bounces put addresses on the suppression list `bounced`, complaints on `complained`. Repeating an import adds
    /// nothing.
    Import {
        /// Postfix log, bounce message, mailbox (mbox), CSV or NDJSON; or a directory of them, or a maildir
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// Format of the files; default: detected for each file
        #[arg(long, value_name = "FORM", value_parser = one_of(OutcomeForm::names(), OutcomeForm::from_name))]
        form: Option<OutcomeForm>,
        #[command(flatten)]
        org: OrgFlag,
    },
    /// Manage sources: URLs to which sending services post outcomes
    #[command(subcommand)]
    Sources(OutcomeSourcesCommand),
}

pub(in crate::admin) async fn run(app: &App, command: &OutcomesCommand) -> Result<Printout> {
    let (path, form, org) = match command {
        OutcomesCommand::Import { path, form, org } => (path, form, org),
        OutcomesCommand::Sources(command) => return sources::run(app, command).await,
    };
    let caller = act_for(app, org).await?;
    let files = files(path)?;
    let sum = import(app, &caller, &files, *form).await?;
    print_one(&caller, join(OneField("files", files.len()), sum), AnswerView::Text(imported_text))
}

async fn import(app: &App, caller: &Caller, files: &[PathBuf], form: Option<OutcomeForm>) -> Result<OutcomesReported> {
    let mut sum = OutcomesReported::default();
    for file in files {
        let now = app.now();
        for batch in read_file(file, form, now)? {
            let report = match batch? {
                OutcomeBatch::Report(report) => report,
                OutcomeBatch::Found(found) => {
                    OutcomeReport::of_list(found.into_iter().map(|one| event(one, now)).collect())
                }
            };
            for part in report.chunks() {
                add(&mut sum, &report_outcomes(app, caller, &Once::unkeyed(), part).await?);
            }
        }
    }
    Ok(sum)
}

/// A future date comes from a wrong clock.
fn event(found: FoundOutcome, now: Millis) -> OutcomeEvent {
    let at = found.at.filter(|at| *at <= now).unwrap_or(now);
    OutcomeEvent { email: found.email, outcome: found.class, at: Some(Timestamp(at)), reply: None }
}

fn add(sum: &mut OutcomesReported, more: &OutcomesReported) {
    sum.submitted += more.submitted;
    sum.added += more.added;
    sum.repeated += more.repeated;
    sum.invalid += more.invalid;
    sum.expired += more.expired;
    sum.softened += more.softened;
    sum.suppressed.bounced += more.suppressed.bounced;
    sum.suppressed.complained += more.suppressed.complained;
}

fn imported_text(imported: &Value) -> String {
    let [files, found, new] = ["/files", "/submitted", "/added"].map(|pointer| field(imported, pointer));
    let [bounced, complained] = ["/suppressed/bounced", "/suppressed/complained"].map(|at| field(imported, at));
    let skipped = ["invalid", "expired"].map(|name| imported[name].as_i64().unwrap_or(0)).iter().sum::<i64>();
    let skipped = if skipped > 0 { format!("; {skipped} skipped") } else { String::new() };
    format!(
        "{found} outcomes in {files} files, {new} new{skipped}\nsuppression lists: {bounced} added to bounced, {complained} to complained\n"
    )
}
