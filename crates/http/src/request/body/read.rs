//! Reads a body completely: never more than the limit, never slower than the rules allow.
//!
//! Reading fails after `stall` without progress, which catches dead clients. It also fails after `grace` plus one second for
//! every `bytes_per_s` bytes received, which catches slow-drip attacks. An honest slow connection has the time that its bytes
//! need. The request's deadline does not run while its body is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use probity_contract::error::{ApiError, Code};
use probity_engine::clock::EngineClock;

use crate::error::Refusal;

/// Maximum size reserved because of a Content-Length, in bytes. A larger body still grows the buffer as it arrives.
const RESERVE_BYTES_MAX: usize = 1 << 20;

/// Limits of request bodies.
#[derive(Clone, Copy, Debug)]
pub struct BodyRules {
    /// Maximum size in bytes, unless the route has its own limit.
    pub limit_bytes: usize,
    /// Maximum pause between two pieces.
    pub stall: Duration,
    /// Time that every body may take, however small.
    pub grace: Duration,
    /// Number of received bytes that add one second.
    pub bytes_per_s: u32,
}

impl Default for BodyRules {
    fn default() -> Self {
        let (stall, grace) = (Duration::from_secs(10), Duration::from_mins(1));
        Self { limit_bytes: 1 << 20, stall, grace, bytes_per_s: 64 << 10 }
    }
}

impl BodyRules {
    /// Returns the time that a body may have taken when `received` bytes have arrived.
    fn allowed(&self, received: usize) -> Duration {
        let received = u64::try_from(received).unwrap_or(u64::MAX);
        let rate = u64::from(self.bytes_per_s.max(1));
        self.grace + Duration::from_millis(received.saturating_mul(1_000) / rate)
    }
}

/// Progress of reading one request's body; clones share it.
#[derive(Clone)]
pub(crate) struct BodyReading(Arc<CappedBody>);

struct CappedBody {
    rules: BodyRules,
    clock: EngineClock,
    /// Time at which reading began, in milliseconds of the clock plus one; 0 until then.
    began: AtomicU64,
    /// Time at which reading ended, in the same unit; 0 until then.
    ended: AtomicU64,
}

impl BodyReading {
    pub(crate) fn new(rules: BodyRules, clock: EngineClock) -> Self {
        Self(Arc::new(CappedBody { rules, clock, began: AtomicU64::new(0), ended: AtomicU64::new(0) }))
    }

    /// Creates the reading of an empty body.
    pub(crate) fn of_nothing() -> Self {
        Self::new(BodyRules::default(), EngineClock::system())
    }

    pub(crate) fn rules(&self) -> &BodyRules {
        &self.0.rules
    }

    /// Returns the time spent reading so far.
    pub(crate) fn spent(&self) -> Duration {
        let began = self.0.began.load(Ordering::Relaxed);
        if began == 0 {
            return Duration::ZERO;
        }
        let ended = match self.0.ended.load(Ordering::Relaxed) {
            0 => self.mark(),
            ended => ended,
        };
        Duration::from_millis(ended.saturating_sub(began))
    }

    /// Reads the whole body. Dropping the future stops reading.
    pub(crate) async fn whole(&self, body: Body, limit: usize) -> Result<Bytes, Refusal> {
        let mut pieces = self.pieces(body, limit)?;
        let (mut first, mut all) = (Bytes::new(), BytesMut::new());
        while let Some(data) = pieces.next().await? {
            if pieces.received == data.len() {
                first = data;
                continue;
            }
            if all.is_empty() {
                let rest = usize::try_from(pieces.body.size_hint().lower()).unwrap_or(usize::MAX);
                all.reserve(pieces.received.saturating_add(rest).min(RESERVE_BYTES_MAX));
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&data);
        }
        // Nearly every body arrives in one piece, which is not copied.
        Ok(if all.is_empty() { first } else { all.freeze() })
    }

    /// Returns the body in pieces, for bodies that are too large for memory.
    pub(crate) fn pieces(&self, body: Body, limit: usize) -> Result<BodyChunks, Refusal> {
        let declared = body.size_hint().lower();
        if usize::try_from(declared).map_or(true, |declared| declared > limit) {
            return Err(ApiError::payload_too_large(limit).into());
        }
        self.0.began.store(self.mark(), Ordering::Relaxed);
        Ok(BodyChunks { reading: self.clone(), body, limit, received: 0, began: self.0.clock.elapsed() })
    }

    fn mark(&self) -> u64 {
        u64::try_from(self.0.clock.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1
    }
}

/// Body that is being read. Reading ends when this is dropped.
pub(crate) struct BodyChunks {
    reading: BodyReading,
    body: Body,
    limit: usize,
    received: usize,
    began: Duration,
}

impl BodyChunks {
    /// Returns the next nonempty piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        let inner = &self.reading.0;
        loop {
            let taken = inner.clock.elapsed().saturating_sub(self.began);
            let patience = inner.rules.allowed(self.received).saturating_sub(taken).min(inner.rules.stall);
            let frame = match tokio::time::timeout(patience, self.body.frame()).await {
                Err(_) => return Err(ApiError::of(Code::RequestTimeout).into()),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => {
                    return Err(ApiError::invalid_request("the body is incomplete; send it again").into());
                }
                Ok(Some(Ok(frame))) => frame,
            };
            // Trailers are ignored.
            let Ok(data) = frame.into_data() else { continue };
            if data.len() > self.limit - self.received {
                return Err(ApiError::payload_too_large(self.limit).into());
            }
            self.received += data.len();
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }
}

impl Drop for BodyChunks {
    fn drop(&mut self) {
        self.reading.0.ended.store(self.reading.mark(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use probity_mail::time::Millis;

    use super::*;

    /// Returns a body whose pieces each arrive after a pause.
    fn dripping(pieces: usize, size: usize, pause: Duration) -> Body {
        Body::from_stream(stream::unfold(0, move |sent| async move {
            if sent == pieces {
                return None;
            }
            tokio::time::sleep(pause).await;
            Some((Ok::<_, Infallible>(Bytes::from(vec![b'x'; size])), sent + 1))
        }))
    }

    fn reading() -> BodyReading {
        BodyReading::new(BodyRules::default(), EngineClock::starting_at(Millis(0)))
    }

    async fn read(body: Body, limit: usize) -> Result<usize, Code> {
        reading().whole(body, limit).await.map(|bytes| bytes.len()).map_err(|error| error.code())
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_is_given_up() {
        assert_eq!(read(dripping(2, 10, 9 * SECOND), 100).await, Ok(20));
        assert_eq!(read(dripping(2, 10, 11 * SECOND), 100).await, Err(Code::RequestTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_given_up_after_its_grace() {
        assert_eq!(read(dripping(59, 1, SECOND), 1_000).await, Ok(59));
        assert_eq!(read(dripping(62, 1, SECOND), 1_000).await, Err(Code::RequestTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_has_the_time_that_its_bytes_need() {
        let half = 32 << 10;
        // At half the minimum rate, each piece adds half a second but takes a whole one, so the grace is used up after 120 s.
        assert_eq!(read(dripping(119, half, SECOND), 64 << 20).await, Ok(119 * half));
        assert_eq!(read(dripping(122, half, SECOND), 64 << 20).await, Err(Code::RequestTimeout));
        let enough = 64 << 10;
        assert_eq!(read(dripping(1_000, enough, SECOND), 64 << 20).await, Ok(1_000 * enough));
    }

    #[tokio::test]
    async fn the_limit_holds_with_and_without_a_declared_length() {
        assert_eq!(read(Body::from(vec![0; 100]), 100).await, Ok(100));
        assert_eq!(read(Body::from(vec![0; 101]), 100).await, Err(Code::PayloadTooLarge));
        assert_eq!(read(dripping(10, 10, Duration::ZERO), 100).await, Ok(100));
        assert_eq!(read(dripping(usize::MAX, 10, Duration::ZERO), 100).await, Err(Code::PayloadTooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_reading_is_counted_and_stops_at_the_end() {
        let reading = reading();
        assert_eq!(reading.spent(), Duration::ZERO);
        reading.whole(dripping(3, 1, SECOND), 100).await.unwrap();
        tokio::time::advance(5 * SECOND).await;
        assert_eq!(reading.spent(), 3 * SECOND);
    }
}
