//! Stored answers: complete in the work file, 8 bytes each in memory.
//!
//! A million answers must take less than a few dozen megabytes. Memory therefore holds the reason, the flags and the meta's number.
//! For the few answers with a suggestion or an unusual domain, memory holds the position in the work file. A usual domain is the
//! lowercase domain of the address.

use std::collections::HashMap;

use probity_engine::PriorAttempts;
use probity_mail::address::bare_address;
use probity_mail::time::Millis;
use probity_mail::verdict::{Flags, Reason, Verification};

/// Maximum number of numbered metas. A few hundred exist; servers cannot increase that.
const METAS_MAX: usize = (1 << 11) - 1;
/// Number that marks a meta stored only in the work file.
const META_UNNUMBERED: u64 = (1 << 11) - 1;
/// Bits of a position in the work file (1 TiB).
const PLACE_BITS: u32 = 40;

/// How to derive the domain from the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DomainForm {
    /// No domain.
    Absent = 0,
    /// Text after the last `@`, in lowercase.
    Plain = 1,
    /// Stored separately.
    Other = 2,
}

/// Stored part of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredAnswer<'a> {
    pub row: u32,
    pub reason: Reason,
    /// One bit per flag.
    pub flags: u8,
    /// The deciding rule.
    pub meta: &'a str,
    /// Suggested whole address; may be empty.
    pub suggestion: &'a str,
    /// How to derive the domain.
    pub form: DomainForm,
    /// Domain, if `form` is [`DomainForm::Other`].
    pub domain: &'a str,
}

impl<'a> StoredAnswer<'a> {
    pub(crate) fn of(row: u32, verification: &'a Verification) -> Self {
        let form = form(&verification.email, &verification.domain);
        Self {
            row,
            reason: verification.verdict.reason,
            flags: bits(verification.flags),
            meta: &verification.verdict.meta,
            suggestion: verification.suggestion.as_deref().unwrap_or(""),
            form,
            domain: if form == DomainForm::Other { &verification.domain } else { "" },
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.row.to_le_bytes());
        out.push(u8::try_from(number(self.reason)).expect("there are 17 reasons"));
        out.push(self.flags);
        out.push(self.form as u8);
        for text in [self.meta, self.suggestion, self.domain] {
            // Texts of the engine are short by construction; a longer one is cut rather than rejected.
            let most = (0..=usize::from(u16::MAX).min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            let cut = &text[..most.expect("a text begins at a border of characters")];
            out.extend_from_slice(&u16::try_from(cut.len()).expect("it was cut").to_le_bytes());
            out.extend_from_slice(cut.as_bytes());
        }
    }

    pub(super) fn read(from: &'a [u8]) -> Option<Self> {
        let (row, from) = from.split_first_chunk::<4>()?;
        let ([reason, flags, form], mut from) = from.split_first_chunk::<3>()?;
        let mut texts = [""; 3];
        for text in &mut texts {
            let (length, rest) = from.split_first_chunk::<2>()?;
            let (bytes, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            *text = std::str::from_utf8(bytes).ok()?;
            from = rest;
        }
        let form = *[DomainForm::Absent, DomainForm::Plain, DomainForm::Other].get(usize::from(*form))?;
        let [meta, suggestion, domain] = texts;
        let reason = *Reason::ALL.get(usize::from(*reason))?;
        Some(Self { row: u32::from_le_bytes(*row), reason, flags: *flags, meta, suggestion, form, domain })
    }
}

fn form(email: &str, domain: &str) -> DomainForm {
    let behind = bare_address(email).rsplit_once('@').map(|(_, behind)| behind);
    match behind {
        _ if domain.is_empty() => DomainForm::Absent,
        Some(behind) if behind.eq_ignore_ascii_case(domain) => DomainForm::Plain,
        _ => DomainForm::Other,
    }
}

/// Returns the domain of an address in the plain form.
pub(crate) fn plain_domain(email: &str) -> String {
    let behind = bare_address(email).rsplit_once('@').map_or("", |(_, behind)| behind);
    behind.to_ascii_lowercase()
}

fn number(reason: Reason) -> usize {
    Reason::ALL.iter().position(|other| *other == reason).expect("every reason is in ALL")
}

/// Flags in the order of the output's columns.
pub(crate) const FLAG_NAMES: [&str; 5] = ["role", "disposable", "free", "relay", "gibberish"];

pub(super) fn bits(flags: Flags) -> u8 {
    let set = [flags.role, flags.disposable, flags.free, flags.relay, flags.gibberish];
    set.into_iter().enumerate().map(|(n, set)| u8::from(set) << n).sum()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PutOff {
    pub row: u32,
    /// Earliest time of the retry.
    pub not_before: Millis,
    /// State of earlier attempts, for the engine.
    pub tries: PriorAttempts,
}

impl PutOff {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.row.to_le_bytes());
        out.extend_from_slice(&self.not_before.0.to_le_bytes());
        out.extend_from_slice(&self.tries.count.to_le_bytes());
        out.extend_from_slice(&self.tries.since.map_or(i64::MIN, |since| since.0).to_le_bytes());
        out.extend_from_slice(self.tries.source.as_deref().unwrap_or_default().as_bytes());
    }

    pub(super) fn read(from: &[u8]) -> Option<Self> {
        let (row, from) = from.split_first_chunk::<4>()?;
        let (not_before, from) = from.split_first_chunk::<8>()?;
        let (count, from) = from.split_first_chunk::<4>()?;
        let (since, source) = from.split_first_chunk::<8>()?;
        let since = Some(i64::from_le_bytes(*since)).filter(|since| *since != i64::MIN).map(Millis);
        let source = std::str::from_utf8(source).ok()?;
        let source = (!source.is_empty()).then(|| source.into());
        let tries = PriorAttempts { count: u32::from_le_bytes(*count), since, source, last: false };
        Some(Self { row: u32::from_le_bytes(*row), not_before: Millis(i64::from_le_bytes(*not_before)), tries })
    }
}

/// All answers, 8 bytes each.
#[derive(Debug)]
pub(crate) struct AnswerTable {
    packed: Vec<u64>,
    metas: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u64>,
}

/// One answer from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedAnswer<'a> {
    pub reason: Reason,
    /// One bit per flag.
    pub flags: u8,
    /// The deciding rule; empty if it must be read from the work file.
    pub meta: &'a str,
    /// The answer has a domain.
    pub has_domain: bool,
    /// Position of the complete answer, if memory does not hold all of it.
    pub elsewhere: Option<u64>,
}

const ANSWERED: u64 = 1 << 21;
const ELSEWHERE: u64 = 1 << 22;
const HAS_DOMAIN: u64 = 1 << 23;

impl AnswerTable {
    /// Allocates `rows` empty answers.
    pub(crate) fn new(rows: u32) -> Self {
        Self { packed: vec![0; rows as usize], metas: Vec::new(), numbers: HashMap::new() }
    }

    /// Stores an answer whose frame is at `place` in the work file.
    pub(crate) fn keep(&mut self, answer: &StoredAnswer<'_>, place: u64) {
        let meta = self.meta_number(answer.meta);
        let elsewhere = meta == META_UNNUMBERED || !answer.suggestion.is_empty() || answer.form == DomainForm::Other;
        debug_assert!(place < 1 << PLACE_BITS, "work files end below a terabyte");
        let mut packed = number(answer.reason) as u64 | u64::from(answer.flags) << 5 | meta << 10 | ANSWERED;
        packed |= if elsewhere { ELSEWHERE } else { 0 };
        packed |= if answer.form == DomainForm::Absent { 0 } else { HAS_DOMAIN };
        if let Some(slot) = self.packed.get_mut(answer.row as usize) {
            *slot = packed | place << (64 - PLACE_BITS);
        }
    }

    fn meta_number(&mut self, meta: &str) -> u64 {
        if let Some(number) = self.numbers.get(meta) {
            return *number;
        }
        if self.metas.len() >= METAS_MAX {
            return META_UNNUMBERED;
        }
        let number = self.metas.len() as u64;
        self.metas.push(meta.into());
        self.numbers.insert(meta.into(), number);
        number
    }

    pub(crate) fn has(&self, row: u32) -> bool {
        self.packed.get(row as usize).is_some_and(|packed| packed & ANSWERED != 0)
    }

    pub(crate) fn get(&self, row: u32) -> Option<PackedAnswer<'_>> {
        let packed = *self.packed.get(row as usize)?;
        if packed & ANSWERED == 0 {
            return None;
        }
        let index = |bits: u64| usize::try_from(bits).expect("a few bits");
        let meta = self.metas.get(index(packed >> 10 & META_UNNUMBERED)).map_or("", |meta| meta);
        Some(PackedAnswer {
            reason: Reason::ALL[index(packed & 0b1_1111)],
            flags: u8::try_from(packed >> 5 & 0b1_1111).expect("five bits"),
            meta,
            has_domain: packed & HAS_DOMAIN != 0,
            elsewhere: (packed & ELSEWHERE != 0).then_some(packed >> (64 - PLACE_BITS)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer<'a>(row: u32, meta: &'a str, suggestion: &'a str) -> StoredAnswer<'a> {
        StoredAnswer {
            row,
            reason: Reason::Nonexistent,
            flags: 0b10101,
            meta,
            suggestion,
            form: DomainForm::Plain,
            domain: "",
        }
    }

    #[test]
    fn answers_and_put_off_rows_survive_the_work_file() {
        let whole = StoredAnswer { form: DomainForm::Other, domain: "xn--d.org", ..answer(7, "smtp_550", "a@b.org") };
        let mut bytes = Vec::new();
        whole.write(&mut bytes);
        assert_eq!(StoredAnswer::read(&bytes), Some(whole));
        for cut in 0..bytes.len() {
            assert_eq!(StoredAnswer::read(&bytes[..cut]), None);
        }
        for tries in [
            PriorAttempts::default(),
            PriorAttempts { count: 3, since: Some(Millis(5)), source: Some("192.0.2.1".into()), last: false },
        ] {
            let put_off = PutOff { row: 9, not_before: Millis(77), tries };
            let mut bytes = Vec::new();
            put_off.write(&mut bytes);
            assert_eq!(PutOff::read(&bytes), Some(put_off));
        }
    }

    #[test]
    fn memory_holds_everything_but_what_is_rare() {
        let mut answers = AnswerTable::new(3);
        answers.keep(&answer(0, "smtp_550", ""), 1 << 39);
        answers.keep(&answer(2, "smtp_550", "x@y.org"), 12_345);
        assert!(answers.has(0) && !answers.has(1) && answers.has(2) && !answers.has(3));
        let first = answers.get(0).unwrap();
        assert_eq!((first.reason, first.flags, first.meta), (Reason::Nonexistent, 0b10101, "smtp_550"));
        assert_eq!((first.elsewhere, first.has_domain), (None, true));
        assert_eq!(answers.get(2).unwrap().elsewhere, Some(12_345));
        assert_eq!(answers.get(1), None);
    }

    #[test]
    fn more_metas_than_can_be_numbered_are_read_from_the_work_file() {
        let mut answers = AnswerTable::new(1);
        for n in 0..METAS_MAX {
            answers.keep(&answer(0, &format!("m{n}"), ""), 0);
            assert_eq!(answers.get(0).unwrap().elsewhere, None);
        }
        answers.keep(&answer(0, "one more", ""), 99);
        assert_eq!(answers.get(0).unwrap().elsewhere, Some(99));
    }

    #[test]
    fn the_domain_is_kept_only_where_the_address_does_not_say_it() {
        let table = [
            ("a@Example.COM ", "example.com", DomainForm::Plain),
            ("a@müller.de", "xn--mller-kva.de", DomainForm::Other),
            ("nonsense", "", DomainForm::Absent),
            ("\"a@b\"@x.org", "x.org", DomainForm::Plain),
        ];
        for (email, domain, expected) in table {
            assert_eq!(form(email, domain), expected, "{email}");
        }
        assert_eq!(plain_domain("a@Example.COM "), "example.com");
    }
}
