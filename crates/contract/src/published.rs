//! Request and response types of the API, with the descriptions that the OpenAPI document publishes.

pub mod accounts;
pub mod activity;
pub mod connections;
pub mod example;
pub mod jobs;
pub mod operator;
pub mod outcomes;
pub mod privacy;
pub mod verify;
pub mod webhooks;
pub mod whole;
