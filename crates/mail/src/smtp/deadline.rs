//! How long a server may take.
//!
//! Four limits run at once and the earliest counts: silence (no byte at all), the command (one whole reply), the line (a
//! line that was begun) and the session. So a server that says nothing, one that drips bytes, one that drips lines and one
//! that answers each question slowly all come to an end.

use crate::time::Millis;

/// How long a line may take from its first byte to its last: the least progress that counts as one.
const LINE_MS: i64 = 30_000;

/// The times that a server is given, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timeouts {
    /// For the banner, from the open connection on.
    pub banner_ms: i64,
    /// For the reply to one command. In a pipelined flight each reply gives the next one as long again.
    pub command_ms: i64,
    /// For the whole session.
    pub session_ms: i64,
    /// For any byte at all, whatever is being waited for.
    pub read_ms: i64,
}

/// The most that some bytes have completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WireProgress {
    Bytes,
    Line,
    Reply,
}

/// The deadlines of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    /// None before the connection is open and after the end.
    session_until: Option<Millis>,
    wait: Option<Wait>,
    slowest_ms: i64,
}

/// The deadlines of one reply that is due.
#[derive(Clone, Copy, Debug)]
struct Wait {
    allowed_ms: i64,
    reply_until: Millis,
    silent_until: Millis,
    line_until: Option<Millis>,
}

impl Clocks {
    pub(super) fn open(&mut self, now: Millis, timeouts: &Timeouts) {
        self.session_until = Some(now + timeouts.session_ms);
        self.wait(now, timeouts.banner_ms, timeouts);
    }

    /// A reply is due within `allowed_ms`.
    pub(super) fn wait(&mut self, now: Millis, allowed_ms: i64, timeouts: &Timeouts) {
        self.wait = Some(Wait {
            allowed_ms,
            reply_until: now + allowed_ms,
            silent_until: now + timeouts.read_ms,
            line_until: None,
        });
    }

    /// A reply came.
    pub(super) fn replied(&mut self, now: Millis) {
        let took_ms = self.wait.map_or(0, |wait| wait.allowed_ms - wait.reply_until.since(now));
        self.slowest_ms = self.slowest_ms.max(took_ms);
    }

    /// Bytes came that hold `progress`; `inside_line` says that they leave a line unfinished.
    pub(super) fn heard(&mut self, now: Millis, timeouts: &Timeouts, progress: WireProgress, inside_line: bool) {
        let Some(wait) = &mut self.wait else {
            return;
        };
        wait.silent_until = now + timeouts.read_ms;
        if progress == WireProgress::Reply {
            wait.reply_until = now + wait.allowed_ms;
        }
        let begun = if progress == WireProgress::Bytes { wait.line_until } else { None };
        wait.line_until = inside_line.then_some(begun.unwrap_or(now + LINE_MS));
    }

    /// How long the slowest reply took.
    pub(super) fn slowest_ms(&self) -> i64 {
        self.slowest_ms
    }

    /// Nothing is due any more.
    pub(super) fn rest(&mut self) {
        self.wait = None;
    }

    /// The session is over.
    pub(super) fn stop(&mut self) {
        *self = Self::default();
    }

    /// The earliest deadline; the end of time when there is none.
    pub(super) fn earliest(&self) -> Millis {
        let waits = self
            .wait
            .iter()
            .flat_map(|wait| [Some(wait.reply_until), Some(wait.silent_until), wait.line_until].into_iter().flatten());
        self.session_until.into_iter().chain(waits).min().unwrap_or(Millis(i64::MAX))
    }
}
