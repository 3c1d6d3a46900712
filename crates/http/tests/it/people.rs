//! Tests of members in a browser: sign-in, sessions, two-factor authentication, and the API with a session cookie.

mod api;
mod attempts;
mod browser;
mod changes;
mod cross_site;
mod events;
mod forgotten;
mod keys;
mod languages;
mod lists;
mod mode;
mod preview;
mod requests;
mod rows;
mod second_factor;
mod sessions;
mod sharing;
mod sign_in;
mod sso;
mod sweep;
mod uploads;

use browser::Browser;
use probity_access::people::PeopleConfig;
use probity_account::id::UserId;
use probity_account::role::MemberRole;
use probity_http::service::ServiceConfig;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::people::passwords::HashCost;
use probity_store::accounts::users::{self, TeamMember, UserStatus};
use probity_store::{ScopedFutureExt as _, Store};
use serde_json::json;

use crate::test_app::TestApp;

/// Password that satisfies the rules.
const PASSWORD: &str = "correct horse battery staple";
/// Cheap enough for many sign-ins in tests.
const CHEAP: HashCost = HashCost { memory_kib: 8, passes: 1 };

/// Returns the default configuration with cheap password hashing.
pub(crate) fn config() -> ServiceConfig {
    let mut config = ServiceConfig::default();
    config.api.people = PeopleConfig { cost: CHEAP, ..PeopleConfig::default() };
    config
}

/// Creates a team member without a password.
async fn member(app: &TestApp, org: &OrgRecord, email: &str, role: MemberRole) -> TeamMember {
    let user = TeamMember {
        org: org.no,
        id: UserId::new(org.created_at, rand_bytes(email)),
        email: Some(email.to_owned()),
        name: None,
        role,
        is_primary: false,
        status: UserStatus::Active,
        created_at: org.created_at,
    };
    insert(&app.store, &user).await;
    user
}

async fn insert(store: &Store, user: &TeamMember) {
    store.write(|tx| users::insert(tx, user).scope_boxed()).await.unwrap();
}

/// Returns bytes that depend on the text.
fn rand_bytes(text: &str) -> [u8; 10] {
    let mut bytes = [0; 10];
    for (at, byte) in text.bytes().enumerate() {
        bytes[at % 10] ^= byte.rotate_left(u32::try_from(at / 10).unwrap());
    }
    bytes
}

/// Returns the token of a one-time link for a member.
async fn link(app: &TestApp, user: &TeamMember) -> String {
    app.admin.reset_link(user, false).await.unwrap()
}

/// Creates a member with a password. Returns the member and the browser in which they set it.
pub(crate) async fn signed_in<'a>(
    app: &'a TestApp,
    org: &OrgRecord,
    email: &str,
    role: MemberRole,
) -> (TeamMember, Browser<'a>) {
    let user = member(app, org, email, role).await;
    let mut browser = Browser::new(app);
    let token = link(app, &user).await;
    browser.post(&format!("/app/link#{token}"), &json!({ "password": PASSWORD })).await.ok(200);
    (user, browser)
}
