//! Connections to email platforms: access to their accounts, and runs over their contacts.
//!
//! Requests go through [`Platforms`], within the egress guard and the account's rate limits, which all nodes share.

pub mod access;
pub(crate) mod effects;
pub mod hooks;
pub(crate) mod planning;
pub mod rows;
pub mod runs;
pub mod scheduling;
pub mod tokens;

use probity_engine::net::BoxFuture;
use probity_mail::time::Millis;

use crate::accounts::limits::{LimitBucket, RateLimits, TokenLimit};

pub use effects::kind_of;
pub use probity_connectors::HostAllowance;
pub use probity_outbound::platforms::{
    AccountBudget, CallCause, CallFault, CallTurn, NoGrant, PlatformBuckets, PlatformConfig, PlatformLimit,
    PlatformPause, Platforms, TEST_MAX_MS,
};

impl PlatformBuckets for RateLimits {
    fn take_tokens<'a>(&'a self, limits: &'a [PlatformLimit], now: Millis) -> BoxFuture<'a, Option<Millis>> {
        let bucket = |limit: &PlatformLimit| {
            if limit.is_shared {
                LimitBucket::Platform(limit.account, limit.number)
            } else {
                LimitBucket::PlatformSource(limit.account, limit.number)
            }
        };
        let limits: Vec<_> = limits
            .iter()
            .map(|limit| TokenLimit { bucket: bucket(limit), step_us: limit.step_us, burst: limit.burst })
            .collect();
        Box::pin(async move { self.take_each(&limits, now).await.and_then(|state| state.refused_until) })
    }

    fn pause(&self, pause: PlatformPause, until: Millis, now: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.pause_platform((pause.account, pause.of), until, now))
    }

    fn paused_until(&self, pause: PlatformPause, now: Millis) -> BoxFuture<'_, Option<Millis>> {
        Box::pin(self.platform_paused_until((pause.account, pause.of), now))
    }
}

#[cfg(test)]
mod tests;
