//! Phrases of a rule file, compiled to regular expressions over plain words.
//!
//! A rule asks whether some phrase of a list occurs in a text, or whether a text consists of the phrases of a list and of names
//! alone. Each list is an expression of its own: a set of all of them has too many states to be kept.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use super::words::{self, ADDRESS, CLIENT, HOST, LINK, NUMBER, OUR_ADDRESS};

/// How many words a star may stand for: a name or a part of a sentence, but not the rest of a long text.
const GAP: &str = "(?:[^ ]+ ){0,7}";

/// What every text may have besides the phrases of [`PhraseBookBuilder::only`]. A network address may be ours, as the server sees us.
const NAMES: [&str; 6] = [
    // Addresses, hosts, and report numbers with the code that some servers write behind.
    r"[\x01\x04][^ ]* ",
    r"\x05[^ ]* (?:[0-9]+ )?",
    // Numbers but temporary codes.
    r"(?:[0-35-9][0-9]*|4[0-9]?|4[0-9]{3,}) ",
    r"[0-9]+\.[0-9]+ ",
    // Enhanced codes, but temporary ones and those of a policy; 5.7.13 and 5.7.17 are about mailboxes.
    r"[25]\.[0-689]\.[0-9]{1,3} |5\.7\.1[37] ",
    r"127\.0\.0\.1 ",
];

/// The server's name and address at the start.
const SERVER: &str = r"\x04[^ ]* [0-9]+(?:\.[0-9]+){3} ";

/// Maximum nesting of lists.
const DEPTH_MAX: usize = 8;

/// Limit for the size of a compiled list, in bytes. Rule files are the operator's own.
const SIZE_MAX: usize = 64 << 20;

/// Phrases by the name of their list; an entry `@name` stands for those of another list.
pub(super) type NamedPhrases = BTreeMap<String, Vec<String>>;

/// Collects the lists of phrases that rules look for.
#[derive(Debug)]
pub(super) struct PhraseBookBuilder<'l> {
    words: &'l NamedPhrases,
    phrases: &'l NamedPhrases,
    patterns: Vec<String>,
}

/// All lists of phrases, compiled.
#[derive(Clone, Debug)]
pub(super) struct PhraseBook(Vec<Regex>);

impl<'l> PhraseBookBuilder<'l> {
    pub(super) fn new(words: &'l NamedPhrases, phrases: &'l NamedPhrases) -> Self {
        Self { words, phrases, patterns: Vec::new() }
    }

    /// The number of a list of phrases of which a text must have one.
    pub(super) fn any_of(&mut self, items: &[String]) -> Result<usize, String> {
        let pattern = format!(" (?:{})", self.alternatives(items, 0)?.join("|"));
        Ok(self.number_of(pattern))
    }

    /// The number of a list of phrases of which a text must consist, besides names and numbers.
    pub(super) fn only(&mut self, items: &[String]) -> Result<usize, String> {
        let mut all = self.alternatives(items, 0)?;
        all.extend(NAMES.map(str::to_owned));
        Ok(self.number_of(format!("^ (?:{SERVER})?(?:{})*$", all.join("|"))))
    }

    pub(super) fn build(&self) -> Result<PhraseBook, String> {
        let compiled = |pattern: &String| RegexBuilder::new(pattern).unicode(false).size_limit(SIZE_MAX).build();
        let lists = self.patterns.iter().map(compiled).collect::<Result<_, _>>();
        lists.map(PhraseBook).map_err(|error| error.to_string())
    }

    fn number_of(&mut self, pattern: String) -> usize {
        self.patterns.iter().position(|other| *other == pattern).unwrap_or_else(|| {
            self.patterns.push(pattern);
            self.patterns.len() - 1
        })
    }

    fn alternatives(&self, items: &[String], depth: usize) -> Result<Vec<String>, String> {
        if depth > DEPTH_MAX {
            return Err("lists refer to each other too deeply".to_owned());
        }
        let mut all = Vec::new();
        for item in items {
            match item.strip_prefix('@') {
                Some(name) => {
                    let list =
                        self.phrases.get(name).ok_or_else(|| format!("no list of phrases is called {name:?}"))?;
                    all.extend(self.alternatives(list, depth + 1)?);
                }
                None => all.push(self.phrase(item, depth)?),
            }
        }
        Ok(all)
    }

    /// A phrase as a regular expression, with a blank behind each word.
    fn phrase(&self, text: &str, depth: usize) -> Result<String, String> {
        if !text.contains(|c: char| c.is_alphanumeric()) {
            return Err(format!("phrase {text:?} has nothing to look for"));
        }
        text.split_whitespace().map(|part| self.part(part, depth)).collect()
    }

    fn part(&self, part: &str, depth: usize) -> Result<String, String> {
        if part == "*" {
            return Ok(GAP.to_owned());
        }
        if let Some((name, optional)) = part.strip_prefix('<').and_then(|part| part.split_once('>')) {
            let list = self.words.get(name).ok_or_else(|| format!("no list of words is called {name:?}"))?;
            if depth > DEPTH_MAX {
                return Err("lists refer to each other too deeply".to_owned());
            }
            let words = list.iter().map(|entry| self.phrase(entry, depth + 1)).collect::<Result<Vec<_>, _>>()?;
            let optional = if optional == "?" { "?" } else { "" };
            return Ok(format!("(?:{}){optional}", words.join("|")));
        }
        let marks = [
            ("{addr}", ADDRESS),
            ("{us}", OUR_ADDRESS),
            ("{client}", CLIENT),
            ("{host}", HOST),
            ("{number}", NUMBER),
            ("{link}", LINK),
        ];
        if let Some((rest, mark)) = marks.iter().find_map(|(name, mark)| Some((part.strip_prefix(name)?, mark))) {
            let rest = if rest.is_empty() { "[^ ]*".to_owned() } else { starred(rest, str::to_owned) };
            return Ok(format!("\\x{mark:02x}{rest} "));
        }
        let plain = |piece: &str| String::from_utf8_lossy(&words::plain(piece)).trim().to_owned();
        Ok(starred(part, plain) + " ")
    }
}

/// Pieces of a word between stars, each of which stands for any letters.
fn starred(word: &str, plain: impl Fn(&str) -> String) -> String {
    word.split('*').map(|piece| regex::escape(&plain(piece))).collect::<Vec<_>>().join("[^ ]*")
}

impl PhraseBook {
    /// Whether a text has some phrase of a list, or consists of them if the list is of that kind.
    pub(super) fn matches(&self, list: usize, words: &[u8]) -> bool {
        self.0[list].is_match(words)
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedPhrases, PhraseBookBuilder};
    use crate::classify::words::plain;

    fn lists(entries: &[(&str, &[&str])]) -> NamedPhrases {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        entries.iter().map(|(name, words)| ((*name).to_owned(), owned(words))).collect()
    }

    #[test]
    fn phrases_are_whole_words_unless_starred() {
        let words = lists(&[("who", &["<kind>? user", "mail box"]), ("kind", &["local"])]);
        let phrases = NamedPhrases::new();
        for (phrase, text, is_found) in [
            ("spam", "This is SPAM!", true),
            ("spam", "antispam gateway", false),
            ("spam*", "a spammer", true),
            ("*spam*", "antispamming", true),
            ("user unknown", "<a@b>: User  unknown.", true),
            ("user * not found", "User john doe not found", true),
            ("user * not found", "user a b c d e f g h not found", false),
            ("<who> unknown", "local user unknown", true),
            ("no such <who>", "no such mail box", true),
            ("{addr} unknown", "a@b.example unknown", true),
            ("{host}*spamhaus.org", "listed at zen.spamhaus.org", true),
            ("{host}*spamhaus.org", "spamhaus.org.hoster.example", false),
            ("{link}", "see x.example/ip/192.0.2.1", true),
            ("l'adresse", "l\u{2019}adresse", true),
        ] {
            let mut builder = PhraseBookBuilder::new(&words, &phrases);
            let list = builder.any_of(&[phrase.to_owned()]).expect("a phrase");
            let book = builder.build().expect("a small book");
            assert_eq!(book.matches(list, &plain(text)), is_found, "{phrase} in {text}");
        }
    }

    #[test]
    fn a_text_consists_of_phrases_and_names() {
        let (words, phrases) = (NamedPhrases::new(), lists(&[("known", &["address refused", "sorry"])]));
        let mut builder = PhraseBookBuilder::new(&words, &phrases);
        let list = builder.only(&["@known".to_owned()]).expect("phrases");
        let book = builder.build().expect("a small book");
        for (text, is_all) in [
            ("5.1.1 <a@b.example>: Sorry, address refused (#5.1.1) mx.example IB603", true),
            ("", true),
            ("address", false),
            ("address refused by us", false),
            ("mx.example 550 5.1.1 address refused [127.0.0.1]", true),
            ("mx.example[192.0.2.9] address refused", true),
            ("error 451 address refused", false),
            ("address refused 5.7.1", false),
            ("address refused ?? ????", false),
            ("address refused \u{fffd}", false),
        ] {
            assert_eq!(book.matches(list, &plain(text)), is_all, "{text}");
        }
    }
}
