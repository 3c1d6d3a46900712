//! The simulated internet, asked through raw dialogues.

mod dialects;
mod dialogue;
mod loopback;
mod personalities;
mod sandbox;
mod tls;
