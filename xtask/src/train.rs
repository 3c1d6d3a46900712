//! Trains the gibberish model on people of all regions and mash of all kinds.
//!
//! The shipped model is trained on all names of its packages. The figures for held-out names apply to a model trained on the others
//! (`cargo xtask measure gibberish`). Every example is generated in one order from one seed, with arithmetic that is exact on every
//! machine: the same inputs give the same text.

mod learner;

use learner::Learner;
use probity_mail::facts::gibberish::Model;
use probity_mail::rng::Rng;

use crate::names::{Names, Region};
use crate::people::{self, MASHES};

const SEED: u64 = 20_261_101;
/// Rounds; the weights of regions are adjusted after each.
const ROUNDS: usize = 6;
/// Examples per round, for people and for mash each.
const EXAMPLES: usize = 450_000;
/// 1 in this many mash examples is short and of the kinds that are hardest to detect.
const HARD_IN: usize = 2;
/// 1 in this many is a few adjacent keys followed by digits; the kinds have none so short.
const SHORT_IN: usize = 25;
/// Kinds of the hard examples; a kind listed twice is twice as frequent.
const HARD: [&str; 9] = [
    "letters",
    "letters",
    "letters",
    "letters",
    "alternating",
    "one_hand",
    "letters_digits",
    "letters_digits",
    "digits_inside",
];
/// Percentage of people whose names are joined from two of the region.
const CROSSED: usize = 60;
/// Weight of people, above that of mash because accusations must be rare.
const WEIGHT_OF_PEOPLE: f32 = 2.0;
/// People scored per region, with names that no list has: for the weights of regions, and for the threshold.
const ASKED_EACH: usize = 3_000;
/// Maximum people above the threshold, per million over all regions.
const FALSE_ALARMS: usize = 900;
/// Maximum people above the threshold, per million of each region.
const FALSE_ALARMS_OF_REGION: usize = 5_000;
const MILLION: usize = 1_000_000;

/// Trains a model and returns its text form.
pub(crate) fn model_text(names: &Names, words: &[String]) -> String {
    let head = "# The gibberish model: the layer's weights, and its tables in eighths (the byte's distance from P), by the first two signs;\n\
                # a dot is no letter, 0 is any digit. Made by the refresh command.\n";
    format!("{head}{}", model(names, words).to_text())
}

/// A region, and the weight of its people.
struct Weighed<'n> {
    region: &'n Region,
    weight: f32,
}

/// Trains a model on all of these names.
pub(crate) fn model(names: &Names, words: &[String]) -> Model {
    let mut rng = Rng::new(SEED);
    let mut learner = Learner::new(&mut rng);
    let mut regions: Vec<_> = names.0.values().map(|region| Weighed { region, weight: 1.0 }).collect();
    for round in 0..ROUNDS {
        learner.slow_down(round, ROUNDS);
        for _ in 0..EXAMPLES {
            let of = &regions[rng.below(regions.len())];
            let is_crossed = rng.below(100) < CROSSED;
            let person = if is_crossed {
                people::stranger(of.region, words, &mut rng)
            } else {
                people::person(of.region, words, &mut rng)
            };
            learner.learn(&person, false, WEIGHT_OF_PEOPLE * of.weight);
            learner.learn(&mash(&mut rng), true, 1.0);
        }
        weigh(&mut regions, &learner.model(), words, &mut rng);
    }
    let model = learner.model();
    let threshold = threshold(&model, &regions, words, &mut rng);
    model.with_threshold(threshold)
}

fn mash(rng: &mut Rng) -> String {
    if rng.below(SHORT_IN) == 0 {
        let kind = ["walk", "rolls", "home_row"][rng.below(3)];
        format!("{}{}", people::mash_of(kind, 4, rng), 10 + rng.below(9_990))
    } else if rng.below(HARD_IN) == 0 {
        let length = 6 + rng.below(2);
        people::mash_of(HARD[rng.below(HARD.len())], length, rng)
    } else {
        people::mash(rng.below(MASHES.len()), rng)
    }
}

/// Returns the scores of a region's strangers, highest first.
fn scores(model: &Model, region: &Region, words: &[String], rng: &mut Rng) -> Vec<f32> {
    let mut scores: Vec<_> = (0..ASKED_EACH).map(|_| model.score(&people::stranger(region, words, rng))).collect();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores
}

/// Returns the score that `of_million` per million reach.
fn limit(scores: &[f32], of_million: usize) -> f32 {
    scores[scores.len() * of_million / MILLION]
}

/// Raises the weight of regions whose people are accused more often than average, and lowers it for those accused less often.
fn weigh(regions: &mut [Weighed<'_>], model: &Model, words: &[String], rng: &mut Rng) {
    const STEP: f32 = 1.5;
    const LEAST: f32 = 0.7;
    const MOST: f32 = 10.0;
    let each: Vec<_> = regions.iter().map(|of| scores(model, of.region, words, rng)).collect();
    let mut all = each.concat();
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    let (often, seldom) = (limit(&all, FALSE_ALARMS), limit(&all, 2 * FALSE_ALARMS));
    for (of, scores) in regions.iter_mut().zip(&each) {
        if limit(scores, 2 * FALSE_ALARMS) > often {
            of.weight = (of.weight * STEP).min(MOST);
        } else if limit(scores, FALSE_ALARMS) < seldom {
            of.weight = (of.weight / STEP).max(LEAST);
        }
    }
}

/// Returns the lowest threshold that keeps both limits: over all regions, and for each.
fn threshold(model: &Model, regions: &[Weighed<'_>], words: &[String], rng: &mut Rng) -> f32 {
    let each: Vec<_> = regions.iter().map(|of| scores(model, of.region, words, rng)).collect();
    let mut all = each.concat();
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    let of_regions = each.iter().map(|scores| limit(scores, FALSE_ALARMS_OF_REGION));
    let highest = of_regions.fold(limit(&all, FALSE_ALARMS), f32::max);
    (highest * 10_000.0).ceil() / 10_000.0
}
