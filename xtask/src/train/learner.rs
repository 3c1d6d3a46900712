//! The model during training: the network of `probity_mail::facts::gibberish` with unrounded numbers, and the gradients of each
//! example.

use probity_mail::facts::gibberish::{FORM, INPUTS, Layer, Model, PATTERNS, Signs, TOTAL_SHARE, TRIPLES, UNITS};
use probity_mail::rng::Rng;

/// Initial learning rate.
const RATE: f32 = 0.1;
/// Initial numbers are between this and its negative.
const START: f32 = 0.3;
/// Smaller gradients are ignored, as their effect is negligible.
const SLOPE_MIN: f32 = 1e-4;

/// A number, and the sum of its squared gradients: Adagrad, because some triples are frequent and most are rare.
#[derive(Clone, Copy)]
struct Weight {
    value: f32,
    squares: f32,
}

impl Weight {
    fn new(value: f32) -> Self {
        Self { value, squares: 1e-6 }
    }

    fn any(rng: &mut Rng) -> Self {
        let share = u16::try_from(rng.below(1 << 16)).map_or(0.0, f32::from) / 65_536.0;
        Self::new((2.0 * share - 1.0) * START)
    }

    fn descend(&mut self, slope: f32, rate: f32) {
        self.squares += slope * slope;
        self.value -= rate * slope / self.squares.sqrt();
    }
}

type Patterns = [Weight; PATTERNS];

/// The weights of a model in training.
pub(super) struct Learner {
    heads: Vec<Patterns>,
    tails: Vec<Patterns>,
    weights: [[Weight; UNITS]; INPUTS],
    bias: [Weight; UNITS],
    output: [Weight; UNITS],
    output_bias: Weight,
    rate: f32,
}

/// Values of the patterns at each position of a local part, and the position of each maximum.
struct Reading {
    places: Vec<(usize, usize)>,
    values: Vec<[f32; PATTERNS]>,
    peaks: [usize; PATTERNS],
    inputs: [f32; INPUTS],
}

impl Learner {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let mut table = || (0..TRIPLES).map(|_| std::array::from_fn(|_| Weight::any(rng))).collect::<Vec<Patterns>>();
        let (heads, tails) = (table(), table());
        Self {
            heads,
            tails,
            weights: std::array::from_fn(|_| std::array::from_fn(|_| Weight::any(rng))),
            bias: [Weight::new(START); UNITS],
            output: std::array::from_fn(|_| Weight::any(rng)),
            output_bias: Weight::new(0.0),
            rate: RATE,
        }
    }

    /// Lowers the learning rate for each round.
    pub(super) fn slow_down(&mut self, round: usize, rounds: usize) {
        let share = |n: usize| u16::try_from(n).map_or(1.0, f32::from);
        self.rate = RATE * (1.0 - 0.9 * share(round) / share(rounds));
    }

    /// Trains on one local part, mash or not, with the example's weight.
    pub(super) fn learn(&mut self, local: &str, is_mash: bool, weight: f32) {
        let Some(signs) = Signs::of(local) else {
            return;
        };
        let reading = self.read(&signs);
        let layer = self.layer();
        let units = layer.units(&reading.inputs);
        let slope = (logistic(layer.outcome(&units)) - if is_mash { 1.0 } else { 0.0 }) * weight;
        if slope.abs() >= SLOPE_MIN {
            let of_inputs = self.descend_layer(&reading.inputs, &layer, &units, slope);
            self.descend_tables(&reading, &of_inputs);
        }
    }

    /// Returns the current model, without a threshold.
    pub(super) fn model(&self) -> Model {
        let numbers = |table: &[Patterns]| table.as_flattened().iter().map(|w| w.value).collect::<Vec<_>>();
        let whole = |weights: [f32; UNITS]| weights.map(four_digits);
        let layer = self.layer();
        let layer = Layer {
            weights: layer.weights.map(whole),
            bias: whole(layer.bias),
            output: whole(layer.output),
            output_bias: four_digits(layer.output_bias),
        };
        Model::new(&numbers(&self.heads), &numbers(&self.tails), layer, 1.0)
    }

    fn layer(&self) -> Layer {
        let values = |weights: [Weight; UNITS]| weights.map(|weight| weight.value);
        Layer {
            weights: self.weights.map(values),
            bias: values(self.bias),
            output: values(self.output),
            output_bias: self.output_bias.value,
        }
    }

    fn read(&self, signs: &Signs) -> Reading {
        let places: Vec<_> = signs.places().collect();
        let value = |(head, tail): &(usize, usize)| -> [f32; PATTERNS] {
            std::array::from_fn(|at| (self.heads[*head][at].value + self.tails[*tail][at].value).max(0.0))
        };
        let values: Vec<_> = places.iter().map(value).collect();
        let (mut peaks, mut inputs) = ([0; PATTERNS], [0.0; INPUTS]);
        for (place, values) in values.iter().enumerate() {
            for at in 0..PATTERNS {
                inputs[at] += values[at] * TOTAL_SHARE;
                if values[at] > inputs[PATTERNS + at] {
                    inputs[PATTERNS + at] = values[at];
                    peaks[at] = place;
                }
            }
        }
        inputs[INPUTS - FORM.len()..].copy_from_slice(&signs.form());
        Reading { places, values, peaks, inputs }
    }

    /// Updates the layer by the gradient of its output; returns the gradients of its inputs.
    fn descend_layer(
        &mut self,
        inputs: &[f32; INPUTS],
        layer: &Layer,
        units: &[f32; UNITS],
        slope: f32,
    ) -> [f32; INPUTS] {
        let rate = self.rate;
        let mut of_inputs = [0.0; INPUTS];
        for unit in (0..UNITS).filter(|unit| units[*unit] > 0.0) {
            let of_unit = slope * layer.output[unit];
            for (at, input) in inputs.iter().enumerate() {
                of_inputs[at] += of_unit * layer.weights[at][unit];
                self.weights[at][unit].descend(of_unit * input, rate);
            }
            self.bias[unit].descend(of_unit, rate);
            self.output[unit].descend(slope * units[unit], rate);
        }
        self.output_bias.descend(slope, rate);
        of_inputs
    }

    /// Updates the table rows that were read.
    fn descend_tables(&mut self, reading: &Reading, of_inputs: &[f32; INPUTS]) {
        for (place, ((head, tail), values)) in reading.places.iter().zip(&reading.values).enumerate() {
            for at in (0..PATTERNS).filter(|at| values[*at] > 0.0) {
                let of_peak = if reading.peaks[at] == place { of_inputs[PATTERNS + at] } else { 0.0 };
                let slope = of_inputs[at] * TOTAL_SHARE + of_peak;
                self.heads[*head][at].descend(slope, self.rate);
                self.tails[*tail][at].descend(slope, self.rate);
            }
        }
    }
}

/// Converts odds to a probability. Uses multiplications, which are the same on every machine; `exp` is not.
fn logistic(outcome: f32) -> f32 {
    const HALVINGS: i32 = 10;
    let mut power = 1.0 - outcome.clamp(-15.0, 15.0) / 1024.0;
    for _ in 0..HALVINGS {
        power *= power;
    }
    1.0 / (1.0 + power)
}

/// Rounds to few digits, to keep the text form short.
fn four_digits(number: f32) -> f32 {
    (number * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_what_it_is_told() {
        let mut learner = Learner::new(&mut Rng::new(1));
        for _ in 0..1_000 {
            for (local, is_mash) in [("anna.smith", false), ("xkqzjw", true), ("maria", false), ("qwqwqz7", true)] {
                learner.learn(local, is_mash, 1.0);
            }
        }
        let model = learner.model();
        for (local, is_mash) in [("anna.smith", false), ("xkqzjw", true), ("maria", false), ("qwqwqz7", true)] {
            assert_eq!(model.score(local) > 0.5, is_mash, "{local}: {}", model.score(local));
        }
    }

    #[test]
    fn the_logistic_function_is_near_enough() {
        for outcome in [-12.0_f32, -3.0, -0.5, 0.0, 0.5, 3.0, 12.0] {
            assert!((logistic(outcome) - 1.0 / (1.0 + (-outcome).exp())).abs() < 0.01, "{outcome}");
        }
    }
}
