//! Outcomes of sent mail, from files: logs, bounces, complaints, tables. They fill the suppression lists.

use std::path::Path;

use anyhow::Result;
use probity_contract::published::outcomes::report::{OutcomeEvent, OutcomesReported, SuppressedByOutcomes};
use probity_contract::timestamp::Timestamp;
use probity_lists::bounces::FoundOutcome;
use probity_mail::time::Millis;
use probity_service::callers::caller::Caller;
use probity_service::callers::once::Once;
use probity_service::outcomes::report::{OutcomeReport, report_outcomes};
use serde::Serialize;
use serde_json::Value;

use super::files::{OutcomeBatch, files, read_file};
use super::sources;
use crate::admin::LocalOperator;
use crate::admin::operator::print_one;
use crate::args::{OutcomeForm, OutcomesCommand};
use crate::output::printout::{AnswerView, Printout};
use crate::output::table::field;

#[derive(Serialize)]
struct ImportedOutcomes {
    /// Number of files read.
    files: usize,
    #[serde(flatten)]
    sum: OutcomesReported,
}

pub(in crate::admin) async fn run(operator: &LocalOperator<'_>, command: &OutcomesCommand) -> Result<Printout> {
    let (path, form, org) = match command {
        OutcomesCommand::Import { path, form, org } => (path, form, org),
        OutcomesCommand::Sources(command) => return sources::run(operator, command).await,
    };
    let caller = operator.act_for(org).await?;
    let import = OutcomeImport { operator, caller: &caller, form: *form };
    print_one(&caller, import.all(path).await?, AnswerView::Text(imported_text))
}

/// An import of files.
struct OutcomeImport<'a> {
    operator: &'a LocalOperator<'a>,
    caller: &'a Caller,
    form: Option<OutcomeForm>,
}

impl OutcomeImport<'_> {
    async fn all(&self, path: &Path) -> Result<ImportedOutcomes> {
        let files = files(path)?;
        let mut sum = nothing();
        for file in &files {
            let now = self.operator.app.now();
            for batch in read_file(file, self.form, now)? {
                let report = match batch? {
                    OutcomeBatch::Report(report) => report,
                    OutcomeBatch::Found(found) => {
                        OutcomeReport::of_list(found.into_iter().map(|one| event(one, now)).collect())
                    }
                };
                for part in report.chunks() {
                    let added = report_outcomes(self.operator.app, self.caller, &Once::unkeyed(), part).await;
                    add(&mut sum, &added?);
                }
            }
        }
        Ok(ImportedOutcomes { files: files.len(), sum })
    }
}

/// A date in the future is a wrong clock of the writer.
fn event(found: FoundOutcome, now: Millis) -> OutcomeEvent {
    let at = found.at.filter(|at| *at <= now).unwrap_or(now);
    OutcomeEvent { email: found.email, outcome: found.class, at: Some(Timestamp(at)), reply: None }
}

fn nothing() -> OutcomesReported {
    let suppressed = SuppressedByOutcomes { bounced: 0, complained: 0 };
    OutcomesReported { submitted: 0, added: 0, repeated: 0, invalid: 0, expired: 0, softened: 0, suppressed }
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
