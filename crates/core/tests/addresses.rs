//! Tables of addresses and what becomes of them.

use probity_core::address::{Address, AddressError};

/// A labelled list of one's own (JSON lines with `address`, and `rfc5321`: `ok`, `ok_flagged`, `invalid`,
/// `reject_policy`): `ADDRESS_CASES=list.jsonl cargo test -p probity-core --test addresses -- --ignored --nocapture`.
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
        let outcome = Address::parse(address);
        cases += 1;
        let row = format!(
            "{address:?}: labelled {label} {}, is {}\n",
            case["why"],
            shown(&outcome)
        );
        let class = match &outcome {
            Ok(_) => "ok",
            Err(error) if error.reason.is_policy() => "reject_policy",
            Err(_) => "invalid",
        };
        if outcome.is_ok() != label.starts_with("ok") {
            wrong.push_str(&row);
        } else if !label.starts_with(class) {
            class_differs.push_str(&row);
        }
    }
    println!(
        "{cases} cases; wrongly accepted or refused:\n{wrong}refused for another class of reason:\n{class_differs}"
    );
    assert!(wrong.is_empty());
}

fn shown(outcome: &Result<Address, AddressError>) -> String {
    match outcome {
        Ok(address) => {
            let mut path = Vec::new();
            address.write_path(&mut path);
            let mut shown = String::from_utf8(path).expect("a path is UTF-8");
            if address.needs_smtputf8() {
                shown.push_str(" (SMTPUTF8)");
            }
            shown
        }
        Err(error) => format!("{} at {}", error.reason.token(), error.at),
    }
}
