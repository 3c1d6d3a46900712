//! What the dashboard's pages and the server both say, each in its own language.

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

/// What stands between the first `from` of a text and the next `to`.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

/// A page that thinks that a call has no mode sends none, and gets live data in test mode.
#[test]
fn pages_and_server_agree_which_paths_are_of_one_mode() {
    let server = read("crates/http/src/person/guard.rs");
    let list = between(between(&server, "const OF_ONE_MODE", ";\n\n"), "= [", "]");
    let mut server: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    // The only one of two parts, which the server compares as a whole.
    server.insert("account/timeline");

    let page = read("web/app/mode.js");
    let pattern = between(&page, "const SORTED = ", ";");
    let names = between(pattern, r"\/(", r")(\/|$)").replace(r"\/", "/");
    let page: BTreeSet<&str> = names.split('|').collect();

    assert_eq!(page, server);
}
