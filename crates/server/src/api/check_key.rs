//! `GET /v1/check-key`: what a key is good for.

pub mod view;
