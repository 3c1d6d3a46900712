//! Finding all phrases of all rules in one pass over a text.
//!
//! Phrases are gathered in *groups* (a named list of the data file, or one list of one rule); a rule asks only whether
//! some phrase of a group was found, which is one bit. A phrase with stars or classes is a sequence of steps; the pass
//! remembers where each prefix of the sequence ended last, and the next step must follow at once; after a star, within
//! [`GAP_MAX`] characters; or, after `~`, within fewer and with nothing else named between.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::pattern::{self, Element, Gap, StepTarget};

/// How many characters a star may stand for: a name or a few words, but not the rest of a long text.
const GAP_MAX: usize = 48;

/// How many characters a clear gap (`~`) may have: an address and a few words, in which nothing else is named.
const CLEAR_GAP_MAX: usize = 32;

/// The list of words that name something else than what a phrase is about: a state behind one of them is a state of it.
const OTHERS: &str = "other";

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
    /// Whether it names something else, over which no clear gap reaches.
    is_other: bool,
}

impl Literal {
    /// Adds a step, or what it completes if the literal has its slot already, which a fresh slot rules out.
    fn add(&mut self, step: Step, is_fresh: bool) {
        let known = if is_fresh { None } else { self.steps.iter_mut().find(|known| known.slot == step.slot) };
        match known {
            Some(known) => known.completes.extend(&step.completes),
            None => self.steps.push(step),
        }
    }
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
    /// Up to [`GAP_MAX`] characters before.
    Gap(usize),
    /// Up to [`CLEAR_GAP_MAX`] characters before, with nothing else named between.
    Clear(usize),
}

/// All phrases, compiled.
#[derive(Clone, Debug)]
pub(super) struct PhraseBook {
    automaton: AhoCorasick,
    texts: Vec<Vec<u8>>,
    literals: Vec<Literal>,
    slots: usize,
}

impl PhraseBook {
    /// The pieces of text that phrases are made of.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(Vec::as_slice)
    }

    /// The groups of which some phrase occurs in plain words.
    pub(super) fn find(&self, words: &[u8]) -> Groups {
        let mut found = Groups::default();
        let mut ends = vec![Ends::default(); self.slots];
        let mut other = 0;
        for hit in self.automaton.find_overlapping_iter(words) {
            let literal = &self.literals[hit.pattern().as_usize()];
            found.extend(&literal.whole);
            // A word that is itself the next step stands in no gap.
            let other_before = other;
            if literal.is_other {
                other = hit.end();
            }
            for step in &literal.steps {
                if !step.follows(&ends, hit.start(), words, other_before) {
                    continue;
                }
                ends[step.slot].push(hit.end());
                found.extend(&step.completes);
            }
        }
        found
    }
}

/// The last two places where a step ended, the later first; 0 is nowhere. Every text begins with all of them cleared, so they are
/// small.
#[derive(Clone, Copy, Debug, Default)]
struct Ends([u32; 2]);

impl Ends {
    fn push(&mut self, end: usize) {
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        if end != self.0[0] {
            self.0 = [end, self.0[0]];
        }
    }

    /// The last end at or before a start. The later end lies behind the start if the next step has the word again: `recipient` in
    /// `recipient not in recipient table`. Two steps may share the blank between them.
    fn before(self, start: usize) -> Option<usize> {
        self.0.into_iter().filter_map(|end| usize::try_from(end).ok()).find(|end| *end > 0 && *end <= start + 1)
    }
}

impl Step {
    /// Whether the step before ended where it must.
    fn follows(&self, ends: &[Ends], start: usize, words: &[u8], other: usize) -> bool {
        let end_of = |before: usize| ends[before].before(start);
        match self.after {
            After::Start => true,
            After::Adjacent(before) => {
                end_of(before).is_some_and(|end| is_adjacent(&words[end - 1..start], words[start]))
            }
            After::Gap(before) => {
                end_of(before).is_some_and(|end| start <= end + GAP_MAX || characters(&words[end..start]) <= GAP_MAX)
            }
            After::Clear(before) => end_of(before)
                .is_some_and(|end| other <= end && (start <= end || characters(&words[end..start]) <= CLEAR_GAP_MAX)),
        }
    }
}

/// Whether a step follows at once. `between` begins with the last byte of the step before; a step that begins inside a word
/// (`*계정*`) has no blank of its own.
fn is_adjacent(between: &[u8], first: u8) -> bool {
    let words = between.split(|byte| *byte == b' ').count();
    words <= if first == b' ' { 1 } else { 2 }
}

/// How many characters the bytes of a text are; the rest of a very long one is not counted.
fn characters(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(4 * GAP_MAX + 4)];
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
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

    /// Compiles the phrases. `words` are the lists of words that `<name>` stands for.
    pub(super) fn build(self, words: &BTreeMap<String, Vec<String>>) -> Result<PhraseBook, String> {
        let classes = words.iter().map(|(name, words)| Ok((name.as_str(), literals(name, words)?)));
        let classes: BTreeMap<_, _> = classes.collect::<Result<_, String>>()?;
        let mut draft = Draft { classes: &classes, literals: BTreeMap::new(), slots: BTreeMap::new() };
        for (elements, groups) in &self.phrases {
            match &elements[..] {
                [single] => {
                    for text in spellings(single, &classes)? {
                        draft.literal(text).whole.extend(groups);
                    }
                }
                _ => draft.add_sequence(elements, groups)?,
            }
        }
        for text in classes.get(OTHERS).into_iter().flatten() {
            draft.literal(text).is_other = true;
        }
        draft.compile()
    }
}

/// The literals of each list of words, by its name.
type Classes<'d> = BTreeMap<&'d str, Vec<Vec<u8>>>;

/// A book while it is being compiled.
struct Draft<'d> {
    classes: &'d Classes<'d>,
    literals: BTreeMap<Vec<u8>, Literal>,
    /// The slot of each beginning of a sequence.
    slots: BTreeMap<&'d [Element], usize>,
}

impl<'d> Draft<'d> {
    fn literal(&mut self, text: &[u8]) -> &mut Literal {
        if !self.literals.contains_key(text) {
            self.literals.insert(text.to_vec(), Literal::default());
        }
        self.literals.get_mut(text).expect("it was put in if it was missing")
    }

    fn add_sequence(&mut self, elements: &'d [Element], groups: &Groups) -> Result<(), String> {
        let mut after = After::Start;
        for (index, element) in elements.iter().enumerate() {
            let is_last = index + 1 == elements.len();
            let completes = if is_last { *groups } else { Groups::default() };
            let fresh = self.slots.len();
            let slot = *self.slots.entry(&elements[..=index]).or_insert(fresh);
            // The steps of a beginning that others have too are there already.
            if slot == fresh || is_last {
                for text in spellings(element, self.classes)? {
                    self.literal(text).add(Step { slot, after, completes }, slot == fresh);
                }
            }
            after = match elements.get(index + 1) {
                Some(Element { gap: Gap::Any, .. }) => After::Gap(slot),
                Some(Element { gap: Gap::Clear, .. }) => After::Clear(slot),
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
        Ok(PhraseBook { automaton, texts, literals, slots: self.slots.len() })
    }
}

/// The literals that an element stands for.
fn spellings<'d>(element: &'d Element, classes: &'d Classes<'_>) -> Result<&'d [Vec<u8>], String> {
    match &element.what {
        StepTarget::Literal(literal) => Ok(std::slice::from_ref(literal)),
        StepTarget::Class(name) => {
            classes.get(name.as_str()).map(Vec::as_slice).ok_or_else(|| format!("no list of words is called {name:?}"))
        }
    }
}

/// The literals of a list of words: each of its entries is one, which may have stars at its ends.
fn literals(name: &str, words: &[String]) -> Result<Vec<Vec<u8>>, String> {
    let literal = |entry: &String| match pattern::phrase(entry).as_deref() {
        Some([Element { what: StepTarget::Literal(literal), .. }]) => Ok(literal.clone()),
        _ => Err(format!("{entry:?} in the words {name:?} is not one piece of text")),
    };
    let distinct: BTreeSet<Vec<u8>> = words.iter().map(literal).collect::<Result<_, String>>()?;
    Ok(distinct.into_iter().collect())
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
        let classes = [
            ("who", ["user", "mail box*"]),
            ("gone", ["unknown", "not found"]),
            ("other", ["server*", "sender"]),
            ("lacking", ["*없는*", "*아닌*"]),
            ("host", ["*계정*", "*메일*"]),
        ];
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
        assert!(found("<lacking> <host>", "없는 메일 계정") && !found("<lacking> <host>", "없는 이 새 계정"));
        assert!(found("no such <who>", "no such user") && !found("no such <who>", "no such domain user"));
    }

    #[test]
    fn stars_stand_for_a_short_stretch() {
        assert!(found("user * not found", "User john.doe not found"));
        assert!(found("user * not found", "user not found"));
        assert!(!found("user * not found", &format!("user {} not found", "x ".repeat(40))));
        assert!(!found("user * not found", "not found: user"));
        assert!(found("<who> ~ <gone>", "user joe unknown") && found("<who> ~ <gone>", "sender: user unknown"));
        for text in ["user: server not found", "user on servers not found", "user knows no sender: unknown"] {
            assert!(found("<who> * <gone>", text) && !found("<who> ~ <gone>", text), "{text}");
        }
        assert!(found("<who> ~ <gone>", "user, on our server: user unknown"), "the nearest noun counts");
        assert!(!found("<who> ~ <gone>", &format!("user {} unknown", "x ".repeat(20))));
        assert!(found("<who> ~ not in user table", "user not in user table"), "the next step has the noun again");
        assert!(found("a * b * c", "a x b y c") && !found("a * b * c", "a c b"));
    }
}
