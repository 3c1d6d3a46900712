//! Maintenance commands: `cargo xtask data` refreshes the product data (`data gibberish`: only that model), `cargo xtask web`
//! refreshes the dashboard's libraries, `cargo xtask measure WHAT` prints figures, and `cargo xtask size` counts lines and words. `cargo
//! xtask licenses` lists the crates of the program; `cargo xtask papers FOLDER` writes their license texts and a bill of materials.

mod data;
mod disposable;
mod inventory;
mod measure;
mod names;
mod packages;
mod people;
mod replies;
mod size;
mod train;
mod web;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask data [lists|gibberish] | cargo xtask web | cargo xtask measure gibberish|people FILE|near|suggest|disposable|free|role|cases FILE|throwaway FILE|replies [FILE] | cargo xtask size | cargo xtask licenses | cargo xtask papers FOLDER";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["data"] => data::refresh(),
        ["data", "lists"] => data::refresh_lists(),
        ["data", "gibberish"] => data::train(),
        ["web"] => web::refresh(),
        ["size"] => size::print(),
        ["licenses"] => inventory::write_list(),
        ["papers", folder] => inventory::write_papers(folder.as_ref()),
        ["measure", "gibberish"] => measure::gibberish(),
        ["measure", "people", file] => measure::people(file.as_ref()),
        ["measure", "near"] => measure::near(),
        ["measure", "suggest"] => measure::suggest(),
        ["measure", "disposable"] => measure::disposable(),
        ["measure", "free"] => measure::free(),
        ["measure", "role"] => measure::role(),
        ["measure", "cases", file] => measure::cases(file.as_ref()),
        ["measure", "replies"] => replies::shipped(),
        ["measure", "replies", file] => replies::figures(file.as_ref(), true),
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

/// Root of the workspace.
fn workspace() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}
