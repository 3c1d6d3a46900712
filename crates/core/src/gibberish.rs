//! Does a local part look typed at random (`asdkjh`, `x7k2q9wz`), and not like a person, a nickname or a word?
//!
//! A model of two steps, trained at the refresh of the data (`cargo xtask data`, figures in `docs/data.md`). A table has,
//! for every three letters in a row, how much more often they stand in names and words of some sixty languages than under
//! hands that mash a keyboard. Its sums and a dozen counts of form (digits between letters, keyboard runs, consonants in a
//! row, repetitions) go through one logistic function to a score of 0 to 1. No hash table, no allocation: some 100 ns.
//!
//! It is made to accuse rarely: four of five mashes are enough, but not one in a hundred people may be called one, from
//! whatever region the name comes. A text in a script that the model was not trained on (anything but Latin letters)
//! scores 0, and so do digits alone, which are ordinary names at some providers.

mod features;

use features::LETTERS;

pub use features::{FEATURES, Features};

/// Log-odds are whole sixteenths, so that the text form is exact.
const STEPS_PER_NAT: f32 = 16.0;
/// The byte that stands for log-odds of 0 in the text form.
const ZERO: u8 = b'P';
/// Highest and lowest steps: the bytes stay printable.
const STEPS_MAX: i8 = 45;

/// A model file that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Counted from 1; 0 when something is missing.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// Log-odds of letter triples and the weights of the features.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    grams: Box<[i8]>,
    weights: [f32; FEATURES.len()],
    bias: f32,
    threshold: f32,
}

impl Model {
    /// A model of trained numbers. `grams` are log-odds in nats, positive for people, by `(first * 27 + second) * 27 +
    /// third` with 0 for "no letter" and 1 to 26 for letters; they are rounded to sixteenths.
    pub fn new(grams: &[f32], weights: [f32; FEATURES.len()], bias: f32, threshold: f32) -> Self {
        let mut steps = vec![0_i8; LETTERS * LETTERS * LETTERS].into_boxed_slice();
        for (step, gram) in steps.iter_mut().zip(grams) {
            *step = to_steps(*gram);
        }
        Self { grams: steps, weights, bias, threshold }
    }

    /// Reads the text form (see [`Model::to_text`]).
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let mut model = Self::new(&[], [0.0; FEATURES.len()], 0.0, f32::NAN);
        let mut rows = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let fields: Vec<&str> = line.split('\t').collect();
            let error = |what| ModelError { line: number, what };
            let float = |text: &str| text.parse::<f32>().map_err(|_| error("not a number"));
            match fields[..] {
                [comment] if comment.is_empty() || comment.starts_with('#') => {}
                ["bias", value] => model.bias = float(value)?,
                ["threshold", value] => model.threshold = float(value)?,
                ["weight", name, value] => {
                    let at = FEATURES.iter().position(|f| *f == name).ok_or(error("no such feature"))?;
                    model.weights[at] = float(value)?;
                }
                ["grams", pair, row] => {
                    model.read_row(pair, row).ok_or(error("a row is two letters and 27 values"))?;
                    rows += 1;
                }
                _ => {
                    return Err(error("the line is bias, threshold, weight or grams, divided by tabs"));
                }
            }
        }
        if rows != LETTERS * LETTERS || model.threshold.is_nan() {
            return Err(ModelError { line: 0, what: "a model has 729 rows of grams and a threshold" });
        }
        Ok(model)
    }

    fn read_row(&mut self, pair: &str, row: &str) -> Option<()> {
        let [first, second] = *pair.as_bytes() else {
            return None;
        };
        let start = (letter(first)? * LETTERS + letter(second)?) * LETTERS;
        if row.len() != LETTERS {
            return None;
        }
        for (step, byte) in self.grams[start..start + LETTERS].iter_mut().zip(row.bytes()) {
            *step = i8::try_from(i16::from(byte) - i16::from(ZERO)).ok().filter(|s| s.abs() <= STEPS_MAX)?;
        }
        Some(())
    }

    /// The text form: weights by name, then one row of 27 printable bytes for every pair of letters.
    pub fn to_text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("bias\t{}\nthreshold\t{}\n", self.bias, self.threshold);
        for (name, weight) in FEATURES.iter().zip(self.weights) {
            writeln!(text, "weight\t{name}\t{weight}").expect("a string takes all");
        }
        for (number, row) in self.grams.chunks(LETTERS).enumerate() {
            let (first, second) = (sign(number / LETTERS), sign(number % LETTERS));
            let values: String = row.iter().map(|step| char::from(ZERO.saturating_add_signed(*step))).collect();
            writeln!(text, "grams\t{first}{second}\t{values}").expect("a string takes all");
        }
        text
    }

    /// 0 (a person, a word) to 1 (keyboard mash).
    pub fn score(&self, local: &str) -> f32 {
        let Some(features) = Features::of(local, &self.grams) else {
            return 0.0;
        };
        let sum: f32 = features.0.iter().zip(&self.weights).map(|(value, weight)| value * weight).sum();
        1.0 / (1.0 + (-(sum + self.bias)).exp())
    }

    /// The features of a local part under this model's table; `None` where there is nothing to judge.
    pub fn features(&self, local: &str) -> Option<Features> {
        Features::of(local, &self.grams)
    }

    /// Scores from here on are gibberish.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }
}

fn to_steps(nats: f32) -> i8 {
    let limit = f32::from(STEPS_MAX);
    let wanted = (nats * STEPS_PER_NAT).round().clamp(-limit, limit);
    (-STEPS_MAX..=STEPS_MAX).find(|step| f32::from(*step) >= wanted).unwrap_or(0)
}

/// `.` stands for "no letter" in the text form.
fn letter(byte: u8) -> Option<usize> {
    match byte {
        b'.' => Some(0),
        b'a'..=b'z' => Some(usize::from(byte - b'a') + 1),
        _ => None,
    }
}

fn sign(letter: usize) -> char {
    match u8::try_from(letter) {
        Ok(n @ 1..=26) => char::from(b'a' + n - 1),
        _ => '.',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::Lists;
    use proptest::prelude::*;

    #[test]
    fn mash_is_told_from_people() {
        let lists = Lists::embedded();
        for mash in
            ["asdfghjk", "sdkfjhskdjf", "x7k2q9wzp4", "qwertyuiop", "lkjlkjlkj", "zxcvbzxcv", "3f9a1c0e7b2d4f68"]
        {
            assert!(lists.gibberish(mash).1, "{mash} {}", lists.gibberish(mash).0);
        }
        for person in [
            "john.smith",
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
            "13800138000",
            "владимир",
            "",
        ] {
            assert!(!lists.gibberish(person).1, "{person} {}", lists.gibberish(person).0);
        }
    }

    #[test]
    fn the_text_form_reads_back() {
        let grams: Vec<f32> = (0_u8..=255).cycle().take(LETTERS.pow(3)).map(|n| f32::from(n) / 100.0 - 1.28).collect();
        let model = Model::new(&grams, [0.5; FEATURES.len()], -1.25, 0.75);
        assert_eq!(Model::parse(&model.to_text()).unwrap(), model);
        let broken = model.to_text().replace("threshold", "treshold");
        assert_eq!(Model::parse(&broken).unwrap_err().line, 2);
        assert_eq!(Model::parse("").unwrap_err().line, 0);
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
