//! Current account of a run.

use probity_connectors::Fault;
use probity_store::StoreError;
use probity_store::connections::connection::{self, StoredConnection};

use super::held::{HeldRun, RunStop};
use crate::connections::access::{self, ConnectionAccess, NoAccess};

/// Account that can be called.
#[derive(Clone)]
pub(super) struct RunAccount<'a> {
    pub(super) connection: StoredConnection,
    pub(super) access: ConnectionAccess<'a>,
}

impl HeldRun<'_> {
    /// Opens the account, or returns the reason why it cannot be called.
    pub(super) async fn account(&self) -> Result<Result<RunAccount<'_>, String>, RunStop> {
        let (org, id, runs) = (self.run.org, self.run.connection, self.runs);
        let mut conn = runs.store.read().await?;
        let connection = match connection::by_id(&mut conn, org, id, self.test).await {
            Err(StoreError::NotFound) => return Ok(Err("the connection was deleted".to_owned())),
            found => found?,
        };
        if connection.disconnected.is_some() {
            return Ok(Err("the connection is disconnected".to_owned()));
        }
        // IDs of contacts are meaningless in another account.
        if connection.account_tag[..] != self.run.account_tag[..] {
            return Ok(Err("the connection has other credentials now; start another run".to_owned()));
        }
        match access::open(&mut conn, &runs.platforms, &runs.secrets, &connection).await {
            Ok(access) => Ok(Ok(RunAccount { connection, access })),
            Err(NoAccess::Store(error)) => Err(error.into()),
            Err(why) => Ok(Err(why.to_string())),
        }
    }

    /// Adds an access token to the credentials, if the platform wants one. Returns the fault for which there is none.
    pub(super) async fn authorize(&self, account: &mut RunAccount<'_>) -> Result<Option<Fault>, RunStop> {
        self.exchange(account, None).await
    }

    /// Replaces the access token that the platform has refused.
    pub(super) async fn authorize_again(&self, account: &mut RunAccount<'_>) -> Result<Option<Fault>, RunStop> {
        let refused = account.access.token_version;
        self.exchange(account, refused).await
    }

    async fn exchange(&self, account: &mut RunAccount<'_>, refused: Option<i64>) -> Result<Option<Fault>, RunStop> {
        let RunAccount { connection, access } = account;
        match self.runs.tokens.authorize(self.run.org, &connection.account_tag, access, refused).await {
            Ok(()) => Ok(None),
            Err(why) => Ok(Some(why.into_fault()?)),
        }
    }
}
