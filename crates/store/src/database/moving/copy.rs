//! Copies one table, a slice of rows per statement.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::TryStreamExt as _;

use super::schema::Table;
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, StatementArgs, Tx};

/// Maximum rows per statement: more do not reduce the cost per row.
const ROWS_MAX: usize = 1_000;
/// Maximum arguments per statement: PostgreSQL counts them in two bytes.
const ARGUMENTS_MAX: usize = 65_535;
/// Size at which a slice is full, in bytes: the maximum in memory at a time.
const SLICE_BYTES: usize = 1 << 20;

/// Rows of one statement.
#[derive(Default)]
struct RowSlice {
    args: StatementArgs,
    rows: usize,
    bytes: usize,
}

impl RowSlice {
    fn add(&mut self, row: &ResultRow, table: &Table) -> Result<()> {
        for (at, column) in table.columns.iter().enumerate() {
            self.bytes += row.pass(at, column.kind, &mut self.args)?;
        }
        self.rows += 1;
        Ok(())
    }
}

/// Statements that insert into a table.
struct Inserts<'a> {
    table: &'a Table,
    /// Rows of a full statement.
    rows_max: usize,
    usual: Arc<str>,
}

impl<'a> Inserts<'a> {
    fn new(table: &'a Table) -> Self {
        let rows_max = (ARGUMENTS_MAX / table.columns.len().max(1)).clamp(1, ROWS_MAX);
        Self { table, rows_max, usual: insert(table, rows_max).into() }
    }

    async fn run(&self, tx: &mut Tx, slice: RowSlice) -> Result<()> {
        if slice.rows == self.rows_max {
            tx.execute_made(self.usual.clone(), slice.args, true).await?;
        } else if slice.rows > 0 {
            tx.execute_made(insert(self.table, slice.rows).into(), slice.args, false).await?;
        }
        Ok(())
    }
}

/// Copies all rows in storage order; returns their number.
pub(super) async fn copy(
    reader: &mut Conn,
    tx: &mut Tx,
    table: &Table,
    told: &(dyn Fn(&str, u64) + Sync),
) -> Result<u64> {
    let inserts = Inserts::new(table);
    let mut rows = reader.stream_made(format!("SELECT {} FROM {}", table.columns(), table.quoted()));
    let (mut slice, mut copied) = (RowSlice::default(), 0);
    while let Some(row) = rows.try_next().await? {
        slice.add(&row, table)?;
        copied += 1;
        if slice.rows == inserts.rows_max || slice.bytes >= SLICE_BYTES {
            inserts.run(tx, std::mem::take(&mut slice)).await?;
            told(&table.name, copied);
        }
    }
    inserts.run(tx, slice).await?;
    told(&table.name, copied);
    Ok(copied)
}

/// Builds the statement that inserts `rows` rows.
fn insert(table: &Table, rows: usize) -> String {
    let mut text = format!("INSERT INTO {} ({}) VALUES ", table.quoted(), table.columns());
    let width = table.columns.len();
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=width {
            let comma = if column == 1 { "" } else { ", " };
            let _ = write!(text, "{comma}${}", row * width + column);
        }
        text.push(')');
    }
    text
}
