//! Tests of links and passwords: access, and that a rejection reveals nothing.

use std::time::Duration;

use probity_access::people::PeopleConfig;
use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use probity_store::accounts::people::passwords::{self, HashCost, Password};
use probity_store::accounts::users::profile::IdentityCheck;
use probity_store::accounts::users::{self, TeamMember, UserStatus};
use probity_store::{ScopedFutureExt as _, Tx};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{CHEAP, PASSWORD, config, link, member, signed_in};
use crate::staff::Plan;
use crate::test_app::{Call, PLENTY, TestApp, pass, real_moment};

/// Returns the number of passwords that the service has hashed.
async fn hashed(app: &TestApp) -> i64 {
    let metrics = app.send(Call::get("/metrics").from("127.0.0.1")).await;
    let line =
        metrics.text().lines().find(|line| line.starts_with("probity_passwords_hashed_total")).unwrap().to_owned();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_link_sets_a_password_once_and_signs_in() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let ann = member(app, &org, "Ann@Example.com", MemberRole::Contributor).await;
        let path = format!("/app/link#{}", link(app, &ann).await);
        let mut browser = Browser::new(app);
        let shown = browser.get(&path).await.ok(200);
        assert_eq!((&shown["kind"], &shown["organization"]), (&json!("password"), &json!("Example Ltd")));
        assert_eq!(shown["email"], "Ann@Example.com");
        browser.post(&path, &json!({ "password": "short" })).await.error(400, "invalid_request");
        browser
            .post(&path, &json!({ "password": PASSWORD, "email": "x@example.com" }))
            .await
            .error(400, "invalid_request");
        assert!(!browser.is_in().await, "nothing of it has been done");

        let answer = browser.post(&path, &json!({ "password": PASSWORD, "name": " Ann " })).await;
        let session = &answer.ok(200)["session"];
        assert_eq!(session["user"]["id"], ann.id.to_string());
        let (name, role) = (&session["user"]["name"], &session["user"]["role"]);
        assert_eq!((name, role), (&json!("Ann"), &json!("contributor")));
        assert_eq!(session["organization"], json!({ "id": org.id, "name": "Example Ltd" }));
        assert_eq!((&session["two_factor"], &session["secure"]), (&json!(false), &json!(true)));
        assert!(browser.is_in().await);

        let mut other = Browser::new(app);
        other.get(&path).await.error(404, "not_found");
        other.post(&path, &json!({ "password": PASSWORD })).await.error(404, "not_found");
        other.sign_in("ann@example.com", PASSWORD).await.ok(200);
        assert!(other.is_in().await);
    })
    .await;
}

#[tokio::test]
async fn the_first_owner_says_their_address() {
    TestApp::each(config(), async |app| {
        let first = app.admin.first_start("My organization", Plan::Unlimited).await.unwrap().unwrap();
        let path = format!("/app/link#{}", first.link.expose_secret());
        let mut browser = Browser::new(app);
        assert_eq!(browser.get(&path).await.ok(200)["email"], json!(null));
        browser.post(&path, &json!({ "password": PASSWORD })).await.error(400, "invalid_request");
        browser.post(&path, &json!({ "password": PASSWORD, "email": "nobody" })).await.error(400, "invalid_request");
        let answer = browser.post(&path, &json!({ "password": PASSWORD, "email": "owner@example.com" })).await.ok(200);
        let user = &answer["session"]["user"];
        assert_eq!((&user["is_primary"], &user["role"]), (&json!(true), &json!("administrator")));
        Browser::new(app).sign_in("OWNER@example.com", PASSWORD).await.ok(200);
        let owner = app.admin.people("owner@example.com").await.unwrap();
        assert_eq!(owner.len(), 1);
        let (_, owner) = &owner[0];
        for identity in [Some(IdentityCheck::Verified), Some(IdentityCheck::Verified), None] {
            app.admin.set_identity(owner, identity).await.unwrap();
        }
        let link = link(app, owner).await;
        let named = json!({ "password": PASSWORD, "name": "Ann Lee" });
        browser.post(&format!("/app/link#{link}"), &named).await.ok(200);
        // Each change is recorded, without its values.
        let shown = browser.get("/app/v1/account/timeline").await.ok(200);
        let told = |event: &Value| {
            let (setting, actor) = (event["setting"].as_str()?.to_owned(), event["actor"]["type"].as_str()?.to_owned());
            assert_eq!((&event["before"], &event["after"]), (&json!("redacted"), &json!("redacted")));
            Some((setting, actor))
        };
        let changes: Vec<_> = shown["events"].as_array().unwrap().iter().filter_map(told).collect();
        let expected = [
            ("account.name", "user"),
            ("account.identity_verified", "staff"),
            ("account.identity_verified", "staff"),
            ("account.email", "user"),
        ];
        assert_eq!(changes, expected.map(|(setting, actor)| (setting.to_owned(), actor.to_owned())));
        let links = shown["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "reset_link_created");
        assert_eq!(links.count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_link_is_over_after_a_day_and_when_there_is_another() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let ann = member(&app, &org, "ann@example.com", MemberRole::Contributor).await;
    let (first, second) = (link(&app, &ann).await, link(&app, &ann).await);
    let mut browser = Browser::new(&app);
    browser.get(&format!("/app/link#{first}")).await.error(404, "not_found");
    browser.get(&format!("/app/link#{second}")).await.ok(200);
    // A token in the path would appear in the logs of proxies, so no route accepts it there.
    browser.get(&format!("/app/links/{second}")).await.error(404, "not_found");
    browser.get("/app/link").await.error(404, "not_found");
    pass(Duration::from_hours(24)).await;
    browser.get(&format!("/app/link#{second}")).await.error(404, "not_found");
    app.stop().await;
}

/// Changes a member, as an administrator or a link does, while the member's password is being hashed.
async fn meanwhile(app: &TestApp, hashed_before: i64, person: &TeamMember, pause: bool) {
    while hashed(app).await == hashed_before {
        real_moment().await;
    }
    let change = async |tx: &mut Tx| {
        if pause {
            return users::write(tx, &TeamMember { status: UserStatus::Paused, ..person.clone() }).await;
        }
        let standing = passwords::of(tx, person.org, person.id).await?.unwrap();
        passwords::set(tx, &Password { hash: [7; 32], ..standing }, person.created_at).await
    };
    app.store.write(|tx| change(tx).scope_boxed()).await.unwrap();
}

#[tokio::test]
async fn what_is_under_way_with_a_password_ends_with_it() {
    let mut slow = config();
    // Slow enough that another act can happen while a password is hashed.
    slow.api.people.cost = HashCost { memory_kib: 19 * 1_024, passes: 40 };
    TestApp::each(slow, async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        for (email, pause) in [("ann@example.com", false), ("bob@example.com", true)] {
            let (person, _) = signed_in(app, &org, email, MemberRole::Contributor).await;
            let before = hashed(app).await;
            let mut late = Browser::new(app);
            let (answer, ()) = tokio::join!(late.sign_in(email, PASSWORD), meanwhile(app, before, &person, pause));
            answer.error(401, "sign_in_failed");
            assert!(!late.is_in().await);
        }
        let (person, mut browser) = signed_in(app, &org, "cat@example.com", MemberRole::Contributor).await;
        let before = hashed(app).await;
        let wish = json!({ "current": PASSWORD, "new": "another horse battery staple" });
        let (answer, ()) = tokio::join!(browser.post("/app/password", &wish), meanwhile(app, before, &person, false));
        answer.error(401, "sign_in_failed");
    })
    .await;
}

#[tokio::test]
async fn every_refusal_is_the_same_after_the_same_work() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        member(app, &org, "without@example.com", MemberRole::Contributor).await;
        let (paused, _) = signed_in(app, &org, "paused@example.com", MemberRole::Contributor).await;
        let paused = TeamMember { status: UserStatus::Paused, ..paused };
        app.store.write(|tx| users::write(tx, &paused).scope_boxed()).await.unwrap();
        let cases = [
            ("a wrong password", "ann@example.com", "wrong horse battery staple"),
            ("an unknown address", "nobody@example.com", PASSWORD),
            ("no password yet", "without@example.com", PASSWORD),
            ("a paused person", "paused@example.com", PASSWORD),
            ("no address", "ann", PASSWORD),
            ("an empty address", "", PASSWORD),
            ("a long address", &"a".repeat(10_000), PASSWORD),
        ];
        let mut expected = None;
        for (case, email, password) in cases {
            let before = hashed(app).await;
            let answer = Browser::new(app).sign_in(email, password).await;
            answer.error(401, "sign_in_failed");
            assert_eq!(hashed(app).await - before, 1, "{case}");
            assert!(!answer.headers.contains_key("set-cookie"), "{case}");
            let answer = answer.without_request();
            assert_eq!(&answer, expected.get_or_insert_with(|| answer.clone()), "{case}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_begins_with_a_fresh_token() {
    TestApp::each(config(), async |app| {
        let org = app.org("Example Ltd", PLENTY).await;
        let (_, attacker) = signed_in(app, &org, "eve@example.com", MemberRole::Contributor).await;
        signed_in(app, &org, "ann@example.com", MemberRole::Contributor).await;
        let planted = attacker.cookies["__Host-probity"].clone();
        // An attacker planted a session or an invented cookie in the browser before its owner signs in.
        for value in [planted, "A".repeat(43)] {
            let mut browser = Browser::new(app);
            browser.cookies.insert("__Host-probity".into(), value.clone());
            let answer = browser.sign_in("ann@example.com", PASSWORD).await;
            assert_eq!(answer.ok(200)["session"]["user"]["email"], "ann@example.com");
            assert_ne!(browser.cookies["__Host-probity"], value);
            let set = answer.header("set-cookie").unwrap();
            for attribute in ["__Host-probity=", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
                assert!(set.contains(attribute), "{set}");
            }
            assert!(!set.contains("Domain"), "{set}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        let mut eve = attacker;
        let session = eve.get("/app/session").await.ok(200);
        assert_eq!(session["user"]["email"], "eve@example.com", "the planted session has not become somebody else's");
    })
    .await;
}

#[tokio::test]
async fn an_address_in_several_organizations_chooses_one() {
    TestApp::each(config(), async |app| {
        let (first, second, third) = (app.org("One", 0).await, app.org("Two", 0).await, app.org("Three", 0).await);
        signed_in(app, &first, "ann@example.com", MemberRole::Contributor).await;
        signed_in(app, &second, "ann@example.com", MemberRole::Administrator).await;
        let ann = member(app, &third, "ann@example.com", MemberRole::Contributor).await;
        let path = format!("/app/link#{}", link(app, &ann).await);
        Browser::new(app).post(&path, &json!({ "password": "quite another password" })).await.ok(200);

        let before = hashed(app).await;
        let mut browser = Browser::new(app);
        let answer = browser.sign_in("ann@example.com", PASSWORD).await.ok(200);
        assert_eq!(hashed(app).await - before, 1, "as many as for one");
        assert_eq!(answer["session"], json!(null));
        let listed = answer["organizations"].as_array().unwrap();
        let mut names: Vec<_> = listed.iter().map(|org| org["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["One", "Two"], "where the password is another, nothing is said");
        assert!(!browser.is_in().await);

        let chosen = |id: String| json!({ "email": "ann@example.com", "password": PASSWORD, "organization": id });
        let answer = browser.post("/app/sign-in", &chosen(second.id.to_string())).await.ok(200);
        assert_eq!(answer["session"]["organization"]["name"], "Two");
        assert_eq!(answer["session"]["user"]["role"], "administrator");
        for other in [third.id.to_string(), "org_none".to_owned()] {
            Browser::new(app).post("/app/sign-in", &chosen(other)).await.error(401, "sign_in_failed");
        }
        let answer = Browser::new(app).sign_in("ann@example.com", "quite another password").await.ok(200);
        assert_eq!(answer["session"]["organization"]["name"], "Three");
    })
    .await;
}

#[tokio::test]
async fn a_password_gets_the_usual_cost_when_it_is_used() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", 0).await;
    let (ann, _) = signed_in(&app, &org, "ann@example.com", MemberRole::Contributor).await;
    let cost = async || {
        let mut conn = app.store.read().await.unwrap();
        passwords::of(&mut conn, org.no, ann.id).await.unwrap().unwrap().cost
    };
    assert_eq!(cost().await, CHEAP);
    let dearer = HashCost { memory_kib: 16, passes: 2 };
    let mut changed = ServiceConfig::default();
    changed.api.people = PeopleConfig { cost: dearer, ..PeopleConfig::default() };
    let beside = app.beside(changed).await;
    Browser::new(&beside).sign_in("ann@example.com", "wrong horse battery staple").await.error(401, "sign_in_failed");
    assert_eq!(cost().await, CHEAP);
    Browser::new(&beside).sign_in("ann@example.com", PASSWORD).await.ok(200);
    assert_eq!(cost().await, dearer);
    Browser::new(&beside).sign_in("ann@example.com", PASSWORD).await.ok(200);
    Browser::new(&app).sign_in("ann@example.com", PASSWORD).await.ok(200);
    beside.stop().await;
    app.stop().await;
}

#[tokio::test]
async fn through_the_open_network_nobody_signs_in() {
    let mut open = config();
    open.api.public_url = Some("http://verify.example.com".into());
    let app = TestApp::with(open).await;
    Browser::new(&app).sign_in("ann@example.com", PASSWORD).await.error(403, "forbidden_scope");
    app.stop().await;
    let mut near = config();
    near.api.public_url = Some("http://192.168.1.5:8080".into());
    let app = TestApp::with(near).await;
    let org = app.org("Example Ltd", 0).await;
    let (_, mut browser) = signed_in(&app, &org, "ann@example.com", MemberRole::Contributor).await;
    assert!(browser.cookies.contains_key("probity"), "{:?}", browser.cookies.keys());
    assert_eq!(browser.get("/app/session").await.ok(200)["secure"], json!(false));
    app.stop().await;
}

#[tokio::test]
async fn nothing_that_opens_something_is_in_the_database_or_the_timeline() {
    let app = TestApp::with(config()).await;
    let org = app.org("Example Ltd", PLENTY).await;
    let ann = member(&app, &org, "ann.canary@example.com", MemberRole::Administrator).await;
    let token = link(&app, &ann).await;
    let mut browser = Browser::at(&app, "203.0.113.77");
    browser.post(&format!("/app/link#{token}"), &json!({ "password": PASSWORD })).await.ok(200);
    browser.sign_in("ann.canary@example.com", PASSWORD).await.ok(200);
    let session = browser.cookies["__Host-probity"].clone();
    let page = browser.token.clone();
    let secret = browser.post("/app/second-factor", &json!({ "current": PASSWORD })).await.ok(200)["secret"]
        .as_str()
        .unwrap()
        .to_owned();
    let timeline = browser.get("/app/v1/account/timeline").await;
    for (hidden, what) in [("ann.canary", "an address"), ("203.0.113.77", "a network"), (&*session, "a token")] {
        assert!(!timeline.text().contains(hidden), "{what} is in {}", timeline.text());
    }
    let kinds: Vec<_> =
        timeline.ok(200)["events"].as_array().unwrap().iter().map(|event| event["kind"].clone()).collect();
    assert!(kinds.contains(&json!("login")) && kinds.contains(&json!("password_changed")), "{kinds:?}");
    app.assert_files_without(&[PASSWORD, &token, &session, &page, &secret, "203.0.113.77"]);
    app.stop().await;
}
