//! Finding all phrases of all rules in one pass over a text.
//!
//! Phrases are gathered in *groups* (a named list of the data file, or one list of one rule); a rule asks only whether
//! some phrase of a group was found, which is one bit. A phrase with stars or classes is a sequence of steps; the pass
//! remembers where each prefix of the sequence ended last, and the next step must follow at once or, after a star, within
//! [`GAP_MAX`] bytes.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::pattern::{self, Element, What};

/// How many bytes a star may stand for: a name or a few words, but not the rest of a long text.
const GAP_MAX: usize = 48;

/// How many groups a rule file may have: four machine words are cheap to compare.
pub(super) const GROUPS_MAX: usize = 256;

/// A set of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups([u64; GROUPS_MAX / 64]);

impl Groups {
    pub(super) fn insert(&mut self, group: usize) {
        self.0[group / 64] |= 1 << (group % 64);
    }

    fn extend(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    pub(super) fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| mine & theirs == theirs)
    }

    pub(super) fn contains_any(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).any(|(mine, theirs)| mine & theirs != 0)
    }
}

/// What a literal does when it is found.
#[derive(Clone, Debug, Default)]
struct Literal {
    /// Groups of phrases that consist of this literal alone.
    whole: Groups,
    /// Its places in sequences.
    steps: Vec<Step>,
}

/// One literal's place in a sequence. Sequences that begin alike share their first steps.
#[derive(Clone, Debug)]
struct Step {
    /// Where the end of this step is remembered.
    slot: usize,
    /// Where the step before must have ended.
    after: After,
    /// The groups of sequences that end here.
    completes: Groups,
}

/// Where the step before must have ended, and the slot that remembers it.
#[derive(Clone, Copy, Debug)]
enum After {
    /// There is none before.
    Start,
    /// Right before; where a stem ended it (`empfanger*`), the rest of its word may stand between.
    Adjacent(usize),
    /// Up to [`GAP_MAX`] bytes before.
    Gap(usize),
}

/// All phrases, compiled.
#[derive(Clone, Debug)]
pub(super) struct PhraseBook {
    automaton: AhoCorasick,
    literals: Vec<Literal>,
    slots: usize,
}

impl PhraseBook {
    /// The groups of which some phrase occurs in plain words.
    pub(super) fn find(&self, words: &[u8]) -> Groups {
        let mut found = Groups::default();
        let mut ends = vec![0_usize; self.slots];
        for hit in self.automaton.find_overlapping_iter(words) {
            let literal = &self.literals[hit.pattern().as_usize()];
            found.extend(&literal.whole);
            for step in &literal.steps {
                if !step.follows(&ends, hit.start(), words) {
                    continue;
                }
                ends[step.slot] = hit.end();
                found.extend(&step.completes);
            }
        }
        found
    }
}

impl Step {
    /// Whether the step before ended where it must. Two steps may share the blank between them.
    fn follows(&self, ends: &[usize], start: usize, words: &[u8]) -> bool {
        match self.after {
            After::Start => true,
            After::Adjacent(before) => {
                let end = ends[before];
                end > 0 && start + 1 >= end && !words[end - 1..start].contains(&b' ')
            }
            After::Gap(before) => {
                let end = ends[before];
                end > 0 && start + 1 >= end && start <= end + GAP_MAX
            }
        }
    }
}

/// Collects phrases and the groups that they belong to.
#[derive(Debug, Default)]
pub(super) struct PhraseBookBuilder {
    phrases: BTreeMap<Vec<Element>, Groups>,
}

impl PhraseBookBuilder {
    /// Adds a phrase to a group; false if the phrase has nothing to look for.
    pub(super) fn add(&mut self, text: &str, group: usize) -> bool {
        match pattern::phrase(text) {
            Some(elements) => {
                self.phrases.entry(elements).or_default().insert(group);
                true
            }
            None => false,
        }
    }

    /// Compiles the phrases. `classes` are the lists of words that `<name>` stands for.
    pub(super) fn build(self, classes: &BTreeMap<String, Vec<String>>) -> Result<PhraseBook, String> {
        let mut draft = Draft { classes, literals: BTreeMap::new(), slots: BTreeMap::new() };
        for (elements, groups) in self.phrases {
            match &elements[..] {
                [single] => {
                    for text in spellings(single, classes)? {
                        draft.literals.entry(text).or_default().whole.extend(&groups);
                    }
                }
                _ => draft.add_sequence(&elements, groups)?,
            }
        }
        draft.compile()
    }
}

/// A book while it is being compiled.
struct Draft<'c> {
    classes: &'c BTreeMap<String, Vec<String>>,
    literals: BTreeMap<Vec<u8>, Literal>,
    /// The slot of each beginning of a sequence.
    slots: BTreeMap<Vec<Element>, usize>,
}

impl Draft<'_> {
    fn add_sequence(&mut self, elements: &[Element], groups: Groups) -> Result<(), String> {
        let mut after = After::Start;
        for length in 1..=elements.len() {
            let completes = if length == elements.len() { groups } else { Groups::default() };
            let fresh = self.slots.len();
            let slot = *self.slots.entry(elements[..length].to_vec()).or_insert(fresh);
            for text in spellings(&elements[length - 1], self.classes)? {
                let steps = &mut self.literals.entry(text).or_default().steps;
                match steps.iter_mut().find(|step| step.slot == slot) {
                    Some(step) => step.completes.extend(&completes),
                    None => steps.push(Step { slot, after, completes }),
                }
            }
            after = match elements.get(length) {
                Some(next) if next.after_gap => After::Gap(slot),
                _ => After::Adjacent(slot),
            };
        }
        Ok(())
    }

    fn compile(self) -> Result<PhraseBook, String> {
        let (texts, literals): (Vec<_>, Vec<_>) = self.literals.into_iter().unzip();
        // A DFA took three times as long to build and read no faster: too large for the processor's caches.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&texts)
            .map_err(|error| error.to_string())?;
        Ok(PhraseBook { automaton, literals, slots: self.slots.len() })
    }
}

/// The literals that an element stands for. An entry of a list of words is one literal, which may have stars at its ends.
fn spellings(element: &Element, classes: &BTreeMap<String, Vec<String>>) -> Result<Vec<Vec<u8>>, String> {
    let name = match &element.what {
        What::Literal(literal) => return Ok(vec![literal.clone()]),
        What::Class(name) => name,
    };
    let entries = classes.get(name).ok_or_else(|| format!("no list of words is called {name:?}"))?;
    let literal = |entry: &String| match pattern::phrase(entry).as_deref() {
        Some([Element { what: What::Literal(literal), .. }]) => Ok(literal.clone()),
        _ => Err(format!("{entry:?} in the words {name:?} is not one piece of text")),
    };
    entries.iter().map(literal).collect()
}

#[cfg(test)]
mod tests {
    use super::{Groups, PhraseBookBuilder};
    use crate::classify::words::plain;

    fn found(phrase: &str, text: &str) -> bool {
        let mut builder = PhraseBookBuilder::default();
        assert!(builder.add(phrase, 200));
        let mut wanted = Groups::default();
        wanted.insert(200);
        let classes = [("who", ["user", "mail box*"]), ("gone", ["unknown", "not found"])];
        let classes = classes.map(|(name, words)| (name.to_owned(), words.map(str::to_owned).to_vec()));
        builder.build(&classes.into()).expect("a small book").find(&plain(text)).contains_all(&wanted)
    }

    #[test]
    fn phrases_are_whole_words_unless_starred() {
        assert!(found("spam", "This is SPAM!"));
        assert!(!found("spam", "antispam gateway") && !found("spam", "spamhaus"));
        assert!(found("spam*", "listed by Spamhaus") && found("*spam", "antispam"));
        assert!(found("user unknown", "<a@b>: User  unknown."));
    }

    #[test]
    fn classes_stand_for_any_of_their_words() {
        assert!(found("<who> <gone>", "User not found") && found("<who> <gone>", "mail box unknown"));
        assert!(!found("<who> <gone>", "user x unknown") && found("<who> * <gone>", "user x unknown"));
        assert!(found("no such <who>", "no such user") && !found("no such <who>", "no such domain user"));
    }

    #[test]
    fn stars_stand_for_a_short_stretch() {
        assert!(found("user * not found", "User john.doe not found"));
        assert!(found("user * not found", "user not found"));
        assert!(!found("user * not found", &format!("user {} not found", "x ".repeat(40))));
        assert!(!found("user * not found", "not found: user"));
        assert!(found("a * b * c", "a x b y c") && !found("a * b * c", "a c b"));
    }
}
