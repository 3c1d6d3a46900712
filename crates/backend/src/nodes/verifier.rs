//! The engine's [`Verifier`], under the name that the service uses. A service has two, one for live keys and one for test keys.
//! They share nothing: neither caches nor facts nor pacing.

pub use probity_engine::verifier::Verifier;
