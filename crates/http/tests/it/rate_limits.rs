//! Tests of rate limits: their headers on every response, their scope, and that waiting for `Retry-After` suffices.

use std::time::Duration;

use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_engine::clock::EngineClock;
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use serde_json::json;

use crate::test_app::{Answer, Call, TestApp, at_one_moment, pass};

const ROUTE: &str = "/v1/organization";

fn limits(api: ApiConfig) -> ServiceConfig {
    ServiceConfig { api, ..ServiceConfig::default() }
}

fn shown(answer: &Answer) -> (i64, i64) {
    (answer.number("x-ratelimit-limit"), answer.number("x-ratelimit-remaining"))
}

async fn wait_as_told(refused: &Answer) {
    pass(Duration::from_secs(refused.number("retry-after").unsigned_abs())).await;
}

#[tokio::test]
async fn a_key_may_as_often_as_its_limit_says() {
    TestApp::each(limits(ApiConfig { key_per_minute: 4, ..ApiConfig::default() }), async |app| {
        let (org, key) = app.customer().await;
        for round in 0..2 {
            let refused = at_one_moment(async {
                for left in [3, 2, 1, 0] {
                    let answer = app.get(&key, ROUTE).await;
                    answer.ok(200);
                    assert_eq!(shown(&answer), (4, left), "round {round}");
                }
                let refused = app.get(&key, ROUTE).await;
                refused.error(429, "rate_limited");
                assert_eq!((shown(&refused), refused.number("retry-after")), ((4, 0), 15));
                // Another rejection costs nothing: the wait does not grow.
                let again = app.get(&key, ROUTE).await;
                assert_eq!(again.number("retry-after"), 15);
                refused
            })
            .await;
            let other = app.key(&org, KeyKind::Live).await;
            app.get(&other, ROUTE).await.ok(200);
            wait_as_told(&refused).await;
            app.get(&key, ROUTE).await.ok(200);
            app.get(&key, ROUTE).await.error(429, "rate_limited");
            pass(Duration::from_mins(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_reset_is_when_the_bucket_is_full_again() {
    TestApp::each(limits(ApiConfig { key_per_minute: 60, ..ApiConfig::default() }), async |app| {
        let (org, key) = app.customer().await;
        let began = app.admin.list_keys(&org).await.unwrap()[0].created_at;
        for asked in 1..=5 {
            let reset = app.get(&key, ROUTE).await.number("x-ratelimit-reset");
            let seconds = reset - began.0.div_euclid(1_000);
            assert!((asked - 2..=asked + 4).contains(&seconds), "{seconds} s after {asked} requests");
        }
        pass(Duration::from_secs(10)).await;
        assert_eq!(shown(&app.get(&key, ROUTE).await), (60, 59));
    })
    .await;
}

#[tokio::test]
async fn every_answer_to_a_key_shows_its_limit() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let poor = app.key(&app.org("Poor", 0).await, KeyKind::Live).await;
    let restricted = app.restricted(&org, [Scope::ReadJobs]).await;
    let id = "/v1/api-keys/key_01h455vb4pex5vsknk084sn02q";
    let calls = [
        (Call::get("/v1/verify?email=no-address").key(&key), 200),
        (Call::get("/v1/verify").key(&key), 400),
        (Call::get("/v1/verify?email=no-address").key(&poor), 402),
        (Call::get("/v1/verify?email=no-address").key(&restricted), 403),
        (Call::new("DELETE", id).key(&key), 404),
        (Call::new("POST", "/v1/api-keys").key(&key), 400),
        (Call::post("/v1/api-keys", "{}").header("content-encoding", "gzip").key(&key), 415),
        (Call::post("/v1/api-keys", "{}").key(&key).once(""), 400),
        (Call::get("/v1/verify?email=panics@honest-mail.com").key(&key), 500),
        (Call::get(format!("/v1/check-key?api_key={key}")), 200),
    ];
    for (call, status) in calls {
        let answer = app.send(call).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        let (limit, left) = shown(&answer);
        assert!(limit == 10_000 && (9_900..10_000).contains(&left), "{answer:?}");
        assert!(answer.number("x-ratelimit-reset") > 1_700_000_000);
    }
    app.stop().await;
}

#[tokio::test]
async fn a_key_can_have_a_limit_of_its_own() {
    let app = TestApp::with(limits(ApiConfig { key_per_minute: 5, ..ApiConfig::default() })).await;
    let (org, _) = app.customer().await;
    for own in [2, 7] {
        let wanted = KeyRequest { rate_limit_per_minute: Some(own), ..KeyRequest::plain("limited", KeyKind::Live) };
        let (_, key) = app.new_key(&org, wanted).await;
        at_one_moment(async {
            for left in (0..own).rev() {
                assert_eq!(shown(&app.get(&key, ROUTE).await), (own, left));
            }
            app.get(&key, ROUTE).await.error(429, "rate_limited");
        })
        .await;
    }
    app.stop().await;
}

#[tokio::test]
async fn many_keys_share_their_organizations_limit() {
    TestApp::each(limits(ApiConfig { org_per_minute: 100, ..ApiConfig::default() }), async |app| {
        let (org, first) = app.customer().await;
        let mut keys = vec![first];
        for _ in 1..50 {
            keys.push(app.key(&org, KeyKind::Live).await);
        }
        let refused = at_one_moment(async {
            for key in keys.iter().cycle().take(100) {
                app.get(key, ROUTE).await.ok(200);
            }
            let mut refused = Vec::new();
            for key in &keys {
                refused.push(app.get(key, ROUTE).await);
            }
            refused
        })
        .await;
        for answer in &refused {
            answer.error(429, "rate_limited");
        }
        assert_eq!(shown(&refused[0]), (100, 0));
        let (_, stranger) = app.customer().await;
        app.get(&stranger, ROUTE).await.ok(200);
        wait_as_told(&refused[0]).await;
        app.get(&keys[0], ROUTE).await.ok(200);
    })
    .await;
}

#[tokio::test]
async fn who_changes_their_limit_gets_no_requests_by_it() {
    TestApp::each(limits(ApiConfig { org_per_minute: 60, ..ApiConfig::default() }), async |app| {
        let (_, key) = app.customer().await;
        let wish = async |limit: i64| {
            let body = json!({ "rate_limit_per_minute": limit }).to_string();
            app.send(Call::patch("/v1/organization/settings", body).key(&key)).await
        };
        wish(40).await.ok(200);
        let mut passed = 0.0;
        let began = EngineClock::system();
        for round in 0..150 {
            // Changes the limit repeatedly, up and down, as often as the operator's limit allows.
            if round % 5 == 0 {
                wish(40 - round / 5 % 2).await.ok(200);
            }
            let answer = app.get(&key, ROUTE).await;
            passed += f64::from(u8::from(answer.status == 200));
        }
        let granted = 40.0 + began.elapsed().as_secs_f64() * 40.0 / 60.0;
        assert!(passed <= granted, "{passed} of {granted}");
        wish(60).await.ok(200);
        let refused = loop {
            let answer = app.get(&key, ROUTE).await;
            if answer.status == 429 {
                break answer;
            }
        };
        let began = EngineClock::system();
        wait_as_told(&refused).await;
        app.get(&key, ROUTE).await.ok(200);
        // Used requests stay used under the highest limit, too.
        let (_, left) = shown(&app.get(&key, ROUTE).await);
        assert!(left <= 2 + i64::try_from(began.elapsed().as_secs()).unwrap(), "{left} are left");
        pass(Duration::from_mins(1)).await;
        wish(61).await.error(400, "invalid_request");
    })
    .await;
}

#[tokio::test]
async fn refused_keys_count_against_their_address() {
    let proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let api = ApiConfig { failures_per_minute: 3, trusted_proxies: proxies, ..ApiConfig::default() };
    let app = TestApp::with(limits(api)).await;
    let (_, good) = app.customer().await;
    let guess = |from: &str| Call::get(ROUTE).key("garbage").from(from);
    let refused = at_one_moment(async {
        for _ in 0..3 {
            app.send(guess("203.0.113.9")).await.error(401, "invalid_api_key");
        }
        let refused = app.send(guess("203.0.113.9")).await;
        refused.error(429, "rate_limited");
        // The client's own `X-Forwarded-For` is ignored; a trusted proxy's counts.
        let spoofed = guess("203.0.113.9").header("x-forwarded-for", "198.51.100.1");
        app.send(spoofed).await.error(429, "rate_limited");
        for forwarded in ["203.0.113.9", "198.51.100.1, 203.0.113.9"] {
            app.send(guess("10.0.0.1").header("x-forwarded-for", forwarded)).await.error(429, "rate_limited");
        }
        app.send(guess("10.0.0.1").header("x-forwarded-for", "198.51.100.1")).await.error(401, "invalid_api_key");
        app.send(guess("::ffff:203.0.113.9")).await.error(429, "rate_limited");
        // Requests with a valid key, or without any, are not limited by failures from the same address.
        app.send(Call::get(ROUTE).key(&good).from("203.0.113.9")).await.ok(200);
        app.send(Call::get(ROUTE).from("203.0.113.9")).await.error(401, "missing_api_key");
        refused
    })
    .await;
    wait_as_told(&refused).await;
    app.send(guess("203.0.113.9")).await.error(401, "invalid_api_key");
    app.stop().await;
}

/// A host with one IPv6 address usually has a whole /64.
#[tokio::test]
async fn neighbours_in_one_ipv6_network_count_as_one() {
    let app = TestApp::with(limits(ApiConfig { failures_per_minute: 3, ..ApiConfig::default() })).await;
    let guess = |from: &str| Call::get(ROUTE).key("garbage").from(from);
    at_one_moment(async {
        for host in ["1", "2", "3"] {
            app.send(guess(&format!("2001:db8:1:1::{host}"))).await.error(401, "invalid_api_key");
        }
        app.send(guess("2001:db8:1:1:ffff::4")).await.error(429, "rate_limited");
        app.send(guess("2001:db8:1:2::1")).await.error(401, "invalid_api_key");
    })
    .await;
    app.stop().await;
}
