//! HTTP around the service: the API with its OpenAPI document, the dashboard's pages, and the widget.
//!
//! A request passes [`edge::listen`] and [`edge::shell`] (the common parts of all responses), `auth` (identity and permissions)
//! and `idempotency` to a handler in [`api`]; [`handler`] has the extractors and response types, `router` the list of routes.
//! [`person`] has sign-in and sessions, which replace keys in the dashboard. `web` serves the dashboard's files, `dashboard` the
//! routes for its pages only, [`widget`] the widget for other websites. [`service`] assembles everything; [`operator`] is the
//! operator's API.

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
