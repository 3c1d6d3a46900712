//! Request to the service under test.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::{Method, Request};
use probity_http::edge::peer::Peer;

pub(crate) struct Call {
    method: Method,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    peer: Option<SocketAddr>,
}

impl Call {
    pub(crate) fn new(method: &str, target: impl Into<String>) -> Self {
        let method = method.parse().unwrap();
        Self { method, target: target.into(), headers: Vec::new(), body: Vec::new(), peer: None }
    }

    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    /// Creates a POST with a JSON body.
    pub(crate) fn post(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", target) }.header("content-type", "application/json")
    }

    /// Creates a PATCH with a JSON body.
    pub(crate) fn patch(target: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("PATCH", target) }.header("content-type", "application/json")
    }

    /// Adds a JSON body.
    pub(crate) fn json(self, body: &serde_json::Value) -> Self {
        Self { body: body.to_string().into_bytes(), ..self }.header("content-type", "application/json")
    }

    /// Creates a POST with a body of this content type.
    pub(crate) fn with_body(target: impl Into<String>, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new("POST", target) }.header("content-type", kind)
    }

    /// Replaces the body.
    pub(crate) fn bytes(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    pub(crate) fn once(self, idempotency_key: &str) -> Self {
        self.header("idempotency-key", idempotency_key)
    }

    /// Sets the client's address. A request with an address also needs a Host header.
    pub(crate) fn from(mut self, address: &str) -> Self {
        self.peer = Some(SocketAddr::new(address.parse().unwrap(), 50_000));
        self.header("host", "probity.example")
    }

    pub(crate) fn into_request(self) -> Request<Body> {
        let mut request = Request::builder().method(self.method).uri(self.target);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(peer) = self.peer {
            request = request.extension(Peer(peer));
        }
        request.body(Body::from(self.body)).unwrap()
    }
}
