//! Finds the modules that a page needs by following imports.
//!
//! A browser finds a module's imports only after loading it, so a chain of imports costs one round trip each. Links in the
//! page's head name all modules at once. Imports are recognized in the two forms that our modules and the vendored ones use:
//! `from "./x.js"` and `from"./x.js"`. Dynamic imports are not followed, because they are meant to load later; the first
//! screens are therefore listed next to the main module.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the links for these modules and everything that they import.
pub(super) fn links<'m>(files: &BTreeMap<String, Vec<u8>>, modules: impl IntoIterator<Item = &'m str>) -> String {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<String> = modules.into_iter().map(str::to_owned).collect();
    ahead.reverse();
    let mut links = Vec::new();
    while let Some(path) = ahead.pop() {
        let Some(text) = files.get(&path).and_then(|text| std::str::from_utf8(text).ok()) else { continue };
        if seen.insert(path.clone()) {
            ahead.extend(imports(text).filter_map(|import| resolve(&path, import)));
            links.push(format!("<link rel=\"modulepreload\" href=\"/assets/{{{{build}}}}/{path}\">"));
        }
    }
    links.join("\n    ")
}

/// Returns the relative paths that a module imports.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let after = |word: &'static str| text.match_indices(word).map(move |(at, _)| &text[at + word.len()..]);
    after("from \"")
        .chain(after("from\""))
        .filter_map(|rest| rest.split('"').next())
        .filter(|path| path.starts_with('.'))
}

/// Resolves a path relative to another file's folder. `None` if it leads out of the root.
fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_followed_once_and_dynamic_ones_are_not() {
        let files = BTreeMap::from(
            [
                ("app/main.js", "import { a } from \"./a.js\";\nconst later = () => import(\"./later.js\");"),
                ("app/a.js", "import{b}from\"../vendor/b.js\";\nexport * from \"./main.js\";"),
                ("vendor/b.js", "export const b = 1;"),
                ("app/later.js", ""),
            ]
            .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())),
        );
        let links = links(&files, ["app/main.js"]);
        let paths: Vec<&str> = links.split("{{build}}/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(paths, ["app/main.js", "app/a.js", "vendor/b.js"]);
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        assert_eq!(resolve("app/ui/a.js", "./b.js").as_deref(), Some("app/ui/b.js"));
        assert_eq!(resolve("app/ui/a.js", "../../vendor/lib.js").as_deref(), Some("vendor/lib.js"));
        assert_eq!(resolve("a.js", "../b.js"), None);
    }
}
