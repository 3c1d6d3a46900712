//! Access and refresh tokens that a platform gives.
//!
//! A refresh replaces the refresh token. The one before works for 30 s more, which is the usual grace of authorization servers.

use std::collections::BTreeMap;

/// Time for which the refresh token before the newest still works, in milliseconds.
pub(crate) const GRACE_MS: i64 = 30_000;

/// Tokens of an account.
#[derive(Debug, Default)]
pub(crate) struct EspTokens {
    /// Number of the newest refresh token.
    newest: u64,
    /// Number of the refresh token before it, and the time until which it works.
    earlier: Option<(u64, i64)>,
    /// Valid access tokens with their ends.
    access: BTreeMap<String, i64>,
    /// Exchanges that gave a token.
    exchanges: usize,
    is_revoked: bool,
}

impl EspTokens {
    /// Returns the refresh token of a number; 0 is the one that the customer enters.
    pub(crate) fn refresh_token(key: &str, number: u64) -> String {
        format!("rt{number}-{}", &key[20..50])
    }

    /// Replaces a refresh token. Returns the access token and the new refresh token.
    pub(crate) fn refresh(&mut self, key: &str, given: &str, now: i64, life_ms: i64) -> Option<(String, String)> {
        let is = |number: u64| given == Self::refresh_token(key, number);
        let is_earlier = self.earlier.is_some_and(|(number, until)| is(number) && now <= until);
        if self.is_revoked || !(is(self.newest) || is_earlier) {
            return None;
        }
        // An answer that was lost more than once does not make the grace longer.
        if !is_earlier {
            self.earlier = Some((self.newest, now + GRACE_MS));
        }
        self.newest += 1;
        Some((self.give(key, now, life_ms), Self::refresh_token(key, self.newest)))
    }

    /// Gives an access token.
    pub(crate) fn give(&mut self, key: &str, now: i64, life_ms: i64) -> String {
        self.exchanges += 1;
        let token = format!("at{}-{}", self.exchanges, &key[..30]);
        self.access.insert(token.clone(), now + life_ms);
        token
    }

    /// Returns whether an access token is valid.
    pub(crate) fn is_valid(&self, token: &str, now: i64) -> bool {
        !self.is_revoked && self.access.get(token).is_some_and(|until| now < *until)
    }

    /// Returns the number of exchanges that gave a token.
    pub(crate) fn exchanges(&self) -> usize {
        self.exchanges
    }

    /// Ends all access tokens, as when an administrator signs everybody out.
    pub(crate) fn end_access(&mut self) {
        self.access.clear();
    }

    /// Ends all tokens for good.
    pub(crate) fn revoke(&mut self) {
        self.is_revoked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_refresh_token_works_for_a_while() {
        let key = "0123456789abcdef".repeat(4);
        let mut tokens = EspTokens::default();
        let first = EspTokens::refresh_token(&key, 0);
        let (access, second) = tokens.refresh(&key, &first, 0, 1_000).unwrap();
        assert!(tokens.is_valid(&access, 999) && !tokens.is_valid(&access, 1_000));
        // The answer was lost, twice.
        tokens.refresh(&key, &first, 10_000, 1_000).unwrap();
        let (_, newest) = tokens.refresh(&key, &first, GRACE_MS, 1_000).unwrap();
        assert!(tokens.refresh(&key, &first, GRACE_MS + 1, 1_000).is_none());
        assert!(tokens.refresh(&key, &second, GRACE_MS + 1, 1_000).is_none());
        assert!(tokens.refresh(&key, &newest, GRACE_MS + 1, 1_000).is_some());
        tokens.revoke();
        assert!(tokens.refresh(&key, &newest, GRACE_MS + 2, 1_000).is_none());
    }
}
