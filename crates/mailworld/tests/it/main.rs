//! The simulated internet, asked through raw dialogues.
#![expect(clippy::unwrap_used, reason = "in a test a panic is a failure")]

mod dialects;
mod dialogue;
mod loopback;
mod personalities;
mod runs;
mod sandbox;
mod sandbox_answers;
mod tls;
