//! The rule file: its form, its checks and its compilation.
//!
//! Parsing is strict, because a rule that never matches would go unnoticed. An unknown key, an undefined list or a rule that reads
//! a missing mailbox from a temporary refusal is an error with its rule and line.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;
use toml::Spanned;

use super::{
    DialogStage, Meaning,
    pattern::{CodePattern, EnhancedPattern},
    phrases::{NamedPhrases, PhraseBookBuilder},
    rules::{Rule, Rules, Stages},
};

/// Supported format version.
const FORMAT: u32 = 2;

/// Why a rule file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The faulty rule, if one rule is the cause.
    pub rule: Option<String>,
    /// Line of the file, from 1, if known.
    pub line: Option<usize>,
    /// Description of the error.
    pub what: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, "rule {rule}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for RuleError {}

/// A rule file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    /// The form of the file.
    format: u32,
    /// Counts up with each change of the rules.
    version: u32,
    /// Other names of a provider, by its id.
    #[serde(default)]
    providers: BTreeMap<String, Vec<String>>,
    /// Named lists of words, for `<name>` inside phrases.
    #[serde(default)]
    words: NamedPhrases,
    /// Named lists of phrases.
    #[serde(default)]
    phrases: NamedPhrases,
    #[serde(default, rename = "rule")]
    rules: Vec<WrittenRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    id: Spanned<String>,
    provider: Option<String>,
    #[serde(default)]
    stage: Vec<String>,
    #[serde(default)]
    code: Vec<String>,
    #[serde(default)]
    enhanced: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    #[serde(default)]
    none: Vec<String>,
    /// Phrases of which the text must consist, besides names, codes and addresses.
    only: Option<Vec<String>>,
    meaning: String,
    wait_s: Option<u32>,
    /// Source of the wording. Required, for readers of the file only.
    source: String,
    /// Set after parsing.
    #[serde(skip)]
    line: Option<usize>,
}

impl RuleFile {
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let mut document: Self = toml::from_str(text).map_err(|error| RuleError {
            rule: None,
            line: error.span().map(|span| line_at(text, span.start)),
            what: error.message().to_owned(),
        })?;
        if document.format != FORMAT {
            let what = format!("format {} is not known; this program reads format {FORMAT}", document.format);
            return Err(RuleError { rule: None, line: None, what });
        }
        // From rule to rule: the file is long, and every start reads it.
        let (mut offset, mut line) = (0, 1);
        for rule in &mut document.rules {
            let start = rule.id.span().start;
            line += text.get(offset..start).map_or(0, |between| line_at(between, between.len()) - 1);
            offset = start;
            rule.line = Some(line);
        }
        Ok(document)
    }

    /// Puts the rules of another document first and replaces lists and rules of the same name.
    pub(super) fn overlaid(mut self, over: Self) -> Self {
        self.version = self.version.max(over.version);
        self.providers.extend(over.providers);
        self.words.extend(over.words);
        self.phrases.extend(over.phrases);
        self.rules.retain(|rule| !over.rules.iter().any(|own| own.id.get_ref() == rule.id.get_ref()));
        self.rules.splice(0..0, over.rules);
        self
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Checks and compiles a document.
pub(super) fn compile(document: &RuleFile) -> Result<Rules, RuleError> {
    let builder = PhraseBookBuilder::new(&document.words, &document.phrases);
    let mut compiler = Compiler { builder, providers: providers(document) };
    let mut rules: Vec<Rule> = Vec::with_capacity(document.rules.len());
    for written in &document.rules {
        let error = |what| RuleError { rule: Some(written.id.get_ref().clone()), line: written.line, what };
        if rules.iter().any(|rule| *rule.id == **written.id.get_ref()) {
            return Err(error("the id is used twice".to_owned()));
        }
        rules.push(compiler.rule(written).map_err(error)?);
    }
    let Compiler { builder, providers } = compiler;
    let book = builder.build().map_err(|what| RuleError { rule: None, line: None, what })?;
    Ok(Rules::new(document.version, book, rules, providers))
}

/// Numbers of all providers, by ID and by every alias.
fn providers(document: &RuleFile) -> BTreeMap<String, u16> {
    let mut numbers = BTreeMap::new();
    for (number, (id, names)) in (0..).zip(&document.providers) {
        for name in names.iter().chain([id]) {
            numbers.insert(name.to_ascii_lowercase(), number);
        }
    }
    numbers
}

struct Compiler<'d> {
    builder: PhraseBookBuilder<'d>,
    providers: BTreeMap<String, u16>,
}

impl Compiler<'_> {
    fn rule(&mut self, written: &WrittenRule) -> Result<Rule, String> {
        check_id(written.id.get_ref())?;
        let rule = Rule {
            id: written.id.get_ref().as_str().into(),
            provider: self.provider(written.provider.as_deref())?,
            stages: stages(&written.stage)?,
            codes: codes(&written.code)?,
            enhanced: written.enhanced.iter().map(|text| enhanced(text)).collect::<Result<_, _>>()?,
            all: self.demanded(written)?,
            none: (!written.none.is_empty()).then(|| self.builder.any_of(&written.none)).transpose()?,
            only: written.only.as_ref().map(|items| self.builder.only(items)).transpose()?,
            meaning: meaning(&written.meaning)?,
            wait_ms: written.wait_s.map(|seconds| i64::from(seconds) * 1000),
        };
        if written.source.trim().is_empty() {
            return Err("a rule needs a source that documents its wording or code".to_owned());
        }
        check_safety(&rule)?;
        if rule.all.is_empty() && rule.enhanced.is_empty() && written.code.is_empty() {
            return Err("a rule needs a code, an enhanced code or a phrase to look for".to_owned());
        }
        Ok(rule)
    }

    fn provider(&self, name: Option<&str>) -> Result<Option<u16>, String> {
        match name {
            None => Ok(None),
            Some(name) => match self.providers.get(name) {
                Some(number) => Ok(Some(*number)),
                None => Err(format!("provider {name:?} is not in [providers]")),
            },
        }
    }

    /// Lists of which a text must have a phrase: one for `any`, and one per item of `all`.
    fn demanded(&mut self, written: &WrittenRule) -> Result<Vec<usize>, String> {
        let any = Some(&written.any[..]).filter(|any| !any.is_empty());
        let each = written.all.iter().map(std::slice::from_ref);
        any.into_iter().chain(each).map(|items| self.builder.any_of(items)).collect()
    }
}

/// Enforces two principles: only answers to RCPT are about the recipient, and only a 5xx makes an address undeliverable.
fn check_safety(rule: &Rule) -> Result<(), String> {
    if rule.meaning.makes_undeliverable().is_none() {
        return Ok(());
    }
    if rule.stages != Stages::RCPT {
        return Err("a rule that makes an address undeliverable must have stage = [\"rcpt\"]".to_owned());
    }
    if rule.codes.iter().any(|code| !code.touches(5)) {
        return Err("a rule that makes an address undeliverable must have 5xx codes only".to_owned());
    }
    Ok(())
}

fn check_id(id: &str) -> Result<(), String> {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    if id.is_empty() || id.len() > 64 || !id.chars().all(known) {
        return Err("an id has 1 to 64 characters of a-z, 0-9, '.', '_' and '-'".to_owned());
    }
    Ok(())
}

fn stages(names: &[String]) -> Result<Stages, String> {
    if names.is_empty() {
        return Ok(Stages::ALL);
    }
    let stages = names.iter().map(|name| match name.as_str() {
        "connect" => Ok(DialogStage::Connect),
        "ehlo" => Ok(DialogStage::Ehlo),
        "starttls" => Ok(DialogStage::StartTls),
        "mail" => Ok(DialogStage::Mail),
        "rcpt" => Ok(DialogStage::Rcpt),
        "unsolicited" => Ok(DialogStage::Unsolicited),
        _ => Err(format!("{name:?} is not a stage")),
    });
    Ok(Stages::of(&stages.collect::<Result<Vec<_>, _>>()?))
}

fn codes(texts: &[String]) -> Result<Vec<CodePattern>, String> {
    if texts.is_empty() {
        return Ok(vec![CodePattern::class(4), CodePattern::class(5)]);
    }
    texts.iter().map(|text| CodePattern::parse(text).ok_or_else(|| format!("{text:?} is not a reply code"))).collect()
}

fn enhanced(text: &str) -> Result<EnhancedPattern, String> {
    EnhancedPattern::parse(text).ok_or_else(|| format!("{text:?} is not an enhanced code"))
}

/// Meanings by their names in the file, without acceptance, which the reply code alone decides.
fn meaning(name: &str) -> Result<Meaning, String> {
    Meaning::from_name(name)
        .filter(|meaning| *meaning != Meaning::Accepted)
        .ok_or_else(|| format!("{name:?} is not a meaning"))
}
