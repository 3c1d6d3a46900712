//! Faults on the way or at the platform, drawn from a seed: the same seed gives the same run.

use probity_mail::rng::Rng;

/// Fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EspFault {
    /// The platform fails before it acts.
    Error,
    /// The platform acts, and the connection closes without a reply.
    LostReply,
    /// A proxy sends a web page before the platform sees the call.
    WebPage,
    /// The reply is truncated.
    Cut,
    /// The reply repeats the previous page.
    RepeatedPage,
    /// The reply is slow.
    Slow,
    /// The platform acts, and the reply has 10 GB.
    Flood,
    /// The platform acts, and the reply has no body.
    Empty,
    /// The platform does not read, and the reply says so under the status of a success.
    ErrorInside,
}

/// Frequencies of faults, per 1,000 calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EspFaults {
    pub errors: u32,
    pub lost_replies: u32,
    pub web_pages: u32,
    pub cuts: u32,
    pub repeated_pages: u32,
    pub slow: u32,
    pub floods: u32,
    pub empties: u32,
    pub errors_inside: u32,
    /// Contacts added between two pages.
    pub arrivals: u32,
    /// Contacts removed between two pages.
    pub departures: u32,
    /// Number of the call from which credentials are refused for 1 h.
    pub dead_from: Option<usize>,
    /// Maximum number of faults, so that every run ends. Arrivals and departures are not limited.
    pub max: usize,
}

/// Time for which refused credentials stay refused.
pub(crate) const DEAD_MS: i64 = 3_600_000;

impl EspFaults {
    /// Returns settings without faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// Draws a mixture from a seed: most kinds of faults, some of them frequent.
    pub fn drawn(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xfa17);
        let mut share = |max: usize| u32::try_from(rng.below(max)).unwrap_or(0);
        let mut faults = Self {
            errors: share(60),
            lost_replies: share(80),
            web_pages: share(40),
            cuts: share(40),
            repeated_pages: share(80),
            slow: share(40),
            floods: 0,
            empties: 0,
            errors_inside: 0,
            arrivals: share(300),
            departures: 0,
            dead_from: None,
            max: 40,
        };
        faults.dead_from = rng.below(3).eq(&0).then(|| 5 + rng.below(60));
        faults
    }

    /// Draws the fault of a call.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<EspFault> {
        let kinds = [
            (self.errors, EspFault::Error),
            (self.lost_replies, EspFault::LostReply),
            (self.web_pages, EspFault::WebPage),
            (self.cuts, EspFault::Cut),
            (self.repeated_pages, EspFault::RepeatedPage),
            (self.slow, EspFault::Slow),
            (self.floods, EspFault::Flood),
            (self.empties, EspFault::Empty),
            (self.errors_inside, EspFault::ErrorInside),
        ];
        let mut drawn = u32::try_from(rng.below(1_000)).unwrap_or(0);
        for (share, kind) in kinds {
            if drawn < share {
                return Some(kind);
            }
            drawn -= share;
        }
        None
    }
}
