//! Interprets a name server's response: records, an authoritative negative, or nothing usable.
//!
//! A recursive name server follows aliases itself and returns the whole chain. Others (an authoritative server, a forwarder that
//! strips) leave the chain's end open, and the caller queries the name at the open end. Either way one [`Chain`] sees every link,
//! so a loop or a chain of more than [`CHAIN_MAX`] links ends as malformed after that many queries.

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use hickory_resolver::net::NoRecords;
use probity_mail::dns::{Answer, DnsFailure, Kind, Lookup, Record};

use super::names;

/// Maximum aliases between the queried name and its records.
const CHAIN_MAX: usize = 8;

/// Next step after a response.
pub(super) enum Reading {
    /// The query is answered.
    Done(Lookup),
    /// The answer ends in an alias; query [`Chain::name`] next.
    AskNext,
}

/// Aliases from the queried name to the current one.
pub(super) struct Chain {
    kind: Kind,
    /// Names passed, the current one last.
    names: Vec<Name>,
    /// Shortest lifetime of the links, in seconds.
    ttl: u32,
}

/// A look-up without a result.
pub(super) fn failed(failure: DnsFailure) -> Lookup {
    Lookup { answer: Answer::Failed(failure), ttl_ms: 0 }
}

impl Chain {
    pub(super) fn new(name: Name, kind: Kind) -> Self {
        Self { kind, names: vec![name], ttl: u32::MAX }
    }

    /// The name at the open end.
    pub(super) fn name(&self) -> &Name {
        self.names.last().expect("a chain starts with a name and never loses one")
    }

    /// Reads a response to a query for [`Chain::name`].
    pub(super) fn read(&mut self, response: &Message, negative_ttl: Option<u32>) -> Reading {
        let links_before = self.names.len();
        loop {
            if let Some(found) = self.records(response) {
                return Reading::Done(found);
            }
            match self.follow(response) {
                Ok(true) => {}
                Ok(false) => break,
                Err(failure) => return Reading::Done(failed(failure)),
            }
        }
        let moved = self.names.len() > links_before;
        match response.response_code {
            // RFC 6604 section 3: the code is about the end of the chain.
            ResponseCode::NXDomain => self.none(Answer::NoName, negative_ttl),
            ResponseCode::NoError if negative_ttl.is_some() => self.none(Answer::Empty, negative_ttl),
            ResponseCode::NoError if moved => Reading::AskNext,
            // There are records, but none for the queried name.
            ResponseCode::NoError if !response.answers.is_empty() => Reading::Done(failed(DnsFailure::Malformed)),
            ResponseCode::NoError => self.none(Answer::Empty, None),
            _ => Reading::Done(failed(DnsFailure::Refused)),
        }
    }

    /// Reads a response without answers to a query for [`Chain::name`].
    pub(super) fn read_negative(&self, negative: &NoRecords) -> Reading {
        match negative.response_code {
            ResponseCode::NXDomain => self.none(Answer::NoName, negative.negative_ttl),
            // RFC 2308 section 2.2: name servers without an SOA are a referral, which says nothing about the name.
            ResponseCode::NoError if negative.soa.is_none() && negative.ns.is_some() => {
                Reading::Done(failed(DnsFailure::Refused))
            }
            ResponseCode::NoError => self.none(Answer::Empty, negative.negative_ttl),
            _ => Reading::Done(failed(DnsFailure::Refused)),
        }
    }

    /// An authoritative negative. RFC 2308 section 5: it lives as long as the SOA's minimum or the SOA record itself, whichever is
    /// less, and is not cached without an SOA.
    fn none(&self, answer: Answer, negative_ttl: Option<u32>) -> Reading {
        Reading::Done(Lookup { answer, ttl_ms: ttl_ms(negative_ttl.unwrap_or(0).min(self.ttl)) })
    }

    /// Records of the queried kind at the current name.
    fn records(&self, response: &Message) -> Option<Lookup> {
        let wanted = record_type(self.kind);
        let mut ttl = self.ttl;
        let mut records = Vec::new();
        for record in &response.answers {
            if record.record_type() == wanted && &record.name == self.name() {
                ttl = ttl.min(sane(record.ttl));
                records.extend(convert(&record.data));
            }
        }
        (!records.is_empty()).then(|| Lookup { answer: Answer::Records(records), ttl_ms: ttl_ms(ttl) })
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

pub(super) fn record_type(kind: Kind) -> RecordType {
    match kind {
        Kind::Mx => RecordType::MX,
        Kind::A => RecordType::A,
        Kind::Aaaa => RecordType::AAAA,
        Kind::Txt => RecordType::TXT,
        Kind::Ptr => RecordType::PTR,
    }
}

fn convert(data: &RData) -> Option<Record> {
    match data {
        RData::MX(mx) => Some(Record::Mx { preference: mx.preference, host: names::text(&mx.exchange) }),
        RData::A(a) => Some(Record::Address(a.0.into())),
        RData::AAAA(aaaa) => Some(Record::Address(aaaa.0.into())),
        // RFC 7208 section 3.3: the strings of one record are joined without anything between them.
        RData::TXT(txt) => Some(Record::Txt(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned())),
        RData::PTR(ptr) => Some(Record::Ptr(names::text(&ptr.0))),
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
