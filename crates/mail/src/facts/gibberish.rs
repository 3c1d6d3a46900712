//! Does a local part look typed at random (`asdkjh`, `x7k2q9wz`), and not like a person, a nickname or a word?
//!
//! A small network, trained at the refresh of the data (`cargo xtask data`, figures in `docs/data.md`) on names of many
//! regions and on mash of many kinds. At each sign of the local part, two tables are asked: one for the three signs that end
//! there, one for the three behind. Each gives eight numbers; their sum, where it is above 0, says how much one of eight patterns
//! is at this place. The total and the peak of every pattern, and counts of form (letters, digits, gaps), go through a
//! layer of eight units to a score of 0 to 1. No hash table, no allocation.
//!
//! Two words joined by a dot look like a person even where each of them is mash. So both sides are scored as well, and the sum of
//! their logarithms of odds counts where it is above that of the whole, unless the whole is far from mash.
//!
//! It is made to accuse rarely: four of five mashes are enough, but not one in a hundred people may be called one, from
//! whatever region the name comes. A text in a script that the model was not trained on (anything but Latin letters)
//! scores 0, and so do digits alone, which are ordinary names at some providers.

mod signs;
mod text;

pub use signs::{FORM, SYMBOLS, Signs, TRIPLES};
pub use text::ModelError;

/// Patterns that the tables know.
pub const PATTERNS: usize = 8;
/// Units of the layer.
pub const UNITS: usize = 8;
/// What the layer is given: total and peak of each pattern, and the counts of form.
pub const INPUTS: usize = 2 * PATTERNS + FORM.len();

/// The tables have whole eighths, so that they are small and the text form is exact.
const STEPS_PER_ONE: f32 = 8.0;
/// Highest and lowest steps: the bytes of the text form stay printable.
const STEPS_MAX: i8 = 45;
/// Totals grow with the number of signs; this brings them to the size of peaks.
pub const TOTAL_SHARE: f32 = 0.25;

/// Signs that join two words.
const JOINTS: [char; 3] = ['.', '_', '-'];
/// Letters of a side that can be judged.
const SIDE_LETTERS_MIN: usize = 5;
/// What is added for a side of so few letters. Alone it may be an initial and a short name, so the layer hardly accuses it; beside
/// another word it is none.
const SHORT_SIDE: f32 = 10.0;
/// What each side must have: mash beside a word (`anna.qjxzvk`) may be a name that the model does not know, and names without their
/// vowels come in pairs (`khldun.alqhtni`).
const SIDE_OUTCOME_MIN: f32 = 0.6;
/// What the whole must have for its sides to count: where it looks like a person, strange sides are a language's own
/// (`dmytro.dovbyk`).
const WHOLE_OUTCOME_MIN: f32 = -5.0;
/// What is added for so many letters, beyond what the layer makes of them. Nearly all people who are accused have six or seven
/// letters, so a threshold that spares them spares mash of eight letters and more, of which hardly anybody is called.
const SIX_LETTERS: f32 = 0.2;
const EIGHT_LETTERS: f32 = 1.0;

/// What a table has for one triple: a number of steps for each pattern.
type Steps = [i8; PATTERNS];

/// What turns the inputs of a local part into the logarithm of odds that it is mash.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Of each input to each unit; totals come first, then peaks, then form.
    pub weights: [[f32; UNITS]; INPUTS],
    /// Added to each unit's sum.
    pub bias: [f32; UNITS],
    /// Of each unit, where it is above 0, to the outcome.
    pub output: [f32; UNITS],
    /// Added to the outcome.
    pub output_bias: f32,
}

impl Layer {
    /// A layer that gives every local part even odds.
    pub const NONE: Self =
        Self { weights: [[0.0; UNITS]; INPUTS], bias: [0.0; UNITS], output: [0.0; UNITS], output_bias: 0.0 };

    /// The units' values, none below 0.
    pub fn units(&self, inputs: &[f32; INPUTS]) -> [f32; UNITS] {
        let mut units = self.bias;
        for (input, weights) in inputs.iter().zip(&self.weights) {
            units.iter_mut().zip(weights).for_each(|(unit, weight)| *unit += input * weight);
        }
        units.map(|unit| unit.max(0.0))
    }

    /// The logarithm of the odds, by the units' values.
    pub fn outcome(&self, units: &[f32; UNITS]) -> f32 {
        units.iter().zip(&self.output).map(|(unit, weight)| unit * weight).sum::<f32>() + self.output_bias
    }
}

/// The trained tables, the layer, and the threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// By the triple that ends at a place.
    heads: Box<[Steps]>,
    /// By the triple behind it.
    tails: Box<[Steps]>,
    layer: Layer,
    threshold: f32,
}

impl Model {
    /// A model of trained numbers, rounded to eighths in the tables; those have [`PATTERNS`] numbers for each triple.
    pub fn new(heads: &[f32], tails: &[f32], layer: Layer, threshold: f32) -> Self {
        Self { heads: rounded(heads), tails: rounded(tails), layer, threshold }
    }

    /// The same model with another threshold.
    #[must_use]
    pub fn with_threshold(self, threshold: f32) -> Self {
        Self { threshold, ..self }
    }

    /// 0 (a person, a word) to 1 (keyboard mash).
    pub fn score(&self, local: &str) -> f32 {
        let base = local.split('+').next().unwrap_or(local);
        let Some(whole) = self.outcome(base) else {
            return 0.0;
        };
        let sides = if whole < WHOLE_OUTCOME_MIN { None } else { self.outcome_of_sides(base) };
        let outcome = sides.map_or(whole, |sides| sides.max(whole));
        1.0 / (1.0 + (-outcome).exp())
    }

    /// The logarithm of the odds that a text is mash; `None` where nothing can be judged.
    fn outcome(&self, text: &str) -> Option<f32> {
        let signs = Signs::of(text)?;
        let of_length = match signs.letters() {
            6 => SIX_LETTERS,
            8.. => EIGHT_LETTERS,
            _ => 0.0,
        };
        Some(self.layer.outcome(&self.layer.units(&self.inputs(&signs))) + of_length)
    }

    /// The same of two words joined by a sign, from both of them, without digits behind them (years, mostly).
    fn outcome_of_sides(&self, base: &str) -> Option<f32> {
        let (left, right) = base.split_once(JOINTS).filter(|(_, right)| !right.contains(JOINTS))?;
        let outcome_of = |side: &str| {
            let word = side.trim_end_matches(|c: char| c.is_ascii_digit());
            let outcome = match word.chars().count() {
                0..SIDE_LETTERS_MIN => return None,
                SIDE_LETTERS_MIN => self.outcome(word)? + SHORT_SIDE,
                _ => self.outcome(word)?,
            };
            (outcome >= SIDE_OUTCOME_MIN).then_some(outcome)
        };
        Some(outcome_of(left)? + outcome_of(right)?)
    }

    /// Scores from here on are gibberish.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    fn inputs(&self, signs: &Signs) -> [f32; INPUTS] {
        let (mut totals, mut peaks) = ([0_i16; PATTERNS], [0_i16; PATTERNS]);
        for (head, tail) in signs.places() {
            let steps = self.heads[head].iter().zip(&self.tails[tail]);
            for ((total, peak), (head, tail)) in totals.iter_mut().zip(&mut peaks).zip(steps) {
                let here = (i16::from(*head) + i16::from(*tail)).max(0);
                *total += here;
                *peak = here.max(*peak);
            }
        }
        let mut inputs = [0.0; INPUTS];
        let (of_totals, rest) = inputs.split_at_mut(PATTERNS);
        let (of_peaks, of_form) = rest.split_at_mut(PATTERNS);
        of_totals.iter_mut().zip(totals).for_each(|(to, from)| *to = f32::from(from) * TOTAL_SHARE / STEPS_PER_ONE);
        of_peaks.iter_mut().zip(peaks).for_each(|(to, from)| *to = f32::from(from) / STEPS_PER_ONE);
        of_form.copy_from_slice(&signs.form());
        inputs
    }
}

/// The numbers of a table as steps; what is missing is 0.
fn rounded(numbers: &[f32]) -> Box<[Steps]> {
    let mut table = vec![[0; PATTERNS]; TRIPLES].into_boxed_slice();
    for (steps, number) in table.as_flattened_mut().iter_mut().zip(numbers) {
        *steps = to_steps(*number);
    }
    table
}

fn to_steps(number: f32) -> i8 {
    let limit = f32::from(STEPS_MAX);
    let wanted = (number * STEPS_PER_ONE).round().clamp(-limit, limit);
    (-STEPS_MAX..=STEPS_MAX).find(|step| f32::from(*step) >= wanted).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::facts::lists::Lists;
    use crate::rng::Rng;
    use proptest::prelude::*;

    #[test]
    fn random_letters_are_found_alone_and_on_both_sides_of_a_dot() {
        let mut rng = Rng::new(29);
        let mut word = |letters: usize| -> String {
            (0..letters).map(|_| char::from(b"abcdefghijklmnopqrstuvwxyz"[rng.below(26)])).collect()
        };
        let found = |locals: Vec<String>| {
            let hits = locals.iter().filter(|local| Lists::embedded().gibberish(local).1).count();
            hits * 100 / locals.len()
        };
        let eight = found((0..2_000).map(|_| word(8)).collect());
        let pairs = found((0..2_000).map(|n| format!("{}.{}", word(6 + n % 2), word(6 + n % 2))).collect());
        assert!(eight >= 81 && pairs >= 80, "{eight} % of eight letters, {pairs} % of pairs");
    }

    #[test]
    fn mash_is_told_from_people() {
        let lists = Lists::embedded();
        for mash in [
            "asdfghjk",
            "xkqjwz.pzvbtq",
            "qjxzv.wkvpq",
            "vbnqwz_plkjmx",
            "sdkfjhskdjf",
            "x7k2q9wzp4",
            "qwertyuiop",
            "lkjlkjlkj",
            "zxcvbzxcv",
            "3f9a1c0e7b2d4f68",
        ] {
            assert!(lists.gibberish(mash).1, "{mash} {}", lists.gibberish(mash).0);
        }
        for person in [
            "john.smith",
            "krzysztof.szczepanski",
            "tomas.krch",
            "zbynek.vlcek",
            "nguyen.quynh",
            "schwartz-schmidt",
            "anna.szczyrk",
            "jsmith",
            "smithj",
            "jk",
            "mwojcik",
            "krzysztof.brzeczyszczykiewicz",
            "nguyen.thi.minh",
            "xiaoming.zhang",
            "llewellyn",
            "myfanwy",
            "srinivasan",
            "venkateswaran.r",
            "mehmet.yildiz",
            "bjork1984",
            "oluwaseun.adeyemi",
            "hrvoje.krstic",
            "zdenek.vlcek",
            "abdulrahman.qasim",
            "jean-luc",
            "o'brien",
            "anna+news",
            "park.jihyeon",
            "skaterboy99",
            "d.v.petrov",
            "dmytro.dovbyk",
            "serhii.dovbyk",
            "khldun.alqhtni",
            "sfyan.alghmdi",
            "13800138000",
            "владимир",
            "",
        ] {
            assert!(!lists.gibberish(person).1, "{person} {}", lists.gibberish(person).0);
        }
    }

    proptest! {
        #[test]
        fn scores_stay_within_bounds_and_know_no_foreign_script(local in "\\PC{0,40}", foreign in "[а-яα-ω]{1,20}") {
            let (score, _) = Lists::embedded().gibberish(&local);
            prop_assert!((0.0..=1.0).contains(&score));
            prop_assert!(Lists::embedded().gibberish(&foreign).0.abs() < f32::EPSILON);
        }
    }
}
