//! Test server on loopback, with routes that exercise the shell, and clients that speak to it byte by byte.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use probity_contract::error::ApiError;
use probity_contract::request_id::RequestId;
use probity_engine::clock::EngineClock;
use probity_http::edge::listen::{ListenConfig, Listener, Stopped};
use probity_http::edge::shell::{ShellConfig, shell};
use probity_http::error::Refusal;
use probity_http::handler::Asking;
use probity_http::request::body::{BodyLimit, BodyRules, JsonBody, RawBody};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Time limit that no test should reach.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Size of a response that no socket's buffers hold, in bytes.
pub(crate) const BIG: usize = 64 << 20;

#[derive(Deserialize, Serialize)]
struct Thing {
    name: String,
}

async fn show_thing(Path(id): Path<String>) -> Result<Json<Thing>, Refusal> {
    if id.contains('/') { Err(ApiError::not_found().into()) } else { Ok(Json(Thing { name: id })) }
}

async fn list_things(Asking(query): Asking) -> Result<String, Refusal> {
    Ok(format!("{:?}", query.number("timeout")?))
}

async fn broken() -> Refusal {
    Refusal(ApiError::server_error(std::io::Error::other("the disk is on fire")))
}

async fn panics() -> StatusCode {
    panic!("canary in a panic")
}

/// Returns the body, its first byte in a separate piece.
async fn echo_pieces(RawBody(mut bytes): RawBody) -> impl IntoResponse {
    let length = [(CONTENT_LENGTH, bytes.len().to_string())];
    let pieces = [bytes.split_to(1), bytes].map(Ok::<_, Infallible>);
    (length, Body::from_stream(futures_util::stream::iter(pieces)))
}

fn routes(gate: Arc<Notify>) -> Router {
    Router::new()
        .route("/v1/things", get(list_things).post(async |JsonBody(thing): JsonBody<Thing>| Json(thing)))
        .route("/v1/things/{id}", get(show_thing))
        .route("/v1/maybe", post(async |thing: Option<JsonBody<Thing>>| thing.is_some().to_string()))
        .route("/raw", post(async |RawBody(bytes): RawBody| bytes.len().to_string()))
        .route("/small", post(async |RawBody(bytes): RawBody| bytes.len().to_string()).layer(Extension(BodyLimit(10))))
        .route("/numbers/{n}", get(async |Path(n): Path<u32>| n.to_string()))
        .route("/echo", post(async |RawBody(bytes): RawBody| bytes))
        .route("/echo/pieces", post(echo_pieces))
        .route("/streamed", get(async || Body::from_stream(futures_util::stream::iter([Ok::<_, Infallible>("x")]))))
        .route("/unchanged", get(async || StatusCode::NOT_MODIFIED))
        .route("/ignore", post(async || "ignored"))
        .route("/broken", get(broken))
        .route("/panic", get(panics))
        .route("/teapot", get(async || StatusCode::IM_A_TEAPOT))
        .route("/wait", get(async move || gate.notified().await))
        .route("/never", get(std::future::pending::<()>))
        .route("/big", get(async || "x".repeat(BIG)))
        .route("/cached", get(async || ([("cache-control", "max-age=60")], "kept")))
        .route("/id", get(async |Extension(id): Extension<RequestId>| id.to_string()))
}

/// Limits of a test server.
#[derive(Clone, Default)]
pub(crate) struct Limits {
    pub(crate) shell: ShellConfig,
    pub(crate) listen: ListenConfig,
}

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    /// Admits one request of `/wait` per notification.
    pub(crate) gate: Arc<Notify>,
    pub(crate) stop: CancellationToken,
    task: JoinHandle<Stopped>,
}

impl Served {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let (address, gate, stop) = (listener.address(), Arc::new(Notify::new()), CancellationToken::new());
        let clock = EngineClock::system();
        let routes = shell(routes(Arc::clone(&gate)), limits.shell, clock);
        let task = tokio::spawn(listener.serve(routes, limits.listen, stop.clone()));
        Self { address, gate, stop, task }
    }

    /// Waits for the end after a stop.
    pub(crate) async fn stopped(self) -> Stopped {
        tokio::time::timeout(PATIENCE, self.task).await.expect("the server ends").unwrap()
    }

    pub(crate) async fn connect(&self) -> Client {
        let stream = TcpSocket::new_v4().unwrap().connect(self.address).await.unwrap();
        Client { stream, rest: Vec::new() }
    }

    /// Sends one request on a new connection.
    pub(crate) async fn ask(&self, request: &str) -> Answer {
        let mut client = self.connect().await;
        client.send(request.as_bytes()).await;
        client.answer(request.starts_with("HEAD")).await
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.ask(&format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n")).await
    }

    pub(crate) async fn post(&self, target: &str, headers: &str, body: &str) -> Answer {
        let length = body.len();
        self.ask(&format!("POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n{body}")).await
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.split("\r\n").filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Asserts the error envelope and its headers. Returns its message.
    pub(crate) fn assert_error(&self, status: u16, code: &str, kind: &str) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/json"));
        let envelope: serde_json::Value = serde_json::from_str(&self.body).expect("the envelope is JSON");
        let id = self.assert_common();
        let message = envelope["error"]["message"].as_str().expect("a message").to_owned();
        assert!(!message.is_empty());
        let expected = serde_json::json!({"error": {"code": code, "message": message, "type": kind, "request_id": id}});
        assert_eq!(envelope, expected);
        message
    }

    /// Asserts the headers of every response. Returns the request ID.
    pub(crate) fn assert_common(&self) -> String {
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"));
        assert!(self.header("cache-control").is_some());
        assert_eq!(self.header("access-control-allow-origin"), None);
        assert_eq!(self.header("location"), None);
        let id = self.header("x-request-id").expect("a request id");
        assert!(id.starts_with("req_") && id.len() == 30, "{id}");
        id.to_owned()
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    rest: Vec<u8>,
}

impl Client {
    /// Sends bytes. If the server has closed the connection meanwhile, only its response counts.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    /// Returns the next response. Fails the test if the server closes the connection or sends nothing.
    pub(crate) async fn answer(&mut self, to_head: bool) -> Answer {
        tokio::time::timeout(PATIENCE, self.read_answer(to_head)).await.expect("an answer in time")
    }

    async fn read_answer(&mut self, to_head: bool) -> Answer {
        let end = loop {
            if let Some(end) = self.rest.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
            assert!(self.more().await, "closed without an answer");
        };
        let head = String::from_utf8(self.rest.drain(..end).collect()).unwrap();
        let mut answer = Answer { status: head[9..12].parse().unwrap(), head, body: String::new() };
        let declared = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let length = if to_head { 0 } else { declared };
        while self.rest.len() < length {
            assert!(self.more().await, "closed within an answer");
        }
        answer.body = String::from_utf8(self.rest.drain(..length).collect()).unwrap();
        answer
    }

    async fn more(&mut self) -> bool {
        self.stream.read_buf(&mut self.rest).await.unwrap_or(0) > 0
    }

    /// Reads everything until the server closes the connection. Fails the test if it does not.
    pub(crate) async fn until_closed(mut self) -> String {
        let all = async { while self.more().await {} };
        tokio::time::timeout(PATIENCE, all).await.expect("the server closes");
        String::from_utf8(self.rest).unwrap()
    }
}

/// Returns limits under which bodies must arrive quickly.
pub(crate) fn hasty_bodies() -> Limits {
    let body = BodyRules { stall: Duration::from_millis(50), ..BodyRules::default() };
    Limits { shell: ShellConfig { body, ..ShellConfig::default() }, ..Limits::default() }
}
