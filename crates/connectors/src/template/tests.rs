use super::*;

struct One(Value);

impl PlaceholderValues for One {
    fn lookup(&self, _: &Placeholder) -> Option<Value> {
        Some(self.0.clone())
    }
}

fn filled(template: &str, value: impl Into<Value>) -> Result<Option<String>, UnfitValue> {
    Template::parse(template).unwrap().fill(&One(value.into()), &|text| Ok(text.to_owned()))
}

#[test]
fn placeholders_are_filled_in_and_filtered() {
    let cases = [
        ("/a/{contact.id}/b", Value::from("7"), "/a/7/b"),
        ("{credential.key|after_last(\"-\")}", Value::from("abc-us19"), "us19"),
        ("{credential.key|base64}", Value::from("a:b"), "YTpi"),
        ("{since|date}", Value::from(1_795_341_600_000_i64), "2026-11-22"),
        ("{since|unix}", Value::from(1_795_341_600_000_i64), "1795341600"),
        ("{{x}}", Value::Null, "{x}"),
    ];
    for (template, value, expected) in cases {
        let is = filled(template, value).unwrap().unwrap();
        assert_eq!(is, expected, "{template}");
    }
}

#[test]
fn the_hash_is_that_of_the_lower_case_address() {
    // https://mailchimp.com/developer/marketing/docs/methods-parameters/ has this pair.
    let hash = filled("{contact.email|md5_lower}", "Urist.McVankab@freddiesjokes.com").unwrap().unwrap();
    assert_eq!(hash, "62eeb292278cc15f5817cb78f7790b08");
}

#[test]
fn what_does_not_exist_is_named_with_what_does() {
    let message = |template: &str| Template::parse(template).unwrap_err();
    assert!(message("{contact.mail}").contains("of contact there are id, email"));
    assert!(message("{person.id}").contains("begin with credential, token, list, contact"));
    assert!(message("{since.now}").contains("write {since}"));
    assert!(message("{contact.id|reverse}").contains("there are md5_lower"));
    assert!(message("{contact.id").contains("no partner"));
    assert!(message("contact.id}").contains("no partner"));
}

#[test]
fn a_missing_or_unfit_value_names_the_placeholder_and_not_the_value() {
    let fault = filled("{credential.key|after_last(\"-\")}", "secret").unwrap_err();
    assert!(fault.message().contains("{credential.key}") && !fault.message().contains("secret"));
    let fault = filled("{contact.id|number}", "seven").unwrap_err();
    assert!(fault.message().contains("{contact.id}") && !fault.message().contains("seven"));
}

#[test]
fn a_whole_placeholder_keeps_its_type() {
    let body: toml::Value = toml::from_str("a = '{field.value}'\nb = 'x {field.value}'\nc = [1, true]").unwrap();
    let body = JsonTemplate::of(body, 0).unwrap();
    let filled = body.fill(&One(Value::from(5))).unwrap().unwrap();
    assert_eq!(filled, serde_json::json!({"a": 5, "b": "x 5", "c": [1, true]}));
}
