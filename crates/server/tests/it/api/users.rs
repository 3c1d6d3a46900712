//! `/v1/users`: who is listed, who can be invited, changed and removed, and what an invitation's link is.

use probity_core::api_key::{self, KeyKind};
use probity_core::id::{KeyId, OrgId, SessionId, UserId};
use probity_core::scope::{Scope, Scopes};
use probity_core::time::Millis;
use probity_server::admin::NewKey;
use probity_server::secrets::Secrets;
use probity_server::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::keys::{self, Key};
use probity_store::orgs::{self, Org};
use probity_store::sessions::{self, Session};
use probity_store::users::{self, Role, User, UserStatus, invitations};
use serde_json::{Value, json};

use crate::test_app::{Answer, BRAND, Call, PEPPER, TestApp};

const USERS: &str = "/v1/users";
/// When members of tests were added.
const NOW: Millis = Millis(1_700_000_000_000);

/// Adds a member behind the service's back.
pub(crate) async fn member(app: &TestApp, org: &Org, n: u8, status: UserStatus) -> User {
    let user = User {
        org: org.no,
        id: UserId::new(NOW + i64::from(n), [n; 10]),
        email: Some(format!("member.{n}@example.org")),
        name: None,
        role: Role::Contributor,
        is_primary: false,
        status,
        created_at: NOW + i64::from(n),
    };
    app.store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
    user
}

async fn owner(app: &TestApp, org: &Org) -> User {
    users::primary(&mut app.store.read().await.unwrap(), org.no).await.unwrap()
}

async fn invite(app: &TestApp, key: &str, body: Value) -> Answer {
    app.send(Call::post(USERS, body.to_string()).key(key)).await
}

async fn patch(app: &TestApp, key: &str, id: UserId, body: Value) -> Answer {
    app.send(Call::patch(format!("{USERS}/{id}"), body.to_string()).key(key)).await
}

async fn remove(app: &TestApp, key: &str, id: UserId) -> Answer {
    app.send(Call::new("DELETE", format!("{USERS}/{id}")).key(key)).await
}

/// The organization's newest events of accounts, by kind.
async fn kinds(app: &TestApp, key: &str) -> Vec<String> {
    let shown = app.get(key, "/v1/account/timeline").await;
    assert!(!shown.text().contains('@'), "no address: {}", shown.text());
    let events = shown.ok(200)["events"].as_array().unwrap().clone();
    let kinds = events.iter().filter_map(|event| event["kind"].as_str()).filter(|kind| kind.starts_with("member_"));
    kinds.map(str::to_owned).collect()
}

#[tokio::test]
async fn members_are_listed_the_newest_first_in_pages_of_25() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let owner = owner(app, &org).await;
        let only = app.get(&key, USERS).await.ok(200);
        let expected = json!({
            "id": owner.id, "email": "", "name": null, "role": "administrator", "is_primary": true, "status": "active",
            "created_at": owner.created_at.to_rfc3339(),
        });
        assert_eq!(only, json!({"data": [expected], "pagination": {"has_more": false, "next_cursor": null}}));
        assert_eq!(app.get(&key, &format!("{USERS}/{}", owner.id)).await.ok(200), expected);
        for n in 0..26 {
            member(app, &org, n, UserStatus::ALL[usize::from(n % 3)]).await;
        }
        let first = app.get(&key, USERS).await.ok(200);
        let cursor = first["pagination"]["next_cursor"].as_str().unwrap();
        let rest = app.get(&key, &format!("{USERS}?cursor={cursor}")).await.ok(200);
        assert_eq!((first["data"].as_array().unwrap().len(), rest["data"].as_array().unwrap().len()), (25, 2));
        let all: Vec<&Value> =
            first["data"].as_array().unwrap().iter().chain(rest["data"].as_array().unwrap()).collect();
        assert_eq!(all[0]["is_primary"], true, "made last, by the clock");
        let emails: Vec<_> = all[1..].iter().map(|row| row["email"].as_str().unwrap().to_owned()).collect();
        assert_eq!(emails, (0..26).rev().map(|n| format!("member.{n}@example.org")).collect::<Vec<_>>());
        assert_eq!(all[1]["status"], "invited");
    })
    .await;
}

#[tokio::test]
async fn an_invitation_is_a_link_that_is_shown_once() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let body = json!({"email": " Ann@Example.org ", "name": " Ann ", "role": "contributor"});
    let call = || Call::post(USERS, body.to_string()).key(&key).once("invite-1");
    let invited = app.send(call()).await.ok(201);
    assert_eq!(
        invited,
        json!({
            "id": invited["id"], "email": "Ann@Example.org", "name": "Ann", "role": "contributor", "is_primary": false,
            "status": "invited", "created_at": invited["created_at"], "invitation_url": invited["invitation_url"],
        })
    );
    assert_eq!(app.send(call()).await.ok(201), invited, "a repeated request is answered from the first answer");
    let secrets = Secrets::of(&PEPPER);
    let secret =
        |answer: &Value| answer["invitation_url"].as_str().unwrap().strip_prefix("/#/link/").unwrap().to_owned();
    let look = async |secret: &str| {
        let now = app.now(&org).await;
        invitations::look(&mut app.store.read().await.unwrap(), &secrets.link(secret), now).await.unwrap()
    };
    let first = secret(&invited);
    assert_eq!(look(&first).await.unwrap().user.id.to_string(), invited["id"]);
    app.assert_files_without(&[&first]);

    let again = invite(&app, &key, json!({"email": "ann@example.ORG", "role": "administrator"})).await.ok(201);
    assert_eq!((&again["id"], &again["email"]), (&invited["id"], &invited["email"]));
    assert_eq!((&again["name"], &again["role"]), (&json!("Ann"), &json!("administrator")));
    assert!(look(&first).await.is_none(), "the newest invitation counts");
    let last = secret(&again);
    let hash = secrets.link(&last);
    let now = app.now(&org).await;
    app.store.write(|tx| invitations::redeem(tx, &hash, now).scope_boxed()).await.unwrap();
    assert!(look(&last).await.is_none());
    let member = app.get(&key, &format!("{USERS}/{}", invited["id"].as_str().unwrap())).await.ok(200);
    assert_eq!((&member["status"], &member["invitation_url"]), (&json!("active"), &Value::Null));
    let twin = invite(&app, &key, body).await;
    assert!(twin.error(409, "conflict").contains("is a member already"));
    assert_eq!(kinds(&app, &key).await, ["member_joined", "member_invited", "member_invited"]);
    app.stop().await;
}

#[tokio::test]
async fn a_link_begins_with_where_the_service_is_reached() {
    let mut config = ServiceConfig::default();
    config.api.public_url = Some("https://verify.example.com".into());
    config.api.link_life_ms = 1_000;
    let app = TestApp::with(config).await;
    let (org, key) = app.customer().await;
    let invited = invite(&app, &key, json!({"email": "ann@example.org", "role": "contributor"})).await.ok(201);
    let secret =
        invited["invitation_url"].as_str().unwrap().strip_prefix("https://verify.example.com/#/link/").unwrap();
    let hash = Secrets::of(&PEPPER).link(secret);
    let mut conn = app.store.read().await.unwrap();
    let found = invitations::look(&mut conn, &hash, Millis(0)).await.unwrap().unwrap();
    assert_eq!(found.expires_at, found.user.created_at + 1_000);
    assert_eq!(found.org_id, org.id);
    drop(conn);
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_invitation_is_refused_by_name() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    for (field, body) in [
        ("email", json!({"role": "contributor"})),
        ("email", json!({"email": "", "role": "contributor"})),
        ("email", json!({"email": "ann", "role": "contributor"})),
        ("email", json!({"email": "ann@", "role": "contributor"})),
        ("email", json!({"email": "a b@example.org", "role": "contributor"})),
        ("email", json!({"email": "Ann <ann@example.org>", "role": "contributor"})),
        ("email", json!({"email": format!("{}@example.org", "a".repeat(65)), "role": "contributor"})),
        ("email", json!({"email": null, "role": "contributor"})),
        ("role", json!({"email": "ann@example.org"})),
        ("role", json!({"email": "ann@example.org", "role": "owner"})),
        ("role", json!({"email": "ann@example.org", "role": null})),
        ("name", json!({"email": "ann@example.org", "role": "contributor", "name": " "})),
        ("name", json!({"email": "ann@example.org", "role": "contributor", "name": "a\nb"})),
        ("name", json!({"email": "ann@example.org", "role": "contributor", "name": "x".repeat(201)})),
        ("status", json!({"email": "ann@example.org", "role": "contributor", "status": "active"})),
        ("the body", json!([])),
    ] {
        let message = invite(&app, &key, body.clone()).await.error(400, "invalid_request");
        assert!(message.starts_with(field), "{body}: {message}");
        assert!(!message.contains("ann@example.org"), "{message}");
    }
    for email in ["ann@mail.corp.internal", "ann@intranet.test", "jörg@müller.de", r#""a b"@example.org"#] {
        invite(&app, &key, json!({"email": email, "role": "contributor", "name": null})).await.ok(201);
    }
    app.stop().await;
}

/// An organization with so many seats, its owner and a key.
async fn with_seats(app: &TestApp, seats: i64) -> (Org, String) {
    let org = Org { seats_max: Some(seats), ..Org::new(OrgId::new(NOW, [9; 10]), None, "metered".into(), NOW) };
    let owner = User {
        id: UserId::new(NOW, [200; 10]),
        is_primary: true,
        role: Role::Administrator,
        email: None,
        ..seatless(&org)
    };
    let made = app.store.write(|tx| {
        async {
            orgs::insert(tx, &org).await?;
            users::insert(tx, &owner).await
        }
        .scope_boxed()
    });
    made.await.unwrap();
    let key = app.key(&org, KeyKind::Live).await;
    (org, key)
}

fn seatless(org: &Org) -> User {
    User {
        org: org.no,
        id: UserId::new(NOW, [0; 10]),
        email: None,
        name: None,
        role: Role::Contributor,
        is_primary: false,
        status: UserStatus::Active,
        created_at: NOW,
    }
}

#[tokio::test]
async fn an_invitation_needs_a_seat() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (_, key) = with_seats(app, 2).await;
        let ask = |n: u8| invite(app, &key, json!({"email": format!("a{n}@example.org"), "role": "contributor"}));
        let answers = futures_util::future::join_all((0..6).map(ask)).await;
        let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
        assert_eq!((taken.len(), refused.len()), (1, 5));
        assert!(refused.iter().all(|answer| answer.error(409, "conflict").contains("all 2 seats are taken")));
        let organization = app.get(&key, "/v1/organization").await.ok(200);
        assert_eq!(organization["seats"], json!({"used": 2, "limit": 2}));
        let invited = taken[0].json();
        let (email, id) = (invited["email"].clone(), invited["id"].as_str().unwrap().parse().unwrap());
        // Once more is no second seat.
        invite(app, &key, json!({"email": email, "role": "contributor"})).await.ok(201);
        assert_eq!(remove(app, &key, id).await.ok(200), json!({"id": id, "deleted": true}));
        ask(7).await.ok(201);
    })
    .await;
}

#[tokio::test]
async fn members_are_changed_as_far_as_their_standing_lets() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let owner = owner(&app, &org).await.id;
    let active = member(&app, &org, 1, UserStatus::Active).await.id;
    let invited = member(&app, &org, 2, UserStatus::Invited).await.id;
    for (id, body, conflict) in [
        (active, json!({}), ""),
        (active, json!({"name": " Ann ", "role": "administrator", "status": "paused"}), ""),
        (active, json!({"status": "active"}), ""),
        (active, json!({"name": null}), ""),
        (invited, json!({"role": "administrator", "name": "Bob"}), ""),
        (invited, json!({"status": "active"}), "becomes active by accepting"),
        (invited, json!({"status": "paused"}), "becomes active by accepting"),
        (owner, json!({"name": "Owner", "role": "administrator", "status": "active"}), ""),
        (owner, json!({"role": "contributor"}), "primary user"),
        (owner, json!({"status": "paused"}), "primary user"),
    ] {
        let path = format!("{USERS}/{id}");
        let mut expected = app.get(&key, &path).await.ok(200);
        let answer = patch(&app, &key, id, body.clone()).await;
        if conflict.is_empty() {
            for (field, value) in body.as_object().unwrap() {
                expected[field] = value.as_str().map_or(Value::Null, |text| text.trim().into());
            }
            assert_eq!(answer.ok(200), expected, "{body}");
        } else {
            assert!(answer.error(409, "conflict").contains(conflict), "{body}");
        }
        assert_eq!(app.get(&key, &path).await.ok(200), expected, "{body}");
    }
    for (field, body) in [
        ("email", json!({"email": "other@example.org"})),
        ("is_primary", json!({"is_primary": true})),
        ("name", json!({"name": ""})),
        ("role", json!({"role": null})),
        ("role", json!({"role": "Administrator"})),
        ("status", json!({"status": "invited"})),
        ("status", json!({"status": null})),
    ] {
        let message = patch(&app, &key, active, body.clone()).await.error(400, "invalid_request");
        assert!(message.starts_with(field), "{body}: {message}");
    }
    assert_eq!(kinds(&app, &key).await, vec!["member_changed"; 5], "what is as it was is no change");
    app.stop().await;
}

#[tokio::test]
async fn a_key_that_expires_makes_nobody_who_stays() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let end = Some(app.now(&org).await + 3_600_000);
    let (_, brief) = app.new_key(&org, NewKey { expires_at: end, ..NewKey::plain("Brief", KeyKind::Live) }).await;
    let wish = |email: &str, role: &str| json!({ "email": email, "role": role });
    for role in ["contributor", "administrator"] {
        invite(&app, &brief, wish("eve@example.com", role)).await.error(403, "forbidden_scope");
    }
    let active = member(&app, &org, 1, UserStatus::Active).await.id;
    let paused = member(&app, &org, 2, UserStatus::Paused).await.id;
    patch(&app, &brief, active, json!({ "role": "administrator" })).await.error(403, "forbidden_scope");
    patch(&app, &brief, paused, json!({ "status": "active" })).await.error(403, "forbidden_scope");
    // What takes something away, or gives nothing, it may do.
    patch(&app, &brief, active, json!({ "name": "Ann", "role": "contributor", "status": "active" })).await.ok(200);
    patch(&app, &brief, active, json!({ "status": "paused" })).await.ok(200);
    patch(&app, &key, active, json!({ "status": "active", "role": "administrator" })).await.ok(200);
    patch(&app, &brief, active, json!({ "role": "contributor" })).await.ok(200);
    invite(&app, &key, wish("eve@example.com", "administrator")).await.ok(201);
    app.stop().await;
}

#[tokio::test]
async fn nobody_raises_themselves_by_a_member() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let known = member(&app, &org, 1, UserStatus::Active).await.id;
    let test = app.key(&org, KeyKind::Test).await;
    let some = app.restricted(&org, [Scope::WriteTeam, Scope::ReadTeam]).await;
    let wish = |role: &str| json!({"email": "new@example.org", "role": role});
    for answer in [
        invite(&app, &test, wish("contributor")).await,
        patch(&app, &test, known, json!({"name": "x"})).await,
        remove(&app, &test, known).await,
    ] {
        assert!(answer.error(403, "forbidden_scope").contains("test key"));
    }
    for answer in [
        invite(&app, &some, wish("administrator")).await,
        patch(&app, &some, known, json!({"role": "administrator"})).await,
    ] {
        assert!(answer.error(403, "forbidden_scope").contains("lacks the scope `verify`"));
    }
    app.get(&test, USERS).await.ok(200);
    invite(&app, &some, wish("contributor")).await.ok(201);
    patch(&app, &key, known, json!({"role": "administrator"})).await.ok(200);
    patch(&app, &some, known, json!({"role": "administrator", "name": "as they are"})).await.ok(200);
    patch(&app, &some, known, json!({"role": "contributor"})).await.ok(200);
    app.stop().await;
}

/// A key that belongs to a person, and its text.
pub(crate) async fn key_of(app: &TestApp, user: &User) -> (KeyId, String) {
    let text = api_key::mint(BRAND, KeyKind::Live, [31; 32]);
    let key = Key {
        org: user.org,
        id: KeyId::new(NOW, [31; 10]),
        user: Some(user.id),
        name: "theirs".into(),
        kind: KeyKind::Live,
        scopes: Scopes::all(),
        origins: Vec::new(),
        prefix: String::new(),
        last4: String::new(),
        rate_limit_per_minute: None,
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        last_used_at: None,
    };
    let hash = Secrets::of(&PEPPER).api_key(&text);
    app.store.write(|tx| keys::insert(tx, &key, &hash).scope_boxed()).await.unwrap();
    (key.id, text)
}

#[tokio::test]
async fn who_is_paused_or_removed_is_signed_out_and_their_keys_go_on() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, key) = app.customer().await;
        let owner = owner(app, &org).await;
        let ann = member(app, &org, 1, UserStatus::Active).await;
        let (key_id, theirs) = key_of(app, &ann).await;
        let sign_in = async |n: u8| {
            let (id, client) = (SessionId::new(NOW, [n; 10]), String::new());
            let session = Session { org: org.no, id, user: ann.id, client, created_at: NOW, seen_at: NOW };
            let token = [n; 32];
            app.store.write(|tx| sessions::begin(tx, &session, &token, 10).scope_boxed()).await.unwrap();
        };
        let session = async |n: u8| sessions::by_token(&mut app.store.read().await.unwrap(), &[n; 32]).await.unwrap();
        sign_in(1).await;
        assert!(session(1).await.is_some());
        patch(app, &key, ann.id, json!({"status": "paused"})).await.ok(200);
        patch(app, &key, ann.id, json!({"status": "active"})).await.ok(200);
        assert!(session(1).await.is_none(), "a pause ends sessions for good");
        let account = async || app.get(&theirs, "/v1/account").await.ok(200);
        assert_eq!(account().await["id"], json!(ann.id));
        sign_in(2).await;
        remove(app, &key, ann.id).await.ok(200);
        assert!(session(2).await.is_none());
        remove(app, &key, ann.id).await.error(404, "not_found");
        assert_eq!(account().await["id"], json!(owner.id), "their keys are the primary user's");
        let standing = keys::by_id(&mut app.store.read().await.unwrap(), org.no, key_id).await.unwrap();
        assert_eq!((standing.user, standing.revoked_at), (None, None));
        remove(app, &key, owner.id).await.error(409, "conflict");
        assert_eq!(kinds(app, &key).await, ["member_removed", "member_changed", "member_changed"]);
    })
    .await;
}

#[tokio::test]
async fn another_organizations_members_are_not_there() {
    let app = TestApp::start().await;
    let (_, key) = app.customer().await;
    let (other, theirs) = app.customer().await;
    let stranger = member(&app, &other, 1, UserStatus::Active).await;
    patch(&app, &key, stranger.id, json!({"name": "x"})).await.error(404, "not_found");
    remove(&app, &key, stranger.id).await.error(404, "not_found");
    app.get(&key, &format!("{USERS}/{}", stranger.id)).await.error(404, "not_found");
    // Their address is no secret kept from this organization, and no obstacle.
    invite(&app, &key, json!({"email": stranger.email, "role": "contributor"})).await.ok(201);
    let standing = app.get(&theirs, &format!("{USERS}/{}", stranger.id)).await.ok(200);
    assert_eq!((&standing["name"], &standing["status"]), (&Value::Null, &json!("active")));
    app.stop().await;
}
