//! Which crate may depend on which: the house's plan, kept by a test.
//!
//! `mail <- engine <- server <- cli` and `mail <- account <- store <- server`; the simulated internet `mailworld` stands on mail
//! and engine, is a part of the program (`probity sandbox`), and otherwise serves integration tests. Any other edge between
//! crates of the workspace fails, so that the pure crates stay pure, and engine and store never see each other.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// A dependency of one crate of the workspace on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    kind: DependencyKind,
}

/// What each crate may depend on, in its code and in its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    // Knows nobody.
    ("probity-mail", &[]),
    ("probity-account", &["probity-mail"]),
    // Mail servers are asked without a thought of who pays.
    ("probity-engine", &["probity-mail"]),
    ("probity-store", &["probity-account", "probity-mail"]),
    // Every way a list comes in; addresses of jobs leave it in blocks.
    ("probity-lists", &["probity-account"]),
    // A PostgreSQL server for tests; it knows nobody.
    ("probity-trialdb", &[]),
    ("probity-mailworld", &["probity-engine", "probity-mail"]),
    ("probity-server", &["probity-account", "probity-engine", "probity-lists", "probity-mail", "probity-store"]),
    (
        "probity-cli",
        &["probity-account", "probity-engine", "probity-lists", "probity-mail", "probity-mailworld", "probity-server"],
    ),
];

/// What each crate may use in its tests besides.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("probity-engine", &["probity-mailworld"]),
    ("probity-store", &["probity-trialdb"]),
    ("probity-server", &["probity-mailworld", "probity-trialdb"]),
    ("probity-cli", &["probity-trialdb"]),
];

/// Crates that are no part of the program and may use everything. Nothing may use them.
const OUTSIDE: &[&str] = &["probity-benches", "xtask"];

fn is_allowed(edge: Edge) -> bool {
    let lists = |table: &[(&str, &[&str])]| table.iter().any(|(from, to)| *from == edge.from && to.contains(&edge.to));
    let of_the_program = !OUTSIDE.contains(&edge.to);
    let in_tests = edge.kind == DependencyKind::Development && lists(ALLOWED_IN_TESTS);
    of_the_program && (OUTSIDE.contains(&edge.from) || lists(ALLOWED) || in_tests)
}

fn forbidden<'a>(edges: &[Edge<'a>]) -> Vec<Edge<'a>> {
    edges.iter().copied().filter(|edge| !is_allowed(*edge)).collect()
}

/// Every edge between crates of the workspace. Crates are told by their directory: a rename in `Cargo.toml` hides nothing.
fn edges(metadata: &Metadata) -> Vec<Edge<'_>> {
    let members = metadata.workspace_packages();
    let mut edges = Vec::new();
    for from in &members {
        for dependency in &from.dependencies {
            let directory = dependency.path.as_deref();
            let to = members.iter().find(|member| directory.is_some() && member.manifest_path.parent() == directory);
            edges.extend(to.map(|to| Edge { from: &from.name, to: &to.name, kind: dependency.kind }));
        }
    }
    edges
}

#[test]
fn crates_depend_on_each_other_as_planned() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let edges = edges(&metadata);
    let known = Edge { from: "probity-engine", to: "probity-mail", kind: DependencyKind::Normal };
    assert!(edges.contains(&known), "the edges are not seen: {edges:?}");
    assert_eq!(forbidden(&edges), [], "edges that ARCHITECTURE.md does not allow");
}

#[test]
fn every_member_has_a_place_in_the_plan() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    for member in metadata.workspace_packages() {
        let name = member.name.as_str();
        let placed = OUTSIDE.contains(&name) || ALLOWED.iter().any(|(from, _)| *from == name);
        assert!(placed, "{name} is in no table of this test");
    }
}

#[test]
fn the_check_tells_allowed_from_forbidden_edges() {
    use DependencyKind::{Build, Development, Normal};
    let cases = [
        ("probity-engine", "probity-mail", Normal, true),
        ("probity-account", "probity-mail", Normal, true),
        ("probity-store", "probity-account", Normal, true),
        ("probity-server", "probity-store", Normal, true),
        ("probity-server", "probity-engine", Normal, true),
        ("probity-cli", "probity-mailworld", Normal, true),
        ("probity-cli", "probity-engine", Development, true),
        ("probity-mailworld", "probity-engine", Normal, true),
        ("probity-server", "probity-lists", Normal, true),
        ("probity-lists", "probity-account", Normal, true),
        ("probity-lists", "probity-server", Normal, false),
        ("probity-store", "probity-lists", Normal, false),
        ("probity-engine", "probity-account", Normal, false),
        ("probity-engine", "probity-mailworld", Development, true),
        ("probity-benches", "probity-engine", Normal, true),
        ("xtask", "probity-mail", Normal, true),
        // What mail is knows nobody, not even in its tests.
        ("probity-mail", "probity-account", Normal, false),
        ("probity-mail", "probity-engine", Normal, false),
        ("probity-mail", "probity-mailworld", Development, false),
        // The simulated internet never gets into the engine or the server themselves.
        ("probity-engine", "probity-mailworld", Normal, false),
        ("probity-engine", "probity-mailworld", Build, false),
        ("probity-server", "probity-mailworld", Normal, false),
        // Engine and store never see each other, and nobody looks up.
        ("probity-engine", "probity-store", Normal, false),
        ("probity-engine", "probity-store", Development, false),
        ("probity-store", "probity-engine", Normal, false),
        ("probity-store", "probity-mailworld", Development, false),
        ("probity-store", "probity-trialdb", Development, true),
        ("probity-server", "probity-trialdb", Normal, false),
        ("probity-engine", "probity-server", Normal, false),
        ("probity-server", "probity-cli", Normal, false),
        ("probity-mailworld", "probity-server", Normal, false),
        // The command line reaches the store through the server.
        ("probity-cli", "probity-store", Normal, false),
        // Nothing uses the tools, and a crate that nobody planned may use nothing.
        ("probity-cli", "probity-benches", Development, false),
        ("xtask", "probity-benches", Normal, false),
        ("probity-common", "probity-mail", Normal, false),
    ];
    for (from, to, kind, allowed) in cases {
        let edge = Edge { from, to, kind };
        let expected = if allowed { Vec::new() } else { vec![edge] };
        assert_eq!(forbidden(&[edge]), expected);
    }
}
