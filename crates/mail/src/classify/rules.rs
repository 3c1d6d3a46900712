//! Compiled rules and their evaluation.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{
    AboutUs, DialogParties, DialogStage, Meaning, ReplyReading,
    file::{self, RuleError, RuleFile},
    hint,
    pattern::{CodePattern, EnhancedPattern},
    phrases::PhraseBook,
    words,
};
use crate::smtp::reply::{Enhanced, Reply};

/// Rules that ship with the program.
const EMBEDDED: &str = include_str!("../../data/replies.toml");

/// Longer texts are cut; `Reply::text` has the same limit.
const TEXT_MAX_BYTES: usize = 512;

/// A compiled rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: Arc<str>,
    /// Number of the provider whose replies the rule reads; `None` is any.
    pub(super) provider: Option<u16>,
    pub(super) stages: Stages,
    pub(super) codes: Vec<CodePattern>,
    pub(super) enhanced: Vec<EnhancedPattern>,
    /// Lists of phrases, of each of which the text must have one.
    pub(super) all: Vec<usize>,
    /// List of phrases, of which it must have none.
    pub(super) none: Option<usize>,
    /// List of phrases, of which it must consist.
    pub(super) only: Option<usize>,
    pub(super) meaning: Meaning,
    pub(super) wait_ms: Option<i64>,
}

impl Rule {
    /// Whether the rule matches. The choice of the bucket has checked stage and class.
    fn fits(&self, seen: &Seen<'_>) -> bool {
        let has = |list: &usize| seen.book.matches(*list, seen.words);
        (self.provider.is_none() || self.provider == seen.provider)
            && self.codes.iter().any(|pattern| pattern.fits(seen.code))
            && (self.enhanced.is_empty()
                || seen.enhanced.is_some_and(|code| self.enhanced.iter().any(|pattern| pattern.fits(code))))
            && self.all.iter().all(has)
            && self.only.as_ref().is_none_or(has)
            && !self.none.as_ref().is_some_and(has)
    }
}

/// Properties of a refusal that rules check.
struct Seen<'w> {
    code: u16,
    enhanced: Option<Enhanced>,
    book: &'w PhraseBook,
    words: &'w [u8],
    provider: Option<u16>,
}

/// A set of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stages(u8);

impl Stages {
    pub(super) const ALL: Self = Self(0b11_1111);
    pub(super) const RCPT: Self = Self(1 << index_of(DialogStage::Rcpt));

    pub(super) fn of(stages: &[DialogStage]) -> Self {
        Self(stages.iter().fold(0, |set, stage| set | 1 << index_of(*stage)))
    }

    fn contains(self, index: usize) -> bool {
        self.0 & 1 << index != 0
    }
}

/// Number of stages.
const STAGES: usize = 6;

const fn index_of(stage: DialogStage) -> usize {
    match stage {
        DialogStage::Connect => 0,
        DialogStage::Ehlo => 1,
        DialogStage::StartTls => 2,
        DialogStage::Mail => 3,
        DialogStage::Rcpt => 4,
        DialogStage::Unsolicited => 5,
    }
}

/// An immutable rule set. Clones share the large parts.
#[derive(Clone, Debug)]
pub struct Rules {
    version: u32,
    book: Arc<PhraseBook>,
    ordered: Arc<[Rule]>,
    /// Rules for each stage and class (4xx, 5xx), in order.
    buckets: [[Vec<usize>; 2]; STAGES],
    /// Numbers of providers, by lower-case name.
    providers: BTreeMap<String, u16>,
    fixed: Fixed,
}

/// Rule ID of a refusal that names our address and no recipient.
pub(crate) const NAMES_CLIENT: &str = "us.client.named";

/// Rule IDs of readings without a rule in the file.
#[derive(Clone, Debug)]
struct Fixed {
    accepted: Arc<str>,
    cannot_verify: Arc<str>,
    temporary: Arc<str>,
    unmatched: Arc<str>,
    names_sender: Arc<str>,
    names_client: Arc<str>,
}

impl Rules {
    /// The rules that ship with the program.
    pub fn embedded() -> &'static Self {
        static RULES: OnceLock<Rules> = OnceLock::new();
        RULES.get_or_init(|| Self::parse(EMBEDDED).expect("the shipped rules are valid, which a test checks"))
    }

    /// Parses a complete rule file (see `docs/replies.md` for its form).
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        file::compile(&RuleFile::parse(text)?)
    }

    /// The shipped rules behind an operator's own. A rule or list of the same name replaces the shipped one.
    pub fn embedded_with(text: &str) -> Result<Self, RuleError> {
        file::compile(&RuleFile::parse(EMBEDDED)?.overlaid(RuleFile::parse(text)?))
    }

    pub(super) fn new(version: u32, book: PhraseBook, rules: Vec<Rule>, providers: BTreeMap<String, u16>) -> Self {
        let bucket = |stage: usize, class: u16| {
            let fits =
                |rule: &Rule| rule.stages.contains(stage) && rule.codes.iter().any(|pattern| pattern.touches(class));
            let mut order: Vec<usize> = (0..rules.len()).filter(|index| fits(&rules[*index])).collect();
            // The sort is stable: providers' rules and general rules each keep the order of the file.
            order.sort_by_key(|index| rules[*index].provider.is_none());
            order
        };
        let buckets = std::array::from_fn(|stage| [bucket(stage, 4), bucket(stage, 5)]);
        let fixed = Fixed {
            accepted: Arc::from("class.2xx"),
            cannot_verify: Arc::from("code.252"),
            temporary: Arc::from("class.4xx"),
            unmatched: Arc::from("unmatched"),
            names_sender: Arc::from("us.sender.named"),
            names_client: Arc::from(NAMES_CLIENT),
        };
        Self { version, book: Arc::new(book), ordered: rules.into(), buckets, providers, fixed }
    }

    /// Version of the rule file.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// IDs of all rules, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(|rule| &*rule.id)
    }

    /// Reads a reply. `provider` is the ID or an alias of the server's provider. Use [`Self::read_between`] for answers to RCPT.
    pub fn read(&self, reply: &Reply, stage: DialogStage, provider: Option<&str>) -> ReplyReading {
        self.read_between(reply, stage, provider, &DialogParties::default())
    }

    /// Reads a reply in a dialog of these parties. A reply that names us and not the recipient is never about the recipient.
    pub fn read_between(
        &self,
        reply: &Reply,
        stage: DialogStage,
        provider: Option<&str>,
        parties: &DialogParties<'_>,
    ) -> ReplyReading {
        match reply.code {
            252 => reading(Meaning::CannotVerify, &self.fixed.cannot_verify),
            200..=299 => reading(Meaning::Accepted, &self.fixed.accepted),
            400..=599 => self.read_refusal(reply, stage, provider, parties),
            _ => reading(Meaning::Unmatched, &self.fixed.unmatched),
        }
    }

    fn read_refusal(
        &self,
        reply: &Reply,
        stage: DialogStage,
        provider: Option<&str>,
        parties: &DialogParties<'_>,
    ) -> ReplyReading {
        let (words, named) = words::plain_between(&cut(&reply.text), parties);
        let (code, enhanced) = evidence(reply, &words);
        let provider = provider.and_then(|name| self.provider_number(name));
        let seen = Seen { code, enhanced, book: &self.book, words: &words, provider };
        let bucket = &self.buckets[index_of(stage)][usize::from(code >= 500)];
        let rule = bucket.iter().map(|index| &self.ordered[*index]).find(|rule| rule.fits(&seen));
        if rule.is_some_and(|rule| rule.meaning.is_about_recipient()) {
            if named.only_sender() {
                return reading(Meaning::AboutUs(AboutUs::Sender), &self.fixed.names_sender);
            }
            if named.only_client() {
                // Some servers print the client's address in every refusal, so this is the mildest client refusal.
                return reading(Meaning::AboutUs(AboutUs::Policy), &self.fixed.names_client);
            }
        }
        let mut answer = match rule {
            Some(rule) => {
                ReplyReading { meaning: rule.meaning, rule: Arc::clone(&rule.id), retry_after_ms: rule.wait_ms }
            }
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

fn reading(meaning: Meaning, rule: &Arc<str>) -> ReplyReading {
    ReplyReading { meaning, rule: Arc::clone(rule), retry_after_ms: None }
}

/// The effective code and enhanced code. Both have the same class (RFC 3463 §2). If they differ, the milder one counts, because a
/// temporary refusal must not become a final verdict.
fn evidence(reply: &Reply, words: &[u8]) -> (u16, Option<Enhanced>) {
    let class = if reply.code >= 500 { 5 } else { 4 };
    match reply.enhanced {
        Some(enhanced) if enhanced.class == 4 && class == 5 => (reply.code - 100, Some(enhanced)),
        Some(enhanced) => (reply.code, Some(Enhanced { class, ..enhanced })),
        None => (reply.code, words::enhanced(words).filter(|enhanced| enhanced.class == class)),
    }
}

/// The text up to the limit, cut between characters.
fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= TEXT_MAX_BYTES {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_MAX_BYTES)]).into()
}
