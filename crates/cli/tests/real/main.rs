//! The whole of Probity against real mail servers: Postfix with postgrey, Exim, OpenSMTPD, and unbound for the names.
//!
//! The simulated internet of the other tests says what we believe that servers say; this test is where that belief meets
//! the servers themselves. `.ci/servers` unpacks them into one directory, in which they run as in a chroot, on loopback
//! addresses of their own and one port ([`world`]). Two kinds of test use them:
//! - [`dialogues`] speaks SMTP by hand and asserts the very codes and texts that each server gives. It knows nothing of
//!   Probity, so a failure there means that a server (or our configuration of it) is not what the verdicts assume.
//! - [`verdicts`] runs the `probity` program on a table of addresses and compares status, reason and meta.
//!
//! Without the programs, or without the rights of root that a chroot and mail servers need, the tests say `SKIPPED` on
//! standard error and pass; with `PROBITY_REQUIRE_REAL=1`, as in CI, that is a failure.

mod chroot;
mod dialogues;
mod exim;
mod opensmtpd;
mod poll;
mod postfix;
mod smtp;
mod unbound;
mod verdicts;
mod world;
