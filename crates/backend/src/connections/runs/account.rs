//! Current account of a run.

use probity_store::StoreError;
use probity_store::connections::connection::{self, StoredConnection};

use super::held::{HeldRun, RunStop};
use crate::connections::access::{self, ConnectionAccess, NoAccess};

/// Account that can be called.
pub(super) struct RunAccount<'a> {
    pub(super) connection: StoredConnection,
    pub(super) access: ConnectionAccess<'a>,
}

impl HeldRun<'_> {
    /// Opens the account. Stops the run if it cannot be called.
    pub(super) async fn account(&self) -> Result<RunAccount<'_>, RunStop> {
        let (org, id, runs) = (self.run.org, self.run.connection, self.runs);
        let mut conn = runs.store.read().await?;
        let connection = match connection::by_id(&mut conn, org, id, self.test).await {
            Err(StoreError::NotFound) => return Err(RunStop::Unable("the connection was deleted".to_owned())),
            found => found?,
        };
        if connection.disconnected.is_some() {
            return Err(RunStop::Unable("the connection is disconnected".to_owned()));
        }
        // IDs of contacts are meaningless in another account.
        if connection.account_tag[..] != self.run.account_tag[..] {
            return Err(RunStop::Unable("the connection has other credentials now; start another run".to_owned()));
        }
        match access::open(&mut conn, &runs.platforms, &runs.secrets, &connection).await {
            Ok(access) => Ok(RunAccount { connection, access }),
            Err(NoAccess::Store(error)) => Err(error.into()),
            Err(why) => Err(RunStop::Unable(why.to_string())),
        }
    }

    /// Adds an access token to the credentials, if the platform wants one. `refused` is the version of one that it has refused.
    pub(super) async fn authorize(&self, account: &mut RunAccount<'_>, refused: Option<i64>) -> Result<(), RunStop> {
        let RunAccount { connection, access } = account;
        match self.runs.tokens.authorize(self.run.org, &connection.account_tag, access, refused).await {
            Ok(()) => Ok(()),
            Err(why) => Err(RunStop::Call(why.into_fault()?, None)),
        }
    }
}
