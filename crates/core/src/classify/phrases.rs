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

/// One literal's place in a sequence.
#[derive(Clone, Debug)]
struct Step {
    /// Where the end of this step is remembered; the step before it uses the slot before.
    slot: usize,
    /// Where the step before must have ended.
    after: After,
    /// Of the last step: the groups that are found with it.
    completes: Option<Groups>,
}

/// Where the step before must have ended.
#[derive(Clone, Copy, Debug)]
enum After {
    /// There is none before.
    Start,
    /// Right before; where a stem ended it (`empfanger*`), the rest of its word may stand between.
    Adjacent,
    /// Up to [`GAP_MAX`] bytes before.
    Gap,
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
                if let Some(groups) = &step.completes {
                    found.extend(groups);
                }
            }
        }
        found
    }
}

impl Step {
    /// Whether the step before ended where it must. Two steps may share the blank between them.
    fn follows(&self, ends: &[usize], start: usize, words: &[u8]) -> bool {
        let before = || ends[self.slot - 1];
        match self.after {
            After::Start => true,
            After::Adjacent => {
                let end = before();
                end > 0 && start + 1 >= end && !words[end - 1..start].contains(&b' ')
            }
            After::Gap => before() > 0 && start + 1 >= before() && start <= before() + GAP_MAX,
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
        let mut ids: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let mut literals: Vec<Literal> = Vec::new();
        let mut slots = 0;
        for (elements, groups) in self.phrases {
            let last = elements.len() - 1;
            for (index, element) in elements.into_iter().enumerate() {
                let after = match (index, element.after_gap) {
                    (0, _) => After::Start,
                    (_, true) => After::Gap,
                    (_, false) => After::Adjacent,
                };
                for literal in spellings(element, classes)? {
                    let id = *ids.entry(literal).or_insert_with(|| {
                        literals.push(Literal::default());
                        literals.len() - 1
                    });
                    if last == 0 {
                        literals[id].whole.extend(&groups);
                    } else {
                        let completes = (index == last).then_some(groups);
                        literals[id].steps.push(Step { slot: slots, after, completes });
                    }
                }
                slots += 1;
            }
        }
        let mut patterns = vec![Vec::new(); literals.len()];
        for (literal, id) in ids {
            patterns[id] = literal;
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&patterns)
            .map_err(|error| error.to_string())?;
        Ok(PhraseBook { automaton, literals, slots })
    }
}

/// The literals that an element stands for. An entry of a list of words is one literal, which may have stars at its ends.
fn spellings(element: Element, classes: &BTreeMap<String, Vec<String>>) -> Result<Vec<Vec<u8>>, String> {
    let name = match element.what {
        What::Literal(literal) => return Ok(vec![literal]),
        What::Class(name) => name,
    };
    let entries = classes.get(&name).ok_or_else(|| format!("no list of words is called {name:?}"))?;
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
