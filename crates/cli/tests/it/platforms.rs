//! Connectors against real platforms: Ghost and Mailman, which `.ci/platforms` starts.
//!
//! The connectors' other tests compare requests with documentation; these check that the platforms behave as expected. Each test
//! has a platform to itself, with its initial contacts ([`running`]). The state machines of `probity-connectors` run over plain
//! sockets ([`drive`]), and direct calls to the platform ([`look`]) show the state of a contact. [`product`] does the same with a
//! whole service, through the public API.
//!
//! If the platforms do not run, the tests print `SKIPPED` on standard error and pass. With `PROBITY_REQUIRE_REAL=1` they fail.

#![expect(clippy::disallowed_methods, reason = "a client of servers on loopback, which check the time of its tokens")]

mod drive;
mod exchange;
mod ghost;
mod look;
mod mailman;
mod notified;
mod product;
mod running;
