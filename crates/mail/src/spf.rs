//! Whether a domain lets an address send its mail: a small evaluator of SPF (RFC 7208).
//!
//! The doctor asks it one question: does the SPF record of our MAIL FROM domain cover the addresses that we probe from? It is
//! a pure function over the DNS answers that are known so far. Where one is missing, [`check`] says which, the caller looks it
//! up and calls again; with at most ten look-ups a record (§4.6.4) starting over costs nothing and needs no stored state.
//!
//! Macros (§7) depend on a message that we do not have, and `ptr` must not be used (§5.5): a record that would be decided by
//! one of them is [`SpfOutcome::Undecided`], never guessed.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::dns::{DnsAnswer, DnsRecord, QueryKind};

/// Look-ups that one evaluation may cause (§4.6.4).
const LOOKUPS_MAX: u32 = 10;
/// Look-ups without an answer that one evaluation may cause (§4.6.4).
const VOID_LOOKUPS_MAX: u32 = 2;
/// Exchangers whose addresses are looked up for one `mx` (§4.6.4).
const MX_MAX: usize = 10;

/// The answers that are known so far.
pub type SpfAnswers = BTreeMap<(String, QueryKind), DnsAnswer>;

/// What an evaluation came to (§2.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpfOutcome {
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
pub enum SpfStep {
    /// This look-up is needed; put its answer into the [`SpfAnswers`] and call [`check`] again.
    Ask(String, QueryKind),
    /// The evaluation is finished.
    Done(SpfOutcome),
}

/// Whether `domain` lets `ip` send its mail, as far as `answers` tell. `domain` is absolute, in lower-case A-labels.
pub fn check(ip: IpAddr, domain: &str, answers: &SpfAnswers) -> SpfStep {
    let mut run = SpfRun { ip, answers, lookups: 0, voids: 0 };
    match run.domain(domain) {
        Err(SpfStop::Ask(name, kind)) => SpfStep::Ask(name, kind),
        Ok(outcome) | Err(SpfStop::Outcome(outcome)) => SpfStep::Done(outcome),
    }
}

/// Why an evaluation cannot go on.
enum SpfStop {
    Ask(String, QueryKind),
    Outcome(SpfOutcome),
}

fn permanent<T>(how: &'static str) -> Result<T, SpfStop> {
    Err(SpfStop::Outcome(SpfOutcome::PermError(how)))
}

struct SpfRun<'a> {
    ip: IpAddr,
    answers: &'a SpfAnswers,
    lookups: u32,
    voids: u32,
}

impl SpfRun<'_> {
    /// Evaluates the record of one domain (§4).
    fn domain(&mut self, domain: &str) -> Result<SpfOutcome, SpfStop> {
        let Some(record) = self.record(domain)? else { return Ok(SpfOutcome::None) };
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
        let Some(target) = redirect else { return Ok(SpfOutcome::Neutral) };
        self.count_lookup()?;
        // §6.1: a redirect to a domain without a record is an error of the record.
        match self.domain(&name(&target)?)? {
            SpfOutcome::None => permanent("redirect to a domain without an SPF record"),
            outcome => Ok(outcome),
        }
    }

    /// The SPF record of a domain (§4.5): exactly one text that begins with the version.
    fn record(&self, domain: &str) -> Result<Option<String>, SpfStop> {
        let texts = self.look_up(domain, QueryKind::Txt)?.unwrap_or_default();
        let mut found = texts.iter().filter_map(|record| match record {
            DnsRecord::Txt(text) if is_spf(text) => Some(text.clone()),
            _ => None,
        });
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => permanent("several SPF records"),
            (only, _) => Ok(only),
        }
    }

    fn matches(&mut self, mechanism: &str, domain: &str) -> Result<bool, SpfStop> {
        let end = mechanism.find([':', '/']).unwrap_or(mechanism.len());
        let (kind, rest) = mechanism.split_at(end);
        match kind.to_ascii_lowercase().as_str() {
            "all" => Ok(true),
            "ip4" | "ip6" => in_network(self.ip, rest.strip_prefix(':').unwrap_or("")),
            "include" => {
                self.count_lookup()?;
                match self.domain(&name(rest.strip_prefix(':').unwrap_or(""))?)? {
                    SpfOutcome::Pass => Ok(true),
                    SpfOutcome::None => permanent("include of a domain without an SPF record"),
                    stop @ (SpfOutcome::TempError | SpfOutcome::PermError(_) | SpfOutcome::Undecided) => {
                        Err(SpfStop::Outcome(stop))
                    }
                    SpfOutcome::Fail | SpfOutcome::SoftFail | SpfOutcome::Neutral => Ok(false),
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
                Ok(self.counted(&host, QueryKind::A)?.is_some())
            }
            "ptr" => Err(SpfStop::Outcome(SpfOutcome::Undecided)),
            _ => permanent("unknown mechanism"),
        }
    }

    fn has_exchanger(&mut self, host: &str, lengths: (u8, u8)) -> Result<bool, SpfStop> {
        let exchangers = self.counted(host, QueryKind::Mx)?.unwrap_or_default();
        if exchangers.len() > MX_MAX {
            return permanent("more than ten exchangers behind `mx`");
        }
        for exchanger in &exchangers {
            if let DnsRecord::Mx { host, .. } = exchanger
                && self.has_address(host, lengths)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_address(&mut self, host: &str, lengths: (u8, u8)) -> Result<bool, SpfStop> {
        let (kind, length) = if self.ip.is_ipv4() { (QueryKind::A, lengths.0) } else { (QueryKind::Aaaa, lengths.1) };
        let records = self.counted(host, kind)?.unwrap_or_default();
        Ok(records.iter().any(|record| match record {
            DnsRecord::Address(address) => same_prefix(*address, self.ip, length),
            _ => false,
        }))
    }

    fn count_lookup(&mut self) -> Result<(), SpfStop> {
        self.lookups += 1;
        if self.lookups > LOOKUPS_MAX { permanent("more than ten look-ups") } else { Ok(()) }
    }

    /// A look-up that counts as void where it finds nothing.
    fn counted(&mut self, name: &str, kind: QueryKind) -> Result<Option<Vec<DnsRecord>>, SpfStop> {
        let found = self.look_up(name, kind)?;
        if found.is_none() {
            self.voids += 1;
            if self.voids > VOID_LOOKUPS_MAX {
                return permanent("more than two look-ups without an answer");
            }
        }
        Ok(found)
    }

    fn look_up(&self, name: &str, kind: QueryKind) -> Result<Option<Vec<DnsRecord>>, SpfStop> {
        match self.answers.get(&(name.to_owned(), kind)) {
            None => Err(SpfStop::Ask(name.to_owned(), kind)),
            Some(DnsAnswer::Records(records)) => Ok(Some(records.clone())),
            Some(DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget) => Ok(None),
            Some(DnsAnswer::Failed(_)) => Err(SpfStop::Outcome(SpfOutcome::TempError)),
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
fn qualified(term: &str) -> (SpfOutcome, &str) {
    match term.as_bytes().first() {
        Some(b'+') => (SpfOutcome::Pass, &term[1..]),
        Some(b'-') => (SpfOutcome::Fail, &term[1..]),
        Some(b'~') => (SpfOutcome::SoftFail, &term[1..]),
        Some(b'?') => (SpfOutcome::Neutral, &term[1..]),
        _ => (SpfOutcome::Pass, term),
    }
}

/// A domain-spec without macros, as the DNS wants it.
fn name(spec: &str) -> Result<String, SpfStop> {
    if spec.contains('%') {
        return Err(SpfStop::Outcome(SpfOutcome::Undecided));
    }
    let plain = spec.trim_end_matches('.').to_ascii_lowercase();
    if plain.is_empty() { permanent("a mechanism lacks its domain") } else { Ok(plain) }
}

/// `[:domain][/length4][//length6]` (§5.3, §5.4, §5.6).
fn host_and_lengths(rest: &str, domain: &str) -> Result<(String, (u8, u8)), SpfStop> {
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
fn in_network(ip: IpAddr, network: &str) -> Result<bool, SpfStop> {
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

/// Records of a small DNS, and what they come to.
#[cfg(test)]
mod tests {
    use super::*;

    /// A small DNS: `name TXT text`, `name MX host`, `name A address`, `name FAIL`.
    fn zone(lines: &[&str]) -> BTreeMap<(String, QueryKind), DnsAnswer> {
        let mut zone: BTreeMap<(String, QueryKind), DnsAnswer> = BTreeMap::new();
        for line in lines {
            let mut words = line.splitn(3, ' ');
            let (name, kind, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or(""));
            let (kind, record) = match kind {
                "TXT" => (QueryKind::Txt, DnsRecord::Txt(value.into())),
                "MX" => (QueryKind::Mx, DnsRecord::Mx { preference: 10, host: value.into() }),
                "A" => (QueryKind::A, DnsRecord::Address(value.parse().unwrap())),
                "AAAA" => (QueryKind::Aaaa, DnsRecord::Address(value.parse().unwrap())),
                _ => {
                    zone.insert((name.into(), QueryKind::Txt), DnsAnswer::Failed(crate::dns::DnsFailure::ServFail));
                    continue;
                }
            };
            match zone.entry((name.to_owned(), kind)).or_insert_with(|| DnsAnswer::Records(vec![])) {
                DnsAnswer::Records(records) => records.push(record),
                _ => unreachable!("only records are added"),
            }
        }
        zone
    }

    /// Runs an evaluation to its end; also gives the number of different look-ups.
    fn run(lines: &[&str], ip: &str) -> (SpfOutcome, usize) {
        let zone = zone(lines);
        let mut answers = SpfAnswers::new();
        loop {
            match check(ip.parse().unwrap(), "example.org", &answers) {
                SpfStep::Done(outcome) => return (outcome, answers.len()),
                SpfStep::Ask(name, kind) => {
                    let answer = zone.get(&(name.clone(), kind)).cloned().unwrap_or(DnsAnswer::NoName);
                    assert!(answers.insert((name, kind), answer).is_none(), "asked twice");
                }
            }
        }
    }

    #[test]
    fn records_are_read_as_the_rfc_says() {
        let table: &[(&[&str], &str, SpfOutcome)] = &[
            (&[], "192.0.2.1", SpfOutcome::None),
            (&["example.org TXT v=spf10 +all"], "192.0.2.1", SpfOutcome::None),
            (&["example.org FAIL"], "192.0.2.1", SpfOutcome::TempError),
            (&["example.org TXT v=spf1"], "192.0.2.1", SpfOutcome::Neutral),
            (&["example.org TXT v=spf1 ip4:192.0.2.0/24 -all"], "192.0.2.1", SpfOutcome::Pass),
            (&["example.org TXT V=SPF1 IP4:192.0.2.0/24 -ALL"], "192.0.2.1", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 ip4:192.0.2.0/24 -all"], "192.0.3.1", SpfOutcome::Fail),
            (&["example.org TXT v=spf1 ip4:192.0.2.1 ~all"], "192.0.2.2", SpfOutcome::SoftFail),
            (&["example.org TXT v=spf1 ip4:0.0.0.0/0 -all"], "203.0.113.9", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 ip6:2001:db8::/32 -all"], "2001:db8:1::1", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 ip6:2001:db8::/32 -all"], "192.0.2.1", SpfOutcome::Fail),
            (&["example.org TXT v=spf1 a -all", "example.org A 192.0.2.1"], "192.0.2.1", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 a/24 -all", "example.org A 192.0.2.1"], "192.0.2.77", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 a//64 -all", "example.org AAAA 2001:db8::1"], "2001:db8::2", SpfOutcome::Pass),
            (
                &["example.org TXT v=spf1 a:h.example.org -all", "h.example.org A 192.0.2.1"],
                "192.0.2.1",
                SpfOutcome::Pass,
            ),
            (
                &["example.org TXT v=spf1 mx -all", "example.org MX m.test", "m.test A 192.0.2.1"],
                "192.0.2.1",
                SpfOutcome::Pass,
            ),
            (
                &["example.org TXT v=spf1 include:i.test -all", "i.test TXT v=spf1 ip4:192.0.2.1"],
                "192.0.2.1",
                SpfOutcome::Pass,
            ),
            (
                &["example.org TXT v=spf1 include:i.test ~all", "i.test TXT v=spf1 -all"],
                "192.0.2.1",
                SpfOutcome::SoftFail,
            ),
            (&["example.org TXT v=spf1 redirect=r.test", "r.test TXT v=spf1 -all"], "192.0.2.1", SpfOutcome::Fail),
            (
                &["example.org TXT v=spf1 redirect=r.test ip4:192.0.2.1", "r.test TXT v=spf1 -all"],
                "192.0.2.1",
                SpfOutcome::Pass,
            ),
            (&["example.org TXT v=spf1 exists:e.test -all", "e.test A 127.0.0.2"], "192.0.2.1", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 exists:%{i}.e.test -all"], "192.0.2.1", SpfOutcome::Undecided),
            (&["example.org TXT v=spf1 ptr -all"], "192.0.2.1", SpfOutcome::Undecided),
            (&["example.org TXT v=spf1 ip4:192.0.2.1 ptr -all"], "192.0.2.1", SpfOutcome::Pass),
            (&["example.org TXT v=spf1 exp=x.test foo=bar -all"], "192.0.2.1", SpfOutcome::Fail),
        ];
        for (lines, ip, expected) in table {
            assert_eq!(&run(lines, ip).0, expected, "{lines:?} {ip}");
        }
    }

    #[test]
    fn wrong_records_are_permanent_errors() {
        let table: &[&[&str]] = &[
            &["example.org TXT v=spf1 -all", "example.org TXT v=spf1 +all"],
            &["example.org TXT v=spf1 foo -all"],
            &["example.org TXT v=spf1 ip4:nonsense -all"],
            &["example.org TXT v=spf1 ip4:192.0.2.0/33 -all"],
            &["example.org TXT v=spf1 a/33 -all"],
            &["example.org TXT v=spf1 include: -all"],
            &["example.org TXT v=spf1 include:none.test -all"],
            &["example.org TXT v=spf1 redirect=none.test"],
            &["example.org TXT v=spf1 a:x.test a:y.test a:z.test -all"],
        ];
        for lines in table {
            assert!(matches!(run(lines, "192.0.2.1").0, SpfOutcome::PermError(_)), "{lines:?}");
        }
    }

    #[test]
    fn a_record_that_includes_itself_ends_at_the_tenth_look_up() {
        let (outcome, lookups) = run(&["example.org TXT v=spf1 include:example.org -all"], "192.0.2.1");
        assert_eq!(outcome, SpfOutcome::PermError("more than ten look-ups"));
        assert_eq!(lookups, 1);
    }

    #[test]
    fn an_exchanger_list_is_bounded() {
        let mut lines = vec!["example.org TXT v=spf1 mx -all".to_owned()];
        lines.extend((0..11).map(|n| format!("example.org MX m{n}.test")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert!(matches!(run(&lines, "192.0.2.1").0, SpfOutcome::PermError(_)));
    }
}
