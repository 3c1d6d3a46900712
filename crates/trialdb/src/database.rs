//! One database of an instance, for one test.

use std::sync::Arc;

use crate::cluster::ClusterInstance;
use crate::installation::run;

/// A private database. Dropping it removes the database, even with open connections.
#[derive(Debug)]
pub struct TrialDatabase {
    instance: Arc<ClusterInstance>,
    name: String,
    url: String,
}

impl TrialDatabase {
    pub(crate) fn new(instance: Arc<ClusterInstance>, name: String) -> Self {
        let url = instance.url(&name);
        Self { instance, name, url }
    }

    /// Name in the instance.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Connection URL: `postgres://user:password@127.0.0.1:port/name`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements in `psql`, as one transaction. Returns one line per row, columns separated by `|`, or the error of `psql`.
    pub fn query(&self, sql: &str) -> Result<String, String> {
        let mut psql = self.instance.client("psql");
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--command", sql, "--dbname", &self.name]);
        run(&mut psql).map(|rows| rows.trim_end_matches('\n').to_owned())
    }
}

impl Drop for TrialDatabase {
    /// Removes the database. That fails if a test has left the server stopped or paused; then the database is removed with the
    /// instance.
    fn drop(&mut self) {
        if self.instance.postmaster().is_some() {
            let mut dropdb = self.instance.client("dropdb");
            let _ = run(dropdb.env("PGCONNECT_TIMEOUT", "2").args(["--force", "--if-exists", &self.name]));
        }
    }
}
