//! Names that tell by themselves that mail to them is thrown away: `temp-mail`, `my10minutemail`, `wegwerfmail24`.
//!
//! No list knows the domain that a service takes tomorrow, but services like to say what they are. A word counts only in
//! the name that somebody registered, without hyphens: `tempmail.acme.example` may be a host of a firm that moves. It
//! counts only where a word can begin, since `contempmail` and `zonetimemail` hold one by chance, and not in the name of
//! an opponent (`anti-trash-mail`), of a government or of a school.
//!
//! Other services take names in series, which say nothing but follow a pattern: a few letters and `mail` below a cheap ending
//! (`zagmail.store`), or digits before the name of a large provider (`83hotmail.com`). A provider's own name below such an ending
//! (`hotmail.online`) may be the provider's.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, Match};

use super::ListError;
use super::text_set::TextSet;

/// Longest domain without its last dot (RFC 1035 §2.3.4).
const DOMAIN_BYTES_MAX: usize = 253;
/// Marks of the list that stand for the beginning and the end of a name.
const BEGIN: char = '^';
const END: char = '$';

/// What may stand before a word, if nothing stands before it in turn. Every one was looked at together with the words:
/// `i` is missing because of `item`, `pro` because of `pro tem`.
const SMALL_WORDS: &[&str] = &[
    "another", "best", "clean", "cloud", "e", "easy", "email", "ez", "fast", "find", "free", "get", "gmail", "instant",
    "mail", "mobile", "my", "new", "online", "our", "private", "pure", "quick", "safe", "secure", "simple", "smart",
    "super", "swift", "temp", "the", "try", "ultra", "use", "web", "your",
];
/// What the name of somebody says who keeps throw-away mail out, or forwards mail of paper.
const OPPONENTS: &[&str] = &[
    "against", "anti", "block", "check", "detect", "domain", "filter", "forward", "guard", "list", "prevent",
    "protect", "reject", "remov", "report", "shield", "stop", "valid", "verif",
];
/// The same, right before a word.
const REFUSALS: &[&str] =
    &["bye", "kein", "keine", "kill", "no", "non", "not", "ohne", "sans", "sem", "sin", "without"];
/// Parts of public endings below which only governments, armies and schools register.
const PUBLIC_BODIES: &[&str] = &[
    "edu",
    "gob",
    "gouv",
    "gov",
    "govt",
    "gub",
    "gv",
    "int",
    "k12",
    "mil",
    "museum",
    "nhs",
    "parliament",
    "police",
    "sch",
    "school",
];
/// The same where they stand before the country; alone they are open to everybody (`temp-mail.ac`).
const PUBLIC_BODIES_BELOW: &[&str] = &["ac", "ed", "gc", "go", "mi"];

/// Endings below which services take names of a few letters and `mail`. No name of this form below them is on any list of real
/// sites that the measuring uses; below `.xyz` and `.us`, for example, some are.
const ENDINGS_OF_SERIES: &[&str] = &["club", "fun", "online", "site", "space", "store", "top", "website"];
/// Letters before `mail` in such a name. Longer ones can be the name of a shop (`papermail`).
const LETTERS_OF_SERIES: std::ops::RangeInclusive<usize> = 2..=4;
/// What hosts call their own service.
const HOSTS_NAME: &str = "web";
/// Providers whose names get digits in front.
const NUMBERED: &[&str] = &["gmail", "hotmail", "outlook", "yahoo"];

/// Where in a name a word counts.
#[derive(Debug)]
struct NamePlace {
    only_first: bool,
    only_last: bool,
}

/// The words of `disposable_words.txt`, and the names that look like those of a series and are not.
#[derive(Debug)]
pub(super) struct NameWords {
    words: AhoCorasick,
    places: Vec<NamePlace>,
    /// Names of the form of a series that providers have below other endings.
    of_providers: BTreeSet<String>,
}

impl NameWords {
    /// Reads the words; `^` stands for the beginning of a name, `$` for its end. `providers` are lists of domains.
    pub(super) fn new(list: &TextSet, providers: [&TextSet; 2]) -> Result<Self, ListError> {
        let places = list
            .iter()
            .map(|(word, _)| NamePlace { only_first: word.starts_with(BEGIN), only_last: word.ends_with(END) })
            .collect();
        let bare = list.iter().map(|(word, _)| word.trim_start_matches(BEGIN).trim_end_matches(END));
        let words = AhoCorasick::new(bare).map_err(|error| ListError {
            file: "disposable_words.txt".into(),
            line: 0,
            what: error.to_string(),
        })?;
        let of_providers = providers
            .into_iter()
            .flat_map(TextSet::iter)
            .filter_map(|(domain, _)| domain.split_once('.'))
            .filter(|(name, ending)| !ENDINGS_OF_SERIES.contains(ending) && has_form_of_series(name))
            .map(|(name, _)| name.to_owned())
            .collect();
        Ok(Self { words, places, of_providers })
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Does the registered name of this domain say one of the words?
    ///
    /// Nearly no domain has one anywhere, so the whole of it is searched before its registered part is looked up, which
    /// costs more.
    pub(super) fn tell(&self, domain: &str) -> bool {
        let (has_word, can_be_of_series) = (self.found_in(domain), can_be_of_series(domain));
        (has_word || can_be_of_series)
            && psl::domain_str(domain).and_then(|registered| registered.split_once('.')).is_some_and(
                |(name, ending)| {
                    has_word && !of_public_bodies(ending) && self.is_word_of(name)
                        || can_be_of_series && self.is_of_series(name, ending)
                },
            )
    }

    fn found_in(&self, domain: &str) -> bool {
        if domain.len() > DOMAIN_BYTES_MAX {
            return false;
        }
        let mut letters = [0_u8; DOMAIN_BYTES_MAX];
        let mut end = 0;
        for byte in domain.bytes().filter(|byte| *byte != b'-') {
            letters[end] = byte;
            end += 1;
        }
        self.words.is_match(&letters[..end])
    }

    fn is_word_of(&self, name: &str) -> bool {
        let letters = name.replace('-', "");
        if OPPONENTS.iter().any(|opponent| letters.contains(opponent)) {
            return false;
        }
        self.words.find_overlapping_iter(&letters).any(|found| {
            let place = &self.places[found.pattern().as_usize()];
            let (before, behind) = (&letters[..found.start()], &letters[found.end()..]);
            let begins = before.is_empty() || (!place.only_first && word_begins(name, before, found));
            begins && (!place.only_last || behind.bytes().all(|byte| byte.is_ascii_digit()))
        })
    }

    fn is_of_series(&self, name: &str, ending: &str) -> bool {
        let behind_digits = name.trim_start_matches(|c: char| c.is_ascii_digit());
        if behind_digits.len() < name.len() && NUMBERED.contains(&behind_digits.trim_start_matches('-')) {
            return true;
        }
        ENDINGS_OF_SERIES.contains(&ending) && has_form_of_series(name) && !self.of_providers.contains(name)
    }
}

/// Can a word begin behind this, and does it not say the contrary?
fn word_begins(name: &str, before: &str, found: Match) -> bool {
    let said = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let apart = said.len() < before.len() || SMALL_WORDS.contains(&before) || hyphen_before(name, found.start());
    apart && !REFUSALS.iter().any(|refusal| said.ends_with(refusal))
}

/// Does a hyphen stand before the letter that has this place when hyphens are left out?
fn hyphen_before(name: &str, letter: usize) -> bool {
    let mut letters = 0;
    let mut hyphen = false;
    for byte in name.bytes() {
        if byte == b'-' {
            hyphen = true;
            continue;
        }
        if letters == letter {
            return hyphen;
        }
        letters += 1;
        hyphen = false;
    }
    false
}

/// Can the name of a domain be of a series, whichever part of it was registered?
fn can_be_of_series(domain: &str) -> bool {
    let last = domain.rsplit('.').next().unwrap_or_default();
    ENDINGS_OF_SERIES.contains(&last) || domain.contains(|c: char| c.is_ascii_digit())
}

/// Is a name a few letters and `mail`?
fn has_form_of_series(name: &str) -> bool {
    let letters = ["email", "mail"].iter().find_map(|word| name.trim_end_matches('s').strip_suffix(word));
    letters.map(|letters| letters.trim_end_matches('-')).is_some_and(|letters| {
        LETTERS_OF_SERIES.contains(&letters.len())
            && letters.bytes().all(|byte| byte.is_ascii_lowercase())
            && letters != HOSTS_NAME
    })
}

fn of_public_bodies(ending: &str) -> bool {
    let (below, last) = ending.rsplit_once('.').unwrap_or(("", ending));
    PUBLIC_BODIES.contains(&last)
        || below.split('.').any(|part| PUBLIC_BODIES.contains(&part) || PUBLIC_BODIES_BELOW.contains(&part))
}
