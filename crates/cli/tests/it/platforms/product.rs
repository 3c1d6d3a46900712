//! The whole product with real platforms: a service with its database, used through the public API only.
//!
//! Verdicts are those of the sandbox, which depend only on the address. So expected results are computed from the contacts, and
//! actual changes are read from the platform.

mod customer;
mod expected;
mod ghost;
mod ghost_members;
mod hooked;
mod mailman;
