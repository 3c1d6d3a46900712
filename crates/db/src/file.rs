//! Files of SQLite databases.

mod shrink;
mod snapshot;
