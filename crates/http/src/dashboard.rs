//! What only the dashboard's pages ask: how far a list is, as it comes on ([`events`]); rows of a list by what they say ([`rows`]);
//! where an address stands ([`lookup`]); which providers it was about ([`providers`]); what settings would change ([`trial`]);
//! and how
//! the way to mail servers is ([`egress`]).
//!
//! Everything else that a page shows are the routes of the API, which lie beside these under `/app/v1`. These may change with the
//! pages. Each is behind the guard of sessions, and asks for the same scopes as the API does.

pub(crate) mod egress;
pub(crate) mod events;
pub(crate) mod lookup;
pub(crate) mod progress;
pub(crate) mod providers;
pub(crate) mod rows;
pub(crate) mod trial;
