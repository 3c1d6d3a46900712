//! What can be said of an address before anybody is asked: one call that reads every list and model.
//!
//! It runs for every address of every batch, so it must cost about a microsecond: popular domains are answered by a few
//! look-ups, and only a domain that no list of real domains has is searched for a correction.

use crate::lists::Lists;

/// Facts about an address from lists and models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The local part is that of a function (`info`, `postmaster`).
    pub role: bool,
    /// The domain belongs to a throw-away service. Exchangers can tell more: [`Lists::disposable_exchanger`].
    pub disposable: bool,
    /// A consumer mail provider's domain.
    pub free: bool,
    /// An alias that forwards to a mailbox its owner hides.
    pub relay: bool,
    /// The local part looks typed at random; `gibberish_score` is over the model's threshold.
    pub gibberish: bool,
    /// 0 (a person, a word) to 1 (keyboard mash).
    pub gibberish_score: f32,
    /// The whole address that was probably meant.
    pub suggestion: Option<String>,
}

impl Lists {
    /// All facts about a parsed address: decoded local part, domain in lower-case A-labels.
    pub fn facts(&self, local: &str, domain: &str) -> Facts {
        let role = self.role(local);
        let gibberish_score = if role { 0.0 } else { self.model.score(local) };
        Facts {
            role,
            disposable: self.disposable(domain),
            free: self.free(domain),
            relay: self.relay(domain),
            gibberish: gibberish_score >= self.model.threshold(),
            gibberish_score,
            suggestion: self.suggest(local, domain),
        }
    }

    /// How much a local part looks typed at random: 0 to 1, and whether that is over the threshold.
    pub fn gibberish(&self, local: &str) -> (f32, bool) {
        let score = self.model.score(local);
        (score, score >= self.model.threshold())
    }
}
