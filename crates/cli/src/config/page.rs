//! Tables of docs/configuration.md, generated from the keys. To rewrite them: `UPDATE_DOCS=1 cargo test -p probity-cli --bin
//! probity page`.

use super::key::ConfigKey;
use super::plans::PlanTable;
use super::sections::SECTIONS;
use super::source::SourceTable;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
const HEAD: &str = "| Key | Default | Meaning |\n|---|---|---|\n";

fn meaning(key: &ConfigKey) -> String {
    key.comment.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Replaces the rows of the table below a heading.
fn with_rows(page: &str, heading: &str, rows: &str) -> String {
    let heading = format!("\n## `{heading}`\n");
    let start = page.find(&heading).unwrap_or_else(|| panic!("docs/configuration.md lacks {heading}")) + heading.len();
    let section = &page[start..];
    let section = &section[..section.find("\n## ").unwrap_or(section.len())];
    let head = section.find(HEAD).unwrap_or_else(|| panic!("docs/configuration.md lacks a table below {heading}"));
    let first = start + head + HEAD.len();
    let old: usize = page[first..].split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    format!("{}{rows}{}", &page[..first], &page[first + old..])
}

#[test]
fn the_page_has_every_key_with_its_default() {
    let found = std::fs::read_to_string(PAGE).unwrap();
    let mut page = found.clone();
    for section in SECTIONS {
        let row = |key: &ConfigKey| format!("| `{}` | `{}` | {} |\n", key.name, key.sample(), meaning(key));
        page = with_rows(&page, &format!("[{}]", section.name), &section.keys.iter().map(row).collect::<String>());
    }
    for (heading, keys) in [("[[source]]", SourceTable::KEYS), ("[plans.NAME]", PlanTable::KEYS)] {
        let row = |key: &ConfigKey| format!("| `{}` | {} | {} |\n", key.field, key.otherwise, meaning(key));
        page = with_rows(&page, heading, &keys.iter().map(row).collect::<String>());
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, page).unwrap();
        return;
    }
    assert!(found == page, "docs/configuration.md differs from the keys; rewrite its tables with UPDATE_DOCS=1");
    assert_eq!(
        found.matches(HEAD).count(),
        SECTIONS.len() + 2,
        "docs/configuration.md has a section that does not exist"
    );
}
