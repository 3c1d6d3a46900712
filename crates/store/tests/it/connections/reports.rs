//! Reports by mail: planned once per period, claimed by one run, and never for members who did not subscribe.

use probity_account::connections::RunCause;
use probity_account::id::{JobId, UserId};
use probity_account::reports::ReportKind;
use probity_account::role::MemberRole;
use probity_mail::time::{DAY_MS, Millis};
use probity_store::accounts::organization::{self, OrgState};
use probity_store::accounts::users::invitations::{self, Invitation, MailedLink};
use probity_store::accounts::users::profile::{self, NotificationSettings, UserProfile};
use probity_store::accounts::users::{self, TeamMember, UserStatus};
use probity_store::activity::letters::{ClaimedLetter, LetterKind};
use probity_store::activity::report_mail;
use probity_store::connections::runs::ConnectionRun;
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use super::runs::{new_run, start};
use super::{NOW, insert, nth};
use crate::databases::for_each_database;
use crate::letters::{any_due, record};
use crate::organizations;

const WEEK_MS: i64 = 7 * DAY_MS;

async fn organization_with(store: &Store, members: u8) -> (OrgNo, Vec<UserId>) {
    let org = organizations::nth(1, NOW);
    organizations::add_with(store, &org, 0).await.unwrap();
    let mut added = Vec::new();
    for n in 0..members {
        let user = TeamMember {
            org: org.no,
            id: UserId::new(NOW, [n; 10]),
            email: Some(format!("user{n}@example.com")),
            name: None,
            role: MemberRole::Contributor,
            is_primary: false,
            status: UserStatus::Active,
            created_at: NOW,
        };
        store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
        verify(store, &user, n).await;
        added.push(user.id);
    }
    (org.no, added)
}

/// Uses a link that was mailed to a member.
async fn verify(store: &Store, user: &TeamMember, n: u8) {
    let hash = [n + 100; 32];
    let link = Invitation {
        org: user.org,
        user: user.id,
        hash: [n; 32],
        mailed: Some(MailedLink { hash, seed: [n; 16] }),
        created_at: NOW,
        expires_at: NOW + DAY_MS,
    };
    let verified = store.write(|tx| {
        async {
            invitations::issue(tx, &link).await?;
            invitations::redeem(tx, &hash, NOW).await
        }
        .scope_boxed()
    });
    verified.await.unwrap();
}

async fn wants(
    store: &Store,
    (org, user): (OrgNo, UserId),
    change: impl Fn(NotificationSettings) -> NotificationSettings,
) {
    let profile = profile::read(&mut store.read().await.unwrap(), org, user).await.unwrap();
    let profile = UserProfile { notifications: change(profile.notifications), ..profile };
    store.write(|tx| profile::write(tx, org, user, &profile).scope_boxed()).await.unwrap();
}

/// Plans all due reports, as two concurrent nodes would.
async fn plan(store: &Store, now: Millis) {
    while report_mail::any_plan_due(&mut store.read().await.unwrap(), now).await.unwrap() {
        let due = report_mail::due_plans(&mut store.read().await.unwrap(), now, 100).await.unwrap();
        for one in due.iter().chain(&due) {
            store.write(|tx| report_mail::plan(tx, one, now).scope_boxed()).await.unwrap();
        }
    }
}

async fn claim(store: &Store, now: Millis, run: &str) -> Vec<ClaimedLetter> {
    let mut claimed = Vec::new();
    for kind in LetterKind::ALL.into_iter().filter(|kind| kind.report().is_some()) {
        claimed.extend(crate::letters::claim(store, kind, now, run).await);
    }
    claimed
}

fn about(claimed: &[ClaimedLetter]) -> Vec<(UserId, LetterKind, &str)> {
    claimed.iter().map(|one| (one.user, one.key.kind, one.key.subject.as_str())).collect()
}

#[tokio::test]
async fn each_member_gets_one_report_of_each_period_and_missed_ones_once() {
    for_each_database(async |store| {
        let (org, members) = organization_with(&store, 2).await;
        let (ann, bob) = (members[0], members[1]);
        plan(&store, NOW).await;
        assert_eq!(claim(&store, NOW, "first").await, [], "a new member has no period behind them");
        wants(&store, (org, bob), |all| all.without(ReportKind::Weekly)).await;
        let (mut weeks, mut months) = (Vec::new(), Vec::new());
        for day in 1..=70 {
            let now = NOW + day * DAY_MS;
            plan(&store, now).await;
            for report in claim(&store, now, &format!("run{day}")).await {
                let of = if report.key.kind == LetterKind::Weekly { &mut weeks } else { &mut months };
                of.push((report.user, report.key.subject.clone()));
                record(&store, &report, None).await.unwrap();
            }
        }
        assert_eq!((weeks.len(), months.len()), (10, 4), "{weeks:?} {months:?}");
        assert!(weeks.iter().all(|(user, _)| *user == ann), "bob wants none");
        weeks.dedup();
        assert_eq!(weeks.len(), 10);

        let late = NOW + 70 * DAY_MS + 3 * WEEK_MS;
        plan(&store, late).await;
        let claimed = claim(&store, late, "late").await;
        let weekly: Vec<_> = claimed.iter().filter(|one| one.key.kind == LetterKind::Weekly).collect();
        assert_eq!(weekly.len(), 1, "{claimed:?}");
    })
    .await;
}

#[tokio::test]
async fn a_week_that_ends_just_before_a_month_is_reported_once() {
    for_each_database(async |store| {
        organization_with(&store, 1).await;
        // Friday, 2027-05-28. The plan of Tuesday, the first, also covers Monday, in case a time zone changed.
        let friday = NOW + 133 * DAY_MS;
        plan(&store, friday).await;
        let mut reported = Vec::new();
        for day in 1..=6 {
            let now = friday + day * DAY_MS;
            plan(&store, now).await;
            for report in claim(&store, now, &format!("run{day}")).await {
                record(&store, &report, None).await.unwrap();
                reported.push((report.key.kind, report.key.subject));
            }
        }
        let expected = [(LetterKind::Weekly, "2027-05-24"), (LetterKind::Monthly, "2027-05-01")];
        assert_eq!(reported, expected.map(|(kind, first)| (kind, first.to_owned())));
    })
    .await;
}

#[tokio::test]
async fn a_report_is_claimed_by_one_run_and_dropped_where_nobody_may_get_it() {
    for_each_database(async |store| {
        let (org, members) = organization_with(&store, 3).await;
        plan(&store, NOW).await;
        let now = NOW + 9 * DAY_MS;
        plan(&store, now).await;
        wants(&store, (org, members[1]), |all| all.without(ReportKind::Weekly).without(ReportKind::Monthly)).await;
        store.write(|tx| users::remove(tx, org, members[2]).scope_boxed()).await.unwrap();
        let claimed = claim(&store, now, "first").await;
        assert!(!claimed.is_empty() && claimed.iter().all(|one| one.user == members[0]), "{:?}", about(&claimed));
        assert_eq!(claim(&store, now, "second").await, [], "another has it");
        record(&store, &claimed[0], Some(now + 500)).await.unwrap();
        assert_eq!(claim(&store, now + 499, "third").await, []);
        assert!(matches!(record(&store, &claimed[0], None).await, Err(StoreError::LeaseLost)));
        store.write(|tx| organization::set_status(tx, org, OrgState::Suspended).scope_boxed()).await.unwrap();
        assert_eq!(claim(&store, now + 2_000, "fourth").await, []);
        assert!(!any_due(&store, LetterKind::Weekly, now + DAY_MS).await, "dropped");
        plan(&store, now + WEEK_MS).await;
        assert!(!any_due(&store, LetterKind::Weekly, now + WEEK_MS).await);
    })
    .await;
}

#[tokio::test]
async fn a_new_address_gets_no_report_before_a_mailed_link_came_back() {
    for_each_database(async |store| {
        let (org, members) = organization_with(&store, 2).await;
        plan(&store, NOW).await;
        store.write(|tx| users::set_email(tx, org, members[1], "typo@example.com").scope_boxed()).await.unwrap();
        let now = NOW + 9 * DAY_MS;
        plan(&store, now).await;
        let claimed = claim(&store, now, "first").await;
        assert!(!claimed.is_empty() && claimed.iter().all(|one| one.user == members[0]), "{:?}", about(&claimed));
    })
    .await;
}

#[tokio::test]
async fn members_who_join_after_a_week_get_no_report_of_it() {
    for_each_database(async |store| {
        let (org, _) = organization_with(&store, 0).await;
        // Monday afternoon, 2027-05-31. The first plan is for Tuesday, the first of a month.
        let joined = NOW + 136 * DAY_MS + DAY_MS / 4;
        let user = TeamMember {
            org,
            id: UserId::new(joined, [0; 10]),
            email: Some("late@example.com".into()),
            name: None,
            role: MemberRole::Contributor,
            is_primary: false,
            status: UserStatus::Active,
            created_at: joined,
        };
        store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
        verify(&store, &user, 0).await;
        plan(&store, joined).await;
        let mut reported = Vec::new();
        for day in 1..=7 {
            let now = joined + day * DAY_MS;
            plan(&store, now).await;
            for report in claim(&store, now, &format!("run{day}")).await {
                record(&store, &report, None).await.unwrap();
                reported.push((report.key.kind, report.key.subject));
            }
        }
        let expected = [(LetterKind::Monthly, "2027-05-01"), (LetterKind::Weekly, "2027-05-31")];
        assert_eq!(reported, expected.map(|(kind, first)| (kind, first.to_owned())));
    })
    .await;
}

#[tokio::test]
async fn polls_of_a_connection_are_reported_once_a_day() {
    for_each_database(async |store| {
        let (org, _) = organization_with(&store, 1).await;
        let (one, other) = (nth(org, 1), nth(org, 2));
        insert(&store, &one).await;
        insert(&store, &other).await;
        let report = async |of, cause, n, now| {
            let id = JobId::new(NOW, [n; 10]);
            let run = &ConnectionRun { id, cause, ..ConnectionRun::clone(of) };
            store.write(|tx| report_mail::of_run(tx, run, now).scope_boxed()).await.unwrap();
            let claimed = claim(&store, now, &id.to_string()).await;
            for one in &claimed {
                record(&store, one, None).await.unwrap();
            }
            claimed.len()
        };
        let one = start(&store, &new_run(&one, 1)).await.unwrap();
        let other = start(&store, &new_run(&other, 2)).await.unwrap();
        let poll = RunCause::Instafloss;
        assert_eq!(report(&one, poll, 1, NOW).await, 1);
        assert_eq!(report(&one, poll, 2, NOW + 60_000).await, 0);
        assert_eq!(report(&other, poll, 3, NOW + 60_000).await, 1);
        assert_eq!(report(&one, RunCause::Manual, 4, NOW + 60_000).await, 1);
        assert_eq!(report(&one, poll, 5, NOW + DAY_MS).await, 1);
    })
    .await;
}
