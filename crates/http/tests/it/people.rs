//! People in a browser: signing in, sessions, second factors, and the API behind a cookie.

mod api;
mod attempts;
mod browser;
mod cross_site;
mod events;
mod preview;
mod rows;
mod second_factor;
mod sessions;
mod sign_in;
mod sweep;
mod uploads;

use browser::Browser;
use probity_account::id::UserId;
use probity_account::role::Role;
use probity_http::service::ServiceConfig;
use probity_service::people::PeopleConfig;
use probity_store::organization::Org;
use probity_store::passwords::Cost;
use probity_store::users::{self, User, UserStatus};
use probity_store::{ScopedFutureExt as _, Store};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::test_app::TestApp;

/// A password that may be one.
const PASSWORD: &str = "correct horse battery staple";
/// So cheap that tests sign in as often as they like.
const CHEAP: Cost = Cost { memory_kib: 8, passes: 1 };

/// The usual service, with cheap passwords.
pub(crate) fn config() -> ServiceConfig {
    let mut config = ServiceConfig::default();
    config.api.people = PeopleConfig { cost: CHEAP, ..PeopleConfig::default() };
    config
}

/// A member of an organization without a password.
async fn member(app: &TestApp, org: &Org, email: &str, role: Role) -> User {
    let user = User {
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

async fn insert(store: &Store, user: &User) {
    store.write(|tx| users::insert(tx, user).scope_boxed()).await.unwrap();
}

/// Bytes that differ from text to text.
fn rand_bytes(text: &str) -> [u8; 10] {
    let mut bytes = [0; 10];
    for (at, byte) in text.bytes().enumerate() {
        bytes[at % 10] ^= byte.rotate_left(u32::try_from(at / 10).unwrap());
    }
    bytes
}

/// A one-time link for a person.
async fn link(app: &TestApp, user: &User) -> String {
    app.admin.reset_link(user, false).await.unwrap().token.expose_secret().to_owned()
}

/// A member who has set their password, and the browser in which they did.
pub(crate) async fn signed_in<'a>(app: &'a TestApp, org: &Org, email: &str, role: Role) -> (User, Browser<'a>) {
    let user = member(app, org, email, role).await;
    let mut browser = Browser::new(app);
    let token = link(app, &user).await;
    browser.post(&format!("/app/link#{token}"), &json!({ "password": PASSWORD })).await.ok(200);
    (user, browser)
}
