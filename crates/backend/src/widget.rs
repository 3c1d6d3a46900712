//! The widget, without HTTP: responses, nonces, permission for checks, and daily summaries.

pub mod answer;
pub mod gate;
pub mod nonce;
pub mod roll_up;

use tokio::sync::Semaphore;

use self::gate::WidgetGate;

pub use probity_contract::published::jobs::WIDGET as SOURCE;

/// Maximum number of concurrent checks on a node; more are refused. They wait for MX hosts, and must leave capacity for live
/// calls.
const AT_ONCE: usize = 256;
/// Time within which every check has ended and is settled, in milliseconds: much longer than retries of its charge and
/// differences between clocks.
pub const CHECK_MAX_MS: i64 = 600_000;

/// Settings of the widget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidgetConfig {
    /// Requests per minute of one visitor to one key. An IPv6 /64 network is one visitor.
    pub visitor_per_minute: u32,
    /// Requests per minute with a `pub` key that has no limit of its own.
    pub key_per_minute: u32,
    /// Credits per day (UTC) for a `pub` key that has no cap of its own.
    pub daily_cap: i64,
}

impl Default for WidgetConfig {
    fn default() -> Self {
        Self { visitor_per_minute: 60, key_per_minute: 1_200, daily_cap: 1_000 }
    }
}

/// State shared by all checks.
pub struct WidgetState {
    pub config: WidgetConfig,
    pub gate: WidgetGate,
    pub places: Semaphore,
}

impl WidgetState {
    pub fn new(config: WidgetConfig, gate: WidgetGate) -> Self {
        Self { config, gate, places: Semaphore::new(AT_ONCE) }
    }
}
