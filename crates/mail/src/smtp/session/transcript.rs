//! What a server says, reply by reply, for a question whose conversation is to be shown.
//!
//! A session is silent about it unless it was told to [`transcribe`](SmtpSession::transcribe): sessions carry many questions of
//! many customers, and each sees its own part alone.

use super::{DialogStage, Millis, Reply, SmtpSession};
use crate::smtp::reply::Enhanced;

/// The most replies that are kept of a session: an opening and a flight have fewer, and nobody reads more.
const SAID_MAX: usize = 24;

/// One reply of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptReply {
    /// What it answered.
    pub stage: DialogStage,
    /// Its code.
    pub code: u16,
    /// Its enhanced code.
    pub enhanced: Option<Enhanced>,
    /// Its text: printable, at most 512 bytes, not redacted.
    pub text: String,
    /// When it was complete.
    pub at: Millis,
}

impl SmtpSession {
    /// Keeps what the server says from now on, until [`Self::take_transcript`].
    pub fn transcribe(&mut self) {
        self.transcript = Some(Vec::new());
    }

    /// What the server has said since [`Self::transcribe`], in order; nothing more is kept.
    pub fn take_transcript(&mut self) -> Vec<TranscriptReply> {
        self.transcript.take().unwrap_or_default()
    }

    /// Keeps a reply. The answers to RSET and QUIT are left out: they answer no question about anybody.
    pub(super) fn note(&mut self, reply: &Reply, stage: DialogStage, now: Millis) {
        let Some(transcript) = &mut self.transcript else { return };
        if transcript.len() < SAID_MAX && !(stage == DialogStage::Unsolicited && reply.is_positive()) {
            let Reply { code, enhanced, text, .. } = reply;
            transcript.push(TranscriptReply { stage, code: *code, enhanced: *enhanced, text: text.clone(), at: now });
        }
    }
}
