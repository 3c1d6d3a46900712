//! Replies that matched no rule: each distinct text is logged once, so that rules can be added.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use probity_mail::smtp::reply::Reply;

use crate::locked;
use crate::pace::sources::SourcePool;
use crate::probe::redact::redact;

/// Maximum distinct texts remembered as logged.
const TEXTS_MAX: usize = 1_000;

/// Masked texts that were logged.
pub(crate) struct UnmatchedTexts(Mutex<LruCache<String, ()>>);

impl UnmatchedTexts {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::sparse(NonZeroUsize::new(TEXTS_MAX).expect("not zero"))))
    }

    /// Logs the texts that are new. They are redacted: neither mailboxes nor our own addresses reach a log. Digits are masked,
    /// because queue ids make every text distinct.
    pub(crate) fn note(&self, replies: &[Reply], sources: &SourcePool) {
        for reply in replies {
            let text = redact(reply.text.clone(), sources);
            let masked: String = text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            if locked(&self.0).put(masked.clone(), ()).is_none() {
                tracing::info!(code = reply.code, text = masked, "no rule matches this reply");
            }
        }
    }

    /// Number of distinct texts, and the latest of them.
    pub(crate) fn sample(&self, at_most: usize) -> (usize, Vec<String>) {
        let texts = locked(&self.0);
        (texts.len(), texts.iter().take(at_most).map(|(text, ())| text.clone()).collect())
    }
}
