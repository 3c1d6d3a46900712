//! Compiles phrases to a [`PhraseBook`].
//!
//! A step that a list of words can make is stored once, with the list: lists of hundreds of words are in more than a thousand
//! steps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::pattern::{self, Element, Gap, Literal, StepTarget};
use super::phrases::{After, Beginnings, ClassMember, Effect, Groups, PhraseBook, Step};

/// The list of words that name something else than what a phrase is about: a state behind one of them is a state of it.
const OTHERS: &str = "other";

/// The list of nouns for the recipient. With one of them, a clause may go on behind a closing step.
const NOUNS: &str = "who";

/// The list of words that begin the rest of a sentence, with which it may go on too.
const BEHIND: &str = "behind";

/// The list of words that may stand before such a noun (`for this user`).
const LINKS: &str = "link";

/// Collects phrases and the groups that they belong to.
#[derive(Debug, Default)]
pub(super) struct PhraseBookBuilder {
    phrases: Vec<(Vec<Element>, Groups)>,
    /// Their numbers by the text in the rule file, because many groups have the same phrases.
    numbers: HashMap<String, usize, BuildHasherDefault<DefaultHasher>>,
}

impl PhraseBookBuilder {
    /// Adds a phrase to a group, also as it is written without umlauts; false if the phrase has nothing to look for.
    pub(super) fn add(&mut self, text: &str, group: usize) -> bool {
        without_umlauts(text).is_none_or(|text| self.add_spelling(&text, group)) && self.add_spelling(text, group)
    }

    fn add_spelling(&mut self, text: &str, group: usize) -> bool {
        if let Some(number) = self.numbers.get(text) {
            self.phrases[*number].1.insert(group);
            return true;
        }
        let Some(elements) = pattern::phrase(text) else { return false };
        let mut groups = Groups::default();
        groups.insert(group);
        self.numbers.insert(text.to_owned(), self.phrases.len());
        self.phrases.push((elements, groups));
        true
    }

    /// Compiles the phrases, and returns the pieces of text that they are made of. `words` are the lists of words that `<name>`
    /// stands for.
    pub(super) fn build(self, words: &BTreeMap<String, Vec<String>>) -> Result<(PhraseBook, Vec<Vec<u8>>), String> {
        let classes = words.keys().map(|name| Ok((name.as_str(), literals(name, &entries(name, words)?)?)));
        let classes: Classes<'_> = classes.collect::<Result<_, String>>()?;
        let mut sequences: BTreeMap<&[Element], Groups> = BTreeMap::new();
        for (elements, groups) in &self.phrases {
            sequences.entry(elements).or_default().extend(groups);
        }
        let mut draft = Draft::new(&classes);
        for (elements, groups) in sequences {
            match elements {
                [single] => draft.add_single(single, &groups)?,
                _ => draft.add_sequence(elements, groups)?,
            }
        }
        for other in classes.get(OTHERS).into_iter().flatten() {
            draft.literal(&other.text).is_other = true;
        }
        let begin = |word: &Literal| word.text.strip_prefix(b" ").unwrap_or(&word.text).to_vec();
        let texts = |name: &str| classes.get(name).into_iter().flatten().map(begin);
        let beginnings = |names: &[&str]| Beginnings::new(names.iter().flat_map(|name| texts(name)).collect());
        let (book, pieces) = draft.compile()?;
        let (continuations, links) = (beginnings(&[NOUNS, BEHIND]), beginnings(&[LINKS]));
        Ok((PhraseBook { continuations, links, ..book }, pieces))
    }
}

/// The literals of each list of words, by its name.
type Classes<'d> = BTreeMap<&'d str, Vec<Literal>>;

/// A book while it is being compiled.
struct Draft<'d> {
    classes: &'d Classes<'d>,
    literals: BTreeMap<&'d [u8], Effect>,
    /// The number of each list of words that sequences have.
    numbers: BTreeMap<&'d str, usize>,
    /// The steps of each of these lists.
    steps: Vec<Vec<Step>>,
    /// How many slots there are.
    slots: usize,
    /// The last sequence, and the slot of each of its beginnings.
    last: (&'d [Element], Vec<usize>),
}

impl<'d> Draft<'d> {
    fn new(classes: &'d Classes<'d>) -> Self {
        let (literals, numbers) = (BTreeMap::new(), BTreeMap::new());
        Self { classes, literals, numbers, steps: Vec::new(), slots: 0, last: (&[], Vec::new()) }
    }

    fn literal(&mut self, text: &'d [u8]) -> &mut Effect {
        self.literals.entry(text).or_default()
    }

    fn add_single(&mut self, element: &'d Element, groups: &Groups) -> Result<(), String> {
        for Literal { text, closes } in spellings(element, self.classes)? {
            let found = self.literal(text);
            let whole = if *closes { &mut found.whole_closing } else { &mut found.whole };
            whole.extend(groups);
        }
        Ok(())
    }

    /// Adds a sequence. They come in order, so the last one has every beginning that is there already.
    fn add_sequence(&mut self, elements: &'d [Element], groups: Groups) -> Result<(), String> {
        let (last, mut slots) = std::mem::take(&mut self.last);
        slots.truncate(last.iter().zip(elements).take_while(|(one, other)| one == other).count());
        let mut after = After::Start;
        for (index, element) in elements.iter().enumerate() {
            let is_last = index + 1 == elements.len();
            let slot = slots.get(index).copied().unwrap_or(self.slots);
            if slot == self.slots {
                self.slots += 1;
                slots.push(slot);
                let completes = if is_last { groups } else { Groups::default() };
                self.add_step(element, Step { slot, after, completes, closes: is_last })?;
            }
            after = match elements.get(index + 1) {
                Some(Element { gap: Gap::Any, .. }) => After::Gap(slot),
                Some(Element { gap: Gap::Clear, .. }) => After::Clear(slot),
                Some(Element { gap: Gap::Within, .. }) => After::Within(slot),
                _ => After::Adjacent(slot),
            };
        }
        self.last = (elements, slots);
        Ok(())
    }

    fn add_step(&mut self, element: &'d Element, step: Step) -> Result<(), String> {
        match &element.what {
            StepTarget::Literal(Literal { text, closes }) => {
                let closes = step.closes && *closes;
                self.literal(text).steps.push(Step { closes, ..step });
            }
            StepTarget::Class(name) => {
                let class = self.class(name, spellings(element, self.classes)?);
                self.steps[class].push(step);
            }
        }
        Ok(())
    }

    /// The number of a list of words, which become its members at the first call.
    fn class(&mut self, name: &'d str, words: &'d [Literal]) -> usize {
        if let Some(class) = self.numbers.get(name) {
            return *class;
        }
        let class = self.steps.len();
        self.numbers.insert(name, class);
        self.steps.push(Vec::new());
        for Literal { text, closes } in words {
            let classes = &mut self.literal(text).classes;
            // A word that is there without a demand and with one, in this order, demands nothing.
            if classes.last().is_none_or(|member| member.class != class) {
                classes.push(ClassMember { class, closes: *closes });
            }
        }
        class
    }

    fn compile(self) -> Result<(PhraseBook, Vec<Vec<u8>>), String> {
        let (texts, literals): (Vec<_>, Vec<_>) =
            self.literals.into_iter().map(|(text, effect)| (text.to_vec(), effect)).unzip();
        // A DFA took three times as long to build and read no faster: too large for the processor's caches.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&texts)
            .map_err(|error| error.to_string())?;
        let (continuations, links) = (Beginnings::default(), Beginnings::default());
        let (classes, slots) = (self.steps, self.slots);
        Ok((PhraseBook { automaton, literals, classes, slots, continuations, links }, texts))
    }
}

/// The literals that an element stands for.
fn spellings<'d>(element: &'d Element, classes: &'d Classes<'_>) -> Result<&'d [Literal], String> {
    match &element.what {
        StepTarget::Literal(literal) => Ok(std::slice::from_ref(literal)),
        StepTarget::Class(name) => {
            classes.get(name.as_str()).map(Vec::as_slice).ok_or_else(|| format!("no list of words is called {name:?}"))
        }
    }
}

/// The entries of a list of words, and for `@name` those of another list.
fn entries<'w>(name: &str, words: &'w BTreeMap<String, Vec<String>>) -> Result<Vec<&'w str>, String> {
    let mut entries = Vec::new();
    for entry in words.get(name).into_iter().flatten() {
        match entry.strip_prefix('@') {
            None => entries.push(entry.as_str()),
            Some(other) => match words.get(other) {
                Some(list) => entries.extend(list.iter().map(String::as_str)),
                None => return Err(format!("no list of words is called {other:?}")),
            },
        }
    }
    Ok(entries)
}

/// The literals of a list of words: each of its entries is one, which may have stars at its ends.
fn literals(name: &str, words: &[&str]) -> Result<Vec<Literal>, String> {
    let literal = |entry: Cow<'_, str>| match pattern::phrase(&entry).as_deref() {
        Some([Element { what: StepTarget::Literal(literal), .. }]) => Ok(literal.clone()),
        _ => Err(format!("{entry:?} in the words {name:?} is not one piece of text")),
    };
    let twins = words.iter().filter_map(|word| without_umlauts(word)).map(Cow::Owned);
    let spellings = words.iter().copied().map(Cow::Borrowed).chain(twins);
    let distinct: BTreeSet<Literal> = spellings.map(literal).collect::<Result<_, String>>()?;
    Ok(distinct.into_iter().collect())
}

/// A text as it is written with letters of English alone: `gueltig`. A reply's words lose their dots instead: `gultig`.
fn without_umlauts(text: &str) -> Option<String> {
    const SPELLED: [(char, &str); 5] = [('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('å', "aa"), ('ø', "oe")];
    let spelled = SPELLED.iter().fold(text.to_owned(), |text, (letter, letters)| text.replace(*letter, letters));
    (spelled != text).then_some(spelled)
}
