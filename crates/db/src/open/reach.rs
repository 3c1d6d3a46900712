//! Reports at opening why a PostgreSQL server cannot be used: a pool retries until its timeout, and then reports only the timeout.

use std::time::Duration;

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyPool, ConnectOptions as _, Connection as _};

use crate::error::{ErrorSource, Result, StoreError};

/// Unreachable server. Its text has no password: of the URL, it quotes host, port and name.
#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL at {place}: {why}")]
struct Unreachable {
    place: String,
    why: String,
}

/// Waits for a first connection, as long as requests wait for one.
pub(crate) async fn reach(pool: &AnyPool, options: &AnyConnectOptions, patience: Duration) -> Result<()> {
    let error = match pool.acquire().await {
        Ok(_) => return Ok(()),
        Err(sqlx::Error::PoolTimedOut) => match tokio::time::timeout(patience, options.connect()).await {
            // The server came back just now; later calls use the pool.
            Ok(Ok(connection)) => return Ok(connection.close().await?),
            Ok(Err(error)) => error,
            Err(_) => sqlx::Error::PoolTimedOut,
        },
        Err(error) => error,
    };
    let source: ErrorSource = Box::new(Unreachable { place: place(options), why: why(&error, patience) });
    Err(StoreError::Unavailable { source, contended: false })
}

/// Host, port and name of the database.
fn place(options: &AnyConnectOptions) -> String {
    let url = &options.database_url;
    let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{host}{port}, database {:?}", url.path().trim_start_matches('/'))
}

fn why(error: &sqlx::Error, patience: Duration) -> String {
    match error {
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Database(told) => told.message().to_owned(),
        sqlx::Error::PoolTimedOut => format!("no response within {} ms", patience.as_millis()),
        other => other.to_string(),
    }
}
