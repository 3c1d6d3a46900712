//! Reports to members: after a run of a connection, of a week, and of a month.
//!
//! A report has the figures of the time at which it is sent, and one without anything to say is not sent. `of_run` and `of_period`
//! read what is in them.

mod of_period;
mod of_run;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use probity_account::id::JobId;
use probity_account::reports::{ReportKind, ReportPeriod};
use probity_letters::{Letter, ReportLinks};
use probity_store::activity::letters::ClaimedLetter;
use probity_store::activity::report_mail;
use probity_store::{OrgNo, StoreError, work};

use crate::mail::worker::{Mailer, WrittenMail};
use of_period::PeriodFigures;

/// Members whose reports are planned at a time, and how often in a round.
const PLANS: i64 = 100;
const LOOKS: usize = 20;

/// Figures of the periods that the members of a claim share.
pub(super) type ReadFigures = BTreeMap<(OrgNo, ReportKind, String), PeriodFigures>;

impl Mailer {
    /// Queues the weekly and monthly reports that are due.
    pub(super) async fn plan_reports(&self) -> Result<(), StoreError> {
        for _ in 0..LOOKS {
            let now = self.clock.now();
            let mut conn = self.store.read().await?;
            if !report_mail::any_plan_due(&mut conn, now).await? {
                break;
            }
            let due = report_mail::due_plans(&mut conn, now, PLANS).await?;
            drop(conn);
            let planned = self.store.write(work!(|tx| {
                for one in &due {
                    report_mail::plan(tx, one, now).await?;
                }
                Ok(())
            }));
            planned.await?;
        }
        Ok(())
    }

    /// Writes a report; `None` if there is nothing to report.
    pub(super) async fn report(
        &self,
        claimed: &ClaimedLetter,
        kind: ReportKind,
        read: &mut ReadFigures,
    ) -> Result<Option<WrittenMail>, StoreError> {
        let token = self.secrets.unsubscribe_token((claimed.key.org, claimed.user), kind);
        let dashboard = self.config.dashboard();
        let unsubscribe = format!("{dashboard}/unsubscribe/{token}");
        let links = ReportLinks { dashboard, unsubscribe: &unsubscribe };
        let Some(letter) = self.report_letter(claimed, kind, links, read).await? else { return Ok(None) };
        let id = format!("report.{kind}.{}.{}.{}", claimed.key.subject, claimed.user, claimed.created_at.0);
        Ok(Some(WrittenMail { unsubscribe: Some(unsubscribe), ..WrittenMail::news(claimed, id, letter) }))
    }

    async fn report_letter(
        &self,
        claimed: &ClaimedLetter,
        kind: ReportKind,
        links: ReportLinks<'_>,
        read: &mut ReadFigures,
    ) -> Result<Option<Letter>, StoreError> {
        let (org, subject) = (claimed.key.org, &claimed.key.subject);
        let mut conn = self.store.read().await?;
        if kind == ReportKind::Run {
            let Ok(id) = subject.parse::<JobId>() else { return Ok(None) };
            return of_run::letter(&mut conn, claimed, id, links).await;
        }
        let Some(period) = ReportPeriod::starting(kind, subject) else { return Ok(None) };
        let figures = match read.entry((org, kind, subject.clone())) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => place.insert(PeriodFigures::read(&mut conn, org, &period).await?),
        };
        let language = claimed.language.unwrap_or_default();
        Ok(figures.letter(claimed.org_name.as_deref(), period, |letter| letter.written(language, links)))
    }
}

#[cfg(test)]
mod tests;
