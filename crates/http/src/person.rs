//! Members in a browser: sign-in, sessions, second factors, and the API with a session.
//!
//! Routes under `/app` are for the dashboard's own pages and use a cookie, which `/v1` ignores. A request that changes something
//! must come from our own pages ([`origin`]) and, within a session, carry the page token. [`guard`] reads the session for each
//! request, so a revoked session ends at once. `/app/v1` has the routes of the API, with the scopes of the member's role.
//! [`sign_in`] and [`links`] need no session; neither does [`unsubscribe`], which is not for pages. The acts are in
//! [`probity_service::accounts::people`].

mod client;
mod cookie;
pub(crate) mod guard;
pub(crate) mod links;
pub(crate) mod origin;
mod own;
pub mod routes;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod sso;
pub(crate) mod unsubscribe;
