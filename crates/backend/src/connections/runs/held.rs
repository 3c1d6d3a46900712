//! Run that this node holds: its lease is renewed during the work, and released with the time of the next work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use probity_connectors::Fault;
use probity_contract::error::Detail;
use probity_mail::time::Millis;
use probity_store::connections::runs::{
    self, ClaimedRun, ConnectionRun, RunEnd, RunFence, RunSetback, RunState, RunWatch,
};
use probity_store::{ScopedFutureExt as _, StoreError, Tx};
use tokio_util::sync::CancellationToken;

use super::parts::{drop_in_parts, forget_in_parts};
use super::{REST, Runs, acting, reading, verifying};
use crate::jobs::announce;

/// Maximum wait for the response to the last call of a run that stops or whose lease is lost.
const LAST_CALL: Duration = Duration::from_secs(5);

/// Run that this node holds.
pub(super) struct HeldRun<'a> {
    pub(super) runs: &'a Runs,
    pub(super) fence: RunFence,
    pub(super) run: ConnectionRun,
    /// Whether a test key created its connection.
    pub(super) test: bool,
    /// Canceled when the node stops.
    ending: &'a CancellationToken,
    /// Whether a call has succeeded since the claim, which resets the count of consecutive failures.
    succeeded: AtomicBool,
}

/// Outcome of the work on a run.
pub(super) enum RunStep {
    /// Continue at this time.
    At(Millis),
    /// Continue after a failed call.
    After(RunSetback),
    /// State changed; the lease has ended.
    Moved,
}

/// Reason why the work on a run stops early.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunStop {
    /// Another node holds the run, or the run was ended.
    #[error("the run was lost")]
    Lost,
    #[error("{0}")]
    Failed(Detail),
    /// The run cannot continue, for this reason. It ends.
    #[error("{0}")]
    Unable(String),
    /// A call failed. Has the version of the access token that it used.
    #[error("{}", .0.message)]
    Call(Fault, Option<i64>),
}

impl From<StoreError> for RunStop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LeaseLost => Self::Lost,
            other => Self::Failed(other.into()),
        }
    }
}

/// Works on a claimed run until it has to wait or the node stops.
pub(super) async fn work(runs: &Runs, claimed: ClaimedRun, ending: &CancellationToken) {
    let ClaimedRun { fence, run, test, position } = claimed;
    let held = HeldRun { runs, fence, run, test, ending, succeeded: AtomicBool::new(false) };
    let done = held.go_on_while_held(position).await;
    let failures = held.failures();
    let left = match done {
        Ok(RunStep::Moved) => Ok(()),
        Ok(RunStep::At(at)) => runs.store.write(|tx| runs::leave(tx, &fence, at, failures).scope_boxed()).await,
        Ok(RunStep::After(setback)) => runs.store.write(|tx| runs::set_back(tx, &fence, &setback).scope_boxed()).await,
        Err(RunStop::Lost) => {
            tracing::info!(run = %held.run.id, "another node took over the run, or it was ended");
            Ok(())
        }
        Err(error) => {
            let at = runs.now() + i64::try_from(REST.as_millis()).unwrap_or(0);
            tracing::error!(%error, run = %held.run.id, "a run was interrupted; it will be claimed again");
            runs.store.write(|tx| runs::leave(tx, &fence, at, failures).scope_boxed()).await
        }
    };
    if let Err(error) = left {
        tracing::warn!(%error, run = %held.run.id, "cannot release a run; its lease will expire");
    }
    runs.wake.runs.notify_one();
}

impl HeldRun<'_> {
    /// Works until the node stops or the lease is lost. A call in progress may still change a contact, so its response is awaited.
    async fn go_on_while_held(&self, position: Option<Vec<u8>>) -> Result<RunStep, RunStop> {
        let mut going = std::pin::pin!(self.go_on(position));
        let stopped = tokio::select! {
            biased;
            () = self.ending.cancelled() => Ok(RunStep::At(self.now())),
            stop = self.renew() => Err(stop),
            done = &mut going => return done,
        };
        if self.run.state != RunState::Acting {
            return stopped;
        }
        tokio::time::timeout(LAST_CALL, going).await.unwrap_or(stopped)
    }

    /// Reads everything that can prevent the next action.
    pub(super) async fn watch(&self) -> Result<RunWatch, RunStop> {
        Ok(runs::watch(&mut self.runs.store.read().await?, &self.fence).await?)
    }

    /// Returns whether the next action is allowed: the node is not stopping, and nothing has changed since `seen` was read.
    pub(super) async fn may_still(&self, seen: &RunWatch) -> Result<bool, RunStop> {
        Ok(!self.ending.is_cancelled() && self.watch().await? == *seen)
    }

    async fn go_on(&self, position: Option<Vec<u8>>) -> Result<RunStep, RunStop> {
        let done = match self.run.state {
            RunState::Reading => reading::read(self, position).await,
            RunState::Verifying => verifying::verify(self).await,
            RunState::Acting => acting::act(self).await,
            _ => Ok(RunStep::Moved),
        };
        let done = match done {
            Err(RunStop::Call(fault, token)) => self.react(fault, token).await,
            done => done,
        };
        match done {
            Err(RunStop::Unable(why)) => self.fail(&why).await,
            done => done,
        }
    }

    /// Renews the lease until it is lost. While the database is unavailable, the current lease applies; after its end,
    /// another node may hold the run.
    async fn renew(&self) -> RunStop {
        let lease_ms = self.runs.lease_ms;
        let mut held_until = self.runs.now() + lease_ms;
        loop {
            tokio::time::sleep(Duration::from_millis(u64::try_from(lease_ms / 4).unwrap_or(0).max(1))).await;
            let until = self.runs.now() + lease_ms;
            match self.runs.store.write(|tx| runs::extend(tx, &self.fence, until).scope_boxed()).await {
                Ok(()) => held_until = until,
                Err(StoreError::Unavailable { .. }) if self.runs.now() < held_until => {
                    tracing::warn!(run = %self.run.id, "cannot renew the lease of a run; retrying");
                }
                Err(StoreError::Unavailable { .. }) => return RunStop::Lost,
                Err(error) => return error.into(),
            }
        }
    }

    /// Records a successful call.
    pub(super) fn succeed(&self) {
        self.succeeded.store(true, Ordering::Relaxed);
    }

    /// Returns the number of consecutive failed calls.
    pub(super) fn failures(&self) -> i64 {
        if self.succeeded.load(Ordering::Relaxed) { 0 } else { self.run.failures }
    }

    /// Returns the time of the first consecutive refusal of the credentials.
    pub(super) fn refused_at(&self) -> Option<Millis> {
        if self.succeeded.load(Ordering::Relaxed) { None } else { self.run.refused_at }
    }

    pub(super) fn now(&self) -> Millis {
        self.runs.now()
    }

    /// Returns the end of a lease renewed now.
    pub(super) fn lease_until(&self) -> Millis {
        self.now() + self.runs.lease_ms
    }

    /// Ends a run that cannot continue.
    async fn fail(&self, fault: &str) -> Result<RunStep, RunStop> {
        let now = self.now();
        self.take_back().await?;
        let ended = self.runs.store.write_bulk(|tx| self.end(tx, fault, now).scope_boxed());
        self.failed(&ended.await?, fault).await
    }

    /// Ends the run in a transaction.
    pub(super) async fn end(&self, tx: &mut Tx, fault: &str, now: Millis) -> Result<RunEnd, StoreError> {
        let end = runs::fail(tx, &self.fence, fault, now).await?;
        if let Some(closed) = &end.closed {
            announce(tx, closed, now).await?;
        }
        self.report(tx, &end.run, now).await?;
        Ok(end)
    }

    /// Takes back what the run has noted of its contacts, before it ends.
    pub(super) async fn take_back(&self) -> Result<(), RunStop> {
        let stored = runs::by_job(&mut self.runs.store.read().await?, self.run.org, self.run.job).await?;
        let Some(run) = stored.filter(|run| run.state == self.run.state) else { return Ok(()) };
        Ok(forget_in_parts(&self.runs.store, &run).await?)
    }

    /// Reports the end of the run once it is stored, and ignores its open actions.
    pub(super) async fn failed(&self, end: &RunEnd, fault: &str) -> Result<RunStep, RunStop> {
        tracing::warn!(run = %self.run.id, fault, "a run failed");
        if end.closed.is_some() {
            self.runs.callbacks.wake();
        }
        drop_in_parts(&self.runs.store, &end.run, self.now()).await?;
        Ok(RunStep::Moved)
    }
}
