//! Test browser: keeps cookies, sends origin headers, and sends the CSRF token of its session.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::test_app::{Answer, Call, TestApp};

/// Browser with one open page.
pub(crate) struct Browser<'a> {
    app: &'a TestApp,
    pub(crate) cookies: BTreeMap<String, String>,
    /// CSRF token of the page.
    pub(crate) token: String,
    from: Option<&'static str>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(app: &'a TestApp) -> Self {
        Self { app, cookies: BTreeMap::new(), token: String::new(), from: None }
    }

    /// Creates a browser whose requests come from this address.
    pub(crate) fn at(app: &'a TestApp, from: &'static str) -> Self {
        Self { from: Some(from), ..Self::new(app) }
    }

    /// Builds a request with this browser's cookies and no other headers of the page. The part after `#` is a link's token:
    /// browsers do not send it, but pages send it in a header.
    pub(crate) fn bare(&self, method: &str, path: &str) -> Call {
        let (path, token) = path.split_once('#').unwrap_or((path, ""));
        let mut call = Call::new(method, path);
        if !token.is_empty() {
            call = call.header("x-link-token", token);
        }
        if let Some(from) = self.from {
            call = call.from(from);
        }
        if self.cookies.is_empty() {
            return call;
        }
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        call.header("cookie", pairs.join("; "))
    }

    /// Builds a request like the dashboard's pages.
    pub(crate) fn call(&self, method: &str, path: &str) -> Call {
        self.bare(method, path).header("sec-fetch-site", "same-origin").header("x-csrf-token", self.token.clone())
    }

    /// Sends a request, and stores cookies and CSRF token of the response.
    pub(crate) async fn send(&mut self, call: Call) -> Answer {
        let answer = self.app.send(call).await;
        for set in answer.headers.get_all("set-cookie") {
            let set = set.to_str().unwrap();
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            if set.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        if let Some(token) = serde_json::from_slice::<Value>(&answer.body).ok().as_ref().and_then(token_in) {
            self.token = token;
        }
        answer
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let call = self.call("GET", path);
        self.send(call).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Answer {
        let call = self.call("POST", path).json(body);
        self.send(call).await
    }

    pub(crate) async fn delete(&mut self, path: &str, body: &Value) -> Answer {
        let call = self.call("DELETE", path).json(body);
        self.send(call).await
    }

    pub(crate) async fn sign_in(&mut self, email: &str, password: &str) -> Answer {
        self.post("/app/sign-in", &json!({ "email": email, "password": password })).await
    }

    /// Returns whether the browser is signed in.
    pub(crate) async fn is_in(&mut self) -> bool {
        let answer = self.get("/app/session").await;
        if answer.status != 200 {
            answer.error(401, "not_signed_in");
        }
        answer.status == 200
    }
}

fn token_in(body: &Value) -> Option<String> {
    let session = if body["session"].is_object() { &body["session"] } else { body };
    session["csrf"].as_str().map(str::to_owned)
}
