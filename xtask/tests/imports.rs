//! Allowed dependencies between the crates of the workspace.
//!
//! `mail <- engine <- service <- http <- cli`, `mail <- account <- store <- service` and `mail <- connectors <- service`. The
//! simulated internet `mailworld` depends on mail and engine, is part of the program (`probity sandbox`), and otherwise serves
//! integration tests. Any other edge fails, so that the pure crates stay pure, and engine and store stay independent.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// A dependency of one crate of the workspace on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    kind: DependencyKind,
}

/// Allowed dependencies of each crate, in its code and its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    // No dependencies.
    ("probity-mail", &[]),
    ("probity-account", &["probity-mail"]),
    // Probes are independent of accounts and credits.
    ("probity-engine", &["probity-mail"]),
    // Access to databases, which knows no table.
    ("probity-db", &["probity-failpoints"]),
    ("probity-store", &["probity-account", "probity-db", "probity-mail"]),
    // What people read in mail and files, in their language.
    ("probity-letters", &["probity-account", "probity-mail"]),
    // All sources of lists; a job's addresses leave it in blocks. Bounces are read by the rules for replies.
    ("probity-lists", &["probity-account", "probity-mail"]),
    // Newsletter platforms, as data and machines without I/O.
    ("probity-connectors", &["probity-mail"]),
    // Sign-in by OpenID Connect, as functions.
    ("probity-sso", &["probity-mail"]),
    // Faults that tests order. The databases have them in builds for tests only: see `FOR_TESTS`.
    ("probity-failpoints", &[]),
    // A PostgreSQL server for tests, without dependencies.
    ("probity-trialdb", &[]),
    ("probity-mailworld", &["probity-engine", "probity-mail"]),
    // Simulated email platforms, which know nothing of connectors: they judge them.
    ("probity-espworld", &["probity-mail"]),
    // Types of the published contract, made from rows of the store.
    ("probity-contract", &["probity-account", "probity-lists", "probity-mail", "probity-store"]),
    ("probity-telemetry", &["probity-engine", "probity-mail", "probity-store"]),
    // Requests to hosts of customers and operators.
    ("probity-outbound", &["probity-connectors", "probity-engine", "probity-mail", "probity-telemetry"]),
    // Keys, limits, members, sign-in and secrets.
    (
        "probity-access",
        &[
            "probity-account",
            "probity-contract",
            "probity-engine",
            "probity-letters",
            "probity-mail",
            "probity-outbound",
            "probity-store",
            "probity-telemetry",
        ],
    ),
    // Workers, meters and nodes, behind the acts.
    (
        "probity-backend",
        &[
            "probity-access",
            "probity-account",
            "probity-connectors",
            "probity-contract",
            "probity-engine",
            "probity-lists",
            "probity-mail",
            "probity-outbound",
            "probity-store",
            "probity-telemetry",
        ],
    ),
    // Acts: everything that callers can do, without HTTP.
    (
        "probity-service",
        &[
            "probity-access",
            "probity-account",
            "probity-backend",
            "probity-connectors",
            "probity-contract",
            "probity-engine",
            "probity-letters",
            "probity-lists",
            "probity-mail",
            "probity-sso",
            "probity-store",
            "probity-telemetry",
        ],
    ),
    // HTTP on top.
    (
        "probity-http",
        &[
            "probity-access",
            "probity-account",
            "probity-backend",
            "probity-contract",
            "probity-engine",
            "probity-letters",
            "probity-lists",
            "probity-mail",
            "probity-service",
            "probity-telemetry",
        ],
    ),
    (
        "probity-cli",
        &[
            "probity-access",
            "probity-account",
            "probity-backend",
            "probity-contract",
            "probity-connectors",
            "probity-engine",
            "probity-http",
            "probity-lists",
            "probity-mail",
            "probity-mailworld",
            "probity-service",
            "probity-telemetry",
        ],
    ),
];

/// Additional dependencies of each crate in its tests.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("probity-engine", &["probity-mailworld"]),
    // A crate depends on itself to have another feature in its tests.
    ("probity-store", &["probity-store", "probity-trialdb"]),
    ("probity-espworld", &["probity-connectors"]),
    ("probity-access", &["probity-trialdb"]),
    ("probity-backend", &["probity-espworld", "probity-trialdb"]),
    ("probity-service", &["probity-espworld", "probity-trialdb"]),
    ("probity-http", &["probity-espworld", "probity-mailworld", "probity-store", "probity-trialdb"]),
    ("probity-cli", &["probity-espworld", "probity-trialdb"]),
];

/// Features that only dev-dependencies turn on, so that the program never has them.
const FOR_TESTS: &[&str] = &["capture", "failpoints"];

/// Crates outside the program, which may use everything. No crate may use them.
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

/// Returns every edge between crates of the workspace. Crates are identified by directory, so that a rename in `Cargo.toml` hides
/// nothing.
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
fn the_service_knows_no_http_server() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let members = metadata.workspace_packages();
    let service = members.iter().find(|member| member.name == "probity-service").expect("the service");
    let own = service.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal);
    let (mut seen, mut faults) = (0, Vec::new());
    for dependency in own {
        seen += 1;
        let serves = |feature: &String| feature.starts_with("server");
        let is_framework = ["axum", "axum-core", "tower", "utoipa-axum"].contains(&dependency.name.as_str());
        if is_framework || dependency.features.iter().any(serves) {
            faults.push(&dependency.name);
        }
    }
    assert!(seen > 10, "the dependencies are not seen");
    assert!(faults.is_empty(), "of HTTP, the service may only be a client: {faults:?}");
}

/// A feature may pass one on only under the same name.
#[test]
fn the_program_has_no_features_for_tests() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let is_for_tests = |name: &String| FOR_TESTS.iter().any(|feature| name.rsplit('/').next() == Some(feature));
    let (mut turned_on, mut faults) = (0, Vec::new());
    for member in metadata.workspace_packages() {
        for dependency in member.dependencies.iter().filter(|dependency| dependency.features.iter().any(is_for_tests)) {
            if dependency.kind == DependencyKind::Development {
                turned_on += 1;
            } else {
                faults.push(format!("{} turns it on in {}", member.name, dependency.name));
            }
        }
        for (feature, needs) in &member.features {
            if !is_for_tests(feature) && needs.iter().any(is_for_tests) {
                faults.push(format!("{}: its feature {feature} turns it on", member.name));
            }
        }
    }
    assert!(turned_on > 3, "the dependencies are not seen");
    assert!(faults.is_empty(), "features for tests: {faults:?}");
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
        ("probity-store", "probity-db", Normal, true),
        ("probity-db", "probity-account", Normal, false),
        ("probity-backend", "probity-db", Normal, false),
        ("probity-service", "probity-store", Normal, true),
        ("probity-service", "probity-backend", Normal, true),
        ("probity-backend", "probity-service", Normal, false),
        ("probity-http", "probity-service", Normal, true),
        ("probity-cli", "probity-mailworld", Normal, true),
        ("probity-cli", "probity-engine", Development, true),
        ("probity-mailworld", "probity-engine", Normal, true),
        ("probity-service", "probity-lists", Normal, true),
        ("probity-cli", "probity-connectors", Normal, true),
        ("probity-backend", "probity-connectors", Normal, true),
        ("probity-http", "probity-connectors", Normal, false),
        ("probity-lists", "probity-account", Normal, true),
        ("probity-service", "probity-http", Normal, false),
        ("probity-lists", "probity-service", Normal, false),
        ("probity-connectors", "probity-service", Normal, false),
        ("probity-connectors", "probity-engine", Normal, false),
        ("probity-store", "probity-lists", Normal, false),
        ("probity-access", "probity-letters", Normal, true),
        ("probity-backend", "probity-access", Normal, true),
        ("probity-access", "probity-backend", Normal, false),
        ("probity-access", "probity-lists", Normal, false),
        ("probity-access", "probity-service", Normal, false),
        ("probity-backend", "probity-letters", Normal, false),
        ("probity-letters", "probity-store", Normal, false),
        ("probity-engine", "probity-account", Normal, false),
        ("probity-engine", "probity-mailworld", Development, true),
        ("probity-benches", "probity-engine", Normal, true),
        ("probity-benches", "probity-espworld", Normal, true),
        ("probity-backend", "probity-espworld", Development, true),
        ("probity-backend", "probity-espworld", Normal, false),
        ("probity-cli", "probity-espworld", Normal, false),
        ("probity-espworld", "probity-connectors", Development, true),
        ("probity-espworld", "probity-connectors", Normal, false),
        ("xtask", "probity-mail", Normal, true),
        // Mail has no dependencies, not even in its tests.
        ("probity-mail", "probity-account", Normal, false),
        ("probity-mail", "probity-engine", Normal, false),
        ("probity-mail", "probity-mailworld", Development, false),
        // The simulated internet is never part of the engine or the service.
        ("probity-engine", "probity-mailworld", Normal, false),
        ("probity-engine", "probity-mailworld", Build, false),
        ("probity-service", "probity-mailworld", Normal, false),
        // Engine and store are independent, and no crate uses a higher one.
        ("probity-engine", "probity-store", Normal, false),
        ("probity-engine", "probity-store", Development, false),
        ("probity-store", "probity-engine", Normal, false),
        ("probity-store", "probity-mailworld", Development, false),
        ("probity-store", "probity-trialdb", Development, true),
        ("probity-http", "probity-trialdb", Normal, false),
        // Faces call acts, never the store.
        ("probity-http", "probity-store", Normal, false),
        ("probity-engine", "probity-service", Normal, false),
        ("probity-http", "probity-cli", Normal, false),
        ("probity-mailworld", "probity-service", Normal, false),
        // The command line uses the store through the service.
        ("probity-cli", "probity-store", Normal, false),
        // No crate uses the tools, and an unlisted crate may use nothing.
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
