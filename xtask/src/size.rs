//! Lines of code and tests by crate, and words of documentation by page.
//!
//! Code is what is neither blank nor a comment; tests are files and modules for tests. Generated and vendored files do not count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

#[derive(Clone, Copy, Default)]
struct Lines {
    code: usize,
    tests: usize,
}

/// Prints both tables, each with its sum.
#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
pub(crate) fn print() -> Result<()> {
    let root = crate::workspace();
    let mut sources = Vec::new();
    for folder in ["crates", "xtask", "benches", "web"] {
        collect(&root.join(folder), &["rs", "js", "mjs"], &mut sources)?;
    }
    let mut parts: BTreeMap<String, Lines> = BTreeMap::new();
    for path in &sources {
        let shown = path.strip_prefix(&root)?;
        let mut names = shown.iter().map(|name| name.to_string_lossy());
        let first = names.next().unwrap_or_default();
        let part = if first == "crates" { names.next().unwrap_or_default() } else { first };
        let lines = parts.entry(part.into_owned()).or_default();
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let (code, tests) = text.split_once("\n#[cfg(test)]\nmod tests {").unwrap_or((&text, ""));
        let of_tests = shown.iter().any(|name| name == "tests" || name == "tests.rs");
        *(if of_tests { &mut lines.tests } else { &mut lines.code }) += counted(code);
        lines.tests += counted(tests);
    }
    println!("{:<28} {:>8} {:>8}", "lines", "code", "tests");
    let mut all = Lines::default();
    for (part, lines) in &parts {
        println!("{part:<28} {:>8} {:>8}", lines.code, lines.tests);
        all = Lines { code: all.code + lines.code, tests: all.tests + lines.tests };
    }
    println!("{:<28} {:>8} {:>8}\n", "all", all.code, all.tests);
    print_words(&root)
}

#[expect(clippy::print_stdout, reason = "the figures are the command's output")]
fn print_words(root: &Path) -> Result<()> {
    let mut pages = Vec::new();
    collect(&root.join("docs"), &["md"], &mut pages)?;
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "web/README.md"].map(|page| root.join(page)));
    let (mut all, mut decisions) = (0, 0);
    println!("{:<28} {:>8}", "words", "");
    for page in &pages {
        let words = fs::read_to_string(page).with_context(|| page.display().to_string())?.split_whitespace().count();
        let shown = page.strip_prefix(root)?;
        all += words;
        if shown.starts_with("docs/decisions") {
            decisions += words;
        } else {
            println!("{:<28} {words:>8}", shown.display());
        }
    }
    println!("{:<28} {decisions:>8}\n{:<28} {all:>8}", "docs/decisions", "all");
    Ok(())
}

/// Lines that are neither blank nor a comment.
fn counted(text: &str) -> usize {
    let is_code = |line: &&str| !line.is_empty() && !["//", "/*", "*/", "* "].iter().any(|mark| line.starts_with(mark));
    text.lines().map(str::trim).filter(is_code).count()
}

/// Files with these endings, in order; without what is built, vendored or fetched.
fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !["target", "node_modules"].contains(&&*name) && !path.ends_with("web/vendor") {
                collect(&path, endings, found)?;
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            found.push(path);
        }
    }
    Ok(())
}
