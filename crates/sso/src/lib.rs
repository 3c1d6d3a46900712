//! Sign-in by OpenID Connect (authorization code with PKCE), as functions of their arguments.
//!
//! Requests and times are arguments, so the crate has no I/O, clock or entropy. Everything that comes from a provider or a browser
//! is bounded and checked; [`SsoFault`] says what was wrong. Nothing here decides whose account it is.

mod discovery;
mod exchange;
mod fault;
mod flow;
mod keys;
mod token;

pub use discovery::{DOCUMENT_MAX, IssuerUrl, ProviderDocument, is_same_issuer, named_issuer};
pub use exchange::{ANSWER_MAX, CodeExchange, CodeRequest, read_answer};
pub use fault::SsoFault;
pub use flow::{FLOW_RANDOM_BYTES, SsoFlow};
pub use keys::{KEYS_MAX, SigningKeys};
pub use token::{IdClaims, TokenCheck};
