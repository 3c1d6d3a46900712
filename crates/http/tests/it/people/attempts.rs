//! Tests of password guessing: delays, and unaffected members.

use std::time::Duration;

use probity_account::role::MemberRole;
use serde_json::json;

use super::browser::Browser;
use super::{PASSWORD, config, link, member, signed_in};
use crate::test_app::{TestApp, at_one_moment, pass};

const ANN: &str = "ann@example.com";
const WRONG: &str = "wrong horse battery staple";

#[tokio::test]
async fn guessing_waits_longer_and_longer_and_nobody_for_long() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        signed_in(app, &org, ANN, MemberRole::Contributor).await;
        for email in [ANN, "nobody@example.com"] {
            let mut waits = Vec::new();
            for _ in 0..16 {
                let wait = at_one_moment(async {
                    let answer = Browser::new(app).sign_in(email, WRONG).await;
                    if answer.status != 429 {
                        answer.error(401, "sign_in_failed");
                        return None;
                    }
                    // Not even with the correct password. Another attempt does not extend the wait.
                    let again = Browser::new(app).sign_in(email, PASSWORD).await;
                    again.error(429, "rate_limited");
                    assert_eq!(again.number("retry-after"), answer.number("retry-after"));
                    Some(answer.number("retry-after"))
                })
                .await;
                if let Some(wait) = wait {
                    waits.push(wait);
                    pass(Duration::from_secs(u64::try_from(wait).unwrap())).await;
                }
            }
            assert_eq!(waits, [1, 2, 4, 8, 16], "{email}");
        }
        // The longest wait.
        pass(Duration::from_mins(5)).await;
        Browser::new(app).sign_in(ANN, PASSWORD).await.ok(200);
        for _ in 0..5 {
            Browser::new(app).sign_in(ANN, WRONG).await.error(401, "sign_in_failed");
        }
    })
    .await;
}

#[tokio::test]
async fn who_has_signed_in_before_does_not_wait_for_strangers() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        browser.sign_in(ANN, PASSWORD).await.ok(200);
        at_one_moment(async {
            for _ in 0..6 {
                Browser::new(app).sign_in(ANN, WRONG).await;
            }
            Browser::new(app).sign_in(ANN, PASSWORD).await.error(429, "rate_limited");
            browser.sign_in(ANN, PASSWORD).await.ok(200);
            // The cookie of a known browser gives no access, and has its own counter.
            for _ in 0..6 {
                browser.sign_in(ANN, WRONG).await.error(401, "sign_in_failed");
            }
            browser.sign_in(ANN, PASSWORD).await.error(429, "rate_limited");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_namesake_elsewhere_forgives_no_guesses() {
    TestApp::each(config(), async |app| {
        let (theirs, eves) = (app.org("Example Ltd", 0).await, app.org("Eve Ltd", 0).await);
        signed_in(app, &theirs, ANN, MemberRole::Administrator).await;
        // An inviter has the invitation's link, and can set a password for the address.
        let namesake = member(app, &eves, ANN, MemberRole::Contributor).await;
        let path = format!("/app/link#{}", link(app, &namesake).await);
        let known = "a password of eve's own";
        let mut eve = Browser::new(app);
        eve.post(&path, &json!({ "password": known })).await.ok(200);
        at_one_moment(async {
            let mut statuses = Vec::new();
            for _ in 0..4 {
                for _ in 0..2 {
                    statuses.push(eve.sign_in(ANN, WRONG).await.status);
                }
                // With the cookie of a browser that signs in repeatedly.
                statuses.push(eve.sign_in(ANN, known).await.status);
            }
            assert_eq!(statuses, [401, 401, 200, 401, 401, 200, 401, 401, 429, 429, 429, 429]);
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_link_that_is_right_counts_against_nobody() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let bob = member(app, &org, "bob@example.com", MemberRole::Contributor).await;
        let path = format!("/app/link#{}", link(app, &bob).await);
        at_one_moment(async {
            let mut office = Browser::at(app, "2001:db8:1:2::7");
            for _ in 0..40 {
                office.post(&path, &json!({ "password": "short" })).await.error(400, "invalid_request");
            }
            Browser::at(app, "2001:db8:1:2::8").sign_in(ANN, PASSWORD).await.ok(200);
            office.post(&path, &json!({ "password": PASSWORD })).await.ok(200);
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_network_that_tries_many_addresses_waits_too() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        signed_in(app, &org, ANN, MemberRole::Contributor).await;
        at_one_moment(async {
            let mut refused = 0;
            for number in 0..40 {
                let email = format!("nobody{number}@example.com");
                let answer = Browser::at(app, "2001:db8:1:2::7").sign_in(&email, WRONG).await;
                refused += u32::from(answer.status == 429);
            }
            assert_eq!(refused, 9, "thirty are free, and one begins the waiting");
            Browser::at(app, "2001:db8:1:2:ffff::9").sign_in(ANN, PASSWORD).await.error(429, "rate_limited");
            Browser::at(app, "2001:db8:1:3::1").sign_in(ANN, PASSWORD).await.ok(200);
            let mut links = Browser::at(app, "2001:db8:1:2::8");
            links.get("/app/link#made-up").await.error(429, "rate_limited");
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn guesses_at_once_are_no_faster() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let guess = async || Browser::new(app).sign_in(ANN, WRONG).await.status;
        let all = at_one_moment(futures_util::future::join_all((0..30).map(|_| guess()))).await;
        let made = all.iter().filter(|status| **status == 401).count();
        assert_eq!(made, 6, "{all:?}");
    })
    .await;
}
