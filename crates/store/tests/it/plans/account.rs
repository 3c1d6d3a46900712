//! An organization on a configured plan, with its acts and events.

use probity_account::credits::{CreditBucket, Split};
use probity_account::id::{OrgId, UserId};
use probity_mail::time::Millis;
use probity_mail::verdict::Reason;
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::accounts::users::{MemberRole, TeamMember, UserStatus};
use probity_store::accounts::{organization, plans, users};
use probity_store::activity::events::{AccountChange, AccountEventKind, EventActor, StoredAccountEvent};
use probity_store::activity::timeline;
use probity_store::credits::booked::{self, BookingKind, LedgerBooking};
use probity_store::credits::usage::UsageDelta;
use probity_store::credits::{CreditBooking, hold, usage};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store, credits};

use super::catalogue;

pub(super) struct Account<'a> {
    store: &'a Store,
    pub(super) no: OrgNo,
    begun: Millis,
}

impl<'a> Account<'a> {
    /// Creates the `n`th organization of the database, on a plan.
    pub(super) async fn begin(store: &'a Store, n: u8, plan: &str, at: Millis) -> Self {
        let (plans, org) = (catalogue(), OrgRecord::new(OrgId::new(at, [n; 10]), None, plan.into(), at));
        let begun = store.write(|tx| plans::open(tx, &org, plans.get(plan).unwrap()).scope_boxed()).await.unwrap();
        Self { store, no: begun.no, begun: at }
    }

    /// Returns it as stored.
    pub(super) async fn org(&self) -> OrgRecord {
        organization::by_no(&mut self.store.read().await.unwrap(), self.no).await.unwrap()
    }

    pub(super) async fn set_status(&self, status: OrgState) {
        self.store.write(|tx| organization::set_status(tx, self.no, status).scope_boxed()).await.unwrap();
    }

    /// Adds its owner, who gets notices.
    pub(super) async fn add_owner(&self) {
        let user = TeamMember {
            org: self.no,
            id: UserId::new(self.begun, [3; 10]),
            email: Some("owner@example.com".into()),
            name: None,
            role: MemberRole::Administrator,
            is_primary: true,
            status: UserStatus::Active,
            created_at: self.begun,
        };
        self.store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
    }

    /// Returns the grant of the month that begins now, if there is one.
    pub(super) async fn renew(&self, now: Millis) -> i64 {
        let plans = catalogue();
        self.store.write(|tx| plans::renew(tx, self.no, &plans, now).scope_boxed()).await.unwrap()
    }

    pub(super) async fn change(&self, to: &str, now: Millis) -> OrgRecord {
        self.try_change(to, now).await.unwrap()
    }

    pub(super) async fn try_change(&self, to: &str, now: Millis) -> Result<OrgRecord> {
        let plans = catalogue();
        let to = plans.get(to).unwrap();
        self.store.write(|tx| plans::change(tx, self.no, &plans, to, now).scope_boxed()).await
    }

    pub(super) async fn available(&self) -> Split {
        credits::available(&mut self.store.read().await.unwrap(), self.no).await.unwrap()
    }

    pub(super) async fn grant(
        &self,
        bucket: CreditBucket,
        amount: i64,
        cause: &str,
        until: Option<Millis>,
        at: Millis,
    ) {
        let booking = CreditBooking { org: self.no, bucket, amount, cause, at };
        self.store.write(|tx| credits::grant(tx, &booking, until).scope_boxed()).await.unwrap();
    }

    pub(super) async fn adjust(&self, bucket: CreditBucket, amount: i64, cause: &str, at: Millis) {
        let booking = CreditBooking { org: self.no, bucket, amount, cause, at };
        self.store.write(|tx| credits::adjust(tx, &booking).scope_boxed()).await.unwrap();
    }

    /// Holds credits for a job.
    pub(super) async fn hold(&self, job: &str, amount: i64, at: Millis) {
        self.store.write(|tx| hold::place(tx, self.no, job, amount, at).scope_boxed()).await.unwrap();
    }

    /// Captures the cost of a job's part from its hold, and releases the remainder of the part.
    pub(super) async fn settle(&self, job: &str, cause: &str, captured: i64, released: i64, at: Millis) {
        let part = hold::HoldPart { org: self.no, id: job, captured, released, cause, at };
        let used = [UsageDelta {
            org: self.no,
            day: at.utc_day(),
            source: "api".into(),
            connection: None,
            key: None,
            domain: None,
            provider: None,
            reason: Reason::Valid,
            verified: captured,
            charged: captured,
        }];
        let settled = self.store.write(|tx| {
            async {
                hold::settle(tx, &part).await?;
                usage::add(tx, &used).await
            }
            .scope_boxed()
        });
        settled.await.unwrap();
    }

    /// Spends credits on a job.
    pub(super) async fn spend(&self, job: &str, amount: i64, at: Millis) {
        self.hold(job, amount, at).await;
        self.settle(job, job, amount, 0, at).await;
    }

    pub(super) async fn bookings(&self, kind: BookingKind) -> Vec<LedgerBooking> {
        let mut conn = self.store.read().await.unwrap();
        let all = booked::page(&mut conn, self.no, Millis(i64::MAX), 1_000).await.unwrap();
        all.into_iter().filter(|row| row.kind == kind).collect()
    }

    /// Returns the events caused by the system, newest first.
    pub(super) async fn events(&self) -> Vec<AccountEventKind> {
        let mut conn = self.store.read().await.unwrap();
        let all = timeline::newest_events(&mut conn, self.no, Millis(0), Millis(i64::MAX), 100).await.unwrap();
        let kind = |event: StoredAccountEvent| match event.what {
            AccountChange::Account(kind, None) => kind,
            other => panic!("{other:?}"),
        };
        all.into_iter().map(|event| (assert_eq!(event.actor, Some(EventActor::System)), kind(event)).1).collect()
    }
}
