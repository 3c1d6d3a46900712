//! The database of a store: its migrations, how it is opened, and how it moves from SQLite to PostgreSQL.

mod migrations;
pub mod moving;
pub mod opening;
#[cfg(test)]
mod tests;
