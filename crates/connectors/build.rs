//! Embeds the connector files of `data`, so that a platform is added by its file alone.

#[path = "embedding.rs"]
mod embedding;

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let folder = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_default());
    println!("cargo::rerun-if-changed=data");
    println!("cargo::rerun-if-changed=embedding.rs");
    let table = embedding::table(&folder("CARGO_MANIFEST_DIR").join("data"))?;
    fs::write(Path::new(&folder("OUT_DIR")).join("embedded.rs"), table)
}
