//! Tests of invitations and their links.

use probity_access::secrets::Secrets;
use probity_account::api_key::KeyKind;
use probity_account::id::{OrgId, UserId};
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus, invitations};
use serde_json::{Value, json};

use super::{NOW, USERS, invite, kinds, patch, remove};
use crate::test_app::{Call, PEPPER, TestApp};

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
    assert!(twin.error(409, "conflict").contains("already belongs to a member"));
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

/// Creates an organization with this number of seats, an owner and a key.
async fn with_seats(app: &TestApp, seats: i64) -> (OrgRecord, String) {
    let org =
        OrgRecord { seats_max: Some(seats), ..OrgRecord::new(OrgId::new(NOW, [9; 10]), None, "metered".into(), NOW) };
    let owner = TeamMember {
        id: UserId::new(NOW, [200; 10]),
        is_primary: true,
        role: MemberRole::Administrator,
        email: None,
        ..seatless(&org)
    };
    let made = app.store.write(|tx| {
        async {
            organization::insert(tx, &org).await?;
            users::insert(tx, &owner).await
        }
        .scope_boxed()
    });
    made.await.unwrap();
    let key = app.key(&org, KeyKind::Live).await;
    (org, key)
}

fn seatless(org: &OrgRecord) -> TeamMember {
    TeamMember {
        org: org.no,
        id: UserId::new(NOW, [0; 10]),
        email: None,
        name: None,
        role: MemberRole::Contributor,
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
        // A repeated invitation takes no second seat.
        invite(app, &key, json!({"email": email, "role": "contributor"})).await.ok(201);
        assert_eq!(remove(app, &key, id).await.ok(200), json!({"id": id, "deleted": true}));
        ask(7).await.ok(201);
    })
    .await;
}

#[tokio::test]
async fn a_link_of_before_opens_no_administrator() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let some = app.restricted(&org, MemberRole::Contributor.scopes().iter().chain([Scope::WriteTeam])).await;
    let wish = json!({"email": "new@example.org", "role": "contributor"});
    let invited = async || {
        let made = invite(&app, &some, wish.clone()).await.ok(201);
        let token = made["invitation_url"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
        (made["id"].as_str().unwrap().parse::<UserId>().unwrap(), token)
    };
    let look = async |token: &str| app.send(Call::get("/app/link").header("x-link-token", token)).await;
    let (id, kept) = invited().await;
    patch(&app, &key, id, json!({"name": "Ann"})).await.ok(200);
    look(&kept).await.ok(200);
    patch(&app, &key, id, json!({"role": "administrator"})).await.ok(200);
    look(&kept).await.error(404, "not_found");
    // The link also stops working if its holder lowered the role before another member raised it.
    let (id, kept) = invited().await;
    patch(&app, &some, id, json!({"role": "contributor"})).await.ok(200);
    look(&kept).await.ok(200);
    patch(&app, &key, id, json!({"role": "administrator"})).await.ok(200);
    look(&kept).await.error(404, "not_found");
    app.stop().await;
}
