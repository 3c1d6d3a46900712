//! `GET /v1/organization`: the account that a key belongs to.

pub mod view;
