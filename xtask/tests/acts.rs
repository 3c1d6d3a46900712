//! One function for each act: what callers can do, the faces that offer it, and no second way to do it.
//!
//! An act is a public function of the service that takes its parts (`app: &App`). A *step* is a call that changes the database,
//! made with a transaction (`tx`). Acts of two faces that share a step share the function that makes it; a face that had its own
//! would check in another order and answer with other errors. A face cannot make a step itself, nor have one made by a free
//! function of the backend that an act calls too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Faces that bind acts: crate and name in the table.
const FACES: [(&str, &str); 2] = [("http", "HTTP"), ("cli", "command line")];
/// The crate of acts.
const SERVICE: &[&str] = &["probity_service"];
/// The crates of keys, sign-in, workers and meters behind them.
const BACKEND: &[&str] = &["probity_access", "probity_backend"];
/// Where the table of acts stands.
const TABLE: &str = "docs/acts.md";
/// Steps that are part of acts which differ, and why.
const PARTS: &[(&str, &str)] = &[
    ("events::add", "each act has its own event"),
    ("users::by_id", "reads the member under the lock"),
    ("users::lock_team", "a lock"),
    ("profile::lock", "a lock"),
    ("profile::read", "reads the profile under the lock"),
    ("sessions::revoke", "users end a session of their own, the operator a member's"),
    ("sessions::revoke_all", "so does a new password"),
];

/// Functions of the backend that make steps of acts and that a face calls, and why.
const WORK: &[(&str, &str)] = &[
    ("mail::forgotten::issue", "the mail worker makes the link that an act has asked for"),
    ("jobs::announce", "the worker that ends a job queues its callback, as an act queues the test of a webhook"),
];

/// A file of a crate: module path and code without tests.
struct Source {
    room: String,
    code: String,
}

/// A function of the service or of the backend.
struct Function {
    name: String,
    room: String,
    /// First sentence about it.
    summary: String,
    is_public: bool,
    /// Whether it is public and takes the service's parts.
    is_act: bool,
    body: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Reads a crate's files.
fn sources(name: &str) -> Vec<Source> {
    let src = root().join("crates").join(name).join("src");
    let mut found = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let room = path.strip_prefix(&src).expect("below it").with_extension("");
                let code = fs::read_to_string(&path).expect("a source file");
                let code = code.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
                found.push(Source { room: room.to_string_lossy().replace('/', "::"), code });
            }
        }
    }
    found.sort_by(|a, b| a.room.cmp(&b.room));
    found
}

/// Finds the functions of files, those of `impl` blocks included.
fn functions(service: &[Source]) -> Vec<Function> {
    let mut found = Vec::new();
    for Source { room, code } in service {
        let lines: Vec<&str> = code.lines().collect();
        let mut comment = String::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(text) = line.trim_start().strip_prefix("///") {
                comment = [comment.as_str(), text.trim()].join(" ");
                continue;
            }
            let about = std::mem::take(&mut comment);
            let indent = &line[..line.len() - line.trim_start().len()];
            let Some((before, rest)) = line.split_once("fn ") else { continue };
            let is_item = before.split_whitespace().all(|word| word.starts_with("pub") || word == "async");
            if !is_item || indent.len() > 4 {
                continue;
            }
            let end = format!("{indent}}}");
            let length = lines[at..].iter().position(|line| *line == end).map_or(1, |last| last + 1);
            let body = lines[at..at + length].join("\n");
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            let parameters = body.split_once('(').map_or("", |(_, parameters)| parameters.trim_start());
            let is_public = before.trim_start().starts_with("pub ");
            let is_act = before.starts_with("pub ") && parameters.starts_with("app: &");
            let summary = about.split(". ").next().unwrap_or_default().trim().trim_end_matches('.').to_owned();
            found.push(Function { name, room: room.clone(), summary, is_public, is_act, body });
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the text before each call of a function.
fn calls<'a>(code: &'a str, name: &str) -> Vec<&'a str> {
    let is_call = |(at, _): &(usize, &str)| {
        let (before, after) = (&code[..*at], &code[at + name.len()..]);
        after.starts_with('(') && !before.ends_with(|c| is_word(c) || c == '.') && !before.ends_with("fn ")
    };
    code.match_indices(name).filter(is_call).map(|(at, _)| &code[..at]).collect()
}

/// Reports whether a file of a face calls a function of some crates: by its module, or imported by name.
fn binds(face: &Source, from: &[&str], act: &Function) -> bool {
    let calls = calls(&face.code, &act.name);
    if calls.is_empty() {
        return false;
    }
    let imports = face.code.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let of_them =
        |import: &&str| from.iter().any(|from| import.strip_prefix(from).is_some_and(|rest| rest.starts_with("::")));
    let imports: BTreeSet<&str> = imports.filter(of_them).flat_map(|import| import.split(|c| !is_word(c))).collect();
    let is_imported = imports.contains(act.name.as_str());
    let is_in_module = |before: &str| {
        let segment = before.strip_suffix("::").and_then(|path| path.rsplit(|c| !is_word(c)).next());
        segment.is_some_and(|segment| segment.starts_with(char::is_lowercase))
    };
    !imports.is_empty() && calls.iter().any(|before| is_imported || is_in_module(before))
}

/// Returns the calls with a transaction in a function.
fn steps(function: &Function) -> BTreeSet<String> {
    let at_transaction = |(at, _): (usize, &str)| {
        let before = function.body[..at].trim_end_matches("&mut ").trim_end();
        let path = before.strip_suffix('(')?;
        let start = path.rfind(|c| !is_word(c) && c != ':').map_or(0, |at| at + 1);
        let mut path: Vec<&str> = path[start..].split("::").collect();
        path.drain(..path.len().saturating_sub(2));
        (path.len() == 2).then(|| path.join("::"))
    };
    ["tx,", "tx)"].into_iter().flat_map(|tx| function.body.match_indices(tx)).filter_map(at_transaction).collect()
}

/// Returns the faces that reach each function of some crates, through those of its functions that they can call and do.
fn reached<'a>(
    functions: &[Function],
    faces: &[(&'a str, Vec<Source>)],
    from: &[&str],
    can_call: fn(&Function) -> bool,
) -> Vec<BTreeSet<&'a str>> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, function) in functions.iter().enumerate() {
        named.entry(&function.name).or_default().push(index);
    }
    // A name that several files have is the caller's own.
    let callee = |caller: &Function, name: &str| match named.get(name).map(Vec::as_slice) {
        Some([only]) => Some(*only),
        Some(several) => several.iter().copied().find(|index| functions[*index].room == caller.room),
        None => None,
    };
    let callees: Vec<Vec<usize>> = functions
        .iter()
        .map(|caller| {
            let words: BTreeSet<&str> =
                caller.body.split('(').map(|text| text.rsplit(|c| !is_word(c)).next().unwrap_or_default()).collect();
            words.into_iter().filter_map(|name| callee(caller, name)).collect()
        })
        .collect();
    let mut reached = vec![BTreeSet::new(); functions.len()];
    for (face, files) in faces {
        let is_bound = |one: &Function| can_call(one) && files.iter().any(|file| binds(file, from, one));
        let mut next: Vec<usize> = (0..functions.len()).filter(|index| is_bound(&functions[*index])).collect();
        while let Some(index) = next.pop() {
            if reached[index].insert(*face) {
                next.extend(&callees[index]);
            }
        }
    }
    reached
}

/// Finds steps that one face makes in one function and another face in another.
fn twins(functions: &[Function], faces: &[(&str, Vec<Source>)]) -> BTreeMap<String, Vec<String>> {
    let reached = reached(functions, faces, SERVICE, |one| one.is_act);
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, function) in functions.iter().enumerate().filter(|(index, _)| !reached[*index].is_empty()) {
        for step in steps(function) {
            places.entry(step).or_default().push(index);
        }
    }
    let is_parted =
        |places: &Vec<usize>| places.iter().any(|a| places.iter().any(|b| reached[*a].is_disjoint(&reached[*b])));
    let shown = |index: usize| {
        let Function { room, name, .. } = &functions[index];
        format!("{room}::{name} ({})", reached[index].iter().copied().collect::<Vec<_>>().join(", "))
    };
    let parted = places.into_iter().filter(|(_, places)| is_parted(places));
    parted.map(|(step, places)| (step, places.into_iter().map(shown).collect())).collect()
}

/// Finds steps of acts that a face has the backend make, with the functions of the backend that make them.
fn detours(
    service: &[Function],
    backend: &[Function],
    faces: &[(&str, Vec<Source>)],
) -> BTreeMap<String, BTreeSet<String>> {
    let of_acts = reached(service, faces, SERVICE, |one| one.is_act);
    let of_acts = service.iter().zip(of_acts).filter(|(_, faces)| !faces.is_empty());
    let mut acted: BTreeSet<String> = of_acts.flat_map(|(one, _)| steps(one)).collect();
    acted.retain(|step| PARTS.iter().all(|(part, _)| part != step));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (one, faces) in backend.iter().zip(reached(backend, faces, BACKEND, |one| one.is_public)) {
        let steps: BTreeSet<String> = steps(one).intersection(&acted).cloned().collect();
        if !faces.is_empty() && !steps.is_empty() {
            found.insert(format!("{}::{}", one.room, one.name), steps);
        }
    }
    found
}

fn faces() -> Vec<(&'static str, Vec<Source>)> {
    FACES.map(|(name, shown)| (shown, sources(name))).into()
}

#[test]
fn no_face_has_a_way_of_its_own() {
    let functions = functions(&sources("service"));
    let mut twins = twins(&functions, &faces());
    for (step, _) in PARTS {
        assert!(twins.remove(*step).is_some(), "{step} is no longer in acts of two faces: take it from the list");
    }
    assert!(
        twins.is_empty(),
        "each of these steps is made in two places for two faces; let both call one act: {twins:#?}"
    );
}

#[test]
fn a_planted_detour_is_found() {
    let file = |room: &str, code: &str| Source { room: room.to_owned(), code: code.to_owned() };
    let act = "pub async fn create(app: &App) {\n    app.store.write(|tx| hooks::insert(tx, row))\n}\n";
    let detour = "pub async fn add(store: &Store) {\n    store.write(|tx| webhooks::hooks::insert(tx, row))\n}\n";
    let (service, backend) = (functions(&[file("acts", act)]), functions(&[file("webhooks", detour)]));
    let http = || file("api", "use probity_service::acts;\nfn bind() {\n    acts::create(&app)\n}\n");
    let using =
        |from: &str, code: &str| file("admin", &format!("use {from}::webhooks;\nfn run() {{\n    {code}\n}}\n"));
    let cli = |code: &str| using("probity_backend", code);
    let found = |cli: Source| detours(&service, &backend, &[("HTTP", vec![http()]), ("command line", vec![cli])]);
    let steps = BTreeSet::from(["hooks::insert".to_owned()]);
    for from in BACKEND {
        let detour = BTreeMap::from([("webhooks::add".to_owned(), steps.clone())]);
        assert_eq!(found(using(from, "webhooks::add(&store)")), detour, "{from}");
    }
    assert!(found(cli("let config = webhooks::CONFIG;")).is_empty(), "it makes no step");
}

#[test]
fn no_face_has_the_backend_act() {
    let backend: Vec<Source> = ["access", "backend"].into_iter().flat_map(sources).collect();
    let mut detours = detours(&functions(&sources("service")), &functions(&backend), &faces());
    for (function, _) in WORK {
        assert!(detours.remove(*function).is_some(), "no face has {function} act any more: take it from the list");
    }
    assert!(detours.is_empty(), "these functions make steps of acts for a face; let it call an act: {detours:#?}");
}

/// Faces have no connection to the database: its rows and transactions are the acts'.
#[test]
fn no_face_goes_to_the_store() {
    for (face, files) in faces() {
        for file in files {
            let goes =
                ["probity_store", "scope_boxed", "work!(", "store.read(", "store.write(", "&mut Tx", "&mut Conn"];
            let found = goes.into_iter().find(|text| file.code.contains(text));
            assert_eq!(found, None, "{face}: {} goes to the store", file.room);
        }
    }
}

#[test]
fn a_planted_twin_is_found() {
    let file = |room: &str, code: &str| Source { room: room.to_owned(), code: code.to_owned() };
    let act = "pub async fn create(app: &App) {\n    app.store.write(|tx| hooks::insert(tx, row))\n}\n";
    let twin = "/// Adds one.\npub async fn add(\n    app: &App,\n) {\n    store_it(app)\n}\n\nfn store_it(app: &App) {\n    app.write(|tx| webhooks::hooks::insert(&mut tx))\n}\n";
    let service = functions(&[file("webhooks::acts", act), file("operator::webhooks", twin)]);
    let http = || file("api", "use probity_service::webhooks::acts;\nfn bind() {\n    acts::create(&app)\n}\n");
    let cli = |name: &str| {
        file("admin", &format!("use probity_service::operator::{name};\nfn run() {{\n    {name}(app)\n}}\n"))
    };
    let found = |cli: Source| twins(&service, &[("HTTP", vec![http()]), ("command line", vec![cli])]);
    let parted = ["webhooks::acts::create (HTTP)", "operator::webhooks::store_it (command line)"];
    assert_eq!(found(cli("add")), BTreeMap::from([("hooks::insert".to_owned(), parted.map(str::to_owned).to_vec())]));
    assert!(found(cli("create")).is_empty(), "both bind the act");
    assert!(
        found(file("admin", "fn add() {}\nfn run() {\n    add(app)\n}\n")).is_empty(),
        "its own function is no act"
    );
}

#[test]
fn acts_are_listed_with_the_faces_that_bind_them() {
    let functions = functions(&sources("service"));
    let others: String = functions.iter().map(|function| function.body.as_str()).collect();
    let faces = faces();
    let mut table = String::from(
        "# Acts\n\nEverything that callers can do, and the faces that offer it. Made from the code: `UPDATE_DOCS=1 cargo test -p xtask --test \
         acts`.\n\n| Act | Purpose | Faces |\n|---|---|---|\n",
    );
    let mut seen = BTreeSet::new();
    for act in functions.iter().filter(|function| function.is_act) {
        let Function { name, room, summary, .. } = act;
        assert!(seen.insert(name), "{name} is more than one act");
        let is_bound = |files: &[Source]| files.iter().any(|file| binds(file, SERVICE, act));
        let bound: Vec<&str> = faces.iter().filter(|(_, files)| is_bound(files)).map(|(face, _)| *face).collect();
        if bound.is_empty() {
            // A step that acts share.
            assert!(!calls(&others, name).is_empty(), "nothing calls {room}::{name}");
            continue;
        }
        let _ = writeln!(table, "| `{room}::{name}` | {summary} | {} |", bound.join(", "));
    }
    assert!(seen.len() > 80, "the acts are not seen");
    let path = root().join(TABLE);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &table).expect("the table is written");
    }
    let stands = fs::read_to_string(&path).unwrap_or_default();
    assert!(stands == table, "{TABLE} differs from the code: UPDATE_DOCS=1 cargo test -p xtask --test acts");
}
