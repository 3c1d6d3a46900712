//! Tests of `/v1/users`: list, changes and removal of members.

mod invitations;
mod raising;

use probity_access::secrets::Secrets;
use probity_account::api_key::{self, KeyKind};
use probity_account::id::{KeyId, SessionId, UserId};
use probity_account::scope::Scopes;
use probity_http::service::ServiceConfig;
use probity_mail::time::Millis;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::keys::{self, StoredKey};
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::people::sessions::{self, StoredSession};
use probity_store::accounts::users::{self, MemberRole, TeamMember, UserStatus};
use serde_json::{Value, json};

use crate::test_app::{Answer, BRAND, Call, PEPPER, TestApp};

const USERS: &str = "/v1/users";
/// Time at which test members were added.
const NOW: Millis = Millis(1_700_000_000_000);

/// Adds a member directly to the database.
pub(crate) async fn member(app: &TestApp, org: &OrgRecord, n: u8, status: UserStatus) -> TeamMember {
    let user = TeamMember {
        org: org.no,
        id: UserId::new(NOW + i64::from(n), [n; 10]),
        email: Some(format!("member.{n}@example.org")),
        name: None,
        role: MemberRole::Contributor,
        is_primary: false,
        status,
        created_at: NOW + i64::from(n),
    };
    app.store.write(|tx| users::insert(tx, &user).scope_boxed()).await.unwrap();
    user
}

async fn owner(app: &TestApp, org: &OrgRecord) -> TeamMember {
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

/// Returns the kinds of the organization's newest account events.
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
        (owner, json!({"role": "contributor"}), "the owner"),
        (owner, json!({"status": "paused"}), "the owner"),
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

/// Creates a key that belongs to a user. Returns its ID and its secret.
pub(crate) async fn key_of(app: &TestApp, user: &TeamMember) -> (KeyId, String) {
    let text = api_key::mint(BRAND, KeyKind::Live, [31; 32]);
    let key = StoredKey {
        org: user.org,
        id: KeyId::new(NOW, [31; 10]),
        user: Some(user.id),
        name: "theirs".into(),
        kind: KeyKind::Live,
        scopes: Scopes::all(),
        origins: Vec::new(),
        prefix: String::new(),
        last4: String::new(),
        public_key: None,
        rate_limit_per_minute: None,
        daily_cap: None,
        created_at: NOW,
        expires_at: None,
        revoked_at: None,
        replaced_by: None,
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
            let session = StoredSession { org: org.no, id, user: ann.id, client, created_at: NOW, seen_at: NOW };
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
    // The address of another organization's member is neither confirmed nor an obstacle.
    invite(&app, &key, json!({"email": stranger.email, "role": "contributor"})).await.ok(201);
    let standing = app.get(&theirs, &format!("{USERS}/{}", stranger.id)).await.ok(200);
    assert_eq!((&standing["name"], &standing["status"]), (&Value::Null, &json!("active")));
    app.stop().await;
}
