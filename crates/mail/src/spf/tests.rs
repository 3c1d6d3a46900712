//! Records of a small DNS, and what they come to.

use super::*;

/// A small DNS: `name TXT text`, `name MX host`, `name A address`, `name FAIL`.
fn zone(lines: &[&str]) -> BTreeMap<(String, Kind), Answer> {
    let mut zone: BTreeMap<(String, Kind), Answer> = BTreeMap::new();
    for line in lines {
        let mut words = line.splitn(3, ' ');
        let (name, kind, value) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or(""));
        let (kind, record) = match kind {
            "TXT" => (Kind::Txt, Record::Txt(value.into())),
            "MX" => (Kind::Mx, Record::Mx { preference: 10, host: value.into() }),
            "A" => (Kind::A, Record::Address(value.parse().unwrap())),
            "AAAA" => (Kind::Aaaa, Record::Address(value.parse().unwrap())),
            _ => {
                zone.insert((name.into(), Kind::Txt), Answer::Failed(crate::dns::DnsFailure::ServFail));
                continue;
            }
        };
        match zone.entry((name.to_owned(), kind)).or_insert_with(|| Answer::Records(vec![])) {
            Answer::Records(records) => records.push(record),
            _ => unreachable!("only records are added"),
        }
    }
    zone
}

/// Runs an evaluation to its end; also gives the number of different look-ups.
fn run(lines: &[&str], ip: &str) -> (Outcome, usize) {
    let zone = zone(lines);
    let mut answers = Answers::new();
    loop {
        match check(ip.parse().unwrap(), "example.org", &answers) {
            Step::Done(outcome) => return (outcome, answers.len()),
            Step::Ask(name, kind) => {
                let answer = zone.get(&(name.clone(), kind)).cloned().unwrap_or(Answer::NoName);
                assert!(answers.insert((name, kind), answer).is_none(), "asked twice");
            }
        }
    }
}

#[test]
fn records_are_read_as_the_rfc_says() {
    let table: &[(&[&str], &str, Outcome)] = &[
        (&[], "192.0.2.1", Outcome::None),
        (&["example.org TXT v=spf10 +all"], "192.0.2.1", Outcome::None),
        (&["example.org FAIL"], "192.0.2.1", Outcome::TempError),
        (&["example.org TXT v=spf1"], "192.0.2.1", Outcome::Neutral),
        (&["example.org TXT v=spf1 ip4:192.0.2.0/24 -all"], "192.0.2.1", Outcome::Pass),
        (&["example.org TXT V=SPF1 IP4:192.0.2.0/24 -ALL"], "192.0.2.1", Outcome::Pass),
        (&["example.org TXT v=spf1 ip4:192.0.2.0/24 -all"], "192.0.3.1", Outcome::Fail),
        (&["example.org TXT v=spf1 ip4:192.0.2.1 ~all"], "192.0.2.2", Outcome::SoftFail),
        (&["example.org TXT v=spf1 ip4:0.0.0.0/0 -all"], "203.0.113.9", Outcome::Pass),
        (&["example.org TXT v=spf1 ip6:2001:db8::/32 -all"], "2001:db8:1::1", Outcome::Pass),
        (&["example.org TXT v=spf1 ip6:2001:db8::/32 -all"], "192.0.2.1", Outcome::Fail),
        (&["example.org TXT v=spf1 a -all", "example.org A 192.0.2.1"], "192.0.2.1", Outcome::Pass),
        (&["example.org TXT v=spf1 a/24 -all", "example.org A 192.0.2.1"], "192.0.2.77", Outcome::Pass),
        (&["example.org TXT v=spf1 a//64 -all", "example.org AAAA 2001:db8::1"], "2001:db8::2", Outcome::Pass),
        (&["example.org TXT v=spf1 a:h.example.org -all", "h.example.org A 192.0.2.1"], "192.0.2.1", Outcome::Pass),
        (
            &["example.org TXT v=spf1 mx -all", "example.org MX m.test", "m.test A 192.0.2.1"],
            "192.0.2.1",
            Outcome::Pass,
        ),
        (
            &["example.org TXT v=spf1 include:i.test -all", "i.test TXT v=spf1 ip4:192.0.2.1"],
            "192.0.2.1",
            Outcome::Pass,
        ),
        (&["example.org TXT v=spf1 include:i.test ~all", "i.test TXT v=spf1 -all"], "192.0.2.1", Outcome::SoftFail),
        (&["example.org TXT v=spf1 redirect=r.test", "r.test TXT v=spf1 -all"], "192.0.2.1", Outcome::Fail),
        (
            &["example.org TXT v=spf1 redirect=r.test ip4:192.0.2.1", "r.test TXT v=spf1 -all"],
            "192.0.2.1",
            Outcome::Pass,
        ),
        (&["example.org TXT v=spf1 exists:e.test -all", "e.test A 127.0.0.2"], "192.0.2.1", Outcome::Pass),
        (&["example.org TXT v=spf1 exists:%{i}.e.test -all"], "192.0.2.1", Outcome::Undecided),
        (&["example.org TXT v=spf1 ptr -all"], "192.0.2.1", Outcome::Undecided),
        (&["example.org TXT v=spf1 ip4:192.0.2.1 ptr -all"], "192.0.2.1", Outcome::Pass),
        (&["example.org TXT v=spf1 exp=x.test foo=bar -all"], "192.0.2.1", Outcome::Fail),
    ];
    for (lines, ip, expected) in table {
        assert_eq!(&run(lines, ip).0, expected, "{lines:?} {ip}");
    }
}

#[test]
fn wrong_records_are_permanent_errors() {
    let table: &[&[&str]] = &[
        &["example.org TXT v=spf1 -all", "example.org TXT v=spf1 +all"],
        &["example.org TXT v=spf1 foo -all"],
        &["example.org TXT v=spf1 ip4:nonsense -all"],
        &["example.org TXT v=spf1 ip4:192.0.2.0/33 -all"],
        &["example.org TXT v=spf1 a/33 -all"],
        &["example.org TXT v=spf1 include: -all"],
        &["example.org TXT v=spf1 include:none.test -all"],
        &["example.org TXT v=spf1 redirect=none.test"],
        &["example.org TXT v=spf1 a:x.test a:y.test a:z.test -all"],
    ];
    for lines in table {
        assert!(matches!(run(lines, "192.0.2.1").0, Outcome::PermError(_)), "{lines:?}");
    }
}

#[test]
fn a_record_that_includes_itself_ends_at_the_tenth_look_up() {
    let (outcome, lookups) = run(&["example.org TXT v=spf1 include:example.org -all"], "192.0.2.1");
    assert_eq!(outcome, Outcome::PermError("more than ten look-ups"));
    assert_eq!(lookups, 1);
}

#[test]
fn an_exchanger_list_is_bounded() {
    let mut lines = vec!["example.org TXT v=spf1 mx -all".to_owned()];
    lines.extend((0..11).map(|n| format!("example.org MX m{n}.test")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert!(matches!(run(&lines, "192.0.2.1").0, Outcome::PermError(_)));
}
