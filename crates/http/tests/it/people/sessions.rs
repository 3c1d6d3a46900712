//! Tests of sessions: expiry and sign-out, which take effect at once.

use std::time::Duration;

use probity_account::role::MemberRole;
use probity_store::accounts::users::TeamMember;
use serde_json::json;

use super::browser::Browser;
use super::{PASSWORD, config, link, signed_in};
use crate::test_app::{PLENTY, TestApp, pass};

const ANN: &str = "ann@example.com";
const NEW: &str = "a quite different password";

#[tokio::test]
async fn signing_out_ends_the_session_for_every_copy_of_its_cookie() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let mut copy = Browser::new(app);
        copy.cookies = browser.cookies.clone();
        assert!(copy.is_in().await);
        browser.post("/app/sign-out", &json!({})).await.ok(200);
        assert!(!browser.cookies.contains_key("__Host-probity"));
        assert!(!copy.is_in().await);
        browser.post("/app/sign-out", &json!({})).await.error(401, "not_signed_in");
    })
    .await;
}

#[tokio::test]
async fn people_see_and_end_their_sessions() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (_, mut first) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let (_, mut stranger) = signed_in(app, &org, "bob@example.com", MemberRole::Administrator).await;
        let (mut second, mut third) = (Browser::new(app), Browser::new(app));
        let linux = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        let call = second.call("POST", "/app/sign-in").json(&json!({ "email": ANN, "password": PASSWORD }));
        second.send(call.header("user-agent", linux)).await.ok(200);
        third.sign_in(ANN, PASSWORD).await.ok(200);

        let listed = first.get("/app/sessions").await.ok(200);
        let listed = listed["data"].as_array().unwrap();
        assert_eq!(listed.len(), 3);
        let current: Vec<_> = listed.iter().filter(|session| session["current"] == true).collect();
        assert_eq!(current.len(), 1);
        let of_second = listed.iter().find(|session| session["client"] == "Firefox on Linux").unwrap();
        let path = format!("/app/sessions/{}", of_second["id"].as_str().unwrap());
        stranger.delete(&path, &json!({})).await.error(404, "not_found");
        assert!(second.is_in().await);
        first.delete(&path, &json!({})).await.ok(200);
        assert!(!second.is_in().await, "with the next request");
        first.delete(&path, &json!({})).await.error(404, "not_found");

        assert_eq!(first.delete("/app/sessions", &json!({})).await.ok(200)["deleted"], 1);
        assert_eq!((first.is_in().await, third.is_in().await, stranger.is_in().await), (true, false, true));
    })
    .await;
}

#[tokio::test]
async fn a_session_that_is_not_used_ends_and_one_that_is_used_ends_too() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 0).await;
    let (_, mut unused) = signed_in(&app, &org, ANN, MemberRole::Contributor).await;
    let (_, mut busy) = signed_in(&app, &org, "bob@example.com", MemberRole::Contributor).await;
    pass(Duration::from_hours(11)).await;
    assert!(busy.is_in().await);
    pass(Duration::from_mins(61)).await;
    assert!(!unused.is_in().await, "twelve hours without a request");
    for hours in (12..14 * 24 - 11).step_by(11) {
        assert!(busy.is_in().await, "after {hours} hours");
        pass(Duration::from_hours(11)).await;
    }
    pass(Duration::from_hours(11)).await;
    assert!(!busy.is_in().await, "fourteen days after it began");
    app.stop().await;
}

#[tokio::test]
async fn another_password_ends_the_other_sessions_and_renews_this_one() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (ann, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let of_operator = format!("/app/link#{}", link(app, &ann).await);
        let mut elsewhere = Browser::new(app);
        elsewhere.sign_in(ANN, PASSWORD).await.ok(200);
        let mut copy = Browser::new(app);
        copy.cookies = browser.cookies.clone();

        let change = |current: &str, new: &str| json!({ "current": current, "new": new });
        browser.post("/app/password", &change("wrong password", NEW)).await.error(401, "sign_in_failed");
        browser.post("/app/password", &change(PASSWORD, "short")).await.error(400, "invalid_request");
        browser.post("/app/password", &change(PASSWORD, ANN)).await.error(400, "invalid_request");
        assert!(elsewhere.is_in().await && copy.is_in().await);
        browser.get(&of_operator).await.ok(200);
        browser.post("/app/password", &change(PASSWORD, NEW)).await.ok(200);
        browser.get(&of_operator).await.error(404, "not_found");
        assert!(browser.is_in().await);
        assert_eq!((elsewhere.is_in().await, copy.is_in().await), (false, false));
        Browser::new(app).sign_in(ANN, PASSWORD).await.error(401, "sign_in_failed");
        Browser::new(app).sign_in(ANN, NEW).await.ok(200);
        assert_eq!(
            browser.delete("/app/sessions", &json!({})).await.ok(200)["deleted"],
            1,
            "the page has the new token"
        );
    })
    .await;
}

#[tokio::test]
async fn a_link_for_another_password_ends_every_session() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", 0).await;
        let (ann, mut browser) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let path = format!("/app/link#{}", link(app, &ann).await);
        let mut other = Browser::new(app);
        other.post(&path, &json!({ "password": NEW })).await.ok(200);
        assert_eq!((browser.is_in().await, other.is_in().await), (false, true));
    })
    .await;
}

#[tokio::test]
async fn sessions_of_a_person_who_is_removed_are_over() {
    TestApp::each(config(), async |app| {
        use probity_store::ScopedFutureExt as _;
        use probity_store::accounts::users;
        let org = app.org("Example Ltd", PLENTY).await;
        let (ann, mut browser) = signed_in(app, &org, ANN, MemberRole::Administrator).await;
        app.store.write(|tx| users::remove(tx, ann.org, ann.id).scope_boxed()).await.unwrap();
        assert!(!browser.is_in().await);
        browser.get("/app/v1/organization").await.error(401, "not_signed_in");
        Browser::new(app).sign_in(ANN, PASSWORD).await.error(401, "sign_in_failed");
    })
    .await;
}

#[tokio::test]
async fn a_team_sees_when_its_members_were_last_active() {
    TestApp::each(config(), async |app| {
        let (org, other) = (app.org("Example Ltd", 0).await, app.org("Another Ltd", 0).await);
        let (bob, mut his) = signed_in(app, &org, "bob@example.com", MemberRole::Contributor).await;
        signed_in(app, &other, "eve@example.com", MemberRole::Administrator).await;
        pass(Duration::from_hours(2)).await;
        let (ann, mut hers) = signed_in(app, &org, ANN, MemberRole::Contributor).await;
        let seen = hers.get("/app/users/last-uses").await.ok(200);
        let at = |user: &TeamMember| seen[user.id.to_string()].as_str().unwrap().to_owned();
        assert!(at(&bob) < at(&ann), "{seen}");
        assert_eq!(seen.as_object().unwrap().len(), 2, "none of another team: {seen}");
        his.post("/app/sign-out", &json!({})).await.ok(200);
        let seen = hers.get("/app/users/last-uses").await.ok(200);
        assert!(seen.get(bob.id.to_string()).is_none(), "{seen}");
    })
    .await;
}
