//! No crate lists a dependency that its code does not use, since every entry is built, audited and updated.

use std::fs;
use std::path::Path;

use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

/// Dependencies listed only for their effect on the version of another crate (see `Cargo.toml`).
const FOR_ITS_VERSION: [&str; 1] = ["idna_adapter"];

/// Returns all Rust code in these directories, as one text.
fn code(folders: &[&Path]) -> String {
    let mut all = String::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                all += &code(&[&path]);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all += &with_borrowed(&path);
                all.push('\n');
            }
        }
    }
    all
}

/// Returns the text of a source file, with the files of other crates that it takes by their path.
fn with_borrowed(path: &Path) -> String {
    let own = fs::read_to_string(path).expect("a source file");
    let folder = path.parent().expect("a folder");
    let borrowed = own.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"));
    let borrowed = borrowed.filter_map(|file| fs::read_to_string(folder.join(file)).ok()).collect::<Vec<_>>();
    [[own.clone()].as_slice(), &borrowed].concat().join("\n")
}

/// Reports whether code names a crate: in a path, or as a whole (`use zip;`, `use zip as z`).
fn names(code: &str, name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        !before.ends_with(word) && ["::", ";", " as "].iter().any(|follows| after.starts_with(follows))
    })
}

/// Returns the dependencies that a crate's code does not name.
fn unused(package: &Package) -> Vec<&Dependency> {
    let folder = package.manifest_path.parent().expect("a folder").as_std_path();
    let own = code(&[&folder.join("src"), &folder.join("fuzz_targets")]);
    let tests = code(&[&folder.join("tests"), &folder.join("benches")]);
    let used = |dependency: &&Dependency| {
        let name = dependency.rename.as_ref().unwrap_or(&dependency.name).replace('-', "_");
        let in_tests = dependency.kind == DependencyKind::Development && names(&tests, &name);
        names(&own, &name) || in_tests || FOR_ITS_VERSION.contains(&name.as_str())
    };
    package.dependencies.iter().filter(|dependency| !used(dependency)).collect()
}

#[test]
fn every_dependency_is_used() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let members = metadata.workspace_packages();
    assert!(members.iter().all(|member| !member.dependencies.is_empty()), "the dependencies are not seen");
    let unused: Vec<String> = members
        .into_iter()
        .flat_map(|member| unused(member).into_iter().map(|dependency| format!("{}: {}", member.name, dependency.name)))
        .collect();
    assert!(unused.is_empty(), "{unused:#?}");
}

#[test]
fn every_dependency_of_the_workspace_is_some_members() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml")).expect("it is there");
    let table = manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next());
    let listed = table.expect("it has the table").lines().filter(|line| !line.starts_with('#'));
    let listed: Vec<&str> = listed.filter_map(|line| line.split_once(" = ").map(|(name, _)| name)).collect();
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let members = metadata.workspace_packages();
    let is = |taken: &Dependency, name: &str| taken.name == name || taken.rename.as_deref() == Some(name);
    let taken = |name: &str| members.iter().any(|member| member.dependencies.iter().any(|taken| is(taken, name)));
    let idle: Vec<&&str> = listed.iter().filter(|name| !taken(name)).collect();
    assert!(listed.contains(&"tokio") && idle.is_empty(), "{idle:?}");
}

#[test]
fn a_name_is_told_from_parts_of_words_and_from_prose() {
    for (code, named) in [
        ("use zip::ZipArchive;", true),
        ("let a = zip::read(b);", true),
        ("extern crate zip;", true),
        ("use zip as z;", true),
        ("/// A zip of files", false),
        ("use gzip::read;", false),
        ("let zip = left.zip(right);", false),
    ] {
        assert_eq!(names(code, "zip"), named, "{code}");
    }
}
