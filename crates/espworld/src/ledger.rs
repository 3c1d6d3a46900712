//! Record of the calls to a world.

use crate::faults::EspFault;

/// Maximum number of recorded calls; the counters continue.
const CALLS_MAX: usize = 200_000;

/// Call with its outcome. Headers and bodies are not recorded, because they contain credentials and addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspRecord {
    /// Number from 1.
    pub number: usize,
    pub at: i64,
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    pub status: u16,
    pub fault: Option<EspFault>,
    /// Whether the call exceeded a rate limit.
    pub is_excess: bool,
    /// Fault in the form of the call.
    pub blame: Option<String>,
}

/// Calls and their counters.
#[derive(Clone, Debug, Default)]
pub struct EspLedger {
    calls: Vec<EspRecord>,
    total: usize,
    excesses: usize,
    faults: usize,
}

impl EspLedger {
    pub(crate) fn add(&mut self, record: EspRecord) {
        self.total += 1;
        self.excesses += usize::from(record.is_excess);
        self.faults += usize::from(record.fault.is_some());
        if self.calls.len() < CALLS_MAX {
            self.calls.push(record);
        }
    }

    /// Returns the first 200,000 calls.
    pub fn calls(&self) -> &[EspRecord] {
        &self.calls
    }

    /// Returns the number of calls.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns the number of calls over a rate limit.
    pub fn excesses(&self) -> usize {
        self.excesses
    }

    /// Returns the number of faults that occurred.
    pub fn faults(&self) -> usize {
        self.faults
    }

    /// Returns the calls with a fault in their form.
    pub fn blamed(&self) -> impl Iterator<Item = &EspRecord> {
        self.calls.iter().filter(|call| call.blame.is_some())
    }
}
