//! Socket of a world: HTTP/1.1 on loopback, for any number of connections.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::call::EspCall;
use crate::desk::{Desk, Outcome};

/// Maximum size of a body, in bytes.
const BODY_MAX: usize = 8 << 20;

/// State that all connections share.
#[derive(Clone, Debug)]
pub(crate) struct RequestCounter {
    pub desk: Arc<Mutex<Desk>>,
    pub in_flight: Arc<AtomicUsize>,
    pub latency: Duration,
}

/// Accepts connections until the task is aborted, which closes them.
pub(crate) async fn serve(listener: TcpListener, counter: RequestCounter) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        // Sends small replies without waiting for acknowledgements.
        let _ = stream.set_nodelay(true);
        let counter = counter.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| answer(counter.clone(), request));
            // A broken connection is up to the caller, or an intended fault.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(counter: RequestCounter, request: Request<Incoming>) -> Result<Response<RepeatedBody>, io::Error> {
    let in_flight = counter.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
    let outcome = reply(&counter, request, in_flight).await;
    counter.in_flight.fetch_sub(1, Ordering::SeqCst);
    outcome
}

async fn reply(
    counter: &RequestCounter,
    request: Request<Incoming>,
    in_flight: usize,
) -> Result<Response<RepeatedBody>, io::Error> {
    let call = read(request).await?;
    if !counter.latency.is_zero() {
        tokio::time::sleep(counter.latency).await;
    }
    let outcome = counter.desk.lock().unwrap_or_else(PoisonError::into_inner).answer(&call, in_flight);
    let Outcome::Reply(reply) = outcome else { return Err(io::Error::other("the reply is lost on purpose")) };
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    response.body(RepeatedBody { part: Bytes::from(reply.body), times: reply.times }).map_err(io::Error::other)
}

/// Body that consists of the same part a number of times.
struct RepeatedBody {
    part: Bytes,
    times: u32,
}

impl Body for RepeatedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        self.times -= 1;
        Poll::Ready(Some(Ok(Frame::data(self.part.clone()))))
    }

    fn is_end_stream(&self) -> bool {
        self.times == 0 || self.part.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.part.len() as u64 * u64::from(self.times))
    }
}

async fn read(request: Request<Incoming>) -> Result<EspCall, io::Error> {
    let (head, body) = request.into_parts();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let headers = headers.collect();
    let body = Limited::new(body, BODY_MAX).collect().await.map_err(io::Error::other)?.to_bytes().to_vec();
    Ok(EspCall {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers,
        body,
    })
}
