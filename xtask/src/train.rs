//! The training of the gibberish model: counts of letter triples first, then the weights of the features.
//!
//! Only the training part of the names is used, so that what is measured on the held-out part is true of the very model
//! that is shipped. Plain gradient descent in one order from one seed: the same inputs give the same text.

use std::collections::BTreeMap;

use probity_core::gibberish::{FEATURES, Model};
use probity_core::rng::Rng;

use crate::names::{Names, Part};
use crate::people::{self, MASHES};

const LETTERS: usize = 27;
const SEED: u64 = 20_261_101;
/// Local parts that the triples are counted in, of people and of mash each.
const COUNTED: usize = 400_000;
/// Examples for the weights, of people and of mash each.
const EXAMPLES: usize = 60_000;
const ROUNDS: usize = 400;
/// Added to every triple's count, in proportion to its last letter's frequency.
const SMOOTHING: f64 = 3.0;
/// One of so many training people may be over the threshold: a fifth of what is promised, because names not seen are stranger.
const FALSE_ALARMS_IN: usize = 500;

/// Trains a model and gives its text form.
pub(crate) fn model_text(names: &Names, words: &[String]) -> String {
    let names = names.part(Part::Train);
    let mut rng = Rng::new(SEED);
    let grams = grams(&names, words, &mut rng);
    let blank = Model::new(&grams, [0.0; FEATURES.len()], 0.0, 1.0);
    let good: Vec<_> = people::people(&names, words, EXAMPLES, &mut rng).into_iter().map(|(_, local)| local).collect();
    let bad: Vec<_> = (0..EXAMPLES).map(|n| people::mash(n % MASHES.len(), &mut rng)).collect();
    let (weights, bias) = weights(&features(&blank, &good), &features(&blank, &bad));
    let model = Model::new(&grams, weights, bias, 1.0);
    let mut scores: Vec<f32> = good.iter().map(|local| model.score(local)).collect();
    scores.sort_unstable_by(f32::total_cmp);
    let over = scores.len() - scores.len() / FALSE_ALARMS_IN;
    let threshold = (scores[over] * 10_000.0).ceil() / 10_000.0;
    let head = "# The gibberish model: weights of the features, and log-odds of letter triples in sixteenths of a nat (the\n\
                # byte's distance from P), by the first two letters; a dot is no letter. Made by the refresh command.\n";
    format!("{head}{}", Model::new(&grams, weights, bias, threshold).to_text())
}

/// Log-odds of every triple: people against mash.
///
/// For people it is the mean of what is usual over all regions and in the region that uses the triple most: `brz` is
/// rare in the world and common in Poland, and a Polish name must not be judged by the world.
fn grams(names: &Names, words: &[String], rng: &mut Rng) -> Vec<f32> {
    let mut regions: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut good = vec![0.0_f64; LETTERS.pow(3)];
    let mut bad = good.clone();
    for (region, local) in people::people(names, words, COUNTED, rng) {
        count(&local, &mut good);
        count(&local, regions.entry(region).or_insert_with(|| vec![0.0; LETTERS.pow(3)]));
    }
    for n in 0..COUNTED {
        count(&people::mash(n % MASHES.len(), rng), &mut bad);
    }
    let (good, bad) = (conditional(&good), conditional(&bad));
    let mut most = good.clone();
    for counts in regions.values() {
        for (most, own) in most.iter_mut().zip(towards(counts, &good)) {
            *most = most.max(own);
        }
    }
    let mixed = good.iter().zip(&most).map(|(all, most)| f64::midpoint(*all, *most));
    mixed.zip(&bad).map(|(good, bad)| single((good / bad).ln())).collect()
}

/// Probabilities by the counts of one region, drawn towards those of all where the region has few.
fn towards(counts: &[f64], all: &[f64]) -> Vec<f64> {
    const PRIOR: f64 = 40.0;
    let rows = counts.chunks(LETTERS).zip(all.chunks(LETTERS));
    rows.flat_map(|(row, all)| {
        let sum: f64 = row.iter().sum();
        row.iter().zip(all).map(move |(n, p)| (n + PRIOR * p) / (sum + PRIOR)).collect::<Vec<_>>()
    })
    .collect()
}

/// Counts the triples of each run of letters, with "no letter" before, between and after.
fn count(local: &str, counts: &mut [f64]) {
    let (mut first, mut second) = (0, 0);
    for byte in local.bytes().chain([b'.']) {
        let third = if byte.is_ascii_lowercase() { usize::from(byte - b'a') + 1 } else { 0 };
        if second != 0 || third != 0 {
            counts[(first * LETTERS + second) * LETTERS + third] += 1.0;
        }
        (first, second) = if third == 0 { (0, 0) } else { (second, third) };
    }
}

/// Probability of the third letter after the first two, smoothed with that after the second alone.
fn conditional(counts: &[f64]) -> Vec<f64> {
    let mut pairs = vec![1.0; LETTERS * LETTERS];
    for (at, n) in counts.iter().enumerate() {
        pairs[at % (LETTERS * LETTERS)] += n;
    }
    let mut smooth = vec![0.0; counts.len()];
    for (row, triples) in counts.chunks(LETTERS).enumerate() {
        let second = row % LETTERS;
        let pair = &pairs[second * LETTERS..(second + 1) * LETTERS];
        let pair_sum: f64 = pair.iter().sum();
        let sum: f64 = triples.iter().sum();
        for third in 0..LETTERS {
            let prior = pair[third] / pair_sum;
            smooth[row * LETTERS + third] = (triples[third] + SMOOTHING * 10.0 * prior) / (sum + SMOOTHING * 10.0);
        }
    }
    smooth
}

fn features(model: &Model, locals: &[String]) -> Vec<[f64; FEATURES.len()]> {
    locals.iter().filter_map(|local| model.features(local)).map(|f| f.0.map(f64::from)).collect()
}

/// Logistic regression. People weigh more than mash, because an accusation must be rare.
fn weights(good: &[[f64; FEATURES.len()]], bad: &[[f64; FEATURES.len()]]) -> ([f32; FEATURES.len()], f32) {
    const WEIGHT_OF_PEOPLE: f64 = 4.0;
    const RATE: f64 = 0.5;
    const DECAY: f64 = 1e-5;
    let all: Vec<_> =
        good.iter().map(|x| (x, 0.0, WEIGHT_OF_PEOPLE)).chain(bad.iter().map(|x| (x, 1.0, 1.0))).collect();
    let total: f64 = all.iter().map(|(_, _, weight)| weight).sum();
    let (mut weights, mut bias) = ([0.0_f64; FEATURES.len()], 0.0);
    // Adagrad: features have very different sizes.
    let (mut squares, mut bias_square) = ([1e-8_f64; FEATURES.len()], 1e-8);
    for _ in 0..ROUNDS {
        let (mut slope, mut bias_slope) = ([0.0_f64; FEATURES.len()], 0.0);
        for (x, label, weight) in &all {
            let sum: f64 = x.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>() + bias;
            let error = (1.0 / (1.0 + (-sum).exp()) - label) * weight / total;
            for (s, v) in slope.iter_mut().zip(x.iter()) {
                *s += error * v;
            }
            bias_slope += error;
        }
        for at in 0..FEATURES.len() {
            let slope = slope[at] + DECAY * weights[at];
            squares[at] += slope * slope;
            weights[at] -= RATE * slope / squares[at].sqrt();
        }
        bias_square += bias_slope * bias_slope;
        bias -= RATE * bias_slope / bias_square.sqrt();
    }
    (weights.map(single), single(bias))
}

/// A number with four digits behind the point: the last bits may differ between machines.
#[expect(clippy::cast_possible_truncation, reason = "the numbers are small, and rounded on purpose")]
fn single(number: f64) -> f32 {
    (number * 10_000.0).round() as f32 / 10_000.0
}
