//! Maintenance commands: `cargo xtask data` refreshes the product data, `cargo xtask web` the dashboard's
//! libraries, `cargo xtask measure WHAT` prints figures.

mod data;
mod measure;
mod names;
mod packages;
mod people;
mod train;
mod web;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask data | cargo xtask web | cargo xtask measure gibberish|suggest|disposable|cases FILE|throwaway FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["data"] => data::refresh(),
        ["web"] => web::refresh(),
        ["measure", "gibberish"] => measure::gibberish(),
        ["measure", "suggest"] => measure::suggest(),
        ["measure", "disposable"] => measure::disposable(),
        ["measure", "cases", file] => measure::cases(file.as_ref()),
        ["measure", "throwaway", file] => measure::throwaway(file.as_ref()),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn workspace() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}
