//! Texts of all kinds, as rows.

use proptest::prelude::*;

use super::*;
use crate::split::Dialect;

const PASTED: TextHint = TextHint {
    pasted: true,
    form: Some(TextForm::Lines),
    delimiter: None,
    encoding: None,
    named: false,
    by_name: false,
};

fn read(bytes: &[u8]) -> (TextForm, Vec<Vec<String>>) {
    let mut rows = TextRows::open(bytes, TextHint::default()).unwrap();
    let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
    (rows.layout().form, read)
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn rows_over_several_lines_with_addresses_are_remarked() {
    let swallowed = "name,email\n\"Ann,a@x.org\nBob,b@x.org,extra\nCid,c@x.org\n\"Dee\",d@x.org\n";
    let note = "email,note\na@x.org,\"see\nb@x.org wrote\"\n";
    for (text, count) in [(swallowed, 1), (note, 0)] {
        let mut rows = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
        while rows.next_row().unwrap().is_some() {}
        assert_eq!(rows.records().remarks().spanned, Oddity { count, line: 2 * count }, "{text}");
    }
}

#[test]
fn forms_are_seen_and_read() {
    type Case = (&'static [u8], TextForm, &'static [&'static [&'static str]]);
    let table: [Case; 19] = [
        (b"email,name\na@x.org,\"A, \"\"B\"\"\"\n", TextForm::Csv, &[&["email", "name"], &["a@x.org", "A, \"B\""]]),
        (b"n;email\n\"two\nlines\";a@x.org\n;\n\n", TextForm::Csv, &[&["n", "email"], &["two\nlines", "a@x.org"]]),
        (b"sep=;\r\nemail;a,b\r\na@x.org;c,d\r\n", TextForm::Csv, &[&["email", "a,b"], &["a@x.org", "c,d"]]),
        (b"a@x.org\n\n  b@x.org \n", TextForm::Lines, &[&["a@x.org"], &["b@x.org"]]),
        (b"email\na@x.org\n", TextForm::Csv, &[&["email"], &["a@x.org"]]),
        (b"{\"email\":\"a@x.org\"}\nno\n", TextForm::Json, &[&["{\"email\":\"a@x.org\"}"], &["no"]]),
        (b"email;ort\na@x.org;K\xf6ln\n", TextForm::Csv, &[&["email", "ort"], &["a@x.org", "Köln"]]),
        (b"email\tn\ra@x.org\t1\r", TextForm::Csv, &[&["email", "n"], &["a@x.org", "1"]]),
        (b"\xef\xbb\xbfemail\na@x.org", TextForm::Csv, &[&["email"], &["a@x.org"]]),
        (b"\"sep=;\"\remail;n\ra@x.org;c,d\n", TextForm::Csv, &[&["email", "n"], &["a@x.org", "c,d"]]),
        (b"sep=\t\nemail\tn\na@x.org\tc\n", TextForm::Csv, &[&["email", "n"], &["a@x.org", "c"]]),
        (b"email,n\na@x.org,b\0\0\n,\0\n", TextForm::Csv, &[&["email", "n"], &["a@x.org", "b\0\0"]]),
        (b"email\n\x1a", TextForm::Csv, &[&["email"]]),
        (b"n,email\n\"A,a@x.org\nB,b@x.org\n", TextForm::Csv, &[&["n", "email"], &["A", "a@x.org"], &["B", "b@x.org"]]),
        // Quotes around each line, and one that is part of an address.
        (b"\"a@x.org\"\n\"Lee, B <b@x.org>\"\n", TextForm::Csv, &[&["a@x.org"], &["Lee, B <b@x.org>"]]),
        (b"\"a b\"@x.org\nb@x.org\n", TextForm::Lines, &[&["\"a b\"@x.org"], &["b@x.org"]]),
        // A quote by mistake behind a line that is none of the rows.
        (
            b"\"sep=;\"\nn;email\n\"A;a@x.org\nB;b@x.org\n",
            TextForm::Csv,
            &[&["n", "email"], &["A", "a@x.org"], &["B", "b@x.org"]],
        ),
        (
            b"May, 2024, all\nn,email\n\"A,a@x.org\nB,b@x.org\"\nC,c@x.org\nD,d@x.org\n",
            TextForm::Csv,
            &[&["n", "email"], &["A", "a@x.org"], &["B", "b@x.org"], &["C", "c@x.org"], &["D", "d@x.org"]],
        ),
        // The second byte of a character in Shift_JIS may be a bar, and that of the next one an at sign.
        (
            b"\x8e\x81\x96\xbc|\x83\x81\x81[\x83\x8b\r\n\x83|\x83C\x83\x93\x83g|a@x.org\r\n\x83t\x83@|b@x.org\r\n",
            TextForm::Csv,
            &[&["氏名", "メール"], &["ポイント", "a@x.org"], &["ファ", "b@x.org"]],
        ),
    ];
    for (bytes, form, rows) in table {
        assert_eq!(read(bytes), (form, rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()));
    }
    assert_eq!(read(&wide("email;n\r\nj\u{f6}@x.org;1\r\n")).1, [["email", "n"], ["jö@x.org", "1"]]);
}

/// A file, the lines above its header, and its rows.
type Titled = (&'static str, &'static [&'static str], &'static [&'static [&'static str]]);

#[test]
fn what_stands_above_the_header_is_kept_apart() {
    let table: [Titled; 5] = [
        (
            "Contacts of May;;\r\n;;\r\nName;Email;City\r\nAnn;a@x.org;Bonn\r\n",
            &["Contacts of May;;", ";;"],
            &[&["Name", "Email", "City"], &["Ann", "a@x.org", "Bonn"]],
        ),
        ("sep=;\nMay, all\nn;email\n1;a@x.org\n", &["sep=;", "May, all"], &[&["n", "email"], &["1", "a@x.org"]]),
        ("May\n\nemail\na@x.org\n\n", &["May", ""], &[&["email"], &["a@x.org"]]),
        // None of these is a title.
        ("old@x.org,1\nemail,n\na@x.org,2\n", &[], &[&["old@x.org", "1"], &["email", "n"], &["a@x.org", "2"]]),
        ("Ann,1\nemail,n\n", &[], &[&["Ann", "1"], &["email", "n"]]),
    ];
    for (text, above, expected) in table {
        let mut rows = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
        let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
        assert_eq!(rows.above(), above, "{text:?}");
        assert_eq!(read, expected, "{text:?}");
    }
}

#[test]
fn a_row_in_one_quoted_cell_is_unpacked_where_all_rows_are() {
    let twice = "\"Name,Email\"\r\n\"Ann,a@x.org\"\r\n\"\"\"Roe, Bob\"\",b@x.org\"\r\n";
    assert_eq!(read(twice.as_bytes()).1, [["Name", "Email"], ["Ann", "a@x.org"], ["Roe, Bob", "b@x.org"]]);
    for text in
        ["\"Name,Email\"\n\"Lee, Ann,a@x.org\"\n\"Bob,b@x.org\"\n", "\"Lee, Ann;a@x.org\"\n\"Bob,Jr;b@x.org;1\"\n"]
    {
        let mut rows = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
        assert!(matches!(rows.next_row(), Err(FileFault::WrappedRows)), "{text}");
    }
    for text in ["\"Name,Email\"\n\"Ann,a@x.org\"\nBob\n", "\"Doe, Ann <a@x.org>\"\n\"Roe, Bob <b@x.org>\"\n"] {
        assert!(read(text.as_bytes()).1.iter().all(|row| row.len() == 1), "{text}");
    }
}

#[test]
fn the_name_of_a_file_makes_no_columns_of_recipients() {
    let hint = TextHint { form: Some(TextForm::Csv), by_name: true, ..TextHint::default() };
    let mut rows = TextRows::open(&b"a@x.org; b@x.org; c@x.org"[..], hint).unwrap();
    let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
    assert_eq!(read, [["a@x.org"], ["b@x.org"], ["c@x.org"]]);
    assert_eq!(TextRows::open(&b"a@x.org\nb@x.org\n"[..], hint).unwrap().layout().form, TextForm::Csv);
}

#[test]
fn rows_are_named_by_their_first_line() {
    let text = "sep=;\nn;email\n\n\"two\nlines\";a@x.org\n3;b@x.org\n";
    let mut rows = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
    let lines: Vec<u64> = std::iter::from_fn(|| rows.next_row().unwrap().map(|_| rows.line())).collect();
    assert_eq!(lines, [2, 4, 6]);
}

#[test]
fn what_was_pasted_is_lines_whatever_it_looks_like() {
    let text = "{\"a\":1}\n[x]\na,b\n\"open\nemail\n";
    let mut rows = TextRows::open(text.as_bytes(), PASTED).unwrap();
    let read: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
    assert_eq!(read, [["{\"a\":1}"], ["[x]"], ["a,b"], ["\"open"], ["email"]]);
}

#[test]
fn recipients_are_rows_of_their_own_where_text_was_pasted() {
    let text = "a@x.org, \"B; C\" <b@x.org>;\n\nDoe, Ann <c@x.org>\nd@x.org,nonsense\ne@x.org\n";
    let mut rows = TextRows::open(text.as_bytes(), PASTED).unwrap();
    let found: Vec<Vec<String>> = std::iter::from_fn(|| rows.next_row().unwrap()).collect();
    let expected = ["a@x.org", "\"B; C\" <b@x.org>", "Doe, Ann <c@x.org>", "d@x.org,nonsense", "e@x.org"];
    assert_eq!(found, expected.map(|row| [row]));
    // So they are in a file that has nothing else.
    for text in ["a@x.org; b@x.org; C <c@x.org>", "a@x.org\nb@x.org; c@x.org\n", "a@x.org,b@x.org,\nc@x.org\n"] {
        assert_eq!(
            read(text.as_bytes()).1,
            [["a@x.org"], ["b@x.org"], [if text.contains('C') { "C <c@x.org>" } else { "c@x.org" }]]
        );
    }
    let two = [["a@x.org"], ["b@x.org"], ["c@x.org"], ["d@x.org"]];
    for text in [
        "a@x.org,b@x.org\nc@x.org,d@x.org\n",
        "a@x.org; b@x.org\nc@x.org; d@x.org\n",
        "To: a@x.org; b@x.org\nCc: 'c@x.org'; (d@x.org)\n",
    ] {
        assert_eq!(read(text.as_bytes()).1, two, "{text}");
    }
    // Columns that are named, or that somebody asks for.
    let rows = [["email", "other"], ["a@x.org", "b@x.org"]];
    assert_eq!(read(b"email,other\na@x.org,b@x.org\n").1, rows);
    let mut rows = TextRows::open(&b"a@x.org,b@x.org\n"[..], TextHint { named: true, ..TextHint::default() }).unwrap();
    assert_eq!(rows.next_row().unwrap().unwrap(), ["a@x.org", "b@x.org"]);
}

#[test]
fn what_cannot_be_rows_is_said_with_its_place() {
    let fault = |bytes: &[u8]| {
        let mut rows = match TextRows::open(bytes, TextHint::default()) {
            Ok(rows) => rows,
            Err(fault) => return fault.to_string(),
        };
        loop {
            match rows.next_row() {
                Ok(Some(_)) => {}
                Ok(None) => return String::new(),
                Err(fault) => return fault.to_string(),
            }
        }
    };
    assert_eq!(fault(b"a,b\nc,\"d\n"), "the quote opened in line 2 is never closed");
    let wide = ["a,".repeat(COLUMNS_MAX), "b\n".into()].concat();
    assert_eq!(fault(wide.as_bytes()), format!("row 1 has more than {COLUMNS_MAX} columns"));
    let long = ["email,n\na@x.org,".to_owned(), "x".repeat(CELL_MAX_BYTES + 1)].concat();
    assert_eq!(fault(long.as_bytes()), format!("row 2 has a cell of more than {CELL_MAX_BYTES} bytes"));
    assert!(fault(&vec![b'x'; 2 << 20]).starts_with("line 1 is too long"));
    assert_eq!(fault(b" [{\"email\":1}]"), FileFault::JsonArray.to_string());
}

#[test]
fn oddities_are_said_with_their_lines() {
    let text = b"n,email\n\"A,a@x.org\nB\0,b@x.org\nC,c@x.org\nJ\xf6rg,d@x.org\n";
    let mut rows = TextRows::open(&text[..], TextHint::default()).unwrap();
    let mut foreign = Vec::new();
    while let Some(record) = rows.next_record().unwrap() {
        foreign.extend(record.foreign.then_some(record.raw.line));
    }
    let odd = |line| crate::remarks::Oddity { count: 1, line };
    assert_eq!(
        rows.records().remarks(),
        TextRemarks { foreign: odd(5), nuls: odd(3), stray: odd(2), ..TextRemarks::default() }
    );
    assert_eq!(foreign, [5]);
}

#[test]
fn hidden_characters_around_an_address_are_remarked() {
    let text = "n,email\n1,a@x.org \n2,\u{a0}b@x.org\n3,\u{200b}\nJ\u{f6}rg\u{a0},c@x.org\u{200b}\n";
    let mut rows = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
    while rows.next_row().unwrap().is_some() {}
    assert_eq!(rows.records().remarks().hidden, Oddity { count: 2, line: 3 });
}

#[test]
fn blank_rows_are_counted_up_to_the_last_row() {
    let text = "\n email ,n\n\n,\na@x.org,1\n\nb@x.org,2\n,\n\n";
    let mut rows = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
    while rows.next_row().unwrap().is_some() {}
    assert_eq!(rows.records().remarks().blank, Oddity { count: 4, line: 1 });
}

#[test]
fn only_rows_that_are_not_utf8_are_guesses() {
    let text = b"email\ninfo@b\xc3\xbccher.de\na@\xe6\xf8.org\nb@b\xc3\xbccher.de\n";
    let mut rows = TextRows::open(&text[..], TextHint::default()).unwrap();
    let mut guesses = Vec::new();
    while rows.next_row().unwrap().is_some() {
        guesses.push(rows.is_guess());
    }
    assert_eq!(guesses, [false, false, true, false]);
}

proptest! {
    #[test]
    fn any_bytes_are_rows_or_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(mut rows) = TextRows::open(&bytes[..], TextHint::default()) {
            while let Ok(Some(row)) = rows.next_row() {
                prop_assert!(!row.is_empty() && row.len() <= COLUMNS_MAX);
            }
        }
    }

    #[test]
    fn records_are_the_whole_text(
        text in "([a-z@.,;\"\\\\|\t\r\n\u{e9}]|email|a@x\\.org,|\"b\", ?|,\n){0,60}",
        strange in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte) in strange {
            bytes.insert(at.index(bytes.len() + 1), byte);
        }
        let mut decoded = Vec::new();
        crate::encoding::Decoded::open(&bytes[..]).read_to_end(&mut decoded).unwrap();
        for form in [None, Some(TextForm::Csv)] {
            let Ok(mut rows) = TextRows::open(&bytes[..], TextHint { form, ..TextHint::default() }) else { continue };
            let (mut again, mut lines) = (Vec::new(), 0);
            let ended = loop {
                let Ok(next) = rows.next_record() else { break false };
                let Some(record) = next else { break true };
                prop_assert_eq!(record.raw.line, lines + 1);
                lines = record.raw.last_line;
                again.extend_from_slice(rows.records().bytes(&record));
                again.extend_from_slice(record.raw.end.bytes());
            };
            prop_assert!(decoded.starts_with(&again));
            prop_assert!(!ended || again.len() == decoded.len());
        }
    }

    #[test]
    fn cells_come_back_as_they_were_written(
        rows in prop::collection::vec(prop::collection::vec("[a-z@.,;\"\n\r ü]{0,12}", 3..4), 1..20),
    ) {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
        let text = ["\"email\",\"b\",\"c\"".to_owned()].into_iter().chain(rows.iter().map(line)).collect::<Vec<_>>();
        let text = text.join("\n") + "\n";
        let mut read = TextRows::open(text.as_bytes(), TextHint::default()).unwrap();
        prop_assume!(read.layout().dialect == Some(Dialect::separated(b',')));
        let all: Vec<Vec<String>> = std::iter::from_fn(|| read.next_row().unwrap()).skip(1).collect();
        let expected: Vec<_> = rows.into_iter().filter(|row| row.iter().any(|cell| !cell.trim().is_empty())).collect();
        prop_assert_eq!(all, expected);
    }
}
