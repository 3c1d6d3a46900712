//! Finding all phrases of all rules in one pass over a text.
//!
//! Phrases are gathered in *groups* (a named list of the data file, or one list of one rule); a rule asks only whether
//! some phrase of a group was found, which is one bit. A phrase with stars or classes is a sequence of steps; the pass
//! remembers where each prefix of the sequence ended last, and the next step must follow at once; after `&`, in the same clause too;
//! after a star, within [`GAP_MAX`] characters; or, after `~`, within fewer and with nothing else named between.

use std::cell::OnceCell;

use aho_corasick::AhoCorasick;

use super::words::{self, ADDRESS, CLAUSE_END, is_separator, unmarked};

/// How many characters a star may stand for: a name or a few words, but not the rest of a long text.
const GAP_MAX: usize = 48;

/// How many characters a clear gap (`~`) may have: an address and a few words, in which nothing else is named.
const CLEAR_GAP_MAX: usize = 32;

/// Maximum number of words between a closing step and a noun for the recipient (`for this user`).
const LINKS_MAX: usize = 3;

/// How many groups a rule file may have: four machine words are cheap to compare.
pub(super) const GROUPS_MAX: usize = 256;

/// A set of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups([u64; GROUPS_MAX / 64]);

impl Groups {
    pub(super) fn insert(&mut self, group: usize) {
        self.0[group / 64] |= 1 << (group % 64);
    }

    pub(super) fn extend(&mut self, other: &Self) {
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
pub(super) struct Effect {
    /// Groups of phrases that consist of this literal alone.
    pub(super) whole: Groups,
    /// The same for phrases that must end the clause.
    pub(super) whole_closing: Groups,
    /// Its own places in sequences.
    pub(super) steps: Vec<Step>,
    /// The lists of words that it is in: it has their places too.
    pub(super) classes: Vec<ClassMember>,
    /// Whether it names something else, over which no clear gap reaches.
    pub(super) is_other: bool,
}

/// A literal's place in a list of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassMember {
    pub(super) class: usize,
    /// Whether it demands that the clause ends behind it where it is a last step.
    pub(super) closes: bool,
}

/// A place in a sequence, of one literal or of a whole list of words. Sequences that begin alike share their first steps.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Where the end of this step is remembered.
    pub(super) slot: usize,
    /// Where the step before must have ended.
    pub(super) after: After,
    /// The groups of sequences that end here.
    pub(super) completes: Groups,
    /// Whether the clause must end here, or go on with a noun for the recipient; in a list of words, behind those that demand it.
    pub(super) closes: bool,
}

/// Where the step before must have ended, and the slot that remembers it.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    /// There is none before.
    Start,
    /// Right before; where a stem ended it (`empfanger*`), the rest of its word may stand between.
    Adjacent(usize),
    /// Right before, with no clause's end between.
    Within(usize),
    /// Up to [`GAP_MAX`] characters before.
    Gap(usize),
    /// Up to [`CLEAR_GAP_MAX`] characters before, with nothing else named between.
    Clear(usize),
}

/// All phrases, compiled.
#[derive(Clone, Debug)]
pub(super) struct PhraseBook {
    pub(super) automaton: AhoCorasick,
    pub(super) literals: Vec<Effect>,
    /// The places of each list of words in sequences. A list of hundreds of words has them once.
    pub(super) classes: Vec<Vec<Step>>,
    pub(super) slots: usize,
    /// Words behind a closing step, without the blank before them.
    pub(super) continuations: Beginnings,
    pub(super) links: Beginnings,
}

/// Words with which the rest of a text may begin, sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginnings(Vec<Vec<u8>>);

impl Beginnings {
    pub(super) fn new(mut words: Vec<Vec<u8>>) -> Self {
        words.sort_unstable();
        Self(words)
    }

    /// The first of the words with which a text begins. Only those with its first byte are compared: there are hundreds.
    pub(super) fn of(&self, text: &[u8]) -> Option<&[u8]> {
        let first = text.first()?;
        let start = self.0.partition_point(|word| word.first() < Some(first));
        let alike = self.0[start..].iter().take_while(|word| word.first() == Some(first));
        alike.map(Vec::as_slice).find(|word| text.starts_with(word))
    }
}

impl PhraseBook {
    /// The groups of which some phrase occurs in marked words.
    pub(super) fn find(&self, marked: &[u8]) -> Groups {
        let words = &unmarked(marked)[..];
        let mut found = Groups::default();
        let mut ends = vec![Ends::default(); self.slots];
        let mut other = 0;
        for hit in self.automaton.find_overlapping_iter(words) {
            let literal = &self.literals[hit.pattern().as_usize()];
            found.extend(&literal.whole);
            // Many steps may ask, most of them none.
            let closing = OnceCell::new();
            let closes = || *closing.get_or_init(|| self.ends_clause(marked, words, hit.end()));
            if literal.whole_closing != Groups::default() && closes() {
                found.extend(&literal.whole_closing);
            }
            // A word that is itself the next step stands in no gap.
            let other_before = other;
            if literal.is_other {
                other = hit.end();
            }
            let own = literal.steps.iter().map(|step| (step, step.closes));
            let of_class = literal
                .classes
                .iter()
                .flat_map(|member| self.classes[member.class].iter().map(|step| (step, step.closes && member.closes)));
            for (step, must_close) in own.chain(of_class) {
                if step.follows(&ends, hit.start(), marked, other_before) && (!must_close || closes()) {
                    ends[step.slot].push(hit.end());
                    found.extend(&step.completes);
                }
            }
        }
        found
    }

    /// Whether a clause ends behind a hit, or goes on with a noun for the recipient, an address, a number or a word that begins the
    /// rest of a sentence. Before any other word, `unknown` and `disabled` are said of something else.
    fn ends_clause(&self, marked: &[u8], words: &[u8], hit_end: usize) -> bool {
        let mut at = last_of_word(words, hit_end - 1);
        if marked[at + 1..].split(|byte| *byte == CLAUSE_END).next().is_some_and(words::is_trailer) {
            return true;
        }
        for _ in 0..=LINKS_MAX {
            let rest = &words[at + 1..];
            if marked[at] == CLAUSE_END
                || matches!(rest, [] | [ADDRESS, ..])
                || words::is_number(words::first_word(rest))
            {
                return true;
            }
            if self.continuations.of(rest).is_some() {
                return true;
            }
            let Some(link) = self.links.of(rest) else { return false };
            at = last_of_word(words, at + link.len());
        }
        false
    }
}

/// The place of the blank behind the word that a place is in. Scripts that write no blanks go on at once.
fn last_of_word(words: &[u8], at: usize) -> usize {
    const WITHOUT_BLANKS: std::ops::RangeInclusive<u8> = 0xe3..=0xed;
    match words.get(at + 1) {
        _ if words[at] == b' ' => at,
        Some(next) if WITHOUT_BLANKS.contains(next) => at,
        _ => words[at..].iter().position(|byte| *byte == b' ').map_or(words.len() - 1, |behind| at + behind),
    }
}

/// The last two places where a step ended, the later first; 0 is nowhere. Every text begins with all of them cleared, so they are
/// small: a text of 512 bytes has fewer than 65,536 bytes of words.
#[derive(Clone, Copy, Debug, Default)]
struct Ends([u16; 2]);

impl Ends {
    fn push(&mut self, end: usize) {
        let end = u16::try_from(end).unwrap_or(u16::MAX);
        if end != self.0[0] {
            self.0 = [end, self.0[0]];
        }
    }

    /// The last end at or before a start. The later end lies behind the start if the next step has the word again: `recipient` in
    /// `recipient not in recipient table`. Two steps may share the blank between them.
    fn before(self, start: usize) -> Option<usize> {
        self.0.into_iter().map(usize::from).find(|end| *end > 0 && *end <= start + 1)
    }
}

impl Step {
    /// Whether the step before ended where it must.
    fn follows(&self, ends: &[Ends], start: usize, marked: &[u8], other: usize) -> bool {
        let end_of = |before: usize| ends[before].before(start);
        match self.after {
            After::Start => true,
            After::Adjacent(before) => {
                end_of(before).is_some_and(|end| is_adjacent(&marked[end - 1..start], marked[start]))
            }
            After::Within(before) => end_of(before).is_some_and(|end| {
                is_adjacent(&marked[end - 1..start], marked[start]) && !marked[end - 1..=start].contains(&CLAUSE_END)
            }),
            After::Gap(before) => {
                end_of(before).is_some_and(|end| start <= end + GAP_MAX || characters(&marked[end..start]) <= GAP_MAX)
            }
            After::Clear(before) => end_of(before)
                .is_some_and(|end| other <= end && (start <= end || characters(&marked[end..start]) <= CLEAR_GAP_MAX)),
        }
    }
}

/// Whether a step follows at once. `between` begins with the last byte of the step before; a step that begins inside a word
/// (`*계정*`) has no blank of its own.
fn is_adjacent(between: &[u8], first: u8) -> bool {
    let words = between.split(|byte| is_separator(*byte)).count();
    words <= if is_separator(first) { 1 } else { 2 }
}

/// How many characters the bytes of a text are; the rest of a very long one is not counted.
fn characters(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(4 * GAP_MAX + 4)];
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::Groups;
    use crate::classify::DialogParties;
    use crate::classify::draft::PhraseBookBuilder;
    use crate::classify::words::marked_between;

    fn found(phrase: &str, text: &str) -> bool {
        let mut builder = PhraseBookBuilder::default();
        assert!(builder.add(phrase, 200));
        let mut wanted = Groups::default();
        wanted.insert(200);
        let classes = [
            ("who", &["user", "mail box*", "*用户*"][..]),
            ("gone", &["unknown", "not found"]),
            ("other", &["server*", "sender"]),
            ("lacking", &["*없는*", "*아닌*"]),
            ("host", &["*계정*", "*메일*"]),
            ("lost", &["lost*$", "gone$"]),
            ("behind", &["at", "in"]),
            ("link", &["to", "this", "*的*"]),
        ];
        let classes =
            classes.map(|(name, words)| (name.to_owned(), words.iter().map(|word| (*word).to_owned()).collect()));
        let (marked, _) = marked_between(text, &DialogParties::default());
        builder.build(&classes.into()).expect("a small book").0.find(&marked).contains_all(&wanted)
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
        assert!(found("<who>&<gone>", "user unknown") && !found("<who>&<gone>", "user: unknown"));
        assert!(!found("<who>&<gone>", "user x unknown"));
        assert!(found("<lacking> <host>", "없는 메일 계정") && !found("<lacking> <host>", "없는 이 새 계정"));
        assert!(found("no such <who>", "no such user") && !found("no such <who>", "no such domain user"));
    }

    #[test]
    fn a_closing_word_ends_its_clause_or_goes_on_with_the_recipient() {
        for text in [
            "<a@b>... unknown",
            "<a@b>: unknown. Mailer error",
            "<a@b>: unknown (in reply to RCPT)",
            "<a@b>: unknown user",
            "<a@b>: unknown to this user",
            "<a@b>: unknown 5.1.1",
            "<a@b>: unknown <c@d>",
            "<a@b>: unknown at servers",
        ] {
            assert!(found("{addr} unknown$", text), "{text}");
        }
        for text in
            ["<a@b>... unknown mailer error", "<a@b> unknown to clients", "<a@b>: unknown to this to this to this user"]
        {
            assert!(!found("{addr} unknown$", text) && found("{addr} unknown", text), "{text}");
        }
        assert!(found("<who> <lost>", "user lost.") && !found("<who> <lost>", "user losttes packet"));
        assert!(found("<lost> packet", "lost packet"), "only the last step closes a clause");
        for (text, is_closed) in
            [("未知", true), ("未知用户", true), ("未知的用户", true), ("未知错误", false), ("用户未知。", true)]
        {
            assert_eq!(found("*未知*$", text), is_closed, "{text}");
        }
        assert!(found("lost$", "lost, sorry") && !found("lost$", "lost packet"));
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
