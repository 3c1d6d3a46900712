//! Packaging: the image contains every file that is built into the program, and the documented proxy accepts what the service
//! accepts.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Reports whether a name matches a pattern in which `*` matches anything.
fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| is_like(tail, &rest[at..]))
        }),
    }
}

/// Reports whether a pattern of segments, in which `**` matches any number of them, matches a path or one of its parents.
fn leads_to(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], _) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| !rest.is_empty() && leads_to(rest, &path[skipped..])),
        ([first, rest @ ..], [name, below @ ..]) => is_like(first, name) && leads_to(rest, below),
        (_, []) => false,
    }
}

/// Reports whether a path is in the context of the image's build: the last matching line of `.dockerignore` decides.
fn gets_in(ignore: &str, path: &str) -> bool {
    let path: Vec<&str> = path.split('/').collect();
    let lines = ignore.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.fold(true, |inside, line| {
        let pattern: Vec<&str> = line.trim_start_matches('!').split('/').collect();
        if leads_to(&pattern, &path) { line.starts_with('!') } else { inside }
    })
}

/// Returns every file in a directory tree, except build outputs.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true if path.ends_with("target") || path.ends_with("node_modules") => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Returns the quoted texts that follow a word.
fn quoted_after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(word).skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns the files that a source file embeds: single files, and all of embedded directories.
fn embedded(source: &Path, package: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(source).expect("a source file");
    // Tests at the end of a file are not built into the program.
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let beside = source.parent().expect("a folder");
    let mut all: Vec<PathBuf> = Vec::new();
    for word in ["include_str!(\"", "include_bytes!(\""] {
        all.extend(quoted_after(text, word).map(|name| beside.join(name)));
    }
    for folder in quoted_after(text, "#[folder = \"") {
        let folder = package.join(folder);
        for include in quoted_after(text, "#[include = \"") {
            let wanted: Vec<&str> = include.split('/').collect();
            let below = |file: &PathBuf| {
                let file = file.strip_prefix(&folder).ok().and_then(Path::to_str).unwrap_or_default();
                leads_to(&wanted, &file.split('/').collect::<Vec<_>>())
            };
            let named = files(&folder).into_iter().filter(below).collect::<Vec<_>>();
            assert!(!named.is_empty(), "{}: {include} is nothing", source.display());
            all.extend(named);
        }
    }
    all
}

#[test]
fn what_the_program_is_built_of_gets_into_the_image() {
    let ignore = fs::read_to_string(root().join(".dockerignore")).expect("it is there");
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let mut needed = vec![root().join("Cargo.toml"), root().join("Cargo.lock"), root().join(".cargo/config.toml")];
    for member in metadata.workspace_packages() {
        let package = member.manifest_path.parent().expect("a folder").as_std_path();
        needed.push(member.manifest_path.clone().into_std_path_buf());
        let sources = files(&package.join("src"));
        let built = sources.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        needed.extend(built.filter(|path| !path.ends_with("tests.rs")).flat_map(|source| embedded(source, package)));
        needed.extend(sources);
    }
    let root = root().canonicalize().expect("it is there");
    let within = |path: &PathBuf| {
        let path = path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path.strip_prefix(&root).expect("within the repository").to_string_lossy().into_owned()
    };
    let kept_out: Vec<String> = needed.iter().map(within).filter(|path| !gets_in(&ignore, path)).collect();
    assert!(needed.iter().any(|path| path.ends_with("web/index.html")), "the pages are not seen");
    assert!(needed.iter().any(|path| path.ends_with("data/replies.toml")), "the rules are not seen");
    assert!(kept_out.is_empty(), ".dockerignore keeps out {kept_out:#?}");
    for path in [".git/config", "target/debug/probity", "core/target/x", "web/tests/package.json", "data/pepper"] {
        assert!(!gets_in(&ignore, path), "{path} is of no use in an image");
    }
}

#[test]
fn patterns_are_read_as_docker_reads_them() {
    for (pattern, path, leads) in [
        ("*", "web/app/main.js", true),
        ("web", "web/app/main.js", true),
        ("web/tests", "web/tests/x.mjs", true),
        ("web/tests", "web/app/x.mjs", false),
        ("**/target", "target/debug", true),
        ("**/target", "fuzz/target/debug", true),
        ("**/target", "crates/targets/x", false),
        ("**/*.db", "data/probity.db", true),
        ("**/*.db", "data/probity.dbx", false),
    ] {
        let segments: [Vec<&str>; 2] = [pattern, path].map(|text| text.split('/').collect());
        assert_eq!(leads_to(&segments[0], &segments[1]), leads, "{pattern} {path}");
    }
    assert!(gets_in("*\n!web\n# web\n", "web/index.html") && !gets_in("!web\n*\n", "web/index.html"));
}

/// Parses a size as the configuration (`128MiB`) or nginx (`130m`) writes it, in bytes.
fn bytes(size: &str) -> u64 {
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match size[digits.len()..].chars().next().map(|unit| unit.to_ascii_lowercase()) {
        Some('g') => 30,
        Some('m') => 20,
        Some('k') => 10,
        _ => 0,
    };
    digits.parse::<u64>().unwrap_or_else(|error| panic!("{size}: {error}")) << shift
}

#[test]
fn the_documented_proxy_lets_through_what_the_service_takes() {
    let keys = fs::read_to_string(root().join("docs/configuration.md")).expect("it is there");
    let largest = quoted_after(&keys, ".body_max` | `\"").map(bytes).max().expect("bodies have limits");
    let page = fs::read_to_string(root().join("docs/operations.md")).expect("it is there");
    let allowed: Vec<&str> =
        page.split("client_max_body_size ").skip(1).filter_map(|rest| rest.split(';').next()).collect();
    let [allowed] = allowed[..] else { panic!("one example with a size: {allowed:?}") };
    assert!(bytes(allowed) > largest, "{allowed} is less than {largest} bytes");
    assert_eq!([bytes("64MiB"), bytes("130m"), bytes("512")], [64 << 20, 130 << 20, 512]);
}
