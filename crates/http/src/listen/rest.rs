//! What of a request's body nobody has read when its answer is ready: of one with an unknown key, of a list that is too long,
//! of anything while the database is gone.
//!
//! Hyper closes such a connection without a word: a client that keeps it learns that at its next request, and what arrives at
//! a closed socket is answered by a reset, which takes the answer with it where that was not read yet (RFC 9112 §9.6). So a
//! small rest is read and dropped before the answer goes out, and with a large one the answer says that the connection ends.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderValue, Version};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

/// The largest rest that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;
/// How long a rest may take to arrive; the answer waits for it.
const TIME_MAX: Duration = Duration::from_secs(1);

/// Where the body comes back to.
pub(super) struct Rest {
    left: Arc<Mutex<Option<Left>>>,
    /// The client sends the body when it is told to (RFC 9110 §10.1.1), which reading it does.
    on_demand: bool,
}

struct Left {
    body: Incoming,
    begun: bool,
}

/// A body that goes back when it is dropped before its end.
struct Lent {
    left: Option<Left>,
    back: Arc<Mutex<Option<Left>>>,
}

/// The request as the routes get it, and what will be left of its body. HTTP/2 has streams, which end alone.
pub(super) fn lend(request: hyper::Request<Incoming>) -> (axum::extract::Request, Option<Rest>) {
    if request.version() >= Version::HTTP_2 || request.body().is_end_stream() {
        return (request.map(Body::new), None);
    }
    let back = Arc::<Mutex<Option<Left>>>::default();
    let rest = Rest { left: Arc::clone(&back), on_demand: request.headers().contains_key(EXPECT) };
    let request = request.map(|body| Body::new(Lent { left: Some(Left { body, begun: false }), back }));
    (request, Some(rest))
}

impl Rest {
    /// Reads what is left, or has the answer say that the connection ends.
    pub(super) async fn settle<T>(self, answer: &mut hyper::Response<T>) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(left) = left else { return };
        let comes = left.begun || !self.on_demand;
        if !comes || !tokio::time::timeout(TIME_MAX, drain(left.body)).await.unwrap_or(false) {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Whether the body has come to its end.
async fn drain(mut body: Incoming) -> bool {
    let mut bytes = 0;
    loop {
        if bytes + body.size_hint().lower() > BYTES_MAX {
            return false;
        }
        match std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(frame)) => bytes += frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) => return false,
            None => return true,
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(left) = &mut self.left else { return Poll::Ready(None) };
        left.begun = true;
        let frame = std::task::ready!(Pin::new(&mut left.body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.left = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.left.as_ref().is_none_or(|left| left.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.left.as_ref().map_or_else(|| SizeHint::with_exact(0), |left| left.body.size_hint())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(left) = self.left.take().filter(|left| !left.body.is_end_stream()) {
            *self.back.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
        }
    }
}
