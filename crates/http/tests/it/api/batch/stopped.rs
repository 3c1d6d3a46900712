//! Tests of jobs that the system stops or delays, and of the writes that belong to a job's end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use probity_access::secrets::sealing::{MASTER_KEY_BYTES, MasterKey};
use probity_account::api_key::KeyKind;
use probity_account::block::AddressBlock;
use probity_account::credits::Split;
use probity_account::id::JobId;
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_service::store::Sealing as _;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::{OrgRecord, OrgState};
use probity_store::credits::audit;
use probity_store::failpoint::{ArmedFailpoint, Failpoint, FailpointAction, FailpointSide};
use probity_store::jobs::{self, Job, JobNo, JobState, NewJob};
use probity_store::privacy::sealing;
use serde_json::json;

use super::{cancel, post};
use super::{done, status, submit, until};
use crate::test_app::{PLENTY, TestApp, pass, real_moment, upkeep};

const DAY: Duration = Duration::from_hours(24);
const WEEK: Duration = Duration::from_hours(7 * 24);
const URL: &str = "https://hooks.example.com/x";

/// Accepts a job regardless of the organization's status, as if acceptance and restriction happened at once.
async fn accepted(app: &TestApp, org: &OrgRecord, emails: &[&str]) -> JobId {
    let now: Millis = app.now(org).await;
    let id = JobId::new(now, [7; 10]);
    let by = "api";
    let new =
        NewJob { org: org.no, id, test: false, source: by, started_by: by, source_action: by, actor: None, at: now };
    let (rows, block) = (i64::try_from(emails.len()).unwrap(), AddressBlock::encode(emails).unwrap());
    let made = app.store.write(|tx| {
        async {
            let no = jobs::begin(tx, &new).await?;
            jobs::add_block(tx, new.org, no, 0, &block).await?;
            jobs::accept(tx, &new, rows, Some(URL), now).await
        }
        .scope_boxed()
    });
    made.await.unwrap();
    id
}

async fn read(app: &TestApp, org: &OrgRecord, id: JobId) -> Job {
    jobs::by_id(&mut app.store.read().await.unwrap(), org.no, id, false).await.unwrap()
}

/// Waits until a job has this state.
async fn stands(app: &TestApp, org: &OrgRecord, id: JobId, state: JobState) {
    for _ in 0..5_000 {
        if read(app, org, id).await.state == state {
            return;
        }
        real_moment().await;
    }
    panic!("it never stood so: {:?}", read(app, org, id).await);
}

/// Returns the available, held and spent credits.
async fn balance(app: &TestApp, org: &OrgRecord) -> [i64; 3] {
    let balance = app.balance(org).await;
    [balance.available, balance.held, balance.spent].map(Split::total)
}

#[tokio::test]
async fn jobs_of_a_banned_organization_are_stopped() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let begun: JobId = submit(app, &key, &["waits@honest-mail.com"]).await.parse().unwrap();
        stands(app, &org, begun, JobState::Processing).await;
        app.admin.set_status(&org, OrgState::Banned).await.unwrap();
        // No maintenance round has run between the call and this check.
        assert_eq!(read(app, &org, begun).await.state, JobState::ForceStopped);
        assert_eq!(balance(app, &org).await, [PLENTY, 0, 0]);
        assert_eq!(audit::everything(&app.store).await.unwrap(), []);
        // A job that was being accepted at that moment is stopped soon.
        let waiting = accepted(app, &org, &["ann@honest-mail.com"]).await;
        upkeep().await;
        for id in [begun, waiting] {
            stands(app, &org, id, JobState::ForceStopped).await;
        }
        assert_eq!(balance(app, &org).await, [PLENTY, 0, 0]);
        assert_eq!(audit::everything(&app.store).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_suspended_organization_wait_for_a_week() {
    TestApp::each(ServiceConfig::default(), async |app| {
        for stopped in [OrgState::Suspended, OrgState::Paused] {
            let (org, _) = app.customer().await;
            app.admin.set_status(&org, stopped).await.unwrap();
            let first = accepted(app, &org, &["ann@honest-mail.com"]).await;
            stands(app, &org, first, JobState::Ready).await;
            pass(WEEK / 2).await;
            upkeep().await;
            assert_eq!(read(app, &org, first).await.state, JobState::Ready, "nobody takes it up, nobody stops it");
            app.admin.set_status(&org, OrgState::Active).await.unwrap();
            pass(Duration::from_secs(10)).await;
            stands(app, &org, first, JobState::Completed).await;
            assert_eq!(balance(app, &org).await, [PLENTY - 1, 0, 1]);

            app.admin.set_status(&org, stopped).await.unwrap();
            let second = accepted(app, &org, &["info@honest-mail.com"]).await;
            stands(app, &org, second, JobState::Ready).await;
            pass(6 * DAY).await;
            assert_eq!(read(app, &org, second).await.state, JobState::Ready);
            pass(DAY).await;
            upkeep().await;
            stands(app, &org, second, JobState::ForceStopped).await;
            assert_eq!(balance(app, &org).await, [PLENTY - 1, 0, 1]);
        }
        assert_eq!(audit::everything(&app.store).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_chunk_at_which_the_engine_fails_is_left_alone_for_a_while_and_ends_after_a_week() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let id = submit(&app, &key, &["panics@honest-mail.com", "ann@honest-mail.com"]).await;
    until(&app, &key, &id, |status| status["status"] == "processing").await;
    for _ in 0..4 {
        pass(Duration::from_secs(5)).await;
    }
    assert_eq!(app.live.failures.load(Ordering::Relaxed), 1, "its lease lasts a minute");
    pass(Duration::from_secs(80)).await;
    upkeep().await;
    assert!(app.live.failures.load(Ordering::Relaxed) > 1, "it is tried again");
    assert_eq!(status(&app, &key, &id).await["status"], "processing");
    // Short steps keep the attempts going: after an outage of a week, the job would get another week.
    for _ in 0..15 {
        pass(Duration::from_hours(12)).await;
        upkeep().await;
    }
    assert_eq!(status(&app, &key, &id).await["status"], "force_stop");
    assert_eq!(balance(&app, &org).await, [PLENTY, 0, 0]);
    app.stop().await;
}

/// Encrypts a job's chunks under a master key that the service does not have.
async fn seal_away(app: &TestApp, org: &OrgRecord, id: JobId) {
    let key = [5; MASTER_KEY_BYTES];
    let store = app.sealing_store(key).await;
    let fingerprint = MasterKey::of(&key).fingerprint().to_owned();
    store.write(|tx| sealing::set_fingerprint(tx, &fingerprint).scope_boxed()).await.unwrap();
    let job = JobNo::of_id(id);
    let chunks = jobs::chunks(&mut app.store.read().await.unwrap(), org.no, job, -1, 100).await.unwrap();
    assert!(!chunks.is_empty());
    for (no, _) in chunks {
        let as_it_is = |body: &[u8]| Ok(Some((body.to_vec(), 1)));
        store.write(|tx| jobs::rewrite_chunk(tx, org.no, job, no, &as_it_is).scope_boxed()).await.unwrap();
    }
    store.close().await;
}

/// Waits until a job has no claimable chunk, or has ended.
async fn taken_up_again(app: &TestApp, org: &OrgRecord, id: JobId) {
    for _ in 0..500 {
        let now = app.now(org).await;
        let open = jobs::open(&mut app.store.read().await.unwrap(), now, 10).await.unwrap();
        if open.iter().all(|open| open.job != JobNo::of_id(id)) {
            return;
        }
        pass(Duration::from_secs(1)).await;
    }
    panic!("nobody takes it up");
}

#[tokio::test]
async fn a_chunk_that_cannot_be_opened_stops_its_own_job_alone() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, _) = app.customer().await;
        app.admin.set_status(&org, OrgState::Paused).await.unwrap();
        let shut = accepted(app, &org, &["ann@honest-mail.com"]).await;
        stands(app, &org, shut, JobState::Ready).await;
        seal_away(app, &org, shut).await;
        app.admin.set_status(&org, OrgState::Active).await.unwrap();
        // The organization was served least, and its job is the oldest.
        stands(app, &org, shut, JobState::Processing).await;
        let (_, key) = app.customer().await;
        for emails in [["ann@honest-mail.com"], ["info@honest-mail.com"]] {
            let id = submit(app, &key, &emails).await;
            done(app, &key, &id).await;
        }
        assert_eq!(read(app, &org, shut).await.state, JobState::Processing);
        for _ in 0..16 {
            pass(DAY / 2).await;
            taken_up_again(app, &org, shut).await;
        }
        upkeep().await;
        stands(app, &org, shut, JobState::ForceStopped).await;
        assert_eq!(balance(app, &org).await, [PLENTY, 0, 0]);
    })
    .await;
}

/// Makes the first commit fail that ends with a delivery.
fn lose_a_message(app: &TestApp) {
    let point = Failpoint { name: "commit/webhooks::outbox::PUT".into(), when: FailpointSide::Before };
    app.service_store.failpoints().arm(ArmedFailpoint { point, nth: 1, action: FailpointAction::Error });
}

#[tokio::test]
async fn a_job_does_not_end_without_its_message() {
    let app = TestApp::start().await;
    let (org, live) = app.customer().await;
    let key = app.key(&org, KeyKind::Test).await;
    lose_a_message(&app);
    let list = |email: &str| json!({ "emails": [email], "webhook_url": URL }).to_string();
    let id = post(&app, &key, &list("valid@sandbox.test")).await.ok(200)["id"].as_str().unwrap().to_owned();
    done(&app, &key, &id).await;
    assert_eq!(app.service_store.failpoints().disarm(), 1, "its last part was written twice");
    assert_eq!(audit::everything(&app.store).await.unwrap(), []);

    let id = post(&app, &live, &list("waits@honest-mail.com")).await.ok(200)["id"].as_str().unwrap().to_owned();
    until(&app, &live, &id, |status| status["status"] == "processing").await;
    lose_a_message(&app);
    assert_eq!(cancel(&app, &live, &id).await.status, 503);
    assert_eq!(status(&app, &live, &id).await["status"], "processing");
    cancel(&app, &live, &id).await.ok(200);
    assert_eq!(app.service_store.failpoints().disarm(), 1);
    assert_eq!(audit::everything(&app.store).await.unwrap(), []);
    app.stop().await;
}
