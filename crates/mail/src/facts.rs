//! What can be said of an address before anybody is asked: one call that reads every list and model.
//!
//! It runs for every address of every batch, so it must cost about a microsecond: popular domains are answered by a few
//! look-ups, and only a domain that no list of real domains has is searched for a correction.

pub mod gibberish;
pub mod lists;
pub mod suggest;

use crate::facts::lists::Lists;
use crate::facts::suggest::Suggestion;

/// Facts about an address from lists and models.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the answer, independent of the others")]
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
    pub suggestion: Option<Suggestion>,
}

impl Lists {
    /// All facts about a parsed address: decoded local part, domain in lower-case A-labels.
    pub fn facts(&self, local: &str, domain: &str) -> Facts {
        let role = self.role(local);
        let gibberish_score = if role { 0.0 } else { self.model.score(local) };
        let lists = self.membership(domain);
        Facts {
            role,
            disposable: self.throw_away(domain, lists),
            free: lists.free,
            relay: lists.relay,
            gibberish: gibberish_score >= self.model.threshold(),
            gibberish_score,
            suggestion: self.suggest_knowing(local, domain, lists),
        }
    }

    /// How much a local part looks typed at random: 0 to 1, and whether that is over the threshold.
    pub fn gibberish(&self, local: &str) -> (f32, bool) {
        let score = self.model.score(local);
        (score, score >= self.model.threshold())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_facts_of_an_address_come_in_one_call() {
        let lists = Lists::embedded();
        let plain = lists.facts("ann.lee", "acme-widgets.example");
        assert_eq!(plain, Facts { gibberish_score: plain.gibberish_score, ..Facts::default() });
        let slip = lists.facts("Info", "gmial.com");
        assert!(slip.role && !slip.free && slip.suggestion.unwrap().email == "Info@gmail.com");
        assert!(lists.facts("ann", "gmail.com").free && lists.facts("ann", "x.mailinator.com").disposable);
        assert!(lists.facts("ann", "bob.33mail.com").relay && lists.facts("sdkfjhskdjf", "gmail.com").gibberish);
    }

    #[test]
    fn the_parts_agree_with_the_whole() {
        let lists = Lists::embedded();
        for domain in [
            "gmail.com",
            "mail.gmail.com",
            "mailinator.com",
            "a.mailinator.com",
            "my-temp-mail.example",
            "duck.com",
            "debian.org",
            "acme.example",
            "com",
            "",
        ] {
            let facts = lists.facts("ann", domain);
            assert_eq!(
                (facts.disposable, facts.free, facts.relay, facts.suggestion),
                (lists.disposable(domain), lists.free(domain), lists.relay(domain), lists.suggest("ann", domain)),
                "{domain}"
            );
        }
    }
}
