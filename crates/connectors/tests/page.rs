//! The tables of platforms in docs/integrations.md say what the files say.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fmt::Write as _;
use std::path::Path;

use probity_connectors::{ActionKind, Catalog, Confidence, ConnectorFile};

/// Lines around the tables.
const TABLES: [&str; 2] =
    ["<!-- platforms: UPDATE_DOCS=1 cargo test -p probity-connectors --test page -->\n", "<!-- /platforms -->\n"];
const MINUTE_MS: i64 = 60_000;

#[test]
fn the_page_says_what_each_platform_can_do_and_needs() {
    let tables = format!("{}\n{}", abilities(), needs());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/integrations.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(TABLES[0]).unwrap();
    let (found, after) = rest.split_once(TABLES[1]).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&page, [before, TABLES[0], &tables, TABLES[1], after].concat()).unwrap();
    } else {
        assert_eq!(found, tables, "docs/integrations.md is outdated; repeat with UPDATE_DOCS=1");
    }
}

fn abilities() -> String {
    let columns = [
        (ActionKind::Unsubscribe, "Unsubscribe"),
        (ActionKind::Delete, "Delete"),
        (ActionKind::Tag, "Tag"),
        (ActionKind::Fields, "Field"),
        (ActionKind::Fix, "Correct"),
    ];
    let mut table = "| Platform | Name in commands and the API | Read |".to_owned();
    for (_, name) in columns {
        write!(table, " {name} |").unwrap();
    }
    table += " Chosen lists |\n|---|---|---|---|---|---|---|---|---|\n";
    for file in Catalog::embedded().iter() {
        let can = file.capabilities();
        write!(table, "| {} | `{}` |", file.provider.name, file.provider.slug).unwrap();
        let actions = columns.map(|(kind, _)| can.has(kind));
        for yes in [can.contacts].into_iter().chain(actions).chain([file.can_choose_lists()]) {
            table += if yes { " yes |" } else { " |" };
        }
        table.push('\n');
    }
    table
}

fn needs() -> String {
    let mut table =
        "| Platform | Credentials | New contacts | Requests | Confidence |\n|---|---|---|---|---|\n".to_owned();
    for file in Catalog::embedded().iter() {
        let confidence = match file.provider.confidence {
            Confidence::High => "high",
            Confidence::Good => "good",
            Confidence::Low => "beta",
        };
        let credentials = file.credentials.iter().map(|field| {
            let optional = if field.optional { " (optional)" } else { "" };
            format!("{}{optional}", field.label)
        });
        let cells = [file.provider.name.clone(), joined(credentials), soon(file), limits(file), confidence.to_owned()];
        table += "|";
        for cell in cells {
            let space = if cell.is_empty() { "" } else { " " };
            write!(table, "{space}{cell} |").unwrap();
        }
        table.push('\n');
    }
    table
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// When a new contact is found.
fn soon(file: &ConnectorFile) -> String {
    match &file.contacts {
        None => String::new(),
        Some(_) if file.hook_of_polls().is_some() => "real time".to_owned(),
        Some(contacts) => format!("polling, {} min", 2 * contacts.poll / MINUTE_MS),
    }
}

/// The limits of all calls, or else those of the first paths that have some.
fn limits(file: &ConnectorFile) -> String {
    let all = &file.rate.limits;
    let paths = all.iter().map(|limit| &limit.paths).min_by_key(|paths| !paths.is_empty());
    let counting = all.iter().filter(|limit| Some(&limit.paths) == paths);
    joined(counting.map(|limit| {
        let span = match limit.per {
            1_000 => "s".to_owned(),
            MINUTE_MS => "min".to_owned(),
            3_600_000 => "h".to_owned(),
            86_400_000 => "day".to_owned(),
            per if per < MINUTE_MS => format!("{} s", per / 1_000),
            per => format!("{} min", per / MINUTE_MS),
        };
        format!("{}/{span}", grouped(limit.max))
    }))
}

/// A number with commas between its thousands.
fn grouped(number: u32) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", grouped(number / 1_000), number % 1_000) }
}
