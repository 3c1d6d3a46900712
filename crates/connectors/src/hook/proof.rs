//! Verifies that the platform sent a notification, over its raw bytes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use probity_mail::time::Millis;
use ring::hmac;
use subtle::ConstantTimeEq as _;

use crate::file::{HookHash, HookProof, SignatureForm, WaitForm};
use crate::request::hex_bytes;
use crate::source::header;

/// Reason why a notification is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofFault {
    #[error("the proof's header is missing or malformed")]
    Missing,
    #[error("the signature is wrong")]
    Wrong,
    #[error("the signature is too old or from the future")]
    Stale,
}

/// Checks the proof of a notification received at the secret path. `raw` is the body as received.
pub fn prove(
    proof: &HookProof,
    secret: &str,
    (headers, raw): (&[(String, String)], &[u8]),
    now: Millis,
) -> Result<(), ProofFault> {
    match proof {
        HookProof::Path {} | HookProof::Echo { .. } | HookProof::None {} => Ok(()),
        HookProof::Bearer {} => {
            let sent = header(headers, "Authorization").and_then(|text| text.strip_prefix("Bearer "));
            let sent = sent.ok_or(ProofFault::Missing)?;
            if bool::from(sent.as_bytes().ct_eq(secret.as_bytes())) { Ok(()) } else { Err(ProofFault::Wrong) }
        }
        HookProof::Hmac { .. } => signed(proof, secret, (headers, raw), now),
    }
}

fn signed(
    proof: &HookProof,
    secret: &str,
    (headers, raw): (&[(String, String)], &[u8]),
    now: Millis,
) -> Result<(), ProofFault> {
    let HookProof::Hmac { header: name, hash, form, part, time_part, time_header, time_form, signed, tolerance } =
        proof
    else {
        return Err(ProofFault::Missing);
    };
    let line = header(headers, name).ok_or(ProofFault::Missing)?;
    let piece = |wanted: &str| {
        let pieces = line.split(',').filter_map(|piece| piece.trim().split_once('='));
        pieces.into_iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    };
    let signature = part.as_deref().map_or(Some(line.trim()), piece).ok_or(ProofFault::Missing)?;
    let signature = match form {
        SignatureForm::Hex => hex_bytes(signature),
        SignatureForm::Base64 => BASE64_STANDARD.decode(signature).ok(),
    };
    let signature = signature.ok_or(ProofFault::Missing)?;
    let time = match (time_part, time_header) {
        (Some(part), _) => piece(part),
        (None, Some(name)) => header(headers, name),
        (None, None) => None,
    };
    let algorithm = match hash {
        HookHash::Sha256 => hmac::HMAC_SHA256,
        HookHash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
    };
    let key = hmac::Key::new(algorithm, secret.as_bytes());
    let text = text(signed, time, raw).ok_or(ProofFault::Missing)?;
    // The age is checked last, because a forged signature proves no time.
    hmac::verify(&key, &text, &signature).map_err(|_| ProofFault::Wrong)?;
    match time {
        Some(time) if !is_fresh(time, *time_form, *tolerance, now) => Err(ProofFault::Stale),
        _ => Ok(()),
    }
}

/// Builds the signed text; `None` if it needs a time and there is none.
fn text(form: &str, time: Option<&str>, raw: &[u8]) -> Option<Vec<u8>> {
    let (before, after) = form.split_once("{body}")?;
    let timed =
        |text: &str| if text.contains("{t}") { Some(text.replace("{t}", time?)) } else { Some(text.to_owned()) };
    let mut text = timed(before)?.into_bytes();
    text.extend_from_slice(raw);
    text.extend_from_slice(timed(after)?.as_bytes());
    Some(text)
}

fn is_fresh(time: &str, form: WaitForm, tolerance: i64, now: Millis) -> bool {
    let at = match form {
        WaitForm::Epoch | WaitForm::Seconds => {
            time.trim().parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(1000))
        }
        WaitForm::Milliseconds => time.trim().parse::<i64>().ok(),
        WaitForm::HttpDate => crate::date::http_date(time).map(|at| at.0),
    };
    at.is_some_and(|at| now.0.saturating_sub(at).saturating_abs() <= tolerance)
}
