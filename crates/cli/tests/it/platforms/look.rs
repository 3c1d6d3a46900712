//! Direct calls to a platform without its connector, like those of another administrator.

use probity_connectors::{Method, Request, Testing};
use serde_json::Value;

use super::exchange::{now, send};
use super::running::Platform;

impl Platform {
    /// Calls the platform's API with JSON; returns status and response.
    pub(crate) fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(|body| ("application/json", body.to_string()));
        self.call_with(method, path, body)
    }

    /// Calls the platform's API with a form.
    pub(crate) fn call_with_form(&self, method: Method, path: &str, form: &str) -> (u16, Value) {
        self.call_with(method, path, Some(("application/x-www-form-urlencoded", form.to_owned())))
    }

    fn call_with(&self, method: Method, path: &str, body: Option<(&str, String)>) -> (u16, Value) {
        let credentials = self.credentials();
        // The test of the credentials has the right address and headers.
        let test = Testing::new(&self.file, &credentials).request(now()).unwrap();
        let base = match self.file.provider.slug.as_str() {
            "ghost" => "/ghost/api/admin",
            _ => "/3.1",
        };
        let mut headers = test.headers.clone();
        headers.extend(body.iter().map(|(kind, _)| ("Content-Type".to_owned(), (*kind).to_owned())));
        let url = format!("{}{base}{path}", self.entered["url"]);
        let body = body.map(|(_, body)| body.into_bytes());
        let response = send(&Request { method, url, headers, body, ..test });
        (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
    }
}
