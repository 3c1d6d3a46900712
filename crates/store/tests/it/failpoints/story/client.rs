//! Client that submits jobs, and repeats a request under the same key until there is a response.

use probity_account::id::JobId;
use probity_store::idempotency::{self, IdempotencyOutcome, IdempotentAttempt};
use probity_store::jobs::{self, JobNo, NewJob};
use probity_store::{Result, ScopedFutureExt as _, StoreError};

use super::{LEASE_MS, ROUNDS, Story, URL};

impl Story {
    /// Submits a job with retries.
    pub(super) async fn submit(&mut self, key: u8, rows: i64) -> JobId {
        for _ in 0..ROUNDS {
            match self.try_submit(key, rows).await {
                Ok(Some(id)) => return id,
                Ok(None) | Err(StoreError::Unavailable { .. }) => self.now = self.now + LEASE_MS,
                Err(error) => panic!("{error:?}"),
            }
        }
        panic!("no answer");
    }

    /// Sends one request; returns `None` if another run has the key.
    async fn try_submit(&mut self, key: u8, rows: i64) -> Result<Option<JobId>> {
        let id = JobId::new(self.now, self.next());
        let (source, by) = ("api", "api");
        let new = NewJob {
            org: self.org,
            id,
            test: false,
            source,
            started_by: by,
            source_action: "test",
            actor: None,
            at: self.now,
        };
        let submitted = self.submit_once(key, rows, &new).await;
        // As in the service: an unaccepted job is discarded; if that fails, it is swept later.
        if !matches!(submitted, Ok(Some(accepted)) if accepted == id) {
            let now = self.now;
            let _ = self.store.write(|tx| jobs::discard(tx, new.org, JobNo::of_id(id), now).scope_boxed()).await;
        }
        submitted
    }

    async fn submit_once(&self, key: u8, rows: i64, new: &NewJob) -> Result<Option<JobId>> {
        let no = self.store.write(|tx| jobs::begin(tx, new).scope_boxed()).await?;
        self.store.write(|tx| jobs::add_block(tx, new.org, no, 0, b"addresses").scope_boxed()).await?;
        let attempt = IdempotentAttempt {
            org: self.org,
            key_hash: [key; 32],
            body_hash: [key; 32],
            run: new.id.to_string(),
            now: self.now,
            lease_ms: LEASE_MS,
            keep_ms: 1_000 * LEASE_MS,
        };
        match self.store.write(|tx| idempotency::begin(tx, &attempt).scope_boxed()).await? {
            IdempotencyOutcome::Run => {}
            IdempotencyOutcome::Replay { answer, .. } => {
                return Ok(Some(String::from_utf8(answer).unwrap().parse().unwrap()));
            }
            IdempotencyOutcome::InProgress => return Ok(None),
            begun => panic!("{begun:?}"),
        }
        let answer = new.id.to_string();
        let accepted = self.store.write(|tx| {
            async {
                jobs::accept(tx, new, rows, Some(URL), self.now).await?;
                idempotency::keep_answer(tx, attempt.held(), 200, answer.as_bytes(), false).await
            }
            .scope_boxed()
        });
        match accepted.await {
            Ok(()) => Ok(Some(new.id)),
            Err(error) => {
                let _ = self.store.write(|tx| idempotency::release(tx, attempt.held()).scope_boxed()).await;
                Err(error)
            }
        }
    }
}
