//! How many modules of a crate need each other: who changes one of a cycle has to know all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most modules at the top of a crate that may need each other.
const TOGETHER_MAX: usize = 8;

type Needs = BTreeMap<String, BTreeSet<String>>;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// What code names as `crate::name` or `crate::{name, name}`, comments and inline tests left out.
fn named(code: &str) -> BTreeSet<String> {
    let code = code.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| rest.strip_prefix('{').map_or_else(|| vec![word(rest)], group))
        .collect()
}

fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first word of each member of a group that is open.
fn group(text: &str) -> Vec<String> {
    let (mut words, mut depth) = (vec![word(text)], 1_usize);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => words.push(word(&text[at + 1..])),
            _ => {}
        }
    }
    words
}

/// What each module at the top of a crate needs of the others.
fn needs(src: &Path) -> Needs {
    let mut needs = Needs::new();
    for path in sources(src) {
        let inside = path.strip_prefix(src).expect("below it").with_extension("");
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_root = ["lib", "main"].contains(&parts[0].as_str());
        if is_root || parts.iter().any(|part| part == "tests") {
            continue;
        }
        let names = named(&fs::read_to_string(&path).expect("a source file"));
        needs.entry(parts[0].clone()).or_default().extend(names);
    }
    let modules: BTreeSet<String> = needs.keys().cloned().collect();
    for (module, names) in &mut needs {
        names.retain(|name| modules.contains(name) && name != module);
    }
    needs
}

/// All that a module needs, over others too.
fn reached<'a>(needs: &'a Needs, from: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(needs[module].iter().map(String::as_str).filter(|next| reached.insert(*next)));
    }
    reached
}

/// The largest set of modules that all need each other.
fn largest_cycle(needs: &Needs) -> Vec<&str> {
    let all: BTreeMap<&str, _> = needs.keys().map(|module| (module.as_str(), reached(needs, module))).collect();
    let cycle_of = |module: &str| all[module].iter().filter(|other| all[*other].contains(module)).copied().collect();
    all.keys().map(|module| cycle_of(module)).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn no_crate_is_a_knot() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let mut seen = 0;
    for entry in fs::read_dir(crates).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let needs = needs(&entry.path().join("src"));
        let cycle = largest_cycle(&needs);
        assert!(cycle.len() <= TOGETHER_MAX, "modules of {name} need each other, more than {TOGETHER_MAX}: {cycle:?}");
        seen += needs.len();
    }
    assert!(seen > 100, "the modules are not seen: {seen}");
}

#[test]
fn a_cycle_is_found_however_it_is_written() {
    let needs = |pairs: &[(&str, &str)]| -> Needs {
        let of = |code: &str| named(code).into_iter().filter(|name| name != "it").collect();
        pairs.iter().map(|(module, code)| ((*module).to_owned(), of(code))).collect()
    };
    let chain = [
        ("a", "use crate::b::X;"),
        ("b", "use crate::{it,\n    it::{x, y}, c};"),
        ("c", "fn f() { crate::d::g() }"),
        ("d", ""),
    ];
    assert_eq!(largest_cycle(&needs(&chain)), [""; 0]);
    let ring = [chain[0], chain[1], chain[2], ("d", "use crate::a::Y;")];
    assert_eq!(largest_cycle(&needs(&ring)), ["a", "b", "c", "d"]);
    let told = [chain[0], chain[1], chain[2], ("d", "// crate::a\n\n#[cfg(test)]\nmod tests { use crate::a; }")];
    assert_eq!(largest_cycle(&needs(&told)), [""; 0]);
}
