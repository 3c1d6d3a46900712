//! Socket of one connection, below hyper. Records times in the [pulse](super::pulse), counts [frames](super::frames), and
//! replaces hyper's own rejections with our [envelope](super::refusal).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Router;
use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::edge::listen::frames::FrameMeter;
use crate::edge::listen::pulse::Pulse;
use crate::edge::listen::refusal;

/// Maximum number of bytes that are read and dropped after a rejection. Closing a socket while more data arrives would reset
/// it, which discards a rejection that the client has not read yet (RFC 9112 §9.6).
const REST_MAX: usize = 1 << 20;

pub(super) struct WireStream {
    stream: TcpStream,
    pulse: Arc<Pulse>,
    frames: FrameMeter,
    /// Routes that build the rejections.
    routes: Router,
    /// Number of requests completed when all data written so far was flushed. Anything that hyper writes before the next
    /// request begins is its own rejection.
    answered: Option<u64>,
    refused: Option<Refused>,
}

/// Rejection that ends a connection.
struct Refused {
    /// Bytes that are not sent yet.
    left: Bytes,
    /// Number of bytes received since and dropped.
    dropped: usize,
    shut: bool,
}

impl WireStream {
    pub(super) fn new(stream: TcpStream, pulse: Arc<Pulse>, routes: Router) -> Self {
        let frames = FrameMeter::new(pulse.done().now_ms);
        Self { stream, pulse, frames, routes, answered: Some(0), refused: None }
    }

    /// Returns whether hyper rejects a request with these bytes. If so, ours are sent instead.
    fn refuses(&mut self, bytes: &[io::IoSlice<'_>]) -> bool {
        if !self.frames.is_http1() || self.answered.is_none() || self.answered != self.pulse.at_rest() {
            return false;
        }
        let theirs = bytes.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<u8>>();
        let Some(ours) = refusal::instead_of(&theirs, &self.routes) else { return false };
        self.refused = Some(Refused { left: ours.into(), dropped: 0, shut: false });
        true
    }

    /// Records the outcome of a write.
    fn wrote(&self, cx: &mut Context<'_>, poll: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match poll {
            Poll::Ready(Ok(bytes @ 1..)) => self.pulse.written(bytes),
            Poll::Ready(_) => {}
            Poll::Pending => {
                self.pulse.blocked();
                let mut byte = [0];
                if let Poll::Ready(Ok(1..)) = self.stream.poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
                    self.pulse.sent_ahead();
                }
            }
        }
        poll
    }

    /// Sends the rest of a rejection.
    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(refused) = self.refused.as_mut().filter(|refused| !refused.left.is_empty()) {
            let poll = Pin::new(&mut self.stream).poll_write(cx, &refused.left);
            if let Poll::Ready(Ok(bytes)) = &poll {
                if *bytes == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                refused.left.advance(*bytes);
            }
            ready!(self.wrote(cx, poll))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for WireStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let poll = Pin::new(&mut this.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            this.pulse.read();
            if let Err(flood) = this.frames.read(&buf.filled()[before..], this.pulse.done()) {
                tracing::info!(%flood, "closed a connection");
                return Poll::Ready(Err(io::Error::other(flood)));
            }
        }
        poll
    }
}

impl AsyncWrite for WireStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(data)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.refuses(data) {
            return Poll::Ready(Ok(data.iter().map(|slice| slice.len()).sum()));
        }
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.wrote(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        // Hyper flushes when its buffer is empty.
        self.answered = self.pulse.at_rest();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        let this = &mut *self;
        let Some(refused) = &mut this.refused else { return Pin::new(&mut this.stream).poll_shutdown(cx) };
        if !refused.shut {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            refused.shut = true;
        }
        let mut bytes = [0; 4_096];
        while refused.dropped < REST_MAX {
            let mut buf = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut buf))?;
            if buf.filled().is_empty() {
                break;
            }
            refused.dropped += buf.filled().len();
        }
        Poll::Ready(Ok(()))
    }
}
