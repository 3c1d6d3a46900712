//! The widget: who may ask, what is told, what it may cost, and the job that sums a day up.

mod checks;
mod limits;
mod roll_up;
mod script;

use probity_account::api_key::KeyKind;
use probity_service::admin::NewKey;
use probity_store::organization::Org;

use crate::test_app::{Answer, Call, TestApp};

pub(crate) const ORIGIN: &str = "https://shop.example.com";
const HOME: &str = "203.0.113.9";

/// A `pub` key of [`ORIGIN`].
pub(crate) async fn public_key(app: &TestApp, org: &Org, daily_cap: Option<i64>) -> String {
    let wanted = NewKey { origins: vec![ORIGIN.into()], daily_cap, ..NewKey::plain("widget", KeyKind::Pub) };
    app.new_key(org, wanted).await.1
}

/// A visitor of a page of [`ORIGIN`].
#[derive(Clone)]
pub(crate) struct Visitor<'a> {
    pub(crate) app: &'a TestApp,
    pub(crate) key: String,
    pub(crate) origin: &'a str,
    pub(crate) from: String,
}

impl<'a> Visitor<'a> {
    pub(crate) fn new(app: &'a TestApp, key: &str) -> Self {
        Self { app, key: key.to_owned(), origin: ORIGIN, from: HOME.to_owned() }
    }

    fn call(&self, target: String) -> Call {
        Call::get(target).header("origin", self.origin).from(&self.from)
    }

    pub(crate) async fn nonce(&self) -> String {
        self.asks_nonce().await.ok(200)["nonce"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn asks_nonce(&self) -> Answer {
        self.app.send(self.call(format!("/v1/widget/nonce?key={}", self.key))).await
    }

    /// A check with a nonce.
    pub(crate) async fn asks(&self, email: &str, nonce: &str) -> Answer {
        self.app.send(self.call(format!("/v1/widget/verify?key={}&nonce={nonce}&email={email}", self.key))).await
    }

    /// A check with a nonce of its own.
    pub(crate) async fn checks(&self, email: &str) -> Answer {
        let nonce = self.nonce().await;
        self.asks(email, &nonce).await
    }
}

/// What is said of cross-origin reading.
fn readable_by(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}
