//! Batch jobs while everything around them breaks: the process, the database, the disk, another node.

mod customer;
mod kills;
mod points;
mod receiver;
mod storage;
mod submission;
mod takeover;
mod trial;
