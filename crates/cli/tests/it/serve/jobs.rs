//! Jobs while the process, the database, the disk or another node fails.

mod customer;
mod kills;
mod points;
pub(crate) mod receiver;
mod storage;
mod submission;
mod takeover;
mod trial;
