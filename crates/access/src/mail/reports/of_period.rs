//! Report of a week or a month: everything that the organization verified, what its connections did, and what waits.

use probity_account::connections::ContactAction;
use probity_account::reports::ReportPeriod;
use probity_letters::{Letter, PeriodLetter, WaitingLine};
use probity_mail::verdict::{Reason, Status};
use probity_store::activity::report_mail::{self, DoneActions, WaitingConnection};
use probity_store::activity::reports::{self, UsageSum};
use probity_store::{Conn, OrgNo, StoreError};

pub(in crate::mail) struct PeriodFigures {
    pub(super) verified: Vec<UsageSum<Reason>>,
    pub(super) done: Vec<DoneActions>,
    pub(super) waiting: Vec<WaitingConnection>,
}

impl PeriodFigures {
    pub(super) async fn read(conn: &mut Conn, org: OrgNo, period: &ReportPeriod) -> Result<Self, StoreError> {
        let (first, last) = period.days();
        Ok(Self {
            verified: reports::by_reason(conn, org, first, last, None).await?,
            done: report_mail::done(conn, org, (first, last)).await?,
            waiting: report_mail::waiting(conn, org).await?,
        })
    }

    /// Has the report of a period written; `None` if nothing happened and nothing waits.
    pub(super) fn letter(
        &self,
        org_name: Option<&str>,
        period: ReportPeriod,
        write: impl FnOnce(PeriodLetter<'_>) -> Letter,
    ) -> Option<Letter> {
        let Self { verified, done, waiting } = self;
        let addresses: i64 = verified.iter().map(|sum| sum.verified).sum();
        if addresses == 0 && done.is_empty() && waiting.is_empty() {
            return None;
        }
        let of = |status| verified.iter().filter(|sum| sum.of.status() == status).map(|sum| sum.verified).sum();
        let done: Vec<(ContactAction, i64)> = done.iter().map(|done| (done.kind, done.actions)).collect();
        let line = |(name, is_refused, planned)| WaitingLine { name, is_refused, planned };
        let waiting: Vec<WaitingLine<'_>> =
            waiting.iter().map(|one| line((one.name.as_str(), one.is_refused, one.planned))).collect();
        Some(write(PeriodLetter {
            org_name,
            period,
            addresses,
            verdicts: [Status::Passed, Status::Risky, Status::Undeliverable, Status::Unknown].map(of),
            done: &done,
            waiting: &waiting,
        }))
    }
}
