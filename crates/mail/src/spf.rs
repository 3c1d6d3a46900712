//! Whether a domain lets an address send its mail: a small evaluator of SPF (RFC 7208).
//!
//! The doctor asks it one question: does the SPF record of our MAIL FROM domain cover the addresses that we probe from? It is
//! a pure function over the DNS answers that are known so far. Where one is missing, [`check`] says which, the caller looks it
//! up and calls again; with at most ten look-ups a record (§4.6.4) starting over costs nothing and needs no stored state.
//!
//! Macros (§7) depend on a message that we do not have, and `ptr` must not be used (§5.5): a record that would be decided by
//! one of them is [`Outcome::Undecided`], never guessed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::dns::{Answer, Kind, Record};

/// Look-ups that one evaluation may cause (§4.6.4).
const LOOKUPS_MAX: u32 = 10;
/// Look-ups without an answer that one evaluation may cause (§4.6.4).
const VOID_LOOKUPS_MAX: u32 = 2;
/// Exchangers whose addresses are looked up for one `mx` (§4.6.4).
const MX_MAX: usize = 10;

/// The answers that are known so far.
pub type Answers = BTreeMap<(String, Kind), Answer>;

/// What an evaluation came to (§2.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The address may send.
    Pass,
    /// It may not.
    Fail,
    /// It probably may not.
    SoftFail,
    /// The domain says nothing about it.
    Neutral,
    /// There is no SPF record.
    None,
    /// The DNS failed.
    TempError,
    /// The record is wrong; the text says how.
    PermError(&'static str),
    /// A macro or `ptr` would decide.
    Undecided,
}

/// One step of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This look-up is needed; put its answer into the [`Answers`] and call [`check`] again.
    Ask(String, Kind),
    /// The evaluation is finished.
    Done(Outcome),
}

/// Whether `domain` lets `ip` send its mail, as far as `answers` tell. `domain` is absolute, in lower-case A-labels.
pub fn check(ip: IpAddr, domain: &str, answers: &Answers) -> Step {
    let mut run = Run { ip, answers, lookups: 0, voids: 0 };
    match run.domain(domain) {
        Err(Stop::Ask(name, kind)) => Step::Ask(name, kind),
        Ok(outcome) | Err(Stop::Outcome(outcome)) => Step::Done(outcome),
    }
}

/// Why an evaluation cannot go on.
enum Stop {
    Ask(String, Kind),
    Outcome(Outcome),
}

fn permanent<T>(how: &'static str) -> Result<T, Stop> {
    Err(Stop::Outcome(Outcome::PermError(how)))
}

struct Run<'a> {
    ip: IpAddr,
    answers: &'a Answers,
    lookups: u32,
    voids: u32,
}

impl Run<'_> {
    /// Evaluates the record of one domain (§4).
    fn domain(&mut self, domain: &str) -> Result<Outcome, Stop> {
        let Some(record) = self.record(domain)? else { return Ok(Outcome::None) };
        let mut redirect = None;
        for term in record.split_ascii_whitespace().skip(1) {
            match modifier(term) {
                Some(("redirect", target)) => redirect = Some(target.to_owned()),
                // §6: unknown modifiers are ignored, and `exp` only explains.
                Some(_) => {}
                None => {
                    let (outcome, mechanism) = qualified(term);
                    if self.matches(mechanism, domain)? {
                        return Ok(outcome);
                    }
                }
            }
        }
        let Some(target) = redirect else { return Ok(Outcome::Neutral) };
        self.count_lookup()?;
        // §6.1: a redirect to a domain without a record is an error of the record.
        match self.domain(&name(&target)?)? {
            Outcome::None => permanent("redirect to a domain without an SPF record"),
            outcome => Ok(outcome),
        }
    }

    /// The SPF record of a domain (§4.5): exactly one text that begins with the version.
    fn record(&self, domain: &str) -> Result<Option<String>, Stop> {
        let texts = self.look_up(domain, Kind::Txt)?.unwrap_or_default();
        let mut found = texts.iter().filter_map(|record| match record {
            Record::Txt(text) if is_spf(text) => Some(text.clone()),
            _ => None,
        });
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => permanent("several SPF records"),
            (only, _) => Ok(only),
        }
    }

    fn matches(&mut self, mechanism: &str, domain: &str) -> Result<bool, Stop> {
        let end = mechanism.find([':', '/']).unwrap_or(mechanism.len());
        let (kind, rest) = mechanism.split_at(end);
        match kind.to_ascii_lowercase().as_str() {
            "all" => Ok(true),
            "ip4" | "ip6" => in_network(self.ip, rest.strip_prefix(':').unwrap_or("")),
            "include" => {
                self.count_lookup()?;
                match self.domain(&name(rest.strip_prefix(':').unwrap_or(""))?)? {
                    Outcome::Pass => Ok(true),
                    Outcome::None => permanent("include of a domain without an SPF record"),
                    stop @ (Outcome::TempError | Outcome::PermError(_) | Outcome::Undecided) => {
                        Err(Stop::Outcome(stop))
                    }
                    Outcome::Fail | Outcome::SoftFail | Outcome::Neutral => Ok(false),
                }
            }
            "a" => {
                self.count_lookup()?;
                let (host, lengths) = host_and_lengths(rest, domain)?;
                self.has_address(&host, lengths)
            }
            "mx" => {
                self.count_lookup()?;
                let (host, lengths) = host_and_lengths(rest, domain)?;
                self.has_exchanger(&host, lengths)
            }
            "exists" => {
                self.count_lookup()?;
                let host = name(rest.strip_prefix(':').unwrap_or(""))?;
                Ok(self.counted(&host, Kind::A)?.is_some())
            }
            "ptr" => Err(Stop::Outcome(Outcome::Undecided)),
            _ => permanent("unknown mechanism"),
        }
    }

    fn has_exchanger(&mut self, host: &str, lengths: (u8, u8)) -> Result<bool, Stop> {
        let exchangers = self.counted(host, Kind::Mx)?.unwrap_or_default();
        if exchangers.len() > MX_MAX {
            return permanent("more than ten exchangers behind `mx`");
        }
        for exchanger in &exchangers {
            if let Record::Mx { host, .. } = exchanger
                && self.has_address(host, lengths)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_address(&mut self, host: &str, lengths: (u8, u8)) -> Result<bool, Stop> {
        let (kind, length) = if self.ip.is_ipv4() { (Kind::A, lengths.0) } else { (Kind::Aaaa, lengths.1) };
        let records = self.counted(host, kind)?.unwrap_or_default();
        Ok(records.iter().any(|record| match record {
            Record::Address(address) => same_prefix(*address, self.ip, length),
            _ => false,
        }))
    }

    fn count_lookup(&mut self) -> Result<(), Stop> {
        self.lookups += 1;
        if self.lookups > LOOKUPS_MAX { permanent("more than ten look-ups") } else { Ok(()) }
    }

    /// A look-up that counts as void where it finds nothing.
    fn counted(&mut self, name: &str, kind: Kind) -> Result<Option<Vec<Record>>, Stop> {
        let found = self.look_up(name, kind)?;
        if found.is_none() {
            self.voids += 1;
            if self.voids > VOID_LOOKUPS_MAX {
                return permanent("more than two look-ups without an answer");
            }
        }
        Ok(found)
    }

    fn look_up(&self, name: &str, kind: Kind) -> Result<Option<Vec<Record>>, Stop> {
        match self.answers.get(&(name.to_owned(), kind)) {
            None => Err(Stop::Ask(name.to_owned(), kind)),
            Some(Answer::Records(records)) => Ok(Some(records.clone())),
            Some(Answer::Empty | Answer::NoName) => Ok(None),
            Some(Answer::Failed(_)) => Err(Stop::Outcome(Outcome::TempError)),
        }
    }
}

/// §4.5: the version, then the end or a blank.
fn is_spf(text: &str) -> bool {
    text.get(..6).is_some_and(|version| version.eq_ignore_ascii_case("v=spf1"))
        && text.as_bytes().get(6).is_none_or(|next| *next == b' ')
}

/// `name=value` where the name is one of a modifier (§6).
fn modifier(term: &str) -> Option<(&str, &str)> {
    let (name, value) = term.split_once('=')?;
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if !plain || name.is_empty() {
        return None;
    }
    Some(if name.eq_ignore_ascii_case("redirect") { ("redirect", value) } else { (name, value) })
}

/// The qualifier of a mechanism (§4.6.2).
fn qualified(term: &str) -> (Outcome, &str) {
    match term.as_bytes().first() {
        Some(b'+') => (Outcome::Pass, &term[1..]),
        Some(b'-') => (Outcome::Fail, &term[1..]),
        Some(b'~') => (Outcome::SoftFail, &term[1..]),
        Some(b'?') => (Outcome::Neutral, &term[1..]),
        _ => (Outcome::Pass, term),
    }
}

/// A domain-spec without macros, as the DNS wants it.
fn name(spec: &str) -> Result<String, Stop> {
    if spec.contains('%') {
        return Err(Stop::Outcome(Outcome::Undecided));
    }
    let plain = spec.trim_end_matches('.').to_ascii_lowercase();
    if plain.is_empty() { permanent("a mechanism lacks its domain") } else { Ok(plain) }
}

/// `[:domain][/length4][//length6]` (§5.3, §5.4, §5.6).
fn host_and_lengths(rest: &str, domain: &str) -> Result<(String, (u8, u8)), Stop> {
    let (host, lengths) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = match host.strip_prefix(':') {
        Some(host) => name(host)?,
        None => domain.to_owned(),
    };
    let (four, six) = lengths.split_once("//").unwrap_or((lengths, ""));
    let length = |text: &str, max: u8| match text.trim_start_matches('/') {
        "" => Some(max),
        digits => digits.parse::<u8>().ok().filter(|n| *n <= max),
    };
    match (length(four, 32), length(six, 128)) {
        (Some(four), Some(six)) => Ok((host, (four, six))),
        _ => permanent("a wrong prefix length"),
    }
}

/// Whether an address lies in a network; one of the other family never does.
fn in_network(ip: IpAddr, network: &str) -> Result<bool, Stop> {
    let (base, length) = network.split_once('/').map_or((network, None), |(base, length)| (base, Some(length)));
    let Ok(base) = base.parse::<IpAddr>() else { return permanent("a wrong address") };
    let max = if base.is_ipv4() { 32 } else { 128 };
    let Some(length) = length.map_or(Some(max), |text| text.parse::<u8>().ok().filter(|n| *n <= max)) else {
        return permanent("a wrong prefix length");
    };
    Ok(same_prefix(base, ip, length))
}

fn same_prefix(a: IpAddr, b: IpAddr, length: u8) -> bool {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let differing = u32::from(a) ^ u32::from(b);
            differing.checked_shr(32 - u32::from(length.min(32))).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let differing = u128::from(a) ^ u128::from(b);
            differing.checked_shr(128 - u32::from(length.min(128))).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
