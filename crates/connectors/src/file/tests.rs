use super::*;
use crate::Catalog;
use crate::source::Source;

/// Valid file, of which tests make invalid variants.
const SMALL: &str = concat!(
    include_str!("../../tests/small.toml"),
    r#"[contacts]
scope = "account"
request = { get = "/contacts", query = { page = "{page.number}" } }
records = "/data"
page = { kind = "page", size = 10, end = "short" }
fields = { id = "/id", email = "/email", state_default = "subscribed" }
[actions.delete]
scope = "account"
request = { delete = "/contacts/{contact.id}" }
"#
);

fn faults(from: &str, to: &str) -> Vec<String> {
    assert!(SMALL.contains(from), "{from}");
    let text = SMALL.replace(from, to);
    match ConnectorFile::parse("small.toml", &text, Origin::Operator) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_shipped_files_are_right() {
    for (name, text) in Catalog::texts() {
        if let Err(faults) = ConnectorFile::parse(name, text, Origin::Embedded) {
            let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
            panic!("{}", faults.join("\n"));
        }
    }
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).unwrap();
    assert_eq!(Catalog::texts().len(), folder.count());
    assert_eq!(Catalog::embedded().iter().count(), Catalog::texts().len());
    assert_eq!(Catalog::embedded().get("kit").unwrap().provider.slug, "convertkit");
}

/// What is replaced in a small file, what by, and the fault.
const FAULTS: &[(&str, &str, &str)] = &[
    ("records = \"/data\"", "recrods = \"/data\"", "small.toml:24: contacts.recrods: unknown field"),
    (
        "{contact.id}",
        "{contact.ids}",
        "actions.delete.request.delete: unknown placeholder {contact.ids}: of contact there are id, email",
    ),
    (
        "{contact.id}",
        "{list.id}",
        "actions.delete.request.delete: {list.id} has no value here; there are credential, contact, verdict",
    ),
    (
        "{page.number}",
        "{page.offset}",
        "contacts.request.page: {page.offset} has no value here; there are credential, page.number, page.size",
    ),
    ("{page.number}", "{page.number|reverse}", "unknown filter \"reverse\""),
    (
        "Key = \"{credential.key}\"",
        "Key = \"{credential.keys}\"",
        "http.headers.Key: {credential.keys} is not a credential; there are url, key",
    ),
    ("\"/me\"", "\"/me/{credential.key}\"", "is secret, and addresses are logged"),
    (
        "get = \"/me\"",
        "get = \"/me\", headers = { K = \"{credential.key|base64}\" }",
        "test.request: {credential.key} is secret, and filters may change it in http.headers only",
    ),
    (
        "kind = \"secret\"",
        "kind = \"secret\"\naccount = true",
        "credential.key: account is for a credential that every key of an account shares",
    ),
    ("\"/me\"", "\"me\"", "a path begins with /"),
    ("\"/me\"", "\"/me?a=b\"", "write parameters below query"),
    ("get = \"/me\"", "get = \"/me\", post = \"/me\"", "test.request: write exactly one of get, post"),
    ("get = \"/me\"", "get = \"/me\", json = { a = 1 }", "a get has no body"),
    ("base = \"{credential.url}/api\"", "base = \"ftp://a.org\"", "http.base: the base begins with https://"),
    ("kind = \"page\"", "kind = \"pages\"", "unknown variant `pages`"),
    ("get = \"/me\"", "get = \"/me\", other = true", "test.request: other requires [http.other]"),
    ("size = 10", "size = 100000", "contacts.page: size is 1 to 10000"),
    ("[test]", "timeout = \"soon\"\n[test]", "http.timeout: \"soon\" is not a duration"),
    ("records = \"/data\"", "records = \"data\"", "contacts.records: \"data\" is not a place"),
    ("records = \"/data\"", "records = \"header:Link\"", "contacts.records: records are in the body"),
    ("records = \"/data\"", "records = \"key\"", "contacts.records: records are in the body"),
    ("{ page = \"{page.number}\" }", "{ q = \"mail:'{contact.email}'\" }", "{contact.email} has no value here"),
    ("[test]", "[rate]\nconcurrency = 0\n[test]", "rate.concurrency: concurrency is 1 to 100"),
    ("slug = \"small\"", "slug = \"Small!\"", "a slug has 1 to 40"),
    ("[test]", "[field]\nletters = \"upper\"\n[test]", "field.usual: the name must have 1 to 40 upper-case letters"),
    ("[test]", "[field]\nmax = 41\n[test]", "field.max: max is 1 to 40"),
    ("[test]", "[field]\nown = [\"hs_*_date\"]\n[test]", "field.own: \"hs_*_date\": * is allowed only at the end"),
    ("[test]", "[field]\nown = [\"hs_**\"]\n[test]", "field.own: \"hs_**\": * is allowed only at the end"),
    ("[test]", "[[error]]\nclass = \"gone\"\n[test]", "it would match every answer"),
    (
        "{contact.id}\" }",
        "{contact.id}\" }\nerrors = [{ status = [404], class = \"gone\" }]",
        "actions.delete.errors: a path that does not exist is answered with 404, too; write at",
    ),
    (
        "[actions.delete]",
        "[ensure.tag.make]\nrequest = { post = \"/t\" }\n[actions.delete]",
        "ensure.tag: unused; name it in the ensure of an action",
    ),
    (
        "[actions.delete]",
        "[actions.delete.replace]\nread = { get = \"/contacts/{contact.id}\" }\nfrom = \"/a\"\nset = { b = 1 }\n[actions.delete]",
        "actions.delete.replace: replace requires [contacts.one]",
    ),
    (
        "[actions.delete]",
        "[actions.delete.replace]\nread = { get = \"/contacts/{contact.id}\" }\nfrom = \"/a\"\nadd = \"b\"\nwithout = [\"c\"]\n[actions.delete]",
        "actions.delete.replace.without: names members of an object; write it beside set",
    ),
    (
        "[actions.delete]",
        "[contacts.one]\nrequest = { get = \"/lists/{list.id}/{contact.id}\" }\n[actions.delete]",
        "contacts.one.request.get: {list.id} has no value here",
    ),
];

/// Customers who choose lists expect that a contact stays in the others.
#[test]
fn a_note_says_that_unsubscribing_reaches_beyond_the_chosen_lists() {
    for file in Catalog::embedded().iter().filter(|file| file.can_choose_lists()) {
        let Some(rule) = &file.actions.unsubscribe else { continue };
        let is_said = rule.note.as_ref().is_some_and(|note| note.contains("any list"));
        assert!(rule.scope == ContactScope::List || is_said, "{}", file.provider.name);
    }
}

/// A contact with a dead first address may be somebody's who reads mail at another one.
#[test]
fn a_note_says_that_a_contact_is_deleted_with_addresses_that_were_not_verified() {
    let is_one_of_several = |file: &&ConnectorFile| {
        let email = file.contacts.as_ref().map(|contacts| &contacts.fields.email);
        matches!(email, Some(Source::Pointer(place)) if place.contains("/0/"))
    };
    let files: Vec<_> = Catalog::embedded().iter().filter(is_one_of_several).collect();
    assert!(files.iter().any(|file| file.provider.slug == "keap"), "the search finds platforms");
    for file in files {
        let note = file.actions.delete.as_ref().map(|rule| rule.note.as_deref().unwrap_or_default());
        assert!(note.is_none_or(|note| note.contains("all of its addresses")), "{}", file.provider.name);
    }
}

#[test]
fn every_fault_names_its_place_and_what_would_be_right() {
    assert!(faults("[test]", "[test]").is_empty());
    for (from, to, expected) in FAULTS {
        let faults = faults(from, to);
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{to}: {faults:?}");
    }
}

#[test]
fn values_of_strangers_never_go_into_a_query_language() {
    let to = "request = { delete = \"/contacts\", query = { filter = \"equals(email,'{contact.email}')\" } }";
    let faults = faults("request = { delete = \"/contacts/{contact.id}\" }", to);
    assert!(faults.iter().any(|fault| fault.contains("stands within quotes")), "{faults:?}");
}

#[test]
fn capabilities_are_derived() {
    let file = ConnectorFile::parse("small.toml", SMALL, Origin::Operator).unwrap();
    assert!(file.is_beta());
    let lacks = file.capabilities().lacks();
    assert!(lacks.contains(&"actions.fix".to_owned()) && !lacks.contains(&"actions.delete".to_owned()));
}

#[test]
fn a_fault_names_the_line_of_its_key() {
    let line = |from: &str, to: &str| {
        let text = SMALL.replacen(from, to, 1);
        let faults = ConnectorFile::parse("small.toml", &text, Origin::Operator).unwrap_err();
        let line = faults[0].line.map(|line| text.lines().nth(line - 1).unwrap().to_owned());
        (line.unwrap_or_default(), faults[0].to_string())
    };
    for (from, to, expected) in [
        ("get = \"/me\"", "get = \"me\"", "request = { get = \"me\""),
        ("size = 10", "size = 100000", "size = 100000"),
        ("[test]", "[rate]\nconcurrency = 0\n[test]", "concurrency = 0"),
        ("slug = \"small\"", "slug = \"Small!\"", "slug = \"Small!\""),
    ] {
        let (line, fault) = line(from, to);
        assert!(line.contains(expected), "{fault}: {line}");
    }
}

#[test]
fn an_operators_file_replaces_a_shipped_one_and_no_other() {
    let named = |slug: &str| SMALL.replace("\"small\"", &format!("\"{slug}\""));
    let (alias, replacing) = (named("kit"), named("brevo"));
    let faults = Catalog::embedded().with_texts([("kit.toml", alias.as_str())]).unwrap_err();
    assert!(faults[0].what.contains("another connector"), "{}", faults[0]);
    let faults = Catalog::embedded().with_texts([("a.toml", replacing.as_str()), ("b.toml", &replacing)]).unwrap_err();
    assert!(faults[0].to_string().starts_with("b.toml: provider.slug: \"brevo\""), "{}", faults[0]);
    let catalog = Catalog::embedded().with_texts([("a.toml", replacing.as_str()), ("small.toml", SMALL)]).unwrap();
    assert!(catalog.get("small").unwrap().is_beta());
    assert_eq!(catalog.get("brevo").unwrap().origin, Origin::Operator);
    assert_eq!(catalog.get("sendinblue").unwrap().provider.slug, "brevo", "its aliases stay");
}

#[test]
fn only_an_operators_file_may_name_a_host_without_tls() {
    let text = SMALL.replacen("base = \"{credential.url}/api\"", "base = \"http://127.0.0.1:9000/api\"", 1);
    assert!(ConnectorFile::parse("small.toml", &text, Origin::Operator).is_ok());
    assert!(ConnectorFile::parse("small.toml", &text, Origin::Embedded).is_err());
}

#[test]
fn a_directory_is_read_and_every_fault_in_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("small.toml"), SMALL).unwrap();
    std::fs::write(directory.path().join("notes.txt"), "not a connector").unwrap();
    let catalog = Catalog::embedded().with_directory(directory.path()).unwrap();
    assert_eq!(catalog.iter().count(), Catalog::texts().len() + 1);
    std::fs::write(directory.path().join("a.toml"), "slug = 1").unwrap();
    std::fs::write(directory.path().join("b.toml"), "x".repeat(300 << 10)).unwrap();
    let faults = Catalog::embedded().with_directory(directory.path()).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[1].what.contains("at most"), "{}", faults[1]);
    assert!(Catalog::embedded().with_directory(&directory.path().join("missing")).is_err());
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    let page = include_str!("../../../../docs/connectors.md");
    let blocks = |fence| page.split(fence).skip(1).map(|rest: &str| rest.split_once("```").expect("its end").0);
    let text: String = blocks("```toml\n").collect();
    let file = ConnectorFile::parse("example", &text, Origin::Operator).expect("examples that are right");
    assert!(file.capabilities().has(ActionKind::Tag) && file.hook_of_polls().is_some());
    // The same platform with an access token has these credentials and hosts instead.
    let token: String = blocks("```toml token\n").collect();
    let (before, rest) = text.split_once("[[credential]]").expect("credentials");
    let (_, after) = rest.split_once("[test]").expect("a test");
    let text = format!("{before}{token}\n[test]{after}");
    let file = ConnectorFile::parse("example", &text, Origin::Operator).expect("an example with a token");
    assert!(file.token.is_some());
}
