//! What only the dashboard's pages ask: lists, their rows and what members do with them ([`lists`]); how far a list is, as it
//! comes on ([`events`]); files before they are lists ([`uploads`]); everything else about an [`organization`]; and what has
//! changed of all that ([`changes`]).
//!
//! Everything else that a page shows are the routes of the API, which lie beside these under `/app/v1`. These may change with the
//! pages. Each is behind the guard of sessions, and asks for the same scopes as the API does.

pub(crate) mod changes;
pub(crate) mod events;
pub(crate) mod lists;
pub(crate) mod organization;
pub(crate) mod stream;
pub(crate) mod uploads;
