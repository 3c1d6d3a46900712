//! Limits the HTTP/2 frames of a client to what its requests justify.
//!
//! hyper answers every PING and SETTINGS frame and accepts every other frame without end: millions of them keep a core busy.
//! Frames therefore cost tokens, which requests, response bytes and time restore. Clients without tokens are cut. Honest
//! clients stay far below: a few frames per request, a few window updates for many kilobytes, a keep-alive PING every few
//! seconds.
//!
//! Only the 9 bytes before each frame are read (RFC 9113 §4.1). DATA frames with content are free, because bodies have their
//! own limits.

/// First bytes of a client that speaks HTTP/2 (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Number of bytes before the content of a frame.
const HEAD: usize = 9;
/// Type of DATA frames.
const DATA: u8 = 0;
/// Type of `RST_STREAM` frames, which cancel a request.
const RESET: u8 = 3;

/// Number of frames in a burst.
const BURST: i64 = 2_000;
/// Frames restored per second.
const PER_SECOND: i64 = 50;
/// Frames restored per request.
const PER_REQUEST: i64 = 10;
/// Cost of a reset, in frames. It exceeds what the request restores; otherwise a client could open and reset streams forever.
const RESET_FRAMES: i64 = 12;
/// Response bytes that restore one frame.
const BYTES_PER_FRAME: i64 = 64;

/// Tokens per frame: thousandths, so that every millisecond restores some.
const FRAME: i64 = 1_000;

/// The client sent more frames than its tokens allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client floods the connection with HTTP/2 frames")]
pub(super) struct Flood;

/// Running totals of a connection that restore tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameTotals {
    pub(super) now_ms: u64,
    /// Number of requests that have begun.
    pub(super) requests: u64,
    /// Number of bytes written to the client.
    pub(super) written: u64,
}

/// Counts the frames of one connection. An HTTP/1 connection has none.
#[derive(Debug)]
pub(super) struct FrameMeter {
    place: Place,
    tokens: i64,
    before: FrameTotals,
}

#[derive(Debug)]
enum Place {
    /// Number of preface bytes read.
    Preface(usize),
    /// Bytes before a frame's content, and how many of them were read.
    Head([u8; HEAD], usize),
    /// Number of bytes of a frame's content still to read.
    Content(usize),
    Http1,
}

impl FrameMeter {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            place: Place::Preface(0),
            tokens: BURST * FRAME,
            before: FrameTotals { now_ms, ..FrameTotals::default() },
        }
    }

    /// Returns whether the client speaks HTTP/1.
    pub(super) fn is_http1(&self) -> bool {
        matches!(self.place, Place::Http1)
    }

    /// Counts the frames in `bytes`. How the stream is cut into pieces does not matter.
    pub(super) fn read(&mut self, mut bytes: &[u8], done: FrameTotals) -> Result<(), Flood> {
        while !bytes.is_empty() {
            let used = match &mut self.place {
                Place::Http1 => return Ok(()),
                Place::Preface(have) => {
                    let used = bytes.len().min(PREFACE.len() - *have);
                    if bytes[..used] != PREFACE[*have..*have + used] {
                        self.place = Place::Http1;
                        return Ok(());
                    }
                    *have += used;
                    if *have == PREFACE.len() {
                        self.place = Place::Head([0; HEAD], 0);
                    }
                    used
                }
                Place::Head(head, have) => {
                    let used = bytes.len().min(HEAD - *have);
                    head[*have..*have + used].copy_from_slice(&bytes[..used]);
                    *have += used;
                    if *have == HEAD {
                        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                        let (length, kind) = (usize::try_from(length).unwrap_or(usize::MAX), head[3]);
                        self.place = Place::Content(length);
                        match kind {
                            DATA if length > 0 => {}
                            RESET => self.pay(RESET_FRAMES, done)?,
                            _ => self.pay(1, done)?,
                        }
                    }
                    used
                }
                Place::Content(left) => {
                    let used = bytes.len().min(*left);
                    *left -= used;
                    used
                }
            };
            if matches!(self.place, Place::Content(0)) {
                self.place = Place::Head([0; HEAD], 0);
            }
            bytes = &bytes[used..];
        }
        Ok(())
    }

    fn pay(&mut self, frames: i64, done: FrameTotals) -> Result<(), Flood> {
        let FrameTotals { now_ms, requests, written } = self.before;
        let since = |now: u64, before: u64| i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX);
        let back = since(done.now_ms, now_ms)
            .saturating_mul(PER_SECOND * FRAME / 1_000)
            .saturating_add(since(done.requests, requests).saturating_mul(PER_REQUEST * FRAME))
            .saturating_add(since(done.written, written).saturating_mul(FRAME / BYTES_PER_FRAME));
        self.before = done;
        self.tokens = self.tokens.saturating_add(back).min(BURST * FRAME) - frames * FRAME;
        if self.tokens < 0 { Err(Flood) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: u8 = 6;
    const SETTINGS: u8 = 4;
    const HEADERS: u8 = 1;
    const WINDOW_UPDATE: u8 = 8;

    fn frame(kind: u8, length: usize) -> Vec<u8> {
        let [.., a, b, c] = length.to_be_bytes();
        [&[a, b, c, kind, 0, 0, 0, 0, 0][..], &vec![0xff; length]].concat()
    }

    /// Returns a meter that has read the preface.
    fn begun() -> FrameMeter {
        let mut meter = FrameMeter::new(0);
        meter.read(PREFACE, FrameTotals::default()).unwrap();
        meter
    }

    /// Returns how many of these frames pass; `done` gives the totals at each frame.
    fn passed(kind: u8, length: usize, most: u64, done: impl Fn(u64) -> FrameTotals) -> u64 {
        let (mut meter, frame) = (begun(), frame(kind, length));
        (0..most).take_while(|n| meter.read(&frame, done(*n)).is_ok()).count() as u64
    }

    #[test]
    fn a_flood_ends_after_a_burst() {
        for (kind, length) in [(PING, 8), (SETTINGS, 0), (SETTINGS, 6), (WINDOW_UPDATE, 4), (DATA, 0), (0xbe, 100)] {
            assert_eq!(passed(kind, length, u64::MAX, |_| FrameTotals::default()), 2_000, "type {kind} of {length}");
        }
        assert!(passed(RESET, 4, u64::MAX, |n| FrameTotals { requests: n, ..FrameTotals::default() }) <= 1_000);
        // Neither hyper's own responses, 17 bytes per PING, nor the time that the flood takes restore enough.
        let flood = |n| FrameTotals { now_ms: n / 800, requests: 0, written: 17 * n };
        assert!(passed(PING, 8, u64::MAX, flood) < 4_000);
    }

    #[test]
    fn what_honest_clients_send_passes_for_ever() {
        let ever = 100_000;
        for (what, kind, length, done) in [
            (
                "a PING each second",
                PING,
                8,
                (|n| FrameTotals { now_ms: n * 1_000, ..FrameTotals::default() }) as fn(u64) -> FrameTotals,
            ),
            ("eight frames for each request", HEADERS, 40, |n| FrameTotals {
                requests: n / 8,
                ..FrameTotals::default()
            }),
            ("a reset of every other request", RESET, 4, |n| FrameTotals { requests: 2 * n, ..FrameTotals::default() }),
            ("two window updates for each KiB", WINDOW_UPDATE, 4, |n| FrameTotals {
                written: n * 512,
                ..FrameTotals::default()
            }),
            ("a body in pieces of a byte", DATA, 1, |_| FrameTotals::default()),
        ] {
            assert_eq!(passed(kind, length, ever, done), ever, "{what}");
        }
    }

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let mut bytes = PREFACE.to_vec();
        for round in 0..500 {
            bytes.extend([frame(PING, 8), frame(DATA, round), frame(SETTINGS, 0), frame(HEADERS, 700)].concat());
        }
        for size in [1, 2, 7, 9, 10, 4_096, bytes.len()] {
            let mut meter = FrameMeter::new(0);
            for piece in bytes.chunks(size) {
                meter.read(piece, FrameTotals::default()).unwrap();
            }
            // 3 frames of each round, and the one DATA frame without content.
            assert_eq!(meter.tokens, (2_000 - 1_501) * FRAME, "pieces of {size}");
        }
    }

    #[test]
    fn http1_has_no_frames() {
        let mut meter = FrameMeter::new(0);
        for _ in 0..10_000 {
            meter.read(b"PRI * HTTP/1.1\r\nhost: x\r\n\r\n", FrameTotals::default()).unwrap();
        }
        assert_eq!(meter.tokens, BURST * FRAME);
    }
}
