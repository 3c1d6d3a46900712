//! Passwords: rules for new ones, and hashing with argon2id (RFC 9106).
//!
//! Hashing deliberately costs memory and time. It runs on its own threads, a few at a time, behind a short queue. If the queue
//! is full, requests fail with 503. A flood of sign-ins therefore takes neither the memory nor the threads of other requests.
//!
//! A password is hashed as the mappings of `OpaqueString` (RFC 8265 §4.2) leave it, so that it does not matter which keyboard or
//! system composes `é`. Characters that RFC forbids are kept: whatever a browser sends works. Passwords that were stored before
//! as they were typed still match, and are hashed again at sign-in.
//!
//! All passwords of an address share a salt, derived from the address and the pepper. An attempt therefore costs one hashing,
//! no matter whether the address has no user, one, or several in different organizations. The stored value is hashed again
//! under the pepper, for its user alone.

use std::iter;
use std::sync::Arc;

use argon2::{Algorithm, Argon2, Params, Version};
use probity_account::id::UserId;
use probity_account::name::is_space;
use probity_contract::error::ApiError;
use probity_store::OrgNo;
use probity_store::accounts::people::passwords::{HashCost, Password, PasswordCandidate, SecretHash};
use prometheus_client::metrics::counter::Counter;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use unicode_normalization::UnicodeNormalization as _;

use crate::secrets::Secrets;

/// Recommendation of OWASP's Password Storage Cheat Sheet for argon2id: 19 MiB, 2 passes, 1 lane.
pub const USUAL_COST: HashCost = HashCost { memory_kib: 19 * 1_024, passes: 2 };
/// Maximum number of attempts in the queue.
const LINE_MAX: usize = 32;
/// Minimum length of a password, in characters. The password may be the only factor: NIST SP 800-63B-4 §3.1.1.2 then asks for
/// 15, and for 8 beside another. With ten guesses per hour, 12 are enough.
const CHARS_MIN: usize = 12;
/// Maximum length, in bytes: longer than anybody types, and short enough that its hashing cost does not matter.
const BYTES_MAX: usize = 1_024;

/// Hashing of passwords.
pub struct Passwords {
    cost: HashCost,
    at_once: Arc<Semaphore>,
    line: Semaphore,
    hashed: Counter,
}

impl Passwords {
    pub fn new(cost: HashCost, at_once: usize, hashed: Counter) -> Self {
        let at_once = at_once.max(1);
        Self { cost, at_once: Arc::new(Semaphore::new(at_once)), line: Semaphore::new(at_once + LINE_MAX), hashed }
    }

    /// Hashes a user's new password for storage.
    pub async fn new_password(
        &self,
        secrets: &Secrets,
        (org, user): (OrgNo, UserId),
        who: SecretHash,
        text: &str,
    ) -> Result<Password, ApiError> {
        let stretched = self.stretch(&prepared(text), secrets.salt(&who), self.cost).await?;
        Ok(Password { org, user, who, hash: secrets.password(org, user, &stretched), cost: self.cost })
    }

    /// Whether a text is this password.
    pub async fn is(&self, secrets: &Secrets, password: &Password, text: &str) -> Result<bool, ApiError> {
        for form in forms(text) {
            let stretched = self.stretch(&form, secrets.salt(&password.who), password.cost).await?;
            if fits(secrets, password, &stretched) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns those of an address's passwords that a text matches. Always hashes once at the usual cost, and once more for
    /// each other cost of the candidates; twice if the text is not prepared.
    pub async fn matching(
        &self,
        secrets: &Secrets,
        who: &SecretHash,
        text: &str,
        mut candidates: Vec<PasswordCandidate>,
    ) -> Result<Vec<PasswordCandidate>, ApiError> {
        let salt = secrets.salt(who);
        let mut costs = vec![self.cost];
        for PasswordCandidate { password, .. } in &candidates {
            if !costs.contains(&password.cost) {
                costs.push(password.cost);
            }
        }
        let mut done = Vec::new();
        for form in forms(text) {
            for &cost in &costs {
                done.push((cost, self.stretch(&form, salt, cost).await?));
            }
        }
        candidates.retain(|PasswordCandidate { password, .. }| {
            done.iter().any(|(cost, stretched)| *cost == password.cost && fits(secrets, password, stretched))
        });
        Ok(candidates)
    }

    /// Hashes a password again, prepared and at the usual cost; `None` if it is stored so already.
    pub async fn upgraded(
        &self,
        secrets: &Secrets,
        password: &Password,
        text: &str,
    ) -> Result<Option<Password>, ApiError> {
        if password.cost == self.cost && prepared(text).expose_secret() == text {
            return Ok(None);
        }
        self.new_password(secrets, (password.org, password.user), password.who, text).await.map(Some)
    }

    /// Waits for this attempt's turn, then runs argon2id.
    async fn stretch(&self, password: &SecretString, salt: [u8; 16], cost: HashCost) -> Result<[u8; 32], ApiError> {
        let full = || ApiError::unavailable("too many sign-ins at the same time").retry_after(1);
        let _place = self.line.try_acquire().map_err(|_| full())?;
        let turn = self.at_once.clone().acquire_owned().await.map_err(ApiError::server_error)?;
        let (password, hashed) = (password.clone(), self.hashed.clone());
        let work = move || {
            // The turn ends with the work, even if the client disconnects earlier.
            let _turn = turn;
            hashed.inc();
            argon2id(password.expose_secret().as_bytes(), &salt, cost)
        };
        tokio::task::spawn_blocking(work).await.map_err(ApiError::server_error)?.map_err(ApiError::server_error)
    }
}

/// Returns a password as it is hashed: other spaces as U+0020, characters composed (RFC 8265 §4.2.2).
fn prepared(text: &str) -> SecretString {
    let spaced = text.chars().map(|c| if is_space(c) { ' ' } else { c });
    SecretString::from(spaced.nfc().collect::<String>())
}

/// Returns the forms that may have been hashed: prepared, and as typed if that differs.
fn forms(text: &str) -> Vec<SecretString> {
    let prepared = prepared(text);
    let as_typed = (prepared.expose_secret() != text).then(|| SecretString::from(text));
    iter::once(prepared).chain(as_typed).collect()
}

fn argon2id(password: &[u8], salt: &[u8], cost: HashCost) -> Result<[u8; 32], argon2::Error> {
    let params = Params::new(cost.memory_kib, cost.passes, 1, Some(32))?;
    let mut stretched = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(password, salt, &mut stretched)?;
    Ok(stretched)
}

fn fits(secrets: &Secrets, password: &Password, stretched: &[u8; 32]) -> bool {
    secrets.password(password.org, password.user, stretched).ct_eq(&password.hash).into()
}

/// Checks that a text may become the password of the user with this address.
pub fn check_new(field: &str, text: &str, email: &str) -> Result<(), ApiError> {
    let prepared = prepared(text);
    let text = prepared.expose_secret();
    let chars = text.chars().count();
    if chars < CHARS_MIN || text.len() > BYTES_MAX {
        let bounds = format_args!("must have at least {CHARS_MIN} characters, and at most {BYTES_MAX} bytes");
        return Err(ApiError::invalid(field, bounds));
    }
    let first = text.chars().next();
    if text.eq_ignore_ascii_case(email) || text.chars().all(|char| Some(char) == first) {
        return Err(ApiError::invalid(field, "must not be the email address or a single repeated character"));
    }
    Ok(())
}

/// Checks that a text could be a password at all.
pub fn check_given(field: &str, text: &str) -> Result<(), ApiError> {
    if text.is_empty() || text.len() > BYTES_MAX {
        return Err(ApiError::invalid(field, format_args!("must have 1 to {BYTES_MAX} bytes")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use probity_account::id::OrgId;

    use super::*;
    use crate::secrets::hex;

    const CHEAP: HashCost = HashCost { memory_kib: 8, passes: 1 };

    #[test]
    fn argon2id_is_the_one_of_the_reference_program() {
        // echo -n password | argon2 somesalt -id -k 256 -t 2 -p 1
        let stretched = argon2id(b"password", b"somesalt", HashCost { memory_kib: 256, passes: 2 }).unwrap();
        assert_eq!(hex(&stretched), "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe");
    }

    #[test]
    fn passwords_have_bounds() {
        let email = "somebody@example.com";
        for good in ["correct horse", "äöüäöüäöüäöü", "            x"] {
            assert!(check_new("password", good, email).is_ok(), "{good}");
        }
        for bad in ["", "short", "elevenchars", "aaaaaaaaaaaaaaaa", "Somebody@Example.com", &"ab".repeat(600)] {
            assert!(check_new("password", bad, email).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_password_fits_however_its_characters_are_composed() {
        let secrets = Secrets::of(&[1; 32]);
        let passwords = Passwords::new(CHEAP, 1, Counter::default());
        let (org, user, who) = (OrgNo(1), UserId::from_bits(1), [7; 32]);
        let stored = async |text: &str| passwords.new_password(&secrets, (org, user), who, text).await.unwrap();
        let fits = async |password: &Password, text: &str| {
            let candidate =
                PasswordCandidate { password: password.clone(), org_id: OrgId::from_bits(1), org_name: None };
            let matching = passwords.matching(&secrets, &who, text, vec![candidate]).await.unwrap();
            let is = passwords.is(&secrets, password, text).await.unwrap();
            assert_eq!(is, !matching.is_empty(), "{text}");
            is
        };
        let (composed, apart) = ("caf\u{e9} au lait", "cafe\u{301}\u{a0}au lait");
        for (kept, typed) in [(composed, apart), (apart, composed), (apart, apart)] {
            assert!(fits(&stored(kept).await, typed).await, "{kept:?} {typed:?}");
        }
        assert!(!fits(&stored(composed).await, "cafe au lait").await);
        // Stored before, as it was typed.
        let stretched = passwords.stretch(&SecretString::from(apart), secrets.salt(&who), CHEAP).await.unwrap();
        let old = Password { org, user, who, hash: secrets.password(org, user, &stretched), cost: CHEAP };
        assert!(fits(&old, apart).await && !fits(&old, composed).await);
        let renewed = passwords.upgraded(&secrets, &old, apart).await.unwrap().unwrap();
        assert!(fits(&renewed, composed).await && fits(&renewed, apart).await);
        assert_eq!(passwords.upgraded(&secrets, &renewed, composed).await.unwrap(), None);
    }

    #[tokio::test]
    async fn who_comes_when_the_line_is_full_is_sent_away() {
        let passwords = Passwords::new(CHEAP, 1, Counter::default());
        let password = SecretString::from("password");
        let turn = passwords.at_once.clone().acquire_owned().await.unwrap();
        let many = (0..LINE_MAX + 6).map(|_| passwords.stretch(&password, [0; 16], CHEAP));
        let all = futures_util::future::join_all(many);
        let (results, ()) = tokio::join!(all, async {
            tokio::task::yield_now().await;
            drop(turn);
        });
        let refused = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(refused, 5, "one works, the line waits");
        assert_eq!(passwords.hashed.get(), u64::try_from(LINE_MAX + 1).unwrap());
    }
}
