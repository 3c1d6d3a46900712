//! Idempotent requests: each takes effect once, however often a client repeats it.
//!
//! A request with an `Idempotency-Key` locks the key ([`probity_store::idempotency`]) before it runs. The act stores its
//! response in the transaction that does its work ([`Once::keep`]), so both are committed or neither is. Stored responses
//! are encrypted, and only a request with the same key can decrypt them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use probity_access::secrets::Secrets;
use probity_contract::error::ApiError;
use probity_store::idempotency::{self, IdempotencyOutcome, IdempotentAttempt};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError, Tx};
use probity_telemetry::metrics::Idempotent;
use serde::Serialize;

use crate::app::App;
use crate::app::upkeep::ANSWERS_KEEP_MS;
use crate::callers::caller::Caller;

/// Delay before a retry if an organization has too many keys in use, in seconds.
const FULL_RETRY_S: u32 = 60;
/// Status of a response that only reads.
const OK: u16 = 200;
/// Status of a response that creates something.
const CREATED: u16 = 201;

/// Run of a request, under which its act stores the response. Without a key, nothing is stored.
#[derive(Clone)]
pub struct Once {
    run: Option<Arc<KeyedRun>>,
    status: u16,
}

impl Once {
    /// Returns the run of a request without a key.
    pub fn unkeyed() -> Self {
        Self { run: None, status: OK }
    }

    /// Returns the same run with response status 201.
    #[must_use]
    pub fn created(self) -> Self {
        Self { status: CREATED, ..self }
    }

    /// Stores the response in the transaction of the work, if the request has a key.
    pub async fn keep<T: Serialize + Sync>(&self, tx: &mut Tx, answer: &T) -> Result<(), StoreError> {
        let Some(run) = &self.run else { return Ok(()) };
        let body = serde_json::to_vec(answer).expect("responses are plain JSON");
        let sealed = run.secrets.seal_answer(&run.key, &body);
        idempotency::keep_answer(tx, run.attempt.held(), self.status, &sealed, names_address(&body)).await?;
        run.kept.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Returns whether a response may contain an email address, because a stored response cannot be searched for one.
fn names_address(answer: &[u8]) -> bool {
    answer.contains(&b'@')
}

/// Request with an idempotency key.
pub struct KeyedCall {
    /// Path of the request.
    pub path: String,
    /// Value of `Idempotency-Key`.
    pub key: String,
    /// Hash of the body, which a repetition must match.
    pub body_hash: [u8; 32],
}

/// Owner of idempotency keys, separate from all others.
#[derive(Clone, Copy)]
pub struct KeyHolder {
    org: OrgNo,
    method: &'static str,
}

impl KeyHolder {
    /// Returns the owner for a caller. Live keys, test keys, pages and the command line have separate keys. `None` is the
    /// operator, who belongs to no organization; no ID has number 0.
    pub fn of(caller: Option<&Caller>) -> Self {
        let Some(caller) = caller else { return Self { org: OrgNo(0), method: "operator POST" } };
        let method = match caller {
            Caller::Key(_) if caller.is_test() => "test POST",
            Caller::Key(_) => "POST",
            Caller::Person { test: true, .. } => "test page POST",
            Caller::Person { test: false, .. } => "page POST",
            Caller::Staff { .. } => "desk POST",
        };
        Self { org: caller.org(), method }
    }
}

/// Outcome of locking a key.
pub enum Beginning {
    /// Status and body of the response to an earlier request.
    Replay(u16, Vec<u8>),
    /// New run, which holds the lock.
    Run(Arc<KeyedRun>),
}

/// Run that holds the lock of its key.
pub struct KeyedRun {
    secrets: Arc<Secrets>,
    store: Store,
    attempt: IdempotentAttempt,
    key: String,
    /// Whether the act has stored its response. Valid only after a success, which commits the transaction.
    kept: AtomicBool,
}

/// Locks the key of a request, or finds the response of an earlier run.
pub async fn begin(app: &App, holder: KeyHolder, call: KeyedCall) -> Result<Beginning, ApiError> {
    let attempt = IdempotentAttempt {
        org: holder.org,
        key_hash: app.secrets.idempotency_key(holder.method, &call.path, &call.key),
        body_hash: call.body_hash,
        run: probity_access::secrets::hex(&probity_access::secrets::random::bytes::<16>()),
        now: app.now(),
        lease_ms: app.config.idempotency_lease_ms,
        keep_ms: ANSWERS_KEEP_MS,
    };
    let counts = app.metrics.accounts();
    match app.store.write(|tx| idempotency::begin(tx, &attempt).scope_boxed()).await? {
        IdempotencyOutcome::Run => Ok(Beginning::Run(Arc::new(KeyedRun {
            secrets: app.secrets.clone(),
            store: app.store.clone(),
            attempt,
            key: call.key,
            kept: AtomicBool::new(false),
        }))),
        IdempotencyOutcome::Replay { status, answer } => {
            counts.idempotent(Idempotent::Replayed);
            let body = app.secrets.open_answer(&call.key, &answer).map_err(ApiError::server_error)?;
            Ok(Beginning::Replay(status, body))
        }
        IdempotencyOutcome::InProgress => {
            counts.idempotent(Idempotent::InProgress);
            Err(ApiError::idempotency_in_progress())
        }
        IdempotencyOutcome::Reused => {
            counts.idempotent(Idempotent::Reused);
            Err(ApiError::idempotency_key_reused())
        }
        IdempotencyOutcome::Full => Err(ApiError::rate_limited(FULL_RETRY_S)),
    }
}

impl KeyedRun {
    /// Returns the handle with which the act stores its response.
    pub fn once(self: &Arc<Self>) -> Once {
        Once { run: Some(self.clone()), status: OK }
    }

    /// Returns whether the act stored its response in its own transaction.
    pub fn has_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Stores the response of an act that had no transaction of its own.
    pub async fn keep_late(&self, status: u16, body: &[u8]) {
        let (sealed, names) = (self.secrets.seal_answer(&self.key, body), names_address(body));
        let kept = self
            .store
            .write(|tx| idempotency::keep_answer(tx, self.attempt.held(), status, &sealed, names).scope_boxed());
        if let Err(error) = kept.await {
            tracing::error!(%error, "cannot store a response for retries");
        }
    }

    /// Releases the key. If this fails, the key is released when its lease expires.
    pub async fn release(&self) {
        let released = self.store.write(|tx| idempotency::release(tx, self.attempt.held()).scope_boxed());
        if let Err(error) = released.await {
            tracing::warn!(%error, "cannot release an idempotency key; it stays locked until its lease ends");
        }
    }
}
