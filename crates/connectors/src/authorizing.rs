//! Exchange of credentials for an access token.
//!
//! A platform may replace a credential with each token, and refuse the earlier one from then on. So the caller stores a
//! [`PlatformTokenGrant`] before it uses the token.

use std::collections::BTreeMap;
use std::fmt;

use probity_mail::time::Millis;
use secrecy::SecretString;

use crate::answer::{AnswerJudge, Fault};
use crate::file::{ConnectorFile, TokenRule};
use crate::request::{Credentials, Rendering, Request, Response, Values};
use crate::source::Found;

/// Maximum length of a token, in bytes.
const TOKEN_MAX: usize = 8_192;
/// Minimum and maximum lifetime of a token, in milliseconds.
const LIFETIME_MS: [i64; 2] = [60_000, 30 * 24 * 3_600_000];

/// Access token that a platform gave.
#[derive(Clone)]
pub struct PlatformTokenGrant {
    pub access: SecretString,
    pub expires_at: Millis,
    /// Credential that the platform has replaced, with its new value.
    pub replaced: Option<(String, SecretString)>,
}

/// Hides the tokens: they give access to the account.
impl fmt::Debug for PlatformTokenGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlatformTokenGrant").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// Exchanges the credentials of one connection for an access token.
#[derive(Clone, Copy, Debug)]
pub struct Authorizing<'a> {
    file: &'a ConnectorFile,
    credentials: &'a Credentials,
    rule: &'a TokenRule,
}

impl<'a> Authorizing<'a> {
    /// Returns `None` if the platform takes the credentials themselves.
    pub fn new(file: &'a ConnectorFile, credentials: &'a Credentials) -> Option<Self> {
        Some(Self { file, credentials, rule: file.token.as_ref()? })
    }

    /// Returns the call.
    pub fn request(&self, now: Millis) -> Result<Request, Fault> {
        let rendering = Rendering { file: self.file, now };
        Ok(rendering.request(&self.rule.request, &BTreeMap::new(), &Values::new(self.credentials))?)
    }

    /// Evaluates the response. A fault of class `credential` means that the platform refuses the credentials.
    pub fn answer(&self, response: &Response) -> Result<PlatformTokenGrant, Fault> {
        let rule = self.rule;
        let judge = AnswerJudge { file: self.file, credentials: self.credentials, first: &rule.errors, hidden: &[] };
        let body = judge.judge(response)?.body;
        let found = Found { body: &body, headers: &response.headers, key: None };
        let fits = |text: &String| (1..=TOKEN_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let access = rule.access.text(found).filter(fits);
        let access = access.ok_or_else(|| Fault::unreadable("the response has no access token"))?;
        let stated = rule.expires_in.as_ref().and_then(|at| at.text(found)?.parse::<i64>().ok());
        let lifetime = stated.map_or(rule.lifetime, |seconds| seconds.saturating_mul(1_000));
        let [shortest, longest] = LIFETIME_MS;
        let expires_at = response.at + lifetime.clamp(shortest, longest);
        let replaced = rule.replaces.as_ref().and_then(|replaced| {
            let value = replaced.at.text(found).filter(fits)?;
            Some((replaced.credential.clone(), value.into()))
        });
        Ok(PlatformTokenGrant { access: access.into(), expires_at, replaced })
    }
}
