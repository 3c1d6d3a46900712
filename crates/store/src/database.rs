//! Database of a store: migrations, opening, and moving from SQLite to PostgreSQL.

mod migrations;
pub mod moving;
pub mod opening;
#[cfg(test)]
mod tests;
