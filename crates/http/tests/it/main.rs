//! Tests the service from outside, over sockets like clients and attackers, and in process.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod admin;
mod api;
mod auth;
mod bodies;
mod canary;
mod credits;
mod envelope;
mod erasures;
mod idempotency;
mod limits;
mod logs;
mod mail;
mod matrix;
mod nodes;
mod openapi;
mod operator;
mod paths;
mod people;
mod plans;
mod rate_limits;
mod runs;
mod sandbox;
mod sealed;
mod served;
mod shutdown;
mod staff;
mod tenancy;
mod test_app;
mod web;
mod webhooks;
mod widget;
