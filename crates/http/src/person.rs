//! People in a browser: signing in, sessions, second factors, and the API as they use it.
//!
//! Routes under `/app` are for the dashboard's own pages and live on a cookie; `/v1` never looks at one. A request that changes
//! something must come from a page of ours ([`origin`]) and, within a session, say the session's page token. [`guard`] opens the
//! session anew for each request, so what is revoked is over. Under `/app/v1` lie the routes of the API, with the scopes of the
//! person's role. What comes before a session is [`sign_in`] and [`links`], both behind
//! [`attempts`](probity_service::people::attempts).

mod client;
mod cookie;
pub(crate) mod guard;
pub(crate) mod links;
pub(crate) mod origin;
mod own;
pub(crate) mod recovery;
pub mod routes;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod view;
