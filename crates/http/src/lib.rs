//! HTTP around the service: the API, its document, the dashboard's pages and the widget.
//!
//! A request comes through [`listen`] and [`shell`] (what all answers have in common), `auth` (who calls, and whether they may)
//! and `idempotency` to a handler in [`api`]; `router` is the table of contents. [`person`] is how people come in, with a session
//! in the place of a key. `web` holds the dashboard's files, [`uploads`] the lists that people put up there, [`widget`] what
//! websites
//! put beside their fields. [`service`] puts everything together, [`operator`] is the operator's API, [`desk`] the routes of an
//! organization as the command line asks them.

pub mod api;
pub mod asking;
mod auth;
pub mod body;
mod dashboard;
pub mod desk;
pub mod error;
mod idempotency;
pub mod listen;
pub mod openapi;
pub mod operator;
pub mod ops;
pub mod path;
pub mod peer;
pub mod person;
mod router;
pub mod service;
pub mod shell;
mod submission;
pub mod uploads;
mod web;
pub mod widget;
