//! Builds `web/vendor`: the dashboard's libraries as the browser loads them.
//!
//! Input is pinned npm packages (each archive has its checksum in [`packages`]), output is ES modules. Import names become relative
//! paths, so that the browser needs neither a bundler nor an import map. Each file name contains part of the file's hash, so that a
//! changed library has a changed name. Two modules with stable names gather what our own code imports: `lib.js` for every page,
//! `chart.js` for charts. The same pins give the same bytes; the outputs are committed, so that a build needs no registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use ring::digest;

use crate::packages::{self, Use};

/// A file of a package that becomes a module.
struct Source {
    /// Name by which other modules import it.
    name: &'static str,
    package: &'static str,
    file: &'static str,
    /// Variable that the script sets; `None` if the file is already a module.
    variable: Option<&'static str>,
}

/// Each source comes after its imports.
const SOURCES: [Source; 7] = [
    Source::module("preact", "preact", "dist/preact.mjs"),
    Source::module("preact/hooks", "preact", "hooks/dist/hooks.mjs"),
    Source::module("htm", "htm", "dist/htm.mjs"),
    Source::module("htm/preact", "htm", "preact/index.mjs"),
    Source::module("@preact/signals-core", "@preact/signals-core", "dist/signals-core.mjs"),
    Source::module("@preact/signals", "@preact/signals", "dist/signals.mjs"),
    // The script is minified, the module is not.
    Source { name: "uplot", package: "uplot", file: "dist/uPlot.iife.min.js", variable: Some("uPlot") },
];

impl Source {
    const fn module(name: &'static str, package: &'static str, file: &'static str) -> Self {
        Self { name, package, file, variable: None }
    }
}

/// Rewrites `web/vendor`.
pub(crate) fn refresh() -> Result<()> {
    let folder = folder();
    std::fs::create_dir_all(&folder)?;
    for old in std::fs::read_dir(&folder)? {
        std::fs::remove_file(old?.path())?;
    }
    let mut named = BTreeMap::new();
    for source in &SOURCES {
        let text = packages::read(source.package, source.file)?;
        let text = as_module(source, &text, &named)?;
        let file = file_name(source.name, &text);
        write(&file, &text)?;
        named.insert(source.name, file);
    }
    let all = |name: &str| format!("export * from \"./{}\";\n", named[name]);
    write(
        "lib.js",
        &format!(
            "// Made by `cargo xtask web`: what pages import of the libraries.\nexport {{ html }} from \"./{}\";\n{}{}{}",
            named["htm/preact"],
            all("preact"),
            all("preact/hooks"),
            all("@preact/signals")
        ),
    )?;
    write(
        "chart.js",
        &format!(
            "// Made by `cargo xtask web`: for pages that draw.\nexport {{ default }} from \"./{}\";\n",
            named["uplot"]
        ),
    )?;
    write(
        "lib.d.ts",
        "// Made by `cargo xtask web`: the types of what pages import, from the packages themselves.\n\
         export { html } from \"htm/preact\";\nexport * from \"preact\";\nexport * from \"preact/hooks\";\n\
         export * from \"@preact/signals\";\n",
    )?;
    write(
        "chart.d.ts",
        "// Made by `cargo xtask web`: the types of what pages that draw import.\nexport { default } from \"uplot\";\n",
    )?;
    write("chart.css", &packages::read("uplot", "dist/uPlot.min.css")?)?;
    write("README.md", &sources(&named)?)
}

fn folder() -> PathBuf {
    crate::workspace().join("web/vendor")
}

fn write(file: &str, text: &str) -> Result<()> {
    std::fs::write(folder().join(file), text).with_context(|| file.to_owned())
}

/// Converts a library to a module with relative imports. Removes links to source maps, which are not included.
fn as_module(source: &Source, text: &str, named: &BTreeMap<&str, String>) -> Result<String> {
    let mut text = text.split("//# sourceMappingURL=").next().unwrap_or_default().trim_end().to_owned();
    if let Some(variable) = source.variable {
        write!(text, "\nexport default {variable};")?;
    }
    for (name, file) in named {
        text = text.replace(&format!("from\"{name}\""), &format!("from\"./{file}\""));
    }
    text.push('\n');
    let bare = text.match_indices("from\"").any(|(at, from)| !text[at + from.len()..].starts_with("./"));
    ensure!(!bare, "{} imports something that is not among the sources before it", source.name);
    Ok(text)
}

fn file_name(name: &str, text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    let hash: String = hash.as_ref()[..4].iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all");
        hex
    });
    format!("{}.{hash}.js", name.trim_start_matches('@').replace('/', "-"))
}

/// Lists the origins and licenses of the files, with the licenses' texts.
fn sources(named: &BTreeMap<&str, String>) -> Result<String> {
    let mut text = String::from(
        "# Libraries of the dashboard\n\nMade by `cargo xtask web` from pinned packages of npm; not to be edited.\n\n\
         | File | Package | Version | Licence | SHA-256 of the package |\n|---|---|---|---|---|\n",
    );
    for source in &SOURCES {
        let package = packages::pinned(source.package)?;
        writeln!(
            text,
            "| `{}` | {} | {} | {} | `{}` |",
            named[source.name], package.name, package.version, package.licence, package.sha256
        )?;
    }
    for package in packages::all().iter().filter(|package| package.used == Use::Vendored) {
        let licence = packages::read(package.name, "LICENSE")?;
        write!(text, "\n## {}\n\n```text\n{}\n```\n", package.name, licence.trim_end())?;
    }
    Ok(text)
}
