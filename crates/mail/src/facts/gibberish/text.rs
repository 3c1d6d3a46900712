//! The text form of a model: `threshold`, the layer by the names of its inputs, and for every two symbols in a row the numbers of
//! both tables for each symbol behind them, as printable bytes.

use std::fmt::Write as _;

use super::signs::{letter_of, symbol_of};
use super::{FORM, INPUTS, Layer, Model, PATTERNS, STEPS_MAX, SYMBOLS, Steps, UNITS};

/// The byte that stands for 0 in a table's row.
const ZERO: u8 = b'P';
/// Rows of both tables together.
const ROWS: usize = 2 * SYMBOLS * SYMBOLS;

/// A model file that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Counted from 1; 0 when something is missing.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl Model {
    /// Reads the text form (see [`Model::to_text`]).
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let mut model = Self::new(&[], &[], Layer::NONE, f32::NAN);
        let mut rows = 0;
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split('\t').collect();
            rows += usize::from(matches!(fields[0], "head" | "tail"));
            model.read(&fields).map_err(|what| ModelError { line: number, what })?;
        }
        if rows != ROWS || model.threshold.is_nan() {
            return Err(ModelError { line: 0, what: "a model has 784 rows of head and of tail, and a threshold" });
        }
        Ok(model)
    }

    fn read(&mut self, fields: &[&str]) -> Result<(), &'static str> {
        let eight = "these are eight numbers";
        let one = |value: &str| value.parse().map_err(|_| "not a number");
        match *fields {
            ["threshold", value] => self.threshold = one(value)?,
            ["output_bias", value] => self.layer.output_bias = one(value)?,
            ["bias", ref values @ ..] => self.layer.bias = numbers(values).ok_or(eight)?,
            ["output", ref values @ ..] => self.layer.output = numbers(values).ok_or(eight)?,
            ["weight", name, ref values @ ..] => {
                let at = (0..INPUTS).find(|at| input_name(*at) == name).ok_or("no such input")?;
                self.layer.weights[at] = numbers(values).ok_or(eight)?;
            }
            [table @ ("head" | "tail"), pair, row] => {
                let table = if table == "head" { &mut self.heads } else { &mut self.tails };
                read_row(table, pair, row).ok_or("a row is two symbols and 224 printable bytes")?;
            }
            _ => return Err("the line is threshold, bias, output, output_bias, weight, head or tail, divided by tabs"),
        }
        Ok(())
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text = format!("threshold\t{}\noutput_bias\t{}\n", self.threshold, self.layer.output_bias);
        let mut line = |name: &str, values: &[f32; UNITS]| {
            text.push_str(name);
            for value in values {
                write!(text, "\t{value}").expect("a string takes all");
            }
            text.push('\n');
        };
        line("output", &self.layer.output);
        line("bias", &self.layer.bias);
        for (at, values) in self.layer.weights.iter().enumerate() {
            line(&format!("weight\t{}", input_name(at)), values);
        }
        for (name, table) in [("head", &self.heads), ("tail", &self.tails)] {
            for (number, row) in table.chunks(SYMBOLS).enumerate() {
                let (first, second) = (letter_of(number / SYMBOLS), letter_of(number % SYMBOLS));
                write!(text, "{name}\t{first}{second}\t").expect("a string takes all");
                text.extend(row.as_flattened().iter().map(|steps| char::from(ZERO.saturating_add_signed(*steps))));
                text.push('\n');
            }
        }
        text
    }
}

/// The name of an input of the layer.
fn input_name(at: usize) -> String {
    match at.checked_sub(2 * PATTERNS) {
        Some(form) => FORM[form].to_owned(),
        None if at < PATTERNS => format!("total_{at}"),
        None => format!("peak_{}", at - PATTERNS),
    }
}

fn numbers(values: &[&str]) -> Option<[f32; UNITS]> {
    let values: Vec<f32> = values.iter().map(|value| value.parse().ok()).collect::<Option<_>>()?;
    values.try_into().ok()
}

fn read_row(table: &mut [Steps], pair: &str, row: &str) -> Option<()> {
    let [first, second] = *pair.as_bytes() else {
        return None;
    };
    let start = (symbol_of(first)? * SYMBOLS + symbol_of(second)?) * SYMBOLS;
    let steps = table[start..start + SYMBOLS].as_flattened_mut();
    if row.len() != steps.len() {
        return None;
    }
    for (steps, byte) in steps.iter_mut().zip(row.bytes()) {
        let value = i8::try_from(i16::from(byte) - i16::from(ZERO)).ok();
        *steps = value.filter(|value| value.abs() <= STEPS_MAX)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::gibberish::TRIPLES;

    fn model() -> Model {
        let numbers: Vec<f32> =
            (0_u8..=255).cycle().take(TRIPLES * PATTERNS).map(|n| f32::from(n) / 50.0 - 2.5).collect();
        let backwards: Vec<f32> = numbers.iter().rev().copied().collect();
        let layer = Layer {
            weights: std::array::from_fn(|at| [f32::from(u8::try_from(at).unwrap()) / 4.0; UNITS]),
            bias: [0.5; UNITS],
            output: [-0.25; UNITS],
            output_bias: 1.5,
        };
        Model::new(&numbers, &backwards, layer, 0.75)
    }

    #[test]
    fn the_text_form_reads_back() {
        assert_eq!(Model::parse(&model().to_text()).unwrap(), model());
    }

    #[test]
    fn a_broken_model_is_refused_with_its_line() {
        let text = model().to_text();
        for (from, to, line) in [
            ("threshold", "treshold", 1),
            ("output_bias\t1.5", "output_bias\tmuch", 2),
            ("bias\t0.5\t0.5", "bias\t0.5", 4),
            ("weight\ttotal_0", "weight\ttotal_9", 5),
            ("head\t..\t", "head\t..\t~", 36),
            ("head\t.a\t", "head\tA.\t", 37),
            ("threshold\t0.75\n", "", 0),
        ] {
            assert_eq!(Model::parse(&text.replacen(from, to, 1)).unwrap_err().line, line, "{from}");
        }
        let short: Vec<_> = text.lines().take(800).collect();
        assert_eq!(Model::parse(&short.join("\n")).unwrap_err().line, 0);
        assert_eq!(Model::parse("").unwrap_err().line, 0);
    }
}
