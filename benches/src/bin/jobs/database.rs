//! Database writes and storage per list.

use probity_benches::place::Place;
use probity_benches::process::{self, float};
use probity_benches::program::Program;
use probity_trialdb::TrialDatabase;

use crate::report::Report;

/// Writes since the database was created.
pub(crate) struct Writes {
    /// Bytes in the database. For SQLite, the size of its file, excluding data that only the log holds.
    stored: u64,
    /// Bytes written to the log. For SQLite, everything that the service has written.
    written: u64,
    /// Rows inserted, changed or deleted, and transactions. SQLite does not count them.
    rows_and_transactions: Option<(u64, u64)>,
}

/// Returns the writes so far.
pub(crate) fn writes(place: &Place, program: &Program) -> anyhow::Result<Writes> {
    let Some(database) = place.database() else {
        let (stored, written) = (place.size_bytes("probity.db"), process::written_bytes(program.process())?);
        return Ok(Writes { stored, written, rows_and_transactions: None });
    };
    let of_all = "FROM pg_stat_database WHERE datname = current_database()";
    Ok(Writes {
        stored: number(database, "SELECT pg_database_size(current_database())")?,
        written: number(database, "SELECT trunc(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'))")?,
        rows_and_transactions: Some((
            number(database, &format!("SELECT tup_inserted + tup_updated + tup_deleted {of_all}"))?,
            number(database, &format!("SELECT xact_commit {of_all}"))?,
        )),
    })
}

fn number(database: &TrialDatabase, sql: &str) -> anyhow::Result<u64> {
    Ok(database.query(sql).map_err(anyhow::Error::msg)?.trim().parse()?)
}

impl Writes {
    pub(crate) fn since(&self, before: &Self) -> Self {
        let counted = self.rows_and_transactions.zip(before.rows_and_transactions);
        Self {
            stored: self.stored.saturating_sub(before.stored),
            written: self.written - before.written,
            rows_and_transactions: counted.map(|(after, before)| (after.0 - before.0, after.1 - before.1)),
        }
    }

    /// Reports the writes per address.
    pub(crate) fn tell(&self, addresses: u64, report: &mut Report) -> anyhow::Result<()> {
        let each = |count: u64| float(count) / float(addresses);
        report.line("bytes stored for each address", format!("{:.0}", each(self.stored)), "150")?;
        report.line("bytes written for each address", format!("{:.0}", each(self.written)), "")?;
        if let Some((rows, transactions)) = self.rows_and_transactions {
            report.line("rows written for each address", format!("{:.2}", each(rows)), "")?;
            report.line("transactions for each address", format!("{:.4}", each(transactions)), "")?;
        }
        Ok(())
    }
}
