//! Open connections to platforms, kept for a few seconds after a call.
//!
//! A connection belongs to the credentials of one account and to one host, so no response can reach another customer. It is kept
//! only after a complete response. Dropping a connection closes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use probity_engine::clock::EngineClock;
use probity_engine::net::Stream;
use probity_mail::time::Millis;
use tokio::task::AbortHandle;

/// Maximum idle time of a connection, in milliseconds. Servers commonly close idle connections after 5 s or more, and a
/// request sent at that moment is lost.
const IDLE_MS: i64 = 3_000;
/// Maximum lifetime of a connection, in milliseconds, after which a changed DNS name takes effect.
const LIFE_MS: i64 = 60_000;
/// Maximum number of kept connections per credentials and host.
const IDLE_PER_KEY: usize = 16;
/// Maximum number of kept connections.
const IDLE_MAX: usize = 512;
/// Maximum wait for a connection to be ready after a response. It is ready as soon as its task has run.
const READY: Duration = Duration::from_millis(100);
/// Maximum size of a response head, in bytes.
const HEAD_MAX: usize = 64 * 1_024;
/// Maximum number of header fields.
const HEADERS_MAX: usize = 200;

/// HTTP/1.1 connection.
pub(super) struct Link {
    pub to: http1::SendRequest<Full<Bytes>>,
    task: AbortHandle,
    began: Millis,
    /// Whether an earlier call has used it.
    pub is_used: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    /// Starts HTTP on a connection; `None` if that fails.
    pub(super) async fn begin(stream: Box<dyn Stream>, now: Millis) -> Option<Self> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_MAX).max_header_size(HEAD_MAX).max_headers(HEADERS_MAX);
        let (to, connection) = builder.handshake(TokioIo::new(stream)).await.ok()?;
        let task = tokio::spawn(async move {
            // The call reports the same failure.
            let _ = connection.await;
        });
        Some(Self { to, task: task.abort_handle(), began: now, is_used: false })
    }
}

/// Key of the credentials, and origin of a connection.
pub(super) type LinkKey = ([u8; 16], String);

/// Kept connections.
pub(super) struct LinkPool {
    idle: Arc<Mutex<Idle>>,
    clock: EngineClock,
}

#[derive(Default)]
struct Idle {
    links: HashMap<LinkKey, Vec<(Link, Millis)>>,
    count: usize,
    /// Whether a task that closes expired connections is running.
    is_swept: bool,
}

impl LinkPool {
    pub(super) fn new(clock: EngineClock) -> Self {
        Self { idle: Arc::default(), clock }
    }

    /// Takes a connection that the platform has not closed.
    pub(super) fn take(&self, key: &LinkKey) -> Option<Link> {
        let now = self.clock.now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let kept = idle.links.get_mut(key)?;
            let (link, until) = kept.pop()?;
            idle.count -= 1;
            if until > now && link.to.is_ready() {
                return Some(link);
            }
        }
    }

    /// Keeps a connection after a complete response, if the platform keeps it open too.
    pub(super) async fn keep(&self, key: LinkKey, mut link: Link) {
        let is_ready = tokio::time::timeout(READY, link.to.ready()).await;
        if !matches!(is_ready, Ok(Ok(()))) {
            return;
        }
        link.is_used = true;
        let until = (self.clock.now() + IDLE_MS).min(link.began + LIFE_MS);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.count >= IDLE_MAX || idle.links.get(&key).is_some_and(|kept| kept.len() >= IDLE_PER_KEY) {
            return;
        }
        idle.links.entry(key).or_default().push((link, until));
        idle.count += 1;
        if !idle.is_swept {
            idle.is_swept = true;
            tokio::spawn(sweep(Arc::downgrade(&self.idle), self.clock));
        }
    }

    /// Returns the number of kept connections.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).count
    }
}

/// Closes expired connections until none are left.
async fn sweep(idle: Weak<Mutex<Idle>>, clock: EngineClock) {
    loop {
        clock.wait_until(clock.now() + IDLE_MS / 3).await;
        let Some(idle) = idle.upgrade() else { return };
        let now = clock.now();
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.links.retain(|_, kept| {
            kept.retain(|(link, until)| *until > now && !link.to.is_closed());
            !kept.is_empty()
        });
        idle.count = idle.links.values().map(Vec::len).sum();
        if idle.count == 0 {
            idle.is_swept = false;
            return;
        }
    }
}
