//! HTTP/2 frames that a client sends, counted against what it gets done.
//!
//! The library below answers every PING and SETTINGS and takes every other frame, without end: millions of them keep a core
//! busy and ask for nothing. So frames cost tokens, which requests, bytes of answers and time bring back. Honest clients stay
//! far below: a request takes a few frames, an answer a few window updates for many kilobytes, and keep-alive is a PING every
//! few seconds. A client without tokens is cut.
//!
//! Only the 9 bytes before each frame are looked at (RFC 9113 §4.1). A DATA frame with something in it is free: bodies have
//! limits of their own.

/// The first bytes of a client that speaks HTTP/2 (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before the content of a frame.
const HEAD: usize = 9;
/// The type of DATA frames.
const DATA: u8 = 0;
/// The type of `RST_STREAM` frames, which take a request back.
const RESET: u8 = 3;

/// Frames that may come at once.
const BURST: i64 = 2_000;
/// Frames that a second brings back.
const PER_SECOND: i64 = 50;
/// Frames that a request brings back.
const PER_REQUEST: i64 = 10;
/// What a reset costs, in frames: more than its request has brought, or asking and taking back could go on for ever.
const RESET_FRAMES: i64 = 12;
/// Bytes of answers that bring a frame back.
const BYTES_PER_FRAME: i64 = 64;

/// A frame, in the tokens that are counted: thousandths, so that a millisecond brings something back.
const FRAME: i64 = 1_000;

/// More frames came than the client gets done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client floods the connection with HTTP/2 frames")]
pub(super) struct Flood;

/// What brings tokens back: running totals of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// Milliseconds of the clock.
    pub(super) now_ms: u64,
    /// Requests that have begun.
    pub(super) requests: u64,
    /// Bytes that the client has taken.
    pub(super) written: u64,
}

/// Counts the frames of one connection. One of HTTP/1 has none.
#[derive(Debug)]
pub(super) struct FrameMeter {
    place: Place,
    tokens: i64,
    before: Done,
}

#[derive(Debug)]
enum Place {
    /// So many bytes of the preface have come.
    Preface(usize),
    /// So many bytes before a frame's content have come.
    Head([u8; HEAD], usize),
    /// So many bytes of a frame's content are still to come.
    Content(usize),
    Http1,
}

impl FrameMeter {
    pub(super) fn new(now_ms: u64) -> Self {
        Self { place: Place::Preface(0), tokens: BURST * FRAME, before: Done { now_ms, ..Done::default() } }
    }

    /// Whether the client speaks HTTP/1.
    pub(super) fn is_http1(&self) -> bool {
        matches!(self.place, Place::Http1)
    }

    /// Counts what has come; how it is cut into pieces changes nothing.
    pub(super) fn read(&mut self, mut bytes: &[u8], done: Done) -> Result<(), Flood> {
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

    fn pay(&mut self, frames: i64, done: Done) -> Result<(), Flood> {
        let Done { now_ms, requests, written } = self.before;
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

    /// A meter behind the preface.
    fn begun() -> FrameMeter {
        let mut meter = FrameMeter::new(0);
        meter.read(PREFACE, Done::default()).unwrap();
        meter
    }

    /// How many of these frames pass when each comes with what is done by then.
    fn passed(kind: u8, length: usize, most: u64, done: impl Fn(u64) -> Done) -> u64 {
        let (mut meter, frame) = (begun(), frame(kind, length));
        (0..most).take_while(|n| meter.read(&frame, done(*n)).is_ok()).count() as u64
    }

    #[test]
    fn a_flood_ends_after_a_burst() {
        for (kind, length) in [(PING, 8), (SETTINGS, 0), (SETTINGS, 6), (WINDOW_UPDATE, 4), (DATA, 0), (0xbe, 100)] {
            assert_eq!(passed(kind, length, u64::MAX, |_| Done::default()), 2_000, "type {kind} of {length}");
        }
        assert!(passed(RESET, 4, u64::MAX, |n| Done { requests: n, ..Done::default() }) <= 1_000);
        // Its own answers, 17 bytes for each PING, do not feed it, and neither does the time that it takes.
        let flood = |n| Done { now_ms: n / 800, requests: 0, written: 17 * n };
        assert!(passed(PING, 8, u64::MAX, flood) < 4_000);
    }

    #[test]
    fn what_honest_clients_send_passes_for_ever() {
        let ever = 100_000;
        for (what, kind, length, done) in [
            ("a PING each second", PING, 8, (|n| Done { now_ms: n * 1_000, ..Done::default() }) as fn(u64) -> Done),
            ("eight frames for each request", HEADERS, 40, |n| Done { requests: n / 8, ..Done::default() }),
            ("a reset of every other request", RESET, 4, |n| Done { requests: 2 * n, ..Done::default() }),
            ("two window updates for each KiB", WINDOW_UPDATE, 4, |n| Done { written: n * 512, ..Done::default() }),
            ("a body in pieces of a byte", DATA, 1, |_| Done::default()),
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
                meter.read(piece, Done::default()).unwrap();
            }
            // 3 of each round, and the one DATA frame without content.
            assert_eq!(meter.tokens, (2_000 - 1_501) * FRAME, "pieces of {size}");
        }
    }

    #[test]
    fn http1_has_no_frames() {
        let mut meter = FrameMeter::new(0);
        for _ in 0..10_000 {
            meter.read(b"PRI * HTTP/1.1\r\nhost: x\r\n\r\n", Done::default()).unwrap();
        }
        assert_eq!(meter.tokens, BURST * FRAME);
    }
}
