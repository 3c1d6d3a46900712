//! Tests of plans as customers see them: organization, monthly grants, exhausted credits.

use std::time::Duration;

use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use probity_account::plans::{Entitlement, EntitlementSet, Plan, Plans, Refill, TrialTerms};
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::OrgRecord;
use probity_store::credits::{self, CreditBooking};
use serde_json::{Value, json};

use crate::test_app::{Call, TestApp, pass, real_moment};

const ORGANIZATION: &str = "/v1/organization";
const DAY: Duration = Duration::from_hours(24);

fn config() -> ServiceConfig {
    let team = Plan {
        title: "Team plan".into(),
        monthly: 1_000,
        seats: Some(1),
        entitlements: EntitlementSet::ALL.without(Entitlement::Webhooks.into()),
        rate_limit_per_minute: Some(50),
        low_balance: Some(100),
        ..Plan::bare("team")
    };
    let trial = Plan { monthly: 700, trial: Some(TrialTerms { days: 14, credits: 20 }), ..Plan::bare("trial") };
    let refill = Plan { refill: Some(Refill { credits: 10, times: 3 }), ..Plan::bare("refill") };
    let saving = Plan { monthly: 50, keeps_unused: true, ..Plan::bare("saving") };
    let plans = Plans::new([team, trial, refill, saving], "team", 0).unwrap().into();
    ServiceConfig { api: ApiConfig { plans, ..ApiConfig::default() }, ..ServiceConfig::default() }
}

async fn customer(app: &TestApp, plan: &str) -> (OrgRecord, String) {
    let plan = app.admin.plan(Some(plan)).unwrap().clone();
    let org = app.admin.create_org("Example Ltd", plan).await.unwrap();
    let key = app.key(&org, KeyKind::Live).await;
    (org, key)
}

async fn shown(app: &TestApp, key: &str) -> Value {
    app.get(key, ORGANIZATION).await.ok(200)
}

/// Waits until scheduled work has changed the organization.
async fn until(app: &TestApp, key: &str, holds: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..500 {
        let now = shown(app, key).await;
        if holds(&now) {
            return now;
        }
        pass(Duration::from_secs(1)).await;
    }
    panic!("{}", shown(app, key).await)
}

#[tokio::test]
async fn the_organization_shows_its_plan_and_limits_follow_it() {
    TestApp::each(config(), async |app| {
        let (_, key) = customer(app, "team").await;
        let now = shown(app, &key).await;
        assert_eq!((&now["plan"], &now["plan_id"]), (&json!("Team plan"), &json!("team")));
        assert_eq!(now["credits"], json!({"prepaid": 0, "subscription": 1_000, "total": 1_000}));
        assert_eq!((&now["entitlements"]["webhooks"], &now["entitlements"]["sso"]), (&json!(false), &json!(true)));
        assert_eq!(now["seats"], json!({"used": 1, "limit": 1}));
        assert!(now["usage"]["current_period_start"].as_str() <= now["created_at"].as_str());
        let checked = app.get(&key, "/v1/check-key").await;
        assert_eq!(
            (&checked.ok(200)["planType"], &checked.ok(200)["freeMatches"]),
            (&json!("Team plan"), &json!(1_000))
        );
        let invite = r#"{"email": "a@example.com", "role": "contributor"}"#;
        app.send(Call::post("/v1/users", invite).key(&key)).await.error(409, "conflict");
        let webhook = r#"{"name": "A", "url": "https://192.0.2.1/", "events": ["job.finished"]}"#;
        let refused = app.send(Call::post("/v1/webhooks", webhook).key(&key)).await.error(403, "forbidden_scope");
        assert!(refused.contains("plan"), "{refused}");
        assert_eq!(app.get(&key, ORGANIZATION).await.number("x-ratelimit-limit"), 50);
    })
    .await;
}

#[tokio::test]
async fn months_pass() {
    TestApp::each(config(), async |app| {
        let (org, key) = customer(app, "team").await;
        app.verify(&key, "no-address").await.ok(200);
        let first = shown(app, &key).await;
        assert_eq!((&first["credits"]["total"], &first["usage"]["current_period_total"]), (&json!(999), &json!(1)));
        pass(DAY * 32).await;
        let next = until(app, &key, |now| now["credits"]["total"] == 1_000).await;
        assert_eq!(next["usage"]["current_period_start"], first["usage"]["current_period_end"]);
        assert_eq!(next["usage"]["current_period_total"], 0);
        let balance = app.balance(&org).await;
        assert_eq!((balance.granted.subscription, balance.expired.subscription), (2_000, 999));
    })
    .await;
}

#[tokio::test]
async fn a_month_that_cannot_be_granted_is_in_nobodys_way() {
    TestApp::each(config(), async |app| {
        let (first, _) = customer(app, "saving").await;
        // Another month's credits would overflow the balance.
        let booking = CreditBooking {
            org: first.no,
            bucket: CreditBucket::Subscription,
            amount: i64::MAX - 60,
            cause: "much",
            at: app.now(&first).await,
        };
        app.store.write(|tx| credits::grant(tx, &booking, None).scope_boxed()).await.unwrap();
        let (_, key) = customer(app, "team").await;
        app.verify(&key, "no-address").await.ok(200);
        pass(DAY * 32).await;
        until(app, &key, |now| now["credits"]["total"] == 1_000).await;
        assert_eq!(app.balance(&first).await.available.subscription, i64::MAX - 10);
    })
    .await;
}

#[tokio::test]
async fn a_trial_ends() {
    let app = TestApp::with(config()).await;
    let (_, key) = customer(&app, "trial").await;
    let first = shown(&app, &key).await;
    assert_eq!((&first["trial"]["active"], &first["credits"]["subscription"]), (&json!(true), &json!(20)));
    assert_eq!(first["usage"]["current_period_end"], first["trial"]["ends_at"]);
    pass(DAY * 13).await;
    assert_eq!(shown(&app, &key).await["trial"]["active"], true);
    pass(DAY * 2).await;
    let then = until(&app, &key, |now| now["credits"]["subscription"] == 700).await;
    assert_eq!(then["trial"]["active"], false);
    assert_eq!(then["usage"]["current_period_start"], first["trial"]["ends_at"]);
    app.stop().await;
}

#[tokio::test]
async fn credits_that_ran_out_are_put_in_as_often_as_agreed() {
    TestApp::each(config(), async |app| {
        let (org, key) = customer(app, "refill").await;
        let calls = (0..40).map(|_| app.verify(&key, "no-address"));
        let statuses = futures_util::future::join_all(calls).await.into_iter().map(|answer| answer.status);
        let mut statuses: Vec<u16> = statuses.collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![200; 30], vec![402; 10]].concat());
        assert_eq!(app.balance(&org).await.granted.prepaid, 30);
        let events = app.get(&key, "/v1/account/timeline").await.ok(200)["events"].clone();
        let refills = events.as_array().unwrap().iter().filter(|event| event["kind"] == "auto_refill");
        let actors: Vec<_> = refills.map(|event| event["actor"]["type"].clone()).collect();
        assert_eq!(actors, ["system"; 3]);

        let (org, key) = customer(app, "refill").await;
        let emails = |n: usize| json!({ "emails": vec!["no-address"; n] }).to_string();
        app.send(Call::post("/v1/batch-verify", emails(31)).key(&key)).await.error(402, "insufficient_credits");
        assert_eq!(app.balance(&org).await.granted.prepaid, 0, "what cannot be covered is not begun");
        app.send(Call::post("/v1/batch-verify", emails(25)).key(&key).once("a")).await.ok(200);
        assert_eq!(app.balance(&org).await.granted.prepaid, 30);
        app.settled().await;
    })
    .await;
}

#[tokio::test]
async fn a_balance_that_becomes_low_is_in_the_timeline_once() {
    let app = TestApp::with(config()).await;
    let (org, key) = customer(&app, "team").await;
    app.admin.adjust(&org, CreditBucket::Subscription, -950).await.unwrap();
    let told = async || {
        let events = app.get(&key, "/v1/account/timeline").await.ok(200)["events"].clone();
        events.as_array().unwrap().iter().filter(|event| event["kind"] == "low_balance").count()
    };
    for _ in 0..500 {
        if told().await > 0 {
            break;
        }
        pass(Duration::from_secs(1)).await;
    }
    pass(Duration::from_secs(20)).await;
    real_moment().await;
    assert_eq!(told().await, 1);
    app.stop().await;
}
