//! The widget's part without HTTP: what an answer says, the nonce of a check, leave for checks, and the day's sum.

pub mod answer;
pub mod gate;
pub mod nonce;
pub mod roll_up;

use tokio::sync::Semaphore;

use self::gate::Gate;

pub use crate::published::jobs::WIDGET as SOURCE;

/// Checks at the same time on one node; more are refused. They wait for mail servers, and live calls must find room beside them.
const AT_ONCE: usize = 256;

/// What an operator decides about the widget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidgetConfig {
    /// Requests a minute of one visitor to one key; an IPv6 network of /64 is one visitor.
    pub visitor_per_minute: u32,
    /// Requests a minute with a `pub` key that has no limit of its own.
    pub key_per_minute: u32,
    /// Credits a day (UTC) that a `pub` key may spend which has no cap of its own.
    pub daily_cap: i64,
}

impl Default for WidgetConfig {
    fn default() -> Self {
        Self { visitor_per_minute: 60, key_per_minute: 1_200, daily_cap: 1_000 }
    }
}

/// What all checks share.
pub struct Widget {
    pub config: WidgetConfig,
    pub gate: Gate,
    pub places: Semaphore,
}

impl Widget {
    pub fn new(config: WidgetConfig, gate: Gate) -> Self {
        Self { config, gate, places: Semaphore::new(AT_ONCE) }
    }
}
