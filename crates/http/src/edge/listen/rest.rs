//! Handles the unread rest of a request body when the response is ready, as after an unknown key or an overlong list.
//!
//! Hyper would close such a connection silently. A client that keeps the connection would notice at its next request. The
//! client's data would arrive at a closed socket and cause a reset, which discards an unread response (RFC 9112 §9.6). A small
//! rest is therefore read and dropped before the response is sent. For a large one, the response announces the end of the
//! connection.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, EXPECT};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

/// Maximum size of a rest that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;
/// Time limit for reading a rest; the response waits for it.
const TIME_MAX: Duration = Duration::from_secs(1);

/// Handle to the rest of a request body.
pub(super) struct Rest {
    left: Arc<Mutex<Option<RestOfBody>>>,
    /// Whether the client waits for `100 Continue` before sending the body (RFC 9110 §10.1.1). Reading the body sends it.
    on_demand: bool,
}

struct RestOfBody {
    body: Incoming,
    begun: bool,
}

/// Body that returns its rest if it is dropped before its end.
struct LentBody {
    left: Option<RestOfBody>,
    back: Arc<Mutex<Option<RestOfBody>>>,
}

/// Splits a request into the request for the routes and the handle to its body's rest.
pub(super) fn lend(request: hyper::Request<Incoming>) -> (axum::extract::Request, Option<Rest>) {
    if request.body().is_end_stream() {
        return (request.map(Body::new), None);
    }
    let back = Arc::<Mutex<Option<RestOfBody>>>::default();
    let rest = Rest { left: Arc::clone(&back), on_demand: request.headers().contains_key(EXPECT) };
    let request = request.map(|body| Body::new(LentBody { left: Some(RestOfBody { body, begun: false }), back }));
    (request, Some(rest))
}

impl Rest {
    /// Reads the rest, or makes the response announce the end of the connection.
    pub(super) async fn settle<T>(self, answer: &mut hyper::Response<T>) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(left) = left else { return };
        let comes = left.begun || !self.on_demand;
        if !comes || !tokio::time::timeout(TIME_MAX, drain(left.body)).await.unwrap_or(false) {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Reads to the end. Returns false if the body is too large or broken.
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

impl HttpBody for LentBody {
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

impl Drop for LentBody {
    fn drop(&mut self) {
        if let Some(left) = self.left.take().filter(|left| !left.body.is_end_stream()) {
            *self.back.lock().unwrap_or_else(PoisonError::into_inner) = Some(left);
        }
    }
}
