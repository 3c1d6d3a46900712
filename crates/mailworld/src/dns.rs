//! DNS messages (RFC 1035), as far as resolvers need them: one question in, one answer out.
//!
//! Hand-written because a load test sends tens of thousands of queries per second on the cores that it measures. An answer over the
//! client's limit is cut to its question with TC set, and the client retries over TCP.

use std::net::IpAddr;

use probity_mail::dns::{DnsAnswer, DnsFailure, DnsRecord, QueryKind};

use crate::world::ZoneAnswer;

const HEADER_BYTES: usize = 12;
/// UDP limit of a client without EDNS, in bytes (RFC 1035 section 2.3.4).
const PLAIN_UDP_BYTES: usize = 512;
/// UDP limit of this server, in bytes.
const MAX_UDP_BYTES: usize = 4_096;

const TYPE_A: u16 = 1;
const TYPE_CNAME: u16 = 5;
const TYPE_SOA: u16 = 6;
const TYPE_PTR: u16 = 12;
const TYPE_MX: u16 = 15;
const TYPE_TXT: u16 = 16;
const TYPE_AAAA: u16 = 28;
const TYPE_OPT: u16 = 41;
const CLASS_IN: u16 = 1;

/// Transport of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryTransport {
    Udp,
    Tcp,
}

/// Parsed query.
struct Question<'a> {
    header: &'a [u8],
    /// Question section, which the answer repeats.
    section: &'a [u8],
    name: String,
    kind: Option<QueryKind>,
    /// The client's limit, if it has EDNS (RFC 6891).
    edns: Option<u16>,
}

/// Answers one message; `None` for other messages, and for names with silent servers.
pub(super) fn respond(
    query: &[u8],
    transport: QueryTransport,
    find: impl FnOnce(&str, QueryKind) -> ZoneAnswer,
) -> Option<Vec<u8>> {
    let question = Question::parse(query)?;
    let mut found = find(&question.name, question.kind.unwrap_or(QueryKind::Txt));
    if question.kind.is_none() && matches!(found.answer, DnsAnswer::Records(_)) {
        found.answer = DnsAnswer::Empty;
    }
    if found.answer == DnsAnswer::Failed(DnsFailure::TimedOut) {
        return None;
    }
    if found.answer == DnsAnswer::Failed(DnsFailure::Malformed) {
        // A header that promises an answer, and half of one.
        return Some(
            [&question.header[..2], b"\x81\x80\0\x01\0\x01\0\0\0\0", question.section, b"\xc0\x0c\0"].concat(),
        );
    }
    let answer = encode(&question, &found);
    let limit = match (transport, question.edns) {
        (QueryTransport::Tcp, _) => usize::from(u16::MAX),
        (QueryTransport::Udp, None) => PLAIN_UDP_BYTES,
        (QueryTransport::Udp, Some(limit)) => usize::from(limit).clamp(PLAIN_UDP_BYTES, MAX_UDP_BYTES),
    };
    Some(if answer.len() > limit { cut(&question) } else { answer })
}

impl<'a> Question<'a> {
    fn parse(query: &'a [u8]) -> Option<Self> {
        let header = query.get(..HEADER_BYTES)?;
        let is_query = header[2] & 0xf8 == 0;
        if !is_query || header[4..6] != [0, 1] {
            return None;
        }
        let mut at = HEADER_BYTES;
        let mut name = String::new();
        loop {
            let length = usize::from(*query.get(at)?);
            if length == 0 {
                break;
            }
            if length > 63 {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            let label = query.get(at + 1..=at + length)?;
            name.push_str(&String::from_utf8_lossy(label).to_ascii_lowercase());
            at += length + 1;
        }
        let end = at + 5;
        let section = query.get(HEADER_BYTES..end)?;
        let kind = match u16::from_be_bytes([query[at + 1], query[at + 2]]) {
            TYPE_A => Some(QueryKind::A),
            TYPE_AAAA => Some(QueryKind::Aaaa),
            TYPE_MX => Some(QueryKind::Mx),
            TYPE_TXT => Some(QueryKind::Txt),
            TYPE_PTR => Some(QueryKind::Ptr),
            _ => None,
        };
        Some(Self { header, section, name, kind, edns: edns(&query[end..]) })
    }
}

/// Payload size of an OPT record, if that is the first record after the question.
fn edns(rest: &[u8]) -> Option<u16> {
    let [0, high, low, size_high, size_low, ..] = rest else {
        return None;
    };
    (u16::from_be_bytes([*high, *low]) == TYPE_OPT).then(|| u16::from_be_bytes([*size_high, *size_low]))
}

fn encode(question: &Question<'_>, found: &ZoneAnswer) -> Vec<u8> {
    let (code, records) = match &found.answer {
        DnsAnswer::Records(records) => (0, records.as_slice()),
        DnsAnswer::Empty => (0, &[][..]),
        DnsAnswer::NoName | DnsAnswer::NoTarget => (3, &[][..]),
        DnsAnswer::Failed(DnsFailure::Refused) => (5, &[][..]),
        DnsAnswer::Failed(_) => (2, &[][..]),
    };
    let failed = matches!(found.answer, DnsAnswer::Failed(_));
    let negative = records.is_empty() && !failed;
    let answers = if failed { 0 } else { found.chain.len() + records.len() };
    let mut out = begin(question, code, false, answers, usize::from(negative));
    if !failed {
        for (owner, target) in &found.chain {
            record(&mut out, question, owner, TYPE_CNAME, found.ttl_s, |out| name(out, target));
        }
        let owner = found.chain.last().map_or(&question.name, |(_, target)| target);
        for item in records {
            data_record(&mut out, question, owner, found.ttl_s, item);
        }
        if negative {
            soa(&mut out, owner, found.ttl_s);
        }
    }
    finish(out, question)
}

/// Only the question, with TC set.
fn cut(question: &Question<'_>) -> Vec<u8> {
    finish(begin(question, 0, true, 0, 0), question)
}

fn begin(question: &Question<'_>, code: u8, truncated: bool, answers: usize, authorities: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(&question.header[..2]);
    // QR, the client's RD; RA and the code.
    out.push(0x80 | (question.header[2] & 1) | if truncated { 2 } else { 0 });
    out.push(0x80 | code);
    for count in [1, answers, authorities, usize::from(question.edns.is_some())] {
        word(&mut out, u16::try_from(count).unwrap_or(u16::MAX));
    }
    out.extend_from_slice(question.section);
    out
}

fn finish(mut out: Vec<u8>, question: &Question<'_>) -> Vec<u8> {
    if question.edns.is_some() {
        out.push(0);
        word(&mut out, TYPE_OPT);
        word(&mut out, 4_096);
        out.extend_from_slice(&[0; 6]);
    }
    out
}

fn data_record(out: &mut Vec<u8>, question: &Question<'_>, owner: &str, ttl_s: u32, item: &DnsRecord) {
    match item {
        DnsRecord::Mx { preference, host } => record(out, question, owner, TYPE_MX, ttl_s, |out| {
            word(out, *preference);
            name(out, host);
        }),
        DnsRecord::Address(IpAddr::V4(v4)) => {
            record(out, question, owner, TYPE_A, ttl_s, |out| out.extend_from_slice(&v4.octets()));
        }
        DnsRecord::Address(IpAddr::V6(v6)) => {
            record(out, question, owner, TYPE_AAAA, ttl_s, |out| out.extend_from_slice(&v6.octets()));
        }
        DnsRecord::Txt(text) => record(out, question, owner, TYPE_TXT, ttl_s, |out| {
            for part in text.as_bytes().chunks(255) {
                out.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
                out.extend_from_slice(part);
            }
        }),
        DnsRecord::Ptr(target) => record(out, question, owner, TYPE_PTR, ttl_s, |out| name(out, target)),
    }
}

fn record(
    out: &mut Vec<u8>,
    question: &Question<'_>,
    owner: &str,
    kind: u16,
    ttl_s: u32,
    data: impl FnOnce(&mut Vec<u8>),
) {
    if owner == question.name {
        // A pointer to the question's name (RFC 1035 section 4.1.4).
        out.extend_from_slice(&[0xc0, 0x0c]);
    } else {
        name(out, owner);
    }
    word(out, kind);
    word(out, CLASS_IN);
    out.extend_from_slice(&ttl_s.to_be_bytes());
    sized(out, data);
}

/// SOA with the lifetime of a negative answer (RFC 2308); the top-level domain owns it.
fn soa(out: &mut Vec<u8>, of: &str, ttl_s: u32) {
    name(out, of.rsplit('.').next().unwrap_or_default());
    word(out, TYPE_SOA);
    word(out, CLASS_IN);
    out.extend_from_slice(&ttl_s.to_be_bytes());
    sized(out, |out| {
        name(out, "ns.test");
        name(out, "hostmaster.test");
        for value in [1, 3_600, 600, 86_400, ttl_s] {
            out.extend_from_slice(&value.to_be_bytes());
        }
    });
}

/// Data preceded by its length.
fn sized(out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    word(out, 0);
    data(out);
    let length = u16::try_from(out.len() - at - 2).unwrap_or(u16::MAX);
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

fn word(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn name(out: &mut Vec<u8>, name: &str) {
    for label in name.split('.').filter(|label| !label.is_empty()) {
        let label = &label.as_bytes()[..label.len().min(63)];
        out.push(u8::try_from(label.len()).unwrap_or(63));
        out.extend_from_slice(label);
    }
    out.push(0);
}
