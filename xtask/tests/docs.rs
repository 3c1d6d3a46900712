//! Link targets exist: every relative link of every Markdown file, and every anchor within one. In the other direction, the map
//! lists every top-level module of a crate.
//!
//! Apart from the map, only links are checked: a file named in backticks may be one that the reader will create.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories without documents of ours.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// A link with its position and target.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Returns every Markdown file in a directory tree, in a fixed order.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// Returns the lines of a document outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((number + 1, line))
    })
}

/// Finds `[text](target)` outside inline code. Cuts off titles after the target.
fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, content) in prose(text) {
        let plain: String = content.split('`').step_by(2).collect::<Vec<_>>().join("``");
        for part in plain.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default().split(' ').next().unwrap_or_default();
            links.push(Link { line, target: target.to_owned() });
        }
    }
    links
}

/// Returns the anchors of a document's headings, as common renderers generate them.
fn anchors(text: &str) -> BTreeSet<String> {
    let slug = |heading: &str| -> String {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| slug(line.trim_start_matches('#'))).collect()
}

/// Explains what is wrong with a link; `None` for a valid or external one.
fn fault(document: &Path, link: &Link) -> Option<String> {
    if link.target.contains("://") || link.target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
    let file = if path.is_empty() { document.to_path_buf() } else { document.parent()?.join(path) };
    if !file.exists() {
        return Some(format!("{}:{}: there is no {path}", document.display(), link.line));
    }
    let known = anchor.is_empty() || fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(anchor));
    (!known).then(|| format!("{}:{}: {} has no heading #{anchor}", document.display(), link.line, file.display()))
}

#[test]
fn every_relative_link_leads_somewhere() {
    let documents = documents(&root());
    let mut seen = 0;
    let mut faults = Vec::new();
    for document in &documents {
        let links = links(&fs::read_to_string(document).unwrap());
        seen += links.len();
        faults.extend(links.iter().filter_map(|link| fault(document, link)));
    }
    assert!(documents.iter().any(|document| document.ends_with("docs/README.md")), "the index is not seen");
    assert!(seen > 20, "hardly any link is seen: {seen}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_page_is_in_the_index() {
    let docs = root().join("docs");
    let index = links(&fs::read_to_string(docs.join("README.md")).unwrap());
    let listed: BTreeSet<PathBuf> = index.iter().map(|link| docs.join(&link.target)).collect();
    let missing: Vec<PathBuf> =
        documents(&docs).into_iter().filter(|page| *page != docs.join("README.md") && !listed.contains(page)).collect();
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
}

/// Returns the names in backticks of a section of `ARCHITECTURE.md`: the first word of each, without file extension or slash.
fn named(page: &str, section: &str) -> BTreeSet<String> {
    let mut sections = page.split("\n### ").filter(|text| text.split([',', '\n']).next() == Some(section));
    let text = sections.next().unwrap_or_else(|| panic!("ARCHITECTURE.md has no section {section}"));
    let text = text.split("\n## ").next().unwrap_or_default();
    let names = text.split('`').skip(1).step_by(2).filter_map(|name| name.split(['.', '/', ':']).next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_map_shows_every_module() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    for name in [
        "mail",
        "account",
        "engine",
        "store",
        "letters",
        "lists",
        "access",
        "backend",
        "service",
        "http",
        "cli",
        "mailworld",
        "espworld",
        "failpoints",
        "trialdb",
    ] {
        let named = named(&page, name);
        for entry in fs::read_dir(root().join("crates").join(name).join("src")).unwrap() {
            let file = entry.unwrap().file_name().to_string_lossy().into_owned();
            let Some(module) = file.strip_suffix(".rs") else { continue };
            if !named.contains(module) && !["lib", "main", "tests"].contains(&module) {
                missing.push(format!("{name}: {module}"));
            }
        }
    }
    missing.sort();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not say what these are for: {missing:#?}");
}

#[test]
fn links_and_anchors_are_read_as_written() {
    let text =
        "# Two words, `code`\n[a](b.md) and [c](d/e.md#f \"title\") `[no](x)`\n```\n[no](y)\n```\n[g](#two-words-code)";
    let targets: Vec<String> = links(text).into_iter().map(|link| link.target).collect();
    assert_eq!(targets, ["b.md", "d/e.md#f", "#two-words-code"]);
    assert_eq!(links(text)[2].line, 6);
    assert!(anchors(text).contains("two-words-code"));
    let here = root().join("Cargo.toml");
    let leads = |target: &str| fault(&here, &Link { line: 1, target: target.to_owned() }).is_none();
    assert!(leads("xtask/Cargo.toml") && leads("https://example.org/x"));
    assert!(!leads("xtask/nothing.toml") && !leads("xtask/Cargo.toml#nothing"));
}
