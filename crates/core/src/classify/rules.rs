//! The compiled rules and their evaluation.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{
    Meaning, Reading, Stage,
    file::{self, Document, RuleError},
    hint,
    pattern::{CodePattern, EnhancedPattern},
    phrases::{Groups, PhraseBook},
    words,
};
use crate::smtp::reply::{Enhanced, Reply};

/// The rules that ship with the program.
const EMBEDDED: &str = include_str!("../../data/replies.toml");

/// Longer texts are cut before they are read; `Reply::text` is bounded by the same number.
const TEXT_MAX_BYTES: usize = 512;

/// One rule, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: Arc<str>,
    /// The provider whose replies it reads, as a number of the rule set; none is any.
    pub(super) provider: Option<u16>,
    pub(super) stages: Stages,
    pub(super) codes: Vec<CodePattern>,
    pub(super) enhanced: Vec<EnhancedPattern>,
    pub(super) all: Groups,
    pub(super) none: Groups,
    pub(super) meaning: Meaning,
    pub(super) wait_ms: Option<i64>,
}

impl Rule {
    /// Whether the rule fits. Stage and class were looked at when the bucket was chosen.
    fn fits(&self, code: u16, enhanced: Option<Enhanced>, found: &Groups, provider: Option<u16>) -> bool {
        found.contains_all(&self.all)
            && !found.contains_any(&self.none)
            && (self.provider.is_none() || self.provider == provider)
            && self.codes.iter().any(|pattern| pattern.fits(code))
            && (self.enhanced.is_empty()
                || enhanced.is_some_and(|code| self.enhanced.iter().any(|pattern| pattern.fits(code))))
    }
}

/// A set of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stages(u8);

impl Stages {
    pub(super) const ALL: Self = Self(0b11_1111);
    pub(super) const RCPT: Self = Self(1 << index_of(Stage::Rcpt));

    pub(super) fn of(stages: &[Stage]) -> Self {
        Self(stages.iter().fold(0, |set, stage| set | 1 << index_of(*stage)))
    }

    fn contains(self, index: usize) -> bool {
        self.0 & 1 << index != 0
    }
}

/// How many stages there are.
const STAGES: usize = 6;

const fn index_of(stage: Stage) -> usize {
    match stage {
        Stage::Connect => 0,
        Stage::Ehlo => 1,
        Stage::StartTls => 2,
        Stage::Mail => 3,
        Stage::Rcpt => 4,
        Stage::Unsolicited => 5,
    }
}

/// A rule set: what every reply is read by. Immutable; an operator's changes make a new one.
#[derive(Clone, Debug)]
pub struct Rules {
    version: u32,
    book: PhraseBook,
    ordered: Vec<Rule>,
    /// For each stage and class (4xx, 5xx), the rules to ask, in order.
    buckets: [[Vec<usize>; 2]; STAGES],
    /// Names of providers, in lower case, and their numbers.
    providers: BTreeMap<String, u16>,
    fixed: Fixed,
}

/// Ids of the readings that the class digit alone decides.
#[derive(Clone, Debug)]
struct Fixed {
    accepted: Arc<str>,
    cannot_verify: Arc<str>,
    temporary: Arc<str>,
    unmatched: Arc<str>,
}

impl Rules {
    /// The rules that ship with the program.
    pub fn embedded() -> &'static Self {
        static RULES: OnceLock<Rules> = OnceLock::new();
        RULES.get_or_init(|| Self::parse(EMBEDDED).expect("the shipped rules are valid, which a test checks"))
    }

    /// Rules from the text of a data file that stands for itself (see `docs/replies.md` for its form).
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        file::compile(&Document::parse(text)?)
    }

    /// The shipped rules with an operator's own in front of them. A rule or list of the same name as a shipped one takes
    /// its place.
    pub fn embedded_with(text: &str) -> Result<Self, RuleError> {
        file::compile(&Document::parse(EMBEDDED)?.overlaid(Document::parse(text)?))
    }

    pub(super) fn new(version: u32, book: PhraseBook, rules: Vec<Rule>, providers: BTreeMap<String, u16>) -> Self {
        let bucket = |stage: usize, class: u16| {
            let fits =
                |rule: &Rule| rule.stages.contains(stage) && rule.codes.iter().any(|pattern| pattern.touches(class));
            let mut order: Vec<usize> = (0..rules.len()).filter(|index| fits(&rules[*index])).collect();
            // A stable sort: file order within the rules of providers and within the general ones.
            order.sort_by_key(|index| rules[*index].provider.is_none());
            order
        };
        let buckets = std::array::from_fn(|stage| [bucket(stage, 4), bucket(stage, 5)]);
        let fixed = Fixed {
            accepted: Arc::from("class.2xx"),
            cannot_verify: Arc::from("code.252"),
            temporary: Arc::from("class.4xx"),
            unmatched: Arc::from("unmatched"),
        };
        Self { version, book, ordered: rules, buckets, providers, fixed }
    }

    /// The version that the data file gives itself.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The ids of all rules, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(|rule| &*rule.id)
    }

    /// What a reply says. `provider` is the id or a known name of the answering server's provider.
    pub fn read(&self, reply: &Reply, stage: Stage, provider: Option<&str>) -> Reading {
        match reply.code {
            252 => reading(Meaning::CannotVerify, &self.fixed.cannot_verify),
            200..=299 => reading(Meaning::Accepted, &self.fixed.accepted),
            400..=599 => self.read_refusal(reply, stage, provider),
            _ => reading(Meaning::Unmatched, &self.fixed.unmatched),
        }
    }

    fn read_refusal(&self, reply: &Reply, stage: Stage, provider: Option<&str>) -> Reading {
        let text = cut(&reply.text);
        let words = words::plain(text);
        let (code, enhanced) = evidence(reply, &words);
        let found = self.book.find(&words);
        let provider = provider.and_then(|name| self.provider_number(name));
        let bucket = &self.buckets[index_of(stage)][usize::from(code >= 500)];
        let rule = bucket.iter().map(|index| &self.ordered[*index]).find(|r| r.fits(code, enhanced, &found, provider));
        let mut answer = match rule {
            Some(rule) => Reading { meaning: rule.meaning, rule: Arc::clone(&rule.id), retry_after_ms: rule.wait_ms },
            None if code < 500 => reading(Meaning::ServerTemporary, &self.fixed.temporary),
            None => reading(Meaning::Unmatched, &self.fixed.unmatched),
        };
        if answer.meaning.worth_retrying() || answer.meaning.is_about_us().is_some() {
            answer.retry_after_ms = hint::retry_after_ms(&words).or(answer.retry_after_ms);
        }
        answer
    }

    fn provider_number(&self, name: &str) -> Option<u16> {
        match self.providers.get(name) {
            Some(number) => Some(*number),
            None => self.providers.get(&name.to_ascii_lowercase()).copied(),
        }
    }
}

fn reading(meaning: Meaning, rule: &Arc<str>) -> Reading {
    Reading { meaning, rule: Arc::clone(rule), retry_after_ms: None }
}

/// Code and enhanced code that count. RFC 3463 2: the class of both is the same; where a server contradicts itself, the
/// milder of the two holds, since a temporary refusal that is read as a final one cannot be taken back.
fn evidence(reply: &Reply, words: &[u8]) -> (u16, Option<Enhanced>) {
    let class = if reply.code >= 500 { 5 } else { 4 };
    match reply.enhanced {
        Some(enhanced) if enhanced.class == 4 && class == 5 => (reply.code - 100, Some(enhanced)),
        Some(enhanced) => (reply.code, Some(Enhanced { class, ..enhanced })),
        None => (reply.code, words::enhanced(words).filter(|enhanced| enhanced.class == class)),
    }
}

/// The text up to the limit, at a border of characters.
fn cut(text: &str) -> &str {
    if text.len() <= TEXT_MAX_BYTES {
        return text;
    }
    let end = (0..=TEXT_MAX_BYTES).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0);
    &text[..end]
}
