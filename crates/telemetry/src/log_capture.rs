//! Capture of the log in tests, to check that it contains nothing forbidden.
//!
//! A canary is a text that occurs nowhere else: an address, a key, a query string. It is searched as it is and in every form in
//! which it could be logged: in other case, percent-encoded, base64, hex.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::log::{JsonLines, levels};

/// Captured log.
#[derive(Clone, Default)]
pub struct Capture(Arc<Mutex<Vec<u8>>>);

impl Capture {
    /// Captures what this thread logs, in the service's form, until the guard is dropped. Tests of asynchronous code run on one
    /// thread.
    pub fn start(level: LevelFilter) -> (Self, DefaultGuard) {
        heed_threads();
        let capture = Self::default();
        let layer = JsonLines::new(capture.clone()).with_filter(levels(level));
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        (capture, guard)
    }

    /// Returns the log so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Returns the canaries that were logged in any form, each with its line.
    pub fn found(&self, canaries: &[&str]) -> Vec<(String, String)> {
        let text = self.text();
        let line_with = |canary: &str| text.lines().find(|line| holds(line.as_bytes(), canary)).map(str::to_owned);
        canaries.iter().filter_map(|canary| Some(((*canary).to_owned(), line_with(canary)?))).collect()
    }

    /// Fails the test if a canary was logged, or if nothing was: an empty capture proves nothing.
    #[track_caller]
    pub fn assert_without(&self, canaries: &[&str]) {
        assert!(!self.text().is_empty(), "nothing was logged, so nothing is shown");
        let found = self.found(canaries);
        assert!(found.is_empty(), "logged: {found:#?}");
    }
}

/// Makes subscribers of single threads reliable. With only one subscriber, `tracing` asks the first thread at a call site
/// whether it is enabled, and keeps the result for all threads. A thread without a subscriber would silence the call site for
/// the thread that has one. A second subscriber, which records nothing, prevents that.
pub fn heed_threads() {
    static SECOND: OnceLock<Dispatch> = OnceLock::new();
    SECOND.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
}

/// Returns whether bytes (a file, a response, a line) contain a canary in any form.
pub fn holds(bytes: &[u8], canary: &str) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    forms(canary).iter().any(|form| text.contains(&form.to_lowercase()))
}

fn forms(canary: &str) -> Vec<String> {
    let hex = probity_store::hex(canary.as_bytes());
    let percent = utf8_percent_encode(canary, NON_ALPHANUMERIC).to_string();
    let mut forms = vec![canary.to_owned(), percent, hex];
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|shift| within_base64(engine, canary, shift)));
    }
    forms
}

/// Returns the base64 of a text that begins `shift` bytes after a group of 3. Omits the characters at both ends that depend on
/// neighboring bytes.
fn within_base64(engine: &GeneralPurpose, text: &str, shift: usize) -> String {
    let bytes = [&[0; 2][..shift], text.as_bytes()].concat();
    let encoded = engine.encode(&bytes);
    let (begin, cut) = ((shift * 8).div_ceil(6), usize::from(!bytes.len().is_multiple_of(3)));
    encoded[begin..encoded.len() - cut].to_owned()
}

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Capture {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_found_in_every_form() {
        let canary = "canary+7@leak.example";
        for said in [
            "to canary+7@leak.example.".to_owned(),
            "CANARY+7@LEAK.EXAMPLE".to_owned(),
            "/v1/verify?email=canary%2B7%40leak%2Eexample".to_owned(),
            format!("cursor {}", STANDARD_NO_PAD.encode(canary)),
            format!("cursor {}", STANDARD_NO_PAD.encode(format!("1{canary}2"))),
            format!("cursor {}", URL_SAFE_NO_PAD.encode(format!("[\"{canary}\"]"))),
            format!("raw {}", probity_store::hex(canary.as_bytes()).to_uppercase()),
        ] {
            let (capture, guard) = Capture::start(LevelFilter::INFO);
            tracing::info!(said, "something");
            drop(guard);
            assert_eq!(capture.found(&["other", canary]).len(), 1, "{said}");
        }
        let (capture, guard) = Capture::start(LevelFilter::INFO);
        tracing::info!("nothing of the kind");
        drop(guard);
        capture.assert_without(&[canary]);
    }

    #[test]
    #[should_panic(expected = "nothing was logged")]
    fn silence_is_no_proof() {
        Capture::default().assert_without(&["canary"]);
    }
}
