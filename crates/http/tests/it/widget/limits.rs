//! Tests of the limits on the widget's cost.

use std::collections::BTreeSet;
use std::slice;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_backend::widget::{CHECK_MAX_MS, WidgetConfig};
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::widget::{self, KeyDay, WidgetCheck, WidgetLeave};

use super::{ORIGIN, Visitor, public_key};
use crate::test_app::{PLENTY, TestApp, at_one_moment, pass, real_moment, upkeep};

fn config(widget: WidgetConfig) -> ServiceConfig {
    ServiceConfig { api: ApiConfig { widget, ..ApiConfig::default() }, ..ServiceConfig::default() }
}

/// Returns limits that no test reaches.
fn wide() -> WidgetConfig {
    WidgetConfig { visitor_per_minute: 1_000_000, key_per_minute: 1_000_000, daily_cap: 1_000_000 }
}

#[tokio::test]
async fn a_nonce_is_good_for_one_check_of_one_visitor() {
    TestApp::each(config(wide()), async |app| {
        let org = app.org("Shop", 100).await;
        let visitor = Visitor::new(app, &public_key(app, &org, None).await);
        let nonce = visitor.nonce().await;
        let other = Visitor { from: "198.51.100.1".into(), ..visitor.clone() };
        let other_key = Visitor { key: public_key(app, &org, None).await, ..visitor.clone() };
        for stranger in [other, other_key] {
            stranger.asks("ann@honest-mail.com", &nonce).await.error(409, "conflict");
        }
        visitor.asks("ann@honest-mail.com", &nonce).await.ok(200);
        visitor.asks("ann@honest-mail.com", &nonce).await.error(409, "conflict");
        // Many concurrent checks with one nonce: only one succeeds.
        let nonce = visitor.nonce().await;
        let answers = join_all((0..20).map(|_| visitor.asks("user1@honest-mail.com", &nonce))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 19);
        let old = visitor.nonce().await;
        pass(Duration::from_secs(601)).await;
        visitor.asks("ann@honest-mail.com", &old).await.error(409, "conflict");
        assert_eq!(app.balance(&org).await.spent.total(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_nonce_that_was_used_on_one_node_is_used_on_all() {
    let Some(app) = TestApp::on_postgres(config(wide())).await else { return };
    let beside = app.beside(config(wide())).await;
    let org = app.org("Shop", 1_000).await;
    let key = public_key(&app, &org, Some(40)).await;
    let (here, there) = (Visitor::new(&app, &key), Visitor::new(&beside, &key));
    let nonce = here.nonce().await;
    there.asks("ann@honest-mail.com", &nonce).await.ok(200);
    here.asks("ann@honest-mail.com", &nonce).await.error(409, "conflict");
    // Repeatedly, on both nodes at once: only one check succeeds, and both nodes share the day's cap.
    let mut granted = 0;
    for round in 0..60 {
        let nonce = here.nonce().await;
        let email = format!("user{round}@honest-mail.com");
        let (one, two) = tokio::join!(here.asks(&email, &nonce), there.asks(&email, &nonce));
        let mut both = [one.status, two.status];
        both.sort_unstable();
        match both {
            [200, 409] => granted += 1,
            [409, 429] => {}
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert_eq!(granted, 39, "the fortieth was spent before");
    assert_eq!(app.balance(&org).await.spent.total(), 40);
    beside.stop().await;
    app.stop().await;
}

/// 10,000 calls of bots, each with its own nonce and address.
#[tokio::test]
async fn ten_thousand_scripted_calls_spend_no_more_than_the_cap() {
    const CALLS: usize = 10_000;
    const CAP: i64 = 50;
    let api = ApiConfig { widget: wide(), org_per_minute: 1_000_000, ..ApiConfig::default() };
    let app = TestApp::with(ServiceConfig { api, ..ServiceConfig::default() }).await;
    let org = app.org("Shop", PLENTY).await;
    let key = public_key(&app, &org, Some(CAP)).await;
    let one = |n: usize| {
        let from = format!("198.{}.{}.{}", 18 + n / 5_000, n / 250 % 256, n % 250);
        let visitor = Visitor { from, ..Visitor::new(&app, &key) };
        async move { visitor.checks(&format!("user{n}@honest-mail.com")).await.status }
    };
    let statuses: Vec<u16> = stream::iter((0..CALLS).map(one)).buffer_unordered(64).collect().await;
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    // A check that takes too long costs nothing, and another one gets its slot.
    assert!(count(200) >= 50 && count(200) + count(429) == CALLS, "{} and {}", count(200), count(429));
    assert_eq!(app.balance(&org).await.spent.total(), CAP);
    // The cap applies per day.
    pass(Duration::from_hours(24)).await;
    Visitor::new(&app, &key).checks("ann@honest-mail.com").await.ok(200);
    app.stop().await;
}

/// Each visitor leaves when the verdict is ready, before its credit is settled.
#[tokio::test]
async fn visitors_who_leave_before_their_answer_spend_no_more_than_the_cap() {
    TestApp::each(config(wide()), async |app| {
        let org = app.org("Shop", 100).await;
        let visitor = Visitor::new(app, &public_key(app, &org, Some(2)).await);
        let mut left = 0;
        for n in 0..5 {
            let (email, nonce) = (format!("user{n}@honest-mail.com"), visitor.nonce().await);
            let before = app.live.answered.load(Ordering::Relaxed);
            let verdict = async {
                while app.live.answered.load(Ordering::Relaxed) == before {
                    tokio::task::yield_now().await;
                }
            };
            // The order matters: the check is dropped before it can learn that its credit is settled.
            tokio::select! {
                biased;
                () = verdict => left += 1,
                refused = visitor.asks(&email, &nonce) => drop(refused.error(429, "rate_limited")),
            }
            while app.balance(&org).await.spent.total() < left {
                real_moment().await;
            }
        }
        assert_eq!((left, app.balance(&org).await.spent.total()), (2, 2));
    })
    .await;
}

#[tokio::test]
async fn what_could_not_be_found_out_does_not_count() {
    TestApp::each(config(WidgetConfig { daily_cap: 2, ..wide() }), async |app| {
        let org = app.org("Shop", 100).await;
        let visitor = Visitor::new(app, &public_key(app, &org, None).await);
        for _ in 0..4 {
            visitor.checks("ann@blocks-us.com").await.ok(200);
        }
        for email in ["ann@honest-mail.com", "nobody@honest-mail.com"] {
            visitor.checks(email).await.ok(200);
        }
        visitor.checks("ann@blocks-us.com").await.error(429, "rate_limited");
        assert_eq!(app.balance(&org).await.spent.total(), 2);
        // A key's own cap replaces the operator's.
        let own = Visitor::new(app, &public_key(app, &org, Some(1)).await);
        own.checks("ann@honest-mail.com").await.ok(200);
        own.checks("ann@honest-mail.com").await.error(429, "rate_limited");
    })
    .await;
}

#[tokio::test]
async fn what_a_node_took_that_died_comes_back() {
    TestApp::each(config(wide()), async |app| {
        let org = app.org("Shop", 100).await;
        let wanted =
            KeyRequest { origins: vec![ORIGIN.into()], daily_cap: Some(1), ..KeyRequest::plain("w", KeyKind::Pub) };
        let (key, text) = app.new_key(&org, wanted).await;
        let now = app.now(&org).await;
        let of = KeyDay { org: org.no, key: key.id, day: now.utc_day() };
        let check = WidgetCheck { of, cap: 1, nonce: "n".into(), expires_at: now, held_until: now + CHECK_MAX_MS };
        let none = BTreeSet::new();
        let taken = app.store.write(|tx| widget::settle(tx, slice::from_ref(&check), &none).scope_boxed());
        assert_eq!(taken.await.unwrap(), [WidgetLeave::Granted]);
        let visitor = Visitor::new(app, &text);
        visitor.checks("ann@honest-mail.com").await.error(429, "rate_limited");
        pass(Duration::from_millis(u64::try_from(CHECK_MAX_MS).unwrap())).await;
        upkeep().await;
        visitor.checks("ann@honest-mail.com").await.ok(200);
        visitor.checks("ann@honest-mail.com").await.error(429, "rate_limited");
    })
    .await;
}

#[tokio::test]
async fn an_account_without_credits_looks_like_a_limit() {
    let app = TestApp::with(config(wide())).await;
    let org = app.org("Poor", 1).await;
    let visitor = Visitor::new(&app, &public_key(&app, &org, None).await);
    visitor.checks("ann@honest-mail.com").await.ok(200);
    let refused = visitor.checks("ann@honest-mail.com").await;
    let message = refused.error(429, "rate_limited");
    assert!(!message.contains("credit"), "{message}");
    app.stop().await;
}

#[tokio::test]
async fn each_visitor_has_a_limit() {
    let app = TestApp::with(config(WidgetConfig { visitor_per_minute: 6, ..wide() })).await;
    let org = app.org("Shop", 100).await;
    let visitor = Visitor::new(&app, &public_key(&app, &org, None).await);
    at_one_moment(async {
        for _ in 0..3 {
            // No server is probed: it would not respond while the clock stands still.
            visitor.checks("no-address").await.ok(200);
        }
        visitor.asks_nonce().await.error(429, "rate_limited");
        // A host with one IPv6 address has a whole /64, which counts as one visitor. Other networks are other visitors.
        let at = |from: &str| Visitor { from: from.to_owned(), ..visitor.clone() };
        for host in 1..=6 {
            at(&format!("2001:db8:1:1::{host}")).nonce().await;
        }
        at("2001:db8:1:1:ffff::1").asks_nonce().await.error(429, "rate_limited");
        at("2001:db8:1:2::1").nonce().await;
    })
    .await;
    app.stop().await;
}

/// Makes checks one after the other, each with the nonce of the previous response. Returns the number of admitted checks.
async fn checks_in_a_row(visitor: &Visitor<'_>, wanted: usize) -> usize {
    let mut nonce = visitor.nonce().await;
    for done in 0..wanted {
        let answer = visitor.asks("ann@honest-mail.com", &nonce).await;
        if answer.status == 429 {
            return done;
        }
        answer.ok(200)["nonce"].as_str().unwrap().clone_into(&mut nonce);
    }
    wanted
}

#[tokio::test]
async fn a_visitor_has_one_limit_on_two_nodes() {
    const LIMIT: u32 = 20;
    let config = config(WidgetConfig { visitor_per_minute: LIMIT, ..wide() });
    let Some(app) = TestApp::on_postgres(config.clone()).await else { return };
    let beside = app.beside(config).await;
    let org = app.org("Shop", 1_000).await;
    let key = public_key(&app, &org, None).await;
    let (here, there) = (Visitor::new(&app, &key), Visitor::new(&beside, &key));
    let begun = app.now(&org).await;
    // Each node alone would admit the nonce and 19 checks.
    let (one, two) = tokio::join!(checks_in_a_row(&here, 19), checks_in_a_row(&there, 19));
    let took_ms = app.now(&org).await.since(begun);
    let (most, come_back) = (usize::try_from(LIMIT).unwrap(), usize::try_from(took_ms / 3_000 + 1).unwrap());
    assert!((most..=most + come_back).contains(&(one + two)), "{one} and {two} in {took_ms} ms");
    // Other visitors are not affected.
    let other = Visitor { from: "198.51.100.1".into(), ..there.clone() };
    assert_eq!(checks_in_a_row(&other, 3).await, 3);
    pass(Duration::from_secs(90)).await;
    assert_eq!(checks_in_a_row(&here, 3).await, 3);
    beside.stop().await;
    app.stop().await;
}

/// A visitor with many networks cannot create more rows than the organization's limit admits.
#[tokio::test]
async fn visitors_without_number_leave_few_rows_and_none_for_long() {
    const VISITORS: usize = 60;
    let widget = WidgetConfig { visitor_per_minute: 2, ..wide() };
    let api = ApiConfig { widget, org_per_minute: 40, ..ApiConfig::default() };
    let Some(app) = TestApp::on_postgres(ServiceConfig { api, ..ServiceConfig::default() }).await else { return };
    let org = app.org("Shop", 1_000).await;
    let key = public_key(&app, &org, None).await;
    // Buckets of keys and sessions have names of another length.
    let rows = || app.sql("SELECT COUNT(*) FROM rate_bucket WHERE length(bucket) = 32").parse::<usize>().unwrap();
    let mut passed = 0;
    for n in 0..VISITORS {
        let visitor = Visitor { from: format!("2001:db8:{n:x}::1"), ..Visitor::new(&app, &key) };
        passed += checks_in_a_row(&visitor, 1).await;
    }
    assert!((20..VISITORS).contains(&passed), "{passed}: half of the limit, and what came back meanwhile");
    assert!((1..=passed).contains(&rows()), "{} of {passed}", rows());
    upkeep().await;
    assert_eq!(rows(), 0);
    app.stop().await;
}

/// Checks that wait for mail servers take only slots of the widget.
#[tokio::test]
async fn checks_that_hang_leave_room_for_live_calls() {
    const BOTS: usize = 300;
    let app = TestApp::with(config(wide())).await;
    let (org, live) = app.customer().await;
    let key = public_key(&app, &org, None).await;
    let hanging = (0..BOTS).map(|n| {
        let visitor = Visitor { from: format!("198.51.{}.{}", n / 250, n % 250), ..Visitor::new(&app, &key) };
        async move { visitor.checks("waits@honest-mail.com").await.status }
    });
    let meanwhile = async {
        app.live.asked(256).await;
        for n in 0..20 {
            app.verify(&live, &format!("user{n}@honest-mail.com")).await.ok(200);
        }
        Visitor::new(&app, &key).checks("ann@honest-mail.com").await.error(503, "service_unavailable");
        app.live.gate.add_permits(BOTS);
    };
    let (statuses, ()) = tokio::join!(join_all(hanging), meanwhile);
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(200), count(503)), (256, BOTS - 256));
    Visitor::new(&app, &key).checks("ann@honest-mail.com").await.ok(200);
    app.stop().await;
}

/// Bots use an organization's widgets, through all their keys, while its servers make live calls.
#[tokio::test]
async fn widgets_leave_half_of_the_organizations_limit_to_its_servers() {
    let api = ApiConfig { org_per_minute: 100, key_per_minute: 100, widget: wide(), ..ApiConfig::default() };
    TestApp::each(ServiceConfig { api, ..ServiceConfig::default() }, async |app| {
        let org = app.org("Shop", PLENTY).await;
        let keys = [public_key(app, &org, None).await, public_key(app, &org, None).await];
        let bots = keys.iter().flat_map(|key| {
            (0..150).map(move |n| async move {
                let from = format!("198.51.100.{n}");
                Visitor { from, ..Visitor::new(app, key) }.checks(&format!("user{n}@honest-mail.com")).await.status
            })
        });
        let begun = app.now(&org).await;
        let statuses = join_all(bots).await;
        let come_back = usize::try_from(app.now(&org).await.since(begun) / 1_200 + 1).unwrap();
        let passed = statuses.iter().filter(|status| **status == 200).count();
        assert!((50..=50 + come_back).contains(&passed), "{passed}: half, and {come_back} at most that came back");
        let live = app.key(&org, KeyKind::Live).await;
        for n in 0..40 {
            app.verify(&live, &format!("user{n}@honest-mail.com")).await.ok(200);
        }
    })
    .await;
}
