//! The crates that the program is built of: their list, which `probity licenses` prints, and the papers of a release, which are the
//! texts of their licenses and a bill of materials (`CycloneDX` 1.5).
//!
//! Cargo says which crates: those of the program on Linux, without tests, build scripts and macros, which only run while it is built.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// Where the list stands.
const LIST: &str = "crates/cli/licenses.txt";
const TREE: &str =
    "tree --locked --package probity-cli --edges normal,no-proc-macro --target x86_64-unknown-linux-gnu --prefix none";
/// Beginnings of names of files with a license or its notices, in capitals.
const TEXTS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];

struct Crate {
    name: String,
    version: String,
    /// SPDX expression.
    license: String,
    repository: String,
    manifest: String,
}

/// Writes the list that is built into the program.
pub(crate) fn write_list() -> Result<()> {
    Ok(fs::write(crate::workspace().join(LIST), list(&crates()?))?)
}

/// Writes `licenses.txt` and `probity.cdx.json` into a folder.
pub(crate) fn write_papers(folder: &Path) -> Result<()> {
    let crates = crates()?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("licenses.txt"), texts(&crates)?)?;
    let lock = fs::read_to_string(crate::workspace().join("Cargo.lock"))?;
    let bill = serde_json::to_string_pretty(&bill(&crates, &checksums(&lock)))?;
    Ok(fs::write(folder.join("probity.cdx.json"), bill + "\n")?)
}

fn cargo(arguments: &str) -> Result<String> {
    let ran = Command::new("cargo").args(arguments.split(' ')).current_dir(crate::workspace()).output()?;
    ensure!(ran.status.success(), "cargo {arguments}: {}", String::from_utf8_lossy(&ran.stderr));
    Ok(String::from_utf8(ran.stdout)?)
}

/// Returns the crates of others in the program, by name and version.
fn crates() -> Result<Vec<Crate>> {
    let tree = cargo(TREE)?;
    let line = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
    };
    let inside: BTreeSet<(String, String)> = tree.lines().filter_map(line).collect();
    let metadata: Value = serde_json::from_str(&cargo("metadata --locked --format-version 1")?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let mut crates: Vec<Crate> = packages
        .iter()
        .filter(|package| !package["source"].is_null())
        .map(|package| Crate {
            name: text(package, "name"),
            version: text(package, "version"),
            // The older way to write it.
            license: text(package, "license").replace('/', " OR "),
            repository: text(package, "repository"),
            manifest: text(package, "manifest_path"),
        })
        .filter(|one| inside.contains(&(one.name.clone(), one.version.clone())))
        .collect();
    crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(crates)
}

fn list(crates: &[Crate]) -> String {
    let mut list = String::from("# Crates\n\n");
    for Crate { name, version, license, .. } in crates {
        let _ = writeln!(list, "{name} {version}: {license}");
    }
    list
}

/// Returns each text once, below the crates that have it.
fn texts(crates: &[Crate]) -> Result<String> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in crates {
        let folder = Path::new(&one.manifest).parent().context("a manifest without a folder")?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            if path.is_file() && TEXTS.iter().any(|start| name.starts_with(start)) {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                owners
                    .entry(text.trim().replace("\r\n", "\n"))
                    .or_default()
                    .push(format!("{} {}", one.name, one.version));
            }
        }
    }
    let mut all = list(crates);
    for (text, mut names) in owners {
        names.sort();
        names.dedup();
        let _ = write!(all, "\n\n# {}\n\n{text}\n", names.join(", "));
    }
    Ok(all)
}

/// Returns the checksums of archives, by name and version, that `Cargo.lock` has.
fn checksums<'a>(lock: &'a str) -> BTreeMap<(&'a str, &'a str), &'a str> {
    let read = |package: &'a str, key: &str| package.split_once(&format!("\n{key} = \""))?.1.split('"').next();
    lock.split("[[package]]")
        .filter_map(|package| Some(((read(package, "name")?, read(package, "version")?), read(package, "checksum")?)))
        .collect()
}

fn bill(crates: &[Crate], checksums: &BTreeMap<(&str, &str), &str>) -> Value {
    let component = |one: &Crate| {
        let url = format!("pkg:cargo/{}@{}", one.name, one.version);
        let mut component = json!({
            "type": "library",
            "bom-ref": url,
            "name": one.name,
            "version": one.version,
            "purl": url,
            "licenses": [{ "expression": one.license }],
        });
        if let Some(checksum) = checksums.get(&(one.name.as_str(), one.version.as_str())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        if !one.repository.is_empty() {
            component["externalReferences"] = json!([{ "type": "vcs", "url": one.repository }]);
        }
        component
    };
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": "probity",
            "name": "probity",
            "version": env!("CARGO_PKG_VERSION"),
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": crates.iter().map(component).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_lists_the_crates_that_it_has() {
        let crates = crates().unwrap();
        let has = |name: &str| crates.iter().any(|one| one.name == name);
        assert!(has("ring") && has("rustls"), "parts of the program");
        assert!(!has("proptest") && !has("cc") && !has("serde_derive"), "tests, builds and macros are not");
        assert!(crates.iter().all(|one| !one.license.is_empty()));
        let written = fs::read_to_string(crate::workspace().join(LIST)).unwrap();
        assert!(written == list(&crates), "{LIST} is not of these dependencies: cargo xtask licenses");
    }

    #[test]
    fn papers_have_texts_and_checksums() {
        let crates = crates().unwrap();
        let texts = texts(&crates).unwrap();
        assert!(texts.contains("Permission is hereby granted") && texts.contains("Brian Smith"), "that of ring");
        let lock = fs::read_to_string(crate::workspace().join("Cargo.lock")).unwrap();
        let bill = bill(&crates, &checksums(&lock));
        let components = bill["components"].as_array().unwrap();
        assert_eq!(components.len(), crates.len());
        assert!(components.iter().all(|one| one["hashes"][0]["content"].as_str().is_some_and(|sum| sum.len() == 64)));
    }
}
