//! All of Probity against real mail servers: Postfix with postgrey, Exim, OpenSMTPD, and unbound for DNS.
//!
//! The simulated internet of the other tests encodes assumptions about servers; this test checks them against real servers.
//! `.ci/servers` unpacks the servers into one directory, where they run in a chroot, on loopback addresses of their own and one
//! port ([`world`]). Two kinds of tests use them:
//! - [`dialogues`] speaks SMTP directly and asserts the exact codes and texts of each server. It does not use Probity, so a failure
//!   means that a server (or its configuration) differs from what the verdicts assume.
//! - [`verdicts`] runs the `probity` program on a table of addresses and compares status, reason and meta.
//!
//! Without the programs, or without root, which a chroot and mail servers need, the tests print `SKIPPED` on standard error and
//! pass. With `PROBITY_REQUIRE_REAL=1`, as in CI, they fail instead.

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
