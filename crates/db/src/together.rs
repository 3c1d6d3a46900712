//! Batches changes: one round trip to PostgreSQL, one turn of SQLite's thread.
//!
//! The statements must neither depend on each other nor change the same row: in PostgreSQL, each of them sees the state before the
//! first. SQLite executes a text of several statements. PostgreSQL takes a single one, so the others become parts of its `WITH`.
//! PostgreSQL 15 executes those in the reverse order of the text, so writers lock rows in one order. The manual promises no order;
//! a deadlock caused by another order is retried like any other.
//!
//! If one of them fails, roll back the transaction, as after any other failure.

use std::fmt::Write as _;

use sqlx::AssertSqlSafe;

use super::connection::{StatementArgs, Tx};
#[cfg(feature = "failpoints")]
use super::failpoint::FailpointSide;
use super::sql::dialect::SqlDialect;
use super::sql::statement::Statement;
use crate::error::Result;

/// Changes that [`Tx::execute_together`] executes as one batch.
#[derive(Default)]
pub struct StatementBatch {
    statements: Vec<&'static Statement>,
    /// Arguments of all statements, concatenated.
    args: StatementArgs,
    /// Number of arguments before those of each statement.
    before: Vec<usize>,
}

impl StatementBatch {
    /// Adds a change that does not begin with `WITH`.
    pub fn add(&mut self, statement: &'static Statement, args: StatementArgs) {
        self.before.push(self.args.len());
        self.statements.push(statement);
        self.args.append(args);
    }

    fn text(&self, dialect: SqlDialect) -> String {
        let texts = self.statements.iter().zip(&self.before);
        let mut texts = texts.map(|(statement, before)| renumbered(statement.text(dialect), *before));
        match dialect {
            SqlDialect::Sqlite => texts.collect::<Vec<_>>().join("; "),
            SqlDialect::Postgres => {
                let first = texts.next().unwrap_or_default();
                let mut others: Vec<String> =
                    texts.enumerate().map(|(n, text)| format!("also_{n} AS ({text})")).collect();
                others.reverse();
                if others.is_empty() { first } else { format!("WITH {} {first}", others.join(", ")) }
            }
        }
    }
}

/// Shifts the parameter numbers by `before`.
fn renumbered(text: &str, before: usize) -> String {
    let mut parts = text.split('$');
    let mut renumbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = part[..digits].parse().expect("a dollar sign begins an argument");
        let _ = write!(renumbered, "${}{}", before + number, &part[digits..]);
    }
    renumbered
}

impl Tx {
    /// Executes a batch of changes.
    pub async fn execute_together(&mut self, together: StatementBatch) -> Result<()> {
        if together.statements.is_empty() {
            return Ok(());
        }
        let text = together.text(self.dialect());
        #[cfg(feature = "failpoints")]
        for statement in &together.statements {
            self.pass(statement, FailpointSide::Before)?;
        }
        self.change(AssertSqlSafe(text), together.args).await?;
        #[cfg(feature = "failpoints")]
        for statement in &together.statements {
            self.pass(statement, FailpointSide::After)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIRST: Statement = Statement::new("FIRST", "UPDATE a SET n = $1");
    static SECOND: Statement = Statement::new("SECOND", "INSERT INTO b (x, y) SELECT $1, each.value FROM {each:$2}");
    static THIRD: Statement = Statement::new("THIRD", "DELETE FROM c WHERE x = $1");

    #[test]
    fn each_statement_gets_its_own_arguments() {
        let mut together = StatementBatch::default();
        together.add(&FIRST, StatementArgs::default().with(1_i64));
        together.add(&SECOND, StatementArgs::default().with(2_i64).with("[]".to_owned()));
        together.add(&THIRD, StatementArgs::default().with(3_i64));
        assert_eq!(
            together.text(SqlDialect::Sqlite),
            "UPDATE a SET n = $1; INSERT INTO b (x, y) SELECT $2, each.value FROM json_each($3) AS each; \
             DELETE FROM c WHERE x = $4"
        );
        assert_eq!(
            together.text(SqlDialect::Postgres),
            "WITH also_1 AS (DELETE FROM c WHERE x = $4), also_0 AS (INSERT INTO b (x, y) SELECT $2, each.value FROM \
             jsonb_array_elements(CAST(CAST($3 AS TEXT) AS JSONB)) AS each(value)) UPDATE a SET n = $1"
        );
        assert_eq!(together.args.len(), 4);
    }
}
