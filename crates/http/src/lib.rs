//! HTTP around the service: the API, its document, the dashboard's pages and the widget.
//!
//! A request comes through [`edge::listen`] and [`edge::shell`] (what all answers have in common), `auth` (who calls, and whether
//! they may) and `idempotency` to a handler in [`api`]; [`handler`] is what handlers take and answer; `router` is the table of
//! contents. [`person`] is how people come in, with a session in the place of a key. `web` holds the dashboard's files,
//! `dashboard` what only its pages ask, [`widget`] what websites put beside their fields. [`service`] puts everything together,
//! [`operator`] is the operator's API.

pub mod api;
mod callers;
mod dashboard;
pub mod edge;
pub mod error;
pub mod handler;
pub mod openapi;
pub mod operator;
pub mod person;
pub mod request;
mod router;
pub mod service;
mod web;
pub mod widget;
