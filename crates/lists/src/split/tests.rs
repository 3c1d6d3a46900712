//! Records in and out.

use super::*;

const CSV: Option<Dialect> = Some(Dialect { delimiter: b',', backslash: false });

/// Records with their ends, first lines and whether a quote in them opens by mistake; the same in pieces of any size.
fn split(input: &[u8], dialect: Option<Dialect>) -> Result<Vec<(String, Eol, u64, bool)>, FileFault> {
    let read = |size: usize| -> Result<Vec<_>, FileFault> {
        let mut splitter = Splitter::new(dialect);
        let mut all = Vec::new();
        let mut pieces = input.chunks(size);
        loop {
            while let Some(record) = splitter.next_record()? {
                let text = String::from_utf8(splitter.bytes(&record).to_vec()).unwrap();
                all.push((text, record.end, record.line, record.stray));
            }
            match pieces.next() {
                Some(piece) => splitter.text().extend_from_slice(piece),
                None if splitter.ended => return Ok(all),
                None => splitter.end(),
            }
        }
    };
    let whole = read(input.len().max(1))?;
    for size in [1, 3, 7] {
        assert_eq!(read(size)?, whole, "{size}");
    }
    Ok(whole)
}

fn texts(input: &str, dialect: Option<Dialect>) -> Vec<String> {
    split(input.as_bytes(), dialect).unwrap().into_iter().map(|(text, ..)| text).collect()
}

/// Work files outlive the program that wrote them.
#[test]
fn the_numbers_of_line_ends_stay() {
    for (end, code) in [(Eol::End, 0), (Eol::Lf, 1), (Eol::CrLf, 2), (Eol::Cr, 3)] {
        assert_eq!((end.code(), Eol::from_code(code)), (code, end));
    }
}

#[test]
fn records_keep_their_bytes() {
    let input = b"a,\"b\r\nc\",d\r\n\n\"x\"\"y\",z\nlast";
    let all = split(input, CSV).unwrap();
    let expected =
        [("a,\"b\r\nc\",d", Eol::CrLf, 1), ("", Eol::Lf, 3), ("\"x\"\"y\",z", Eol::Lf, 4), ("last", Eol::End, 5)];
    assert_eq!(all, expected.map(|(text, eol, line)| (text.to_owned(), eol, line, false)));
    let again: Vec<u8> = all.iter().flat_map(|(text, eol, ..)| [text.as_bytes(), eol.bytes()].concat()).collect();
    assert_eq!(again, input);
}

#[test]
fn any_line_end_ends_a_record() {
    for dialect in [None, CSV] {
        let all = split(b"a\rb\nc\r\nd\r\re\n\r", dialect).unwrap();
        let found: Vec<_> = all.iter().map(|(text, eol, line, _)| (text.as_str(), *eol, *line)).collect();
        let expected = [
            ("a", Eol::Cr, 1),
            ("b", Eol::Lf, 2),
            ("c", Eol::CrLf, 3),
            ("d", Eol::Cr, 4),
            ("", Eol::Cr, 5),
            ("e", Eol::Lf, 6),
            ("", Eol::Cr, 7),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn a_quote_within_a_field_opens_nothing() {
    assert_eq!(texts("a 5\" disk,x\nb,y\n", CSV).len(), 2);
    assert_eq!(texts("\"open\nstill\n", None).len(), 2);
}

#[test]
fn what_cannot_be_a_record_is_named_by_its_line() {
    assert!(matches!(split(b"a\n\"b\nc\n", CSV), Err(FileFault::OpenQuote(2))));
    assert!(matches!(split(b"a,b\nc,\"d\n", CSV), Err(FileFault::OpenQuote(2))));
    for end in ["", "\n"] {
        let long = format!("a\n{}{end}", "x".repeat(RECORD_MAX + 1));
        let mut splitter = Splitter::new(CSV);
        splitter.text().extend(long.bytes());
        splitter.next_record().unwrap();
        assert!(matches!(splitter.next_record(), Err(FileFault::RecordTooLong(2))));
    }
}

#[test]
fn a_quote_opened_by_mistake_swallows_no_row() {
    let row = |n: usize| format!("N{n},n{n}@x.org\n");
    let rows: String = (0..9).map(row).collect();
    let many: String = (0..90).map(row).collect();
    let head = "name,email\n";
    // Text, number of records, lines with a stray quote.
    let table: [(String, usize, &[u64]); 13] = [
        (format!("{head}\"{rows}\"Dee\",d@x.org\nE,e@x.org\n"), 12, &[2]),
        (format!("{head}\"{rows}"), 10, &[2]),
        (format!("{head}{}\"{many}", row(0)), 92, &[3]),
        (format!("{head}{}\"{many}E,e@x.org\"\nF,\"f\"\n", row(0)), 94, &[3, 93]),
        (format!("{head}\"A,a@x.org\nB,b@x.org\"\n"), 3, &[2, 3]),
        ("email\n\"a@x.org\nb@x.org\nc@x.org\nd@x.org\"\ne@x.org\n".into(), 6, &[2, 5]),
        // Fields with several lines.
        (format!("{head}\"Ann\nRoe\",a@x.org\n"), 2, &[]),
        (format!("{head}Ann,\"a@x.org\nb@x.org\"\n"), 2, &[]),
        (format!("{head}\"a, b\nc, d\",a@x.org\n"), 2, &[]),
        ("email,notes\nann@x.org,\"Hi\nregards, bob@x.org\"\n".into(), 2, &[]),
        ("email,notes\nann@x.org,\"Hi\nregards, bob@x.org\"\"\"\nb@x.org,\n".into(), 3, &[]),
        ("email,notes,n\nann@x.org,\"Hi, a\nregards, bob@x.org\",1\n".into(), 2, &[]),
        (format!("{head}\"{}\",a@x.org\n", "line\n".repeat(100)), 2, &[]),
    ];
    for (text, records, stray) in table {
        let all = split(text.as_bytes(), CSV).unwrap();
        let found: Vec<u64> = all.iter().filter(|(.., stray)| *stray).map(|(_, _, line, _)| *line).collect();
        assert_eq!((all.len(), found.as_slice()), (records, stray), "{text}");
        let again: Vec<u8> = all.iter().flat_map(|(text, eol, ..)| [text.as_bytes(), eol.bytes()].concat()).collect();
        assert_eq!(again, text.as_bytes());
    }
    // A row that is one only if its quotes mean nothing.
    let semicolons = Some(Dialect::separated(b';'));
    let all = split(b"a;b;c\n\"Bob;\"N\";\"y\"\n", semicolons).unwrap();
    assert_eq!(all.iter().map(|(.., stray)| *stray).collect::<Vec<_>>(), [false, true]);
    let cells: Vec<&[u8]> = literal_fields(b"\"Ann,a@x.org,\"b\",\",b@x.org\"", b',', 9).collect();
    assert_eq!(cells, [&b"Ann"[..], b"a@x.org", b"b", b"", b"b@x.org"]);
}

#[test]
fn lines_that_each_open_a_quote_take_no_quadratic_time() {
    const LINES: u64 = 2_000;
    for end in ["", "a\"b,c\n"] {
        let text = format!("email,k\n{}{end}", "a\",\"x\n".repeat(usize::try_from(LINES).unwrap()));
        let mut splitter = Splitter::new(CSV);
        splitter.text().extend_from_slice(text.as_bytes());
        splitter.end();
        while let Ok(Some(_)) = splitter.next_record() {}
        assert!(splitter.looks < 40 * LINES, "{}", splitter.looks);
    }
}

#[test]
fn backslashes_escape_where_the_dialect_says_so() {
    let escaped = Dialect { delimiter: b',', backslash: true };
    let text = "\"a \\\"b, c\\\" d\",\"C:\\\\\",\"x\\n\"\nnext";
    assert_eq!(texts(text, Some(escaped)).len(), 2);
    let first = texts(text, Some(escaped)).remove(0);
    let cells: Vec<_> = fields(first.as_bytes(), escaped).map(|raw| unquote(raw, escaped).into_owned()).collect();
    assert_eq!(cells, [&b"a \"b, c\" d"[..], b"C:\\", b"x\\n"]);
}

#[test]
fn fields_are_found_and_unquoted() {
    let comma = Dialect::separated(b',');
    let record = b"a,\"b,\"\"c\"\"\",,\"d\"e,5\"";
    let raw: Vec<&[u8]> = fields(record, comma).collect();
    assert_eq!(raw, [&b"a"[..], b"\"b,\"\"c\"\"\"", b"", b"\"d\"e", b"5\""]);
    let texts: Vec<String> =
        raw.iter().map(|raw| String::from_utf8(unquote(raw, comma).into_owned()).unwrap()).collect();
    assert_eq!(texts, ["a", "b,\"c\"", "", "de", "5\""]);
}
