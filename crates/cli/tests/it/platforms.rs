//! Connectors against real platforms: Ghost and Mailman, which `.ci/platforms` starts.
//!
//! The connectors' other tests compare requests with what documentation says; these find out whether the platforms do what is
//! expected. Each test has a platform to itself, with its first contacts ([`running`]). The machines of `probity-connectors` are
//! driven over plain sockets ([`drive`]), and a look at the platform around the connector ([`look`]) says what became of a contact.
//! [`product`] does the same with a whole service, through the public API.
//!
//! While the platforms do not run, the tests print `SKIPPED` on standard error and pass. With `PROBITY_REQUIRE_REAL=1` they fail.

#![expect(clippy::disallowed_methods, reason = "a client of servers on loopback, which check the time of its tokens")]

mod drive;
mod exchange;
mod ghost;
mod look;
mod mailman;
mod notified;
mod product;
mod running;
