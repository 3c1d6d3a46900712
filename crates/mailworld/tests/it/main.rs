//! The simulated internet, asked through raw dialogues.

mod dialogue;
mod loopback;
mod personalities;
mod sandbox;
mod tls;
