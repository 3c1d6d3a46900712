//! Tests of the widget: access, results, limits of its cost, and its daily job.

mod checks;
mod limits;
mod roll_up;
mod script;

use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_store::accounts::organization::OrgRecord;

use crate::test_app::{Answer, Call, TestApp};

pub(crate) const ORIGIN: &str = "https://shop.example.com";
const HOME: &str = "203.0.113.9";

/// Creates a `pub` key for [`ORIGIN`].
pub(crate) async fn public_key(app: &TestApp, org: &OrgRecord, daily_cap: Option<i64>) -> String {
    let wanted = KeyRequest { origins: vec![ORIGIN.into()], daily_cap, ..KeyRequest::plain("widget", KeyKind::Pub) };
    app.new_key(org, wanted).await.1
}

/// Visitor of a page at [`ORIGIN`].
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

    /// Checks an address with this nonce.
    pub(crate) async fn asks(&self, email: &str, nonce: &str) -> Answer {
        self.app.send(self.call(format!("/v1/widget/verify?key={}&nonce={nonce}&email={email}", self.key))).await
    }

    /// Checks an address with a new nonce.
    pub(crate) async fn checks(&self, email: &str) -> Answer {
        let nonce = self.nonce().await;
        self.asks(email, &nonce).await
    }
}

/// Returns the origin that may read the response.
fn readable_by(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}
