//! Interprets a name server's response: records, an authoritative negative, or nothing usable.
//!
//! A recursive name server follows aliases itself and returns the whole chain. Others (an authoritative server, a forwarder that
//! strips) leave the chain's end open, and the caller queries the name at the open end. Either way one [`AliasChain`] sees every
//! link, so a loop or a chain of more than [`CHAIN_MAX`] links ends as malformed after that many queries.

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use hickory_resolver::net::NoRecords;
use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, DnsRecord, QueryKind};

use super::names;

/// Maximum aliases between the queried name and its records.
const CHAIN_MAX: usize = 8;

/// Next step after a response.
pub(super) enum ResponseStep {
    /// The query is answered.
    Done(DnsLookup),
    /// The answer ends in an alias; query [`AliasChain::name`] next.
    AskNext,
}

/// Aliases from the queried name to the current one.
pub(super) struct AliasChain {
    kind: QueryKind,
    /// Names passed, the current one last.
    names: Vec<Name>,
    /// Shortest lifetime of the links, in seconds.
    ttl: u32,
}

/// A look-up without a result.
pub(crate) fn failed(failure: DnsFailure) -> DnsLookup {
    DnsLookup { answer: DnsAnswer::Failed(failure), ttl_ms: 0 }
}

impl AliasChain {
    pub(crate) fn new(name: Name, kind: QueryKind) -> Self {
        Self { kind, names: vec![name], ttl: u32::MAX }
    }

    /// The name at the open end.
    pub(crate) fn name(&self) -> &Name {
        self.names.last().expect("a chain starts with a name and never loses one")
    }

    /// Reads a response to a query for [`AliasChain::name`].
    pub(crate) fn read(&mut self, response: &Message, negative_ttl: Option<u32>) -> ResponseStep {
        let links_before = self.names.len();
        loop {
            if let Some(found) = self.records(response) {
                return ResponseStep::Done(found);
            }
            match self.follow(response) {
                Ok(true) => {}
                Ok(false) => break,
                Err(failure) => return ResponseStep::Done(failed(failure)),
            }
        }
        let moved = self.names.len() > links_before;
        match response.response_code {
            ResponseCode::NXDomain => self.none(self.no_name(), negative_ttl),
            ResponseCode::NoError if negative_ttl.is_some() => self.none(DnsAnswer::Empty, negative_ttl),
            ResponseCode::NoError if moved => ResponseStep::AskNext,
            // There are records, but none for the queried name.
            ResponseCode::NoError if !response.answers.is_empty() => ResponseStep::Done(failed(DnsFailure::Malformed)),
            ResponseCode::NoError => self.none(DnsAnswer::Empty, None),
            _ => ResponseStep::Done(failed(DnsFailure::Refused)),
        }
    }

    /// Reads a response without answers to a query for [`AliasChain::name`].
    pub(super) fn read_negative(&self, negative: &NoRecords) -> ResponseStep {
        match negative.response_code {
            ResponseCode::NXDomain => self.none(self.no_name(), negative.negative_ttl),
            // RFC 2308 section 2.2: name servers without an SOA are a referral, which says nothing about the name.
            ResponseCode::NoError if negative.soa.is_none() && negative.ns.is_some() => {
                ResponseStep::Done(failed(DnsFailure::Refused))
            }
            ResponseCode::NoError => self.none(DnsAnswer::Empty, negative.negative_ttl),
            _ => ResponseStep::Done(failed(DnsFailure::Refused)),
        }
    }

    /// The answer "no such name", which is about the end of the chain (RFC 6604 section 3).
    fn no_name(&self) -> DnsAnswer {
        if self.names.len() == 1 { DnsAnswer::NoName } else { DnsAnswer::NoTarget }
    }

    /// An authoritative negative. RFC 2308 section 5: it lives as long as the SOA's minimum or the SOA record itself, whichever is
    /// less, and is not cached without an SOA.
    fn none(&self, answer: DnsAnswer, negative_ttl: Option<u32>) -> ResponseStep {
        ResponseStep::Done(DnsLookup { answer, ttl_ms: ttl_ms(negative_ttl.unwrap_or(0).min(self.ttl)) })
    }

    /// Records of the queried kind at the current name.
    fn records(&self, response: &Message) -> Option<DnsLookup> {
        let wanted = record_type(self.kind);
        let mut ttl = self.ttl;
        let mut records = Vec::new();
        for record in &response.answers {
            if record.record_type() == wanted && &record.name == self.name() {
                ttl = ttl.min(sane(record.ttl));
                records.extend(convert(&record.data));
            }
        }
        (!records.is_empty()).then(|| DnsLookup { answer: DnsAnswer::Records(records), ttl_ms: ttl_ms(ttl) })
    }

    /// Follows an alias at the current name; false if there is none.
    fn follow(&mut self, response: &Message) -> Result<bool, DnsFailure> {
        let link = response.answers.iter().find_map(|record| match &record.data {
            RData::CNAME(target) if &record.name == self.name() => Some((&target.0, record.ttl)),
            _ => None,
        });
        let Some((target, ttl)) = link else {
            return Ok(false);
        };
        if self.names.len() > CHAIN_MAX || self.names.contains(target) {
            return Err(DnsFailure::Malformed);
        }
        self.names.push(target.clone());
        self.ttl = self.ttl.min(sane(ttl));
        Ok(true)
    }
}

pub(super) fn record_type(kind: QueryKind) -> RecordType {
    match kind {
        QueryKind::Mx => RecordType::MX,
        QueryKind::A => RecordType::A,
        QueryKind::Aaaa => RecordType::AAAA,
        QueryKind::Txt => RecordType::TXT,
        QueryKind::Ptr => RecordType::PTR,
    }
}

fn convert(data: &RData) -> Option<DnsRecord> {
    match data {
        RData::MX(mx) => Some(DnsRecord::Mx { preference: mx.preference, host: names::text(&mx.exchange) }),
        RData::A(a) => Some(DnsRecord::Address(a.0.into())),
        RData::AAAA(aaaa) => Some(DnsRecord::Address(aaaa.0.into())),
        // RFC 7208 section 3.3: the strings of one record are joined without anything between them.
        RData::TXT(txt) => Some(DnsRecord::Txt(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned())),
        RData::PTR(ptr) => Some(DnsRecord::Ptr(names::text(&ptr.0))),
        _ => None,
    }
}

/// RFC 2181 section 8: a lifetime with the highest bit set is zero.
fn sane(ttl: u32) -> u32 {
    if ttl > i32::MAX.unsigned_abs() { 0 } else { ttl }
}

fn ttl_ms(ttl: u32) -> i64 {
    i64::from(sane(ttl)) * 1_000
}
