//! Who answers about addresses: the engine's [`Verifier`], under the name that the service knows it by. A service has two, for live
//! keys and for test keys, and they share nothing: neither caches nor facts nor pacing.

pub use probity_engine::verifier::Verifier;
