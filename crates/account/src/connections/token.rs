//! Access token of an account at a platform, as stored.

use probity_mail::time::Millis;

/// Maximum time before its end from which a token is replaced, in milliseconds.
const MARGIN_MS: i64 = 5 * 60_000;
/// Part of a token's lifetime before its end from which it is replaced, if that is less.
const MARGIN_PART: i64 = 4;

/// Tokens as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// Number of the exchange.
    pub version: i64,
    /// Encrypted; `None` before the first exchange.
    pub tokens: Option<Vec<u8>>,
    /// End of the access token; `None` if none is valid.
    pub expires_at: Option<Millis>,
    /// End of an exchange in progress.
    pub claimed_until: Option<Millis>,
    /// Time of the last exchange.
    pub exchanged_at: Millis,
}

impl StoredToken {
    /// Returns whether the access token is valid.
    pub fn is_valid(&self, now: Millis) -> bool {
        self.tokens.is_some() && self.expires_at.is_some_and(|end| end > now)
    }

    /// Returns whether the access token is valid, and far enough from its end.
    pub fn is_fresh(&self, now: Millis) -> bool {
        let lifetime = self.expires_at.map_or(0, |end| end.since(self.exchanged_at));
        self.is_valid(now + (lifetime / MARGIN_PART).clamp(0, MARGIN_MS))
    }

    /// Returns whether an exchange is in progress.
    pub fn is_claimed(&self, now: Millis) -> bool {
        self.claimed_until.is_some_and(|until| until > now)
    }
}

/// Answer to a process that needs a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenTurn {
    /// A token that is valid.
    Valid(StoredToken),
    /// Another process exchanges the credentials.
    Busy,
    /// The caller exchanges the credentials, and stores the result under this version.
    Yours(StoredToken),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_replaced_in_the_last_quarter_of_its_life_and_at_most_5_minutes_before_its_end() {
        for (lifetime, margin) in [(60_000, 15_000), (4 * MARGIN_MS, MARGIN_MS), (86_400_000, MARGIN_MS)] {
            let (exchanged_at, expires_at) = (Millis(7), Some(Millis(7 + lifetime)));
            let token =
                StoredToken { version: 1, tokens: Some(Vec::new()), expires_at, claimed_until: None, exchanged_at };
            let last = Millis(7 + lifetime - margin - 1);
            assert!(token.is_fresh(exchanged_at) && token.is_fresh(last), "{lifetime}");
            assert!(!token.is_fresh(last + 1) && token.is_valid(last + 1), "{lifetime}");
        }
    }
}
