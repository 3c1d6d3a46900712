//! A small HTTP client: one connection, which is opened again when it breaks.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use probity_connectors::{Request, Response};
use probity_mail::time::Millis;
use tokio::net::TcpStream;

/// The connection broke: the platform may have acted.
#[derive(Debug)]
pub(crate) struct LostReply;

/// Calls one world.
pub(crate) struct Wire {
    /// Origin of the world, and the origin that the connector's file names.
    origin: String,
    published: Option<String>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Wire {
    pub(crate) fn new(origin: &str, published: Option<String>) -> Self {
        Self { origin: origin.to_owned(), published, sender: None }
    }

    /// Sends a request, and takes the reply at a time.
    pub(crate) async fn send(&mut self, request: &Request, at: impl Fn() -> i64) -> Result<Response, LostReply> {
        let own = request.url.strip_prefix(&self.origin);
        let target = own.or_else(|| request.url.strip_prefix(self.published.as_deref()?));
        // Tokens come from a host of their own.
        let target = target.or_else(|| request.url.strip_prefix("https://authz.constantcontact.com"));
        let target = target.unwrap_or_else(|| panic!("{} is neither at the platform nor at the world", request.url));
        let mut made = hyper::Request::builder().method(request.method.name()).uri(target);
        for (name, value) in &request.headers {
            made = made.header(name, value);
        }
        made = made.header("Host", self.origin.trim_start_matches("http://"));
        let body = Full::new(Bytes::from(request.body.clone().unwrap_or_default()));
        let made = made.body(body).unwrap_or_else(|error| panic!("{target}: {error}"));
        let Ok(response) = self.sender().await.send_request(made).await else {
            self.sender = None;
            return Err(LostReply);
        };
        let status = response.status().as_u16();
        let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let (body, is_cut) = read(response.into_body(), request.body_max).await?;
        if is_cut {
            self.sender = None;
        }
        Ok(Response { status, headers, body, is_cut, at: Millis(at()) })
    }

    async fn sender(&mut self) -> &mut SendRequest<Full<Bytes>> {
        let is_open = match &mut self.sender {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !is_open {
            self.sender = Some(connect(self.origin.trim_start_matches("http://")).await);
        }
        self.sender.as_mut().unwrap()
    }
}

/// Reads a body up to a size, and says whether more follows.
async fn read(mut body: Incoming, at_most: u64) -> Result<(Vec<u8>, bool), LostReply> {
    let mut taken = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| LostReply)?.into_data() else { continue };
        taken.extend_from_slice(&data);
        if taken.len() as u64 > at_most {
            return Ok((taken, true));
        }
    }
    Ok((taken, false))
}

#[expect(clippy::disallowed_methods, reason = "a test client on loopback")]
async fn connect(host: &str) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(host).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}
