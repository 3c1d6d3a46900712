//! Tables of addresses and what becomes of them.

use probity_mail::address::{Address, AddressError};

const TABLE: &str = include_str!("data/addresses.txt");

/// Every rule of the table; all failures are shown at once.
#[test]
fn the_table_of_addresses_holds() {
    let (mut rule, mut cases, mut failures) = ("", 0, Vec::new());
    for (index, line) in TABLE.lines().enumerate() {
        if line.starts_with('[') {
            rule = line;
        } else if let Some((text, expected)) = line.split_once(" => ").filter(|_| !rule.is_empty()) {
            cases += 1;
            let text = unescaped(text);
            let outcome = outcome(&text);
            let expected = match expected.strip_prefix("ok") {
                Some("") => format!("ok {text}"),
                _ => unescaped(expected),
            };
            if outcome != expected {
                failures.push(format!("line {}, {rule}: {line}\n    is {outcome}", index + 1));
            }
        }
    }
    assert!(cases > 250, "only {cases} cases were found");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

fn outcome(text: &str) -> String {
    match Address::parse(text) {
        Ok(address) => {
            let path = path(&address);
            assert_eq!(Address::parse(&path), Ok(address), "{path:?} reads as another address");
            format!("ok {path}")
        }
        Err(error) => shown(error),
    }
}

fn path(address: &Address) -> String {
    let mut path = Vec::new();
    address.write_path(&mut path);
    String::from_utf8(path).expect("a path is UTF-8")
}

fn shown(error: AddressError) -> String {
    let policy = if error.reason.is_policy() { "policy " } else { "" };
    format!("{policy}{} at {}", error.reason.as_str(), error.at)
}

/// Resolves the escapes that the head of the table describes.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '<']) {
        plain += &rest[..at];
        rest = &rest[at..];
        if let Some((unit, times, behind)) = repetition(rest) {
            plain += &unescaped(unit).repeat(times);
            rest = behind;
        } else if let Some((code, behind)) = rest.strip_prefix("\\u{").and_then(|r| r.split_once('}')) {
            let code = u32::from_str_radix(code, 16).expect("hexadecimal digits");
            plain.push(char::from_u32(code).expect("a character"));
            rest = behind;
        } else if let Some(escape) = rest.strip_prefix('\\') {
            let escaped = escape.chars().next().expect("something is escaped");
            plain.push(match escaped {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                's' => ' ',
                '\\' => '\\',
                other => panic!("unknown escape \\{other}"),
            });
            rest = &escape[1..];
        } else {
            plain.push('<');
            rest = &rest[1..];
        }
    }
    plain + rest
}

fn repetition(text: &str) -> Option<(&str, usize, &str)> {
    let (inside, behind) = text.strip_prefix("<<")?.split_once(">>")?;
    let (unit, times) = inside.split_once('*')?;
    Some((unit, times.parse().ok()?, behind))
}

/// A labelled list of one's own (JSON lines with `address`, and `rfc5321`: `ok`, `ok_flagged`, `invalid`,
/// `reject_policy`): `ADDRESS_CASES=list.jsonl cargo test -p probity-mail --test addresses -- --ignored --nocapture`.
#[test]
#[ignore = "needs a list of labelled addresses named by ADDRESS_CASES"]
fn a_labelled_list_is_read_as_labelled() {
    let path = std::env::var_os("ADDRESS_CASES").expect("ADDRESS_CASES names a file");
    let text = std::fs::read_to_string(path).unwrap();
    let (mut cases, mut wrong, mut class_differs) = (0, String::new(), String::new());
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let address = case["address"].as_str().unwrap();
        let label = case["rfc5321"].as_str().unwrap();
        cases += 1;
        let read = outcome(address);
        let row = format!("{address:?}: labelled {label} {}, is {read}\n", case["why"]);
        let class = match read.split(' ').next() {
            Some("ok") => "ok",
            Some("policy") => "reject_policy",
            _ => "invalid",
        };
        if (class == "ok") != label.starts_with("ok") {
            wrong.push_str(&row);
        } else if !label.starts_with(class) {
            class_differs.push_str(&row);
        }
    }
    println!(
        "{cases} cases; wrongly accepted or refused:\n{wrong}refused for another class of reason:\n{class_differs}"
    );
    assert!(cases > 0 && wrong.is_empty());
}
