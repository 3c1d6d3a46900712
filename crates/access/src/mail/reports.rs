//! Reports to members: after a run of a connection, of a week, and of a month.
//!
//! They are sent like notices: leased, handed to the relay, and recorded; at least once, with the same message ID if one is sent
//! twice. A report has the figures of the time at which it is sent. What the relay does not accept within 2 days is dropped, and a
//! report without anything to say is not sent. `of_run` and `of_period` read what is in them.

mod of_period;
mod of_run;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use probity_account::id::JobId;
use probity_account::reports::{ReportKind, ReportPeriod};
use probity_letters::{Letter, ReportLinks};
use probity_store::activity::report_mail::{self, ClaimedReport};
use probity_store::{OrgNo, ScopedFutureExt as _, StoreError, work};

use crate::mail::OutgoingMail;
use crate::mail::worker::{Mailer, News, claim_due, unless_lost};
use of_period::PeriodFigures;

/// Members whose reports are planned at a time, and how often in a round.
const PLANS: i64 = 100;
const LOOKS: usize = 20;

/// Figures of the periods that the members of a claim share.
type ReadFigures = BTreeMap<(OrgNo, ReportKind, String), PeriodFigures>;

impl Mailer {
    /// Queues the weekly and monthly reports that are due, then sends some reports: invitations do not wait for all of them.
    pub(super) async fn report(&self) -> Result<(), StoreError> {
        self.plan_reports().await?;
        let mut read = ReadFigures::new();
        for claimed in claim_due!(self, report_mail) {
            self.report_one(&claimed, &mut read).await?;
        }
        Ok(())
    }

    async fn plan_reports(&self) -> Result<(), StoreError> {
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

    async fn report_one(&self, claimed: &ClaimedReport, read: &mut ReadFigures) -> Result<(), StoreError> {
        let token = self.secrets.unsubscribe_token((claimed.org, claimed.user), claimed.kind);
        let dashboard = self.config.dashboard();
        let unsubscribe = format!("{dashboard}/unsubscribe/{token}");
        let links = ReportLinks { dashboard, unsubscribe: &unsubscribe };
        let again = match self.letter(claimed, links, read).await? {
            Some(letter) => {
                let ClaimedReport { kind, subject, user, created_at, .. } = claimed;
                let id = format!("report.{kind}.{subject}.{user}.{}", created_at.0);
                let unsubscribe = Some(unsubscribe.as_str());
                let mail = OutgoingMail { to: &claimed.email, id: &id, letter: &letter, unsubscribe };
                self.hand_news(mail, news(claimed)).await
            }
            None => None,
        };
        unless_lost(self.store.write(|tx| report_mail::record(tx, claimed, again).scope_boxed()).await)
    }

    /// Writes a report; `None` if there is nothing to report.
    async fn letter(
        &self,
        claimed: &ClaimedReport,
        links: ReportLinks<'_>,
        read: &mut ReadFigures,
    ) -> Result<Option<Letter>, StoreError> {
        let mut conn = self.store.read().await?;
        if claimed.kind == ReportKind::Run {
            let Ok(id) = claimed.subject.parse::<JobId>() else { return Ok(None) };
            return of_run::letter(&mut conn, claimed, id, links).await;
        }
        let Some(period) = ReportPeriod::starting(claimed.kind, &claimed.subject) else { return Ok(None) };
        let figures = match read.entry((claimed.org, claimed.kind, claimed.subject.clone())) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => place.insert(PeriodFigures::read(&mut conn, claimed.org, &period).await?),
        };
        let language = claimed.language.unwrap_or_default();
        Ok(figures.letter(claimed.org_name.as_deref(), period, |letter| letter.written(language, links)))
    }
}

fn news(claimed: &ClaimedReport) -> News {
    News { org: claimed.org, what: "report", since: claimed.created_at, attempts: claimed.attempts }
}

#[cfg(test)]
mod tests;
