//! Administration beside a service or without one: lists, settings, members, and the whole installation's data.

mod backup;
mod credits;
mod erasing;
mod integrations;
mod lists;
mod moving;
mod outcomes;
mod settings;
mod suppressions;
mod users;
mod webhooks;
