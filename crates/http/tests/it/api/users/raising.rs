//! Tests that members cannot give others more permissions than they have themselves.

use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_account::scope::Scope;
use probity_http::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus};
use serde_json::json;

use super::{USERS, invite, member, patch, remove};
use crate::test_app::TestApp;

#[tokio::test]
async fn a_key_that_expires_makes_nobody_who_stays() {
    let app = TestApp::start().await;
    let (org, key) = app.customer().await;
    let end = Some(app.now(&org).await + 3_600_000);
    let (_, brief) =
        app.new_key(&org, KeyRequest { expires_at: end, ..KeyRequest::plain("Brief", KeyKind::Live) }).await;
    let wish = |email: &str, role: &str| json!({ "email": email, "role": role });
    for role in ["contributor", "administrator"] {
        invite(&app, &brief, wish("eve@example.com", role)).await.error(403, "forbidden_scope");
    }
    let active = member(&app, &org, 1, UserStatus::Active).await.id;
    let paused = member(&app, &org, 2, UserStatus::Paused).await.id;
    patch(&app, &brief, active, json!({ "role": "administrator" })).await.error(403, "forbidden_scope");
    patch(&app, &brief, paused, json!({ "status": "active" })).await.error(403, "forbidden_scope");
    // Changes that remove permissions, or add none, are allowed.
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
        assert!(answer.error(403, "forbidden_scope").contains("test mode"));
    }
    for answer in [
        invite(&app, &some, wish("administrator")).await,
        patch(&app, &some, known, json!({"role": "administrator"})).await,
    ] {
        assert!(answer.error(403, "forbidden_scope").contains("it lacks the scopes `verify`, `read:jobs`"));
    }
    app.get(&test, USERS).await.ok(200);
    patch(&app, &key, known, json!({"role": "administrator"})).await.ok(200);
    patch(&app, &some, known, json!({"role": "administrator", "name": "as they are"})).await.ok(200);
    patch(&app, &some, known, json!({"role": "contributor"})).await.ok(200);
    app.stop().await;
}

/// An inviter sees the link, and anyone who opens it gets the role's permissions: to read every list, and spend credits.
#[tokio::test]
async fn a_key_invites_contributors_only_where_it_may_do_what_they_may() {
    let app = TestApp::start().await;
    let (org, live) = app.customer().await;
    let known = member(&app, &org, 1, UserStatus::Active).await.id;
    let team = app.restricted(&org, [Scope::WriteTeam, Scope::ReadTeam]).await;
    let whole: Vec<Scope> = MemberRole::Contributor.scopes().iter().chain([Scope::WriteTeam]).collect();
    let wish = json!({"email": "new@example.org", "role": "contributor"});
    let refused = invite(&app, &team, wish.clone()).await.error(403, "forbidden_scope");
    assert_eq!(
        refused,
        "the key cannot give the role `contributor`: it lacks the scopes `verify`, `read:jobs`, `write:jobs`, \
         `read:account`, `read:reports`, `read:integrations`, `read:webhooks`"
    );
    let blind = app.restricted(&org, whole.iter().copied().filter(|scope| *scope != Scope::ReadJobs)).await;
    let refused = invite(&app, &blind, wish.clone()).await.error(403, "forbidden_scope");
    assert!(refused.ends_with("it lacks the scopes `read:jobs`"), "{refused}");
    let members = app.get(&live, USERS).await.ok(200)["data"].as_array().unwrap().len();
    assert_eq!(members, 2, "nobody was invited");

    let as_much = app.restricted(&org, whole).await;
    let made = invite(&app, &as_much, wish.clone()).await.ok(201);
    invite(&app, &team, wish).await.error(403, "forbidden_scope");
    // The key can remove permissions, but cannot restore ones that it lacks.
    app.get(&team, USERS).await.ok(200);
    patch(&app, &team, known, json!({"name": "Bob"})).await.ok(200);
    patch(&app, &team, known, json!({"status": "paused"})).await.ok(200);
    patch(&app, &team, known, json!({"status": "active"})).await.error(403, "forbidden_scope");
    patch(&app, &as_much, known, json!({"status": "active"})).await.ok(200);
    remove(&app, &team, made["id"].as_str().unwrap().parse().unwrap()).await.ok(200);
    remove(&app, &team, known).await.ok(200);
    app.stop().await;
}

/// Waits until the service has run a statement, without stopping it there.
async fn until_run(app: &TestApp, statement: &str) {
    while !app.service_store.failpoints().has_passed(statement) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_role_is_given_by_how_the_member_stands_then_not_by_how_they_stood() {
    TestApp::each(ServiceConfig::default(), async |app| {
        let (org, _) = app.customer().await;
        let some = app.restricted(&org, [Scope::WriteTeam, Scope::ReadTeam]).await;
        let known = TeamMember { role: MemberRole::Administrator, ..member(app, &org, 1, UserStatus::Invited).await };
        app.store.write(|tx| users::write(tx, &known).scope_boxed()).await.unwrap();
        app.service_store.failpoints().trace();
        // The key's request finds an administrator, and must wait for a transaction that makes the member a contributor.
        let asking = async {
            until_run(app, "accounts::users::LOCK_TEAM").await;
            patch(app, &some, known.id, json!({"role": "administrator"})).await
        };
        let lowering = app.service_store.write(|tx| {
            let lowered = TeamMember { role: MemberRole::Contributor, ..known.clone() };
            async move {
                users::lock_team(tx, lowered.org).await?;
                until_run(app, "accounts::users::BY_ID").await;
                users::write(tx, &lowered).await
            }
            .scope_boxed()
        });
        let (answer, lowered) = tokio::join!(asking, lowering);
        lowered.unwrap();
        answer.error(403, "forbidden_scope");
        let after = users::by_id(&mut app.store.read().await.unwrap(), org.no, known.id).await.unwrap();
        assert_eq!(after.role, MemberRole::Contributor);
    })
    .await;
}
