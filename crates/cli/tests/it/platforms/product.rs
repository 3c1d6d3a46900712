//! The whole product with real platforms: a service with its database, called through the public API only.
//!
//! Verdicts are those of the sandbox, which depend on nothing but the address. So what a run has to find is computed from the
//! contacts, and what it has done is read from the platform.

mod customer;
mod expected;
mod ghost;
mod ghost_members;
mod hooked;
mod mailman;
