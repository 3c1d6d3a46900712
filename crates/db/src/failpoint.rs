//! Failpoints of the statements and commits of a [`Store`], in builds for tests ([`probity_failpoints`]).

pub use probity_failpoints::{ArmedFailpoint, Failpoint, FailpointAction, FailpointSide, Failpoints};
use probity_failpoints::{FailpointError, UnreadableFailpoint};

use super::Store;
use crate::error::{Result, StoreError};

impl Store {
    pub fn failpoints(&self) -> &Failpoints {
        &self.inner.failpoints
    }
}

pub(crate) fn of_environment(is_statement: fn(&str) -> bool) -> Result<Failpoints> {
    Failpoints::of_environment(is_statement)
        .map_err(|error: UnreadableFailpoint| StoreError::corrupt(error.to_string()))
}

impl From<FailpointError> for StoreError {
    fn from(error: FailpointError) -> Self {
        let contended = error.is_race;
        Self::Unavailable { source: error.into(), contended }
    }
}
