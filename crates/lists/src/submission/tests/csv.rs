//! CSV: separators, columns, headers, line ends and damage.

use super::*;
use crate::absent::{absence, cleaned, has_address};
use crate::remarks::Oddity;
use crate::split::RECORD_MAX;

const CSV: SubmissionFormat = SubmissionFormat::Csv;

#[test]
fn lists_of_all_kinds_are_read() {
    let two = ["a@x.com", "b@x.com"];
    let table: [(&str, &[&str]); 41] = [
        ("a@x.com\nb@x.com\n", &two),
        ("a@x.com\r\nb@x.com", &two),
        ("a@x.com\rb@x.com\r", &two),
        ("\n\r\n \n,,\na@x.com,x\n\n", &["a@x.com"]),
        ("\u{feff}a@x.com\n\n\r\n  \n,,\nb@x.com\n\n", &two),
        ("email\na@x.com\nb@x.com", &two),
        ("\u{feff}\"E-Mail\"\n\"a@x.com\"\n\"b@x.com\"", &two),
        ("Ann,a@x.com\nBob,b@x.com", &two),
        ("1;Ann;a@x.com\n2;Bob;b@x.com\n", &two),
        ("mail,a@x.com\nmail,b@x.com", &two),
        ("note,email\nAnn,a@x.com\n,b@x.com", &two),
        ("Kunde;E-Mail-Adresse\nA;a@x.com\nB;b@x.com", &two),
        ("hans mueller\na@x.com\nb@x.com", &["hans mueller", "a@x.com", "b@x.com"]),
        ("hans\na@x.com\n", &["hans", "a@x.com"]),
        ("Ann,ann@localhost\nBob,b@x.com", &["ann@localhost", "b@x.com"]),
        ("a@x.com,b@x.com\nc@x.com,d@x.com", &["a@x.com", "b@x.com", "c@x.com", "d@x.com"]),
        ("name,email\nAnna,a@x.com\n\"Bo, Jr\",b@x.com", &two),
        ("name;Email Address;note\nAnna;a@x.com;x\nBo;b@x.com", &two),
        ("id\temail_address\n1\ta@x.com\n2\tb@x.com\t", &two),
        ("mail,email\nno,a@x.com\nno,b@x.com", &two),
        ("a@x.com;Smith, Anna, Dr\nb@x.com;Bo", &two),
        ("a@x.com,Smith; Anna; Dr\nb@x.com,Bo", &two),
        ("email,note\na@x.com,\"several\nlines, and \"\"quotes\"\"\"\nb@x.com,5\" pipe", &two),
        ("\"first\nname\",email\nx,a@x.com\nx,b@x.com", &two),
        ("name,email\nAnna\nBo,b@x.com", &["b@x.com"]),
        ("name,email\nAnna,\u{a0}\nBo,b@x.com\nname,email\n,\u{1a}\n", &["b@x.com"]),
        ("a@x.com; b@x.com", &two),
        ("Ann Lee <a@x.com>, b@x.com\nc@x.com", &["Ann Lee <a@x.com>", "b@x.com", "c@x.com"]),
        ("Kontakt\nmailto:a@x.com\n'b@x.com'\nTotal: 2\n", &two),
        ("a@x.com\nno address\nb@x.com", &["a@x.com", "no address", "b@x.com"]),
        ("\"a\"\"b@x.com\"\n", &["a\"b@x.com"]),
        ("\"\"\"a b\"\"@x.com\",1\n", &["\"a b\"@x.com"]),
        (" a@x.com ,x\n", &[" a@x.com "]),
        ("Ann <a@x.com>\n\"Bo, Jr\" <b@x.com>\n", &["Ann <a@x.com>", "Bo, Jr <b@x.com>"]),
        ("1;Ann Lee <a@x.com>\n2;<b@x.com>", &["Ann Lee <a@x.com>", "<b@x.com>"]),
        ("<<<>>>\na@x.com\n", &["<<<>>>", "a@x.com"]),
        ("jörg@münchen.de\n", &["jörg@münchen.de"]),
        ("a\0@x.com\n\0\nb@x.com\n", &["a\0@x.com", "b@x.com"]),
        (
            "Roe, Ann <a@x.com>, Lee, Bob <b@x.com>\nDoe, Cid <c@x.com>, Poe, Dee <d@x.com>\ne@x.com\n",
            &["Roe, Ann <a@x.com>", "Lee, Bob <b@x.com>", "Doe, Cid <c@x.com>", "Poe, Dee <d@x.com>", "e@x.com"],
        ),
        (";a@x.com;b@x.com\nc@x.com\n", &["a@x.com", "b@x.com", "c@x.com"]),
        ("a@x.com,,,\n,,,\n,\" \",\nb@x.com,1,2,3,4,5,6,7,8,9", &two),
    ];
    for (body, addresses) in table {
        assert_eq!(rows(CSV, body), addresses, "{body:?}");
    }
}

#[test]
fn rows_without_an_address_are_counted_with_the_first_line() {
    let body = "name,email\n\nAnn,a@x.com\nBob,\n,\nname,email\nCid,c@x.com\n";
    let (submission, rows) = whole(CSV, body.as_bytes()).unwrap();
    assert_eq!(submission.left_out.rows, Oddity { count: 2, line: 4 });
    assert_eq!(rows, [b"a@x.com", b"c@x.com"]);
    let titled = "Contacts of May;;\r\n;;\r\nName;Email;City\r\nAnn;a@x.com;Bonn\r\nBob;b@x.com;Graz\r\n";
    let (submission, rows) = whole(CSV, titled.as_bytes()).unwrap();
    assert_eq!(submission.left_out.rows, Oddity::default());
    assert_eq!(rows, [b"a@x.com", b"b@x.com"]);
    let wrapped = "\"Name,Email\"\r\n\"Ann,a@x.com\"\r\n\"Bob,b@x.com\"\r\n";
    assert_eq!(whole(CSV, wrapped.as_bytes()).unwrap().1, [b"a@x.com", b"b@x.com"]);
    let others = "id,email,other\n1,a@x.com,b@x.com\n2,,\"c@x.com; d@x.com\"\n";
    let (submission, rows) = whole(CSV, others.as_bytes()).unwrap();
    assert_eq!(submission.left_out, LeftOut { rows: Oddity { count: 1, line: 3 }, others: 3, fields: vec![] });
    assert_eq!(rows, [b"a@x.com"]);
    let several = "id,email\n1,a@x.com\n2,\"b@x.com; c@x.com\"\n3,d@x.com e@x.com\n";
    let (submission, rows) = whole(CSV, several.as_bytes()).unwrap();
    assert_eq!(submission.left_out.rows, Oddity { count: 2, line: 3 });
    assert_eq!(rows, [b"a@x.com"]);
}

#[test]
fn other_columns_may_be_anything() {
    let outcome = cut(CSV, b"name,email\nJ\xf6rg,a@x.com\n\xff\xfe\0,b@x.com\n").unwrap();
    assert_eq!(outcome.1, [b"a@x.com", b"b@x.com"]);
    let long = format!("note,email\n{},a@x.com\n", "x".repeat(5_000));
    assert_eq!(whole(CSV, long.as_bytes()).unwrap().1, [b"a@x.com"]);
}

#[test]
fn faults_name_the_line() {
    let long = "x".repeat(1_025);
    let no_column = "no column is named `email`, and no field has an address; name the address column `email`";
    let (first, third) = (format!("line 1: {no_column}"), format!("line 3: {no_column}"));
    let several = "line 2: no row has just one address, and this is the first with several in one cell; give each a row of its own";
    let wrapped =
        "line 1: each row is in quotes as a whole, and its cells cannot be told apart; send it without these quotes";
    let table: [(Vec<u8>, &str); 16] = [
        (b"\"Name,Email\"\n\"Lee, Ann,a@x.com\"\n\"Bob,b@x.com\"\n".to_vec(), wrapped),
        (b"email,name\na@x.com ::: b@x.com,A\n".to_vec(), several),
        (b"Ann,Miller\nBob,Jones\n".to_vec(), &first),
        (b"\n\nfirst;last\n".to_vec(), &third),
        (b"".to_vec(), "the body has no address"),
        (b"\xef\xbb\xbf".to_vec(), "the body has no address"),
        (b"email\n\n,,\nhans\n".to_vec(), "the body has no address"),
        (b"\n\xff@x.com".to_vec(), "line 2: the address must be UTF-8"),
        (b"a@x.com\r\n\r\n\xff\r\n".to_vec(), "line 3: the address must be UTF-8"),
        (b"email,x\na@x.com,\"1\n2\n3\"\n\xff\n".to_vec(), "line 5: the address must be UTF-8"),
        (format!("a@x.com\n\n{long}\n").into_bytes(), "line 3: the address may have at most 1024 bytes"),
        (format!("a@x.com\n\"{long}\"\n").into_bytes(), "line 2: the address may have at most 1024 bytes"),
        (format!("@{long}\n").into_bytes(), "line 1: the address may have at most 1024 bytes"),
        (b"a@x.com\n\"b@x.com\nc@x.com\n".to_vec(), "line 2: a quote is not closed"),
        (b"a@x.com,\"b".to_vec(), "line 1: a quote is not closed"),
        (b"email\n\"".to_vec(), "line 2: a quote is not closed"),
    ];
    for (body, message) in table {
        assert_eq!(fault(CSV, &body), message, "{}", body.escape_ascii());
    }
    assert_eq!(rows(CSV, "x".repeat(1_022) + "@x")[0].len(), ADDRESS_MAX_BYTES);
}

#[test]
fn a_record_is_bounded_wherever_it_is_cut() {
    let record = |bytes: usize| format!("name,email\na,b@x.com\n{},c@x.com", "x".repeat(bytes - 8));
    let too_long = "a record may have at most 1048576 bytes; check for an unclosed quote";
    for size in [usize::MAX, 999, 65_536] {
        for end in ["", "\n", "\r\n"] {
            let fits = record(RECORD_MAX) + end;
            assert_eq!(read(CSV, 9, fits.as_bytes().chunks(size)).unwrap().1, [b"b@x.com", b"c@x.com"]);
            for over in [record(RECORD_MAX + 1), record(3 * RECORD_MAX)] {
                let fault = read(CSV, 9, (over + end).as_bytes().chunks(size)).unwrap_err();
                assert_eq!(fault.to_string(), format!("line 3: {too_long}"), "pieces of {size}");
            }
        }
        let head = "x".repeat(RECORD_MAX + 1);
        let fault = read(CSV, 9, head.as_bytes().chunks(size)).unwrap_err();
        assert_eq!(fault.to_string(), format!("line 1: {too_long}"), "pieces of {size}");
    }
}

proptest! {
    #[test]
    fn what_a_writer_quotes_is_read_back(
        cells in proptest::collection::vec(("[a-z@.\"',;\t\r\n é]{1,12}", "[a-z\",;\r\n]{0,12}"), 1..12),
        separator in prop::sample::select(vec![",", ";", "\t"]),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        size in 1..40_usize,
    ) {
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut body = format!("note{separator}email{end}");
        for (address, note) in &cells {
            body.extend([quote(note).as_str(), separator, &quote(address), end]);
        }
        let addresses = cells.iter().map(|(address, _)| cleaned(address).unwrap_or(address));
        let kept = addresses.filter(|address| absence(address, Some("email"), false).is_none());
        let expected: Vec<Vec<u8>> = kept.map(|address| address.as_bytes().to_vec()).collect();
        match read(CSV, 1_000, body.as_bytes().chunks(size)) {
            Ok((_, rows)) => prop_assert_eq!(rows, expected),
            Err(fault) => {
                prop_assert_eq!(fault, SubmissionFault::NoRows);
                prop_assert!(!expected.iter().any(|row| has_address(std::str::from_utf8(row).unwrap())));
            }
        }
    }
}
