//! What only the dashboard's pages ask: how far a list is, as it comes on ([`events`]); rows of a list by what they say ([`rows`]);
//! what members do with a list ([`lists`]); where an address stands ([`lookup`]); which providers it was about ([`providers`]); what settings would change ([`trial`]);
//! what the rules of a connection say ([`rules`]); how the way to mail servers is ([`egress`]); what a new organization has done
//! ([`first_steps`]); the names and successors of keys ([`keys`]); what programs asked ([`requests`]); and what has changed of all that ([`changes`]).
//!
//! Everything else that a page shows are the routes of the API, which lie beside these under `/app/v1`. These may change with the
//! pages. Each is behind the guard of sessions, and asks for the same scopes as the API does.

pub(crate) mod changes;
pub(crate) mod egress;
pub(crate) mod events;
pub(crate) mod first_steps;
pub(crate) mod keys;
pub(crate) mod lists;
pub(crate) mod lookup;
pub(crate) mod progress;
pub(crate) mod providers;
pub(crate) mod requests;
pub(crate) mod rows;
pub(crate) mod rules;
pub(crate) mod stream;
pub(crate) mod trial;
pub(crate) mod uploads;
