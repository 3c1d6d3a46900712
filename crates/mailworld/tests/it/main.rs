//! The simulated internet, asked through raw dialogues.

mod dialogue;
mod personalities;
