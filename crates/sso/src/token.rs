//! ID tokens (OpenID Connect Core §3.1.3.7): signature first, then every claim that must fit.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_mail::time::Millis;
use serde::Deserialize;
use serde_json::Value;

use crate::discovery::is_same_issuer;
use crate::fault::SsoFault;
use crate::keys::SigningKeys;

/// Maximum length of a token, in bytes.
const TOKEN_MAX: usize = 32 * 1_024;
/// Maximum length of a subject (Core §2).
const SUBJECT_MAX: usize = 255;
/// Tolerated difference between the clocks, in milliseconds.
const SKEW_MS: i64 = 60_000;
/// Issuer where anybody can have a personal account with a company's address, called verified.
const GOOGLE: &str = "https://accounts.google.com";

/// What a token must say.
#[derive(Clone, Copy)]
pub struct TokenCheck<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
    pub now: Millis,
}

/// Whom a checked token is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdClaims {
    /// The provider's name of the account, which never changes.
    pub subject: String,
    email: Option<String>,
    email_verified: bool,
    pub name: Option<String>,
    /// Whether a token must say whose account it is.
    is_google: bool,
    hosted_domain: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AudienceClaim {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
struct RawClaims {
    iss: String,
    sub: String,
    aud: AudienceClaim,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    email: Option<String>,
    email_verified: Option<Value>,
    name: Option<String>,
    hd: Option<String>,
}

impl TokenCheck<'_> {
    /// Checks a token.
    pub fn check(&self, token: &str, keys: &SigningKeys) -> Result<IdClaims, SsoFault> {
        if token.len() > TOKEN_MAX {
            return Err(SsoFault::TooLarge);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(SsoFault::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(SsoFault::Malformed)?;
        let header: Header = part(header)?;
        // An extension that must be understood is not (RFC 7515 §4.1.11).
        if header.crit.is_some() {
            return Err(SsoFault::Algorithm);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| SsoFault::Malformed)?;
        keys.check((&header.alg, header.kid.as_deref()), signed.as_bytes(), &signature)?;
        self.judge(part(claims)?)
    }

    fn judge(&self, claims: RawClaims) -> Result<IdClaims, SsoFault> {
        if !is_same_issuer(&claims.iss, self.issuer) {
            return Err(SsoFault::TokenIssuer);
        }
        let (is_ours, alone) = match &claims.aud {
            AudienceClaim::One(one) => (one == self.client_id, true),
            AudienceClaim::Several(all) => (all.iter().any(|one| one == self.client_id), all.len() == 1),
        };
        let is_presented_by_us = claims.azp.as_ref().map_or(alone, |party| party == self.client_id);
        if !is_ours || !is_presented_by_us {
            return Err(SsoFault::Audience);
        }
        let now = self.now;
        let too_early = |at: f64| now + SKEW_MS < moment(at);
        if now >= moment(claims.exp) + SKEW_MS || too_early(claims.iat) || claims.nbf.is_some_and(too_early) {
            return Err(SsoFault::Expired);
        }
        if claims.nonce.as_deref() != Some(self.nonce) {
            return Err(SsoFault::Nonce);
        }
        if claims.sub.is_empty() || claims.sub.len() > SUBJECT_MAX {
            return Err(SsoFault::Malformed);
        }
        // Some providers write the boolean as a text.
        let email_verified = claims.email_verified.is_some_and(|said| said == Value::Bool(true) || said == "true");
        Ok(IdClaims {
            subject: claims.sub,
            email: claims.email,
            email_verified,
            name: claims.name,
            is_google: is_same_issuer(self.issuer, GOOGLE),
            hosted_domain: claims.hd,
        })
    }
}

impl IdClaims {
    /// Returns the address. `believed` takes it without the provider's word that it is verified.
    pub fn email(&self, believed: bool) -> Result<&str, SsoFault> {
        let email = self.email.as_deref().map(str::trim).filter(|email| !email.is_empty()).ok_or(SsoFault::NoEmail)?;
        if self.email_verified || believed { Ok(email) } else { Err(SsoFault::Unverified) }
    }

    /// Returns the domain whose administrator manages the account, if the provider also has accounts that nobody manages.
    /// Google says so only of accounts of organizations.
    pub fn managed_by(&self) -> Result<Option<&str>, SsoFault> {
        if !self.is_google {
            return Ok(None);
        }
        self.hosted_domain.as_deref().filter(|domain| !domain.is_empty()).map(Some).ok_or(SsoFault::Personal)
    }
}

fn part<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, SsoFault> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| SsoFault::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| SsoFault::Malformed)
}

/// Returns the time of a claim in seconds. A time beyond all times stays one.
#[expect(clippy::cast_possible_truncation, reason = "a number that is too large becomes the largest")]
fn moment(seconds: f64) -> Millis {
    Millis(((seconds * 1_000.0) as i64).clamp(i64::MIN / 4, i64::MAX / 4))
}
