//! Texts in and out, cut in every way.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, GBK, ISO_2022_JP, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253,
    WINDOWS_1254,
};

use super::*;

fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
    let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
    units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

/// Text, encoding and whether it was guessed; the same in pieces of any size.
fn decoded(bytes: &[u8]) -> (String, Encoding, bool) {
    let read = |size: usize| {
        let (mut transcoder, mut out) = (Transcoder::default(), Vec::new());
        for piece in bytes.chunks(size) {
            transcoder.push(piece, false, &mut out);
        }
        transcoder.push(b"", true, &mut out);
        (String::from_utf8(out).unwrap(), transcoder.encoding(), transcoder.is_guessed())
    };
    let whole = read(usize::MAX);
    for size in [1, 3, 1_000].into_iter().filter(|size| bytes.len() / size < 50_000) {
        assert_eq!(read(size), whole, "pieces of {size}");
    }
    whole
}

#[test]
fn every_customary_encoding_is_read() {
    let text = "email,name\njörg@example.com,Jörg \u{1f600}\n";
    let table = [
        (text.as_bytes().to_vec(), Encoding::Utf8),
        ([&[0xef, 0xbb, 0xbf], text.as_bytes()].concat(), Encoding::Utf8Bom),
        ([&[0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], text.as_bytes()].concat(), Encoding::Utf8Bom),
        (utf16(text, false, true), Encoding::Utf16Le),
        (utf16(text, true, true), Encoding::Utf16Be),
        (utf16(text, false, false), Encoding::Utf16Le),
        (utf16(text, true, false), Encoding::Utf16Be),
    ];
    for (bytes, encoding) in table {
        assert_eq!(decoded(&bytes), (text.to_owned(), encoding, false));
    }
    let text = "почта;имя\r\nanna@example.com;Анна\r\n";
    assert_eq!(decoded(&utf16(text, false, false)), (text.to_owned(), Encoding::Utf16Le, false));
}

#[test]
fn long_utf16_is_decoded_in_pieces() {
    let text = "ü@example.com\n".repeat(20_000);
    let mut out = String::new();
    Decoded::open(&utf16(&text, false, true)[..]).read_to_string(&mut out).unwrap();
    assert_eq!(out, text);
}

#[test]
fn older_encodings_are_detected() {
    let japanese = "会社名,部署,メールアドレス,備考\r\n株式会社サンプル,ファイナンス,kenji@example.com,ポイント表示\r\n東京商事|ソ能,営業,yuki@example.com,ﾃｽﾄ\r\n";
    let table = [
        (SHIFT_JIS, japanese),
        (EUC_JP, "会社名,メールアドレス\n株式会社サンプル,kenji@example.com\nファイナンス部,yuki@example.com\n"),
        (
            BIG5,
            "姓名,電子郵件,公司\n王小明,ming@example.com,台灣積體電路製造股份有限公司\n許功蓋,hsu@example.com,中華電信\n",
        ),
        (GBK, "姓名,电子邮件,公司\n王小明,ming@example.com,中国电信集团有限公司\n李建国,li@example.com,北京大学\n"),
        (EUC_KR, "이름,이메일,회사\n김철수,kim@example.com,삼성전자 주식회사\n이영희,lee@example.com,한국전력공사\n"),
        (WINDOWS_1251, "имя;почта\r\nИван Петров;ivan@example.com\r\nМария Смирнова;maria@example.com\r\n"),
        (WINDOWS_1252, "Name;E-Mail\r\nJörg Müller, Köln;joerg@example.com\r\nRenée François;renee@example.com\r\n"),
        (
            WINDOWS_1250,
            "Imię;Adres\r\nŁukasz Żółć, Gdańsk, ul. Wąska;lukasz@example.com\r\nŚwiętosław Błażej;s@example.com\r\n",
        ),
        (WINDOWS_1253, "Όνομα;Email\r\nΓιώργος Παπαδόπουλος, Αθήνα;g@example.com\r\nΕλένη;e@example.com\r\n"),
        (
            WINDOWS_1254,
            "Ad;E-posta\r\nŞükrü Çağlayan, Diyarbakır;s@example.com\r\nAyşe Yıldız, İzmir;a@example.com\r\n",
        ),
    ];
    for (encoding, text) in table {
        let (bytes, _, unmappable) = encoding.encode(text);
        assert!(!unmappable, "{}", encoding.name());
        let (found, as_what, _) = decoded(&bytes);
        assert_eq!((found.as_str(), as_what), (text, Encoding::Legacy(encoding)));
    }
    let text = "会社名,email\n株式会社,kenji@example.com\n";
    let bytes: Vec<u8> = text.split_inclusive('\n').flat_map(|line| ISO_2022_JP.encode(line).0.into_owned()).collect();
    assert_eq!(decoded(&bytes), (text.to_owned(), Encoding::Legacy(ISO_2022_JP), false));
}

#[test]
fn an_encoding_that_could_be_another_is_a_guess() {
    let of = |text: &str, encoding: &'static encoding_rs::Encoding| decoded(&encoding.encode(text).0).2;
    let names = "имя;почта\r\nИван Петров;ivan@example.com\r\nМария Смирнова;maria@example.com\r\n";
    assert!(!of(names, WINDOWS_1251));
    // Whatever is detected, a short text is no proof.
    let short = "имя;почта\r\nИван;ivan@почта.рф\r\nОльга;olga@почта.рф\r\n";
    let (text, _, guessed) = decoded(&WINDOWS_1251.encode(short).0);
    assert!(guessed || text == short);
    assert!(of("name\r\n\u{e6}\u{f8}\r\n", WINDOWS_1252), "two letters tell nothing");
    assert!(!decoded("email\njörg@example.com\n".as_bytes()).2);
}

#[test]
fn stray_lines_do_not_change_the_others() {
    let utf8 = "Jörg\nMüller\n".repeat(3);
    let mixed = [utf8.as_bytes(), b"K\xf6ln am Rhein\n", "naïve\n".as_bytes()].concat();
    let (text, encoding, _) = decoded(&mixed);
    assert_eq!((text, encoding), (format!("{utf8}Köln am Rhein\nnaïve\n"), Encoding::Utf8));
    let late = [utf8.repeat(20_000).as_bytes(), b"Jos\xe9\n"].concat();
    let (text, encoding, _) = decoded(&late);
    assert!(text.ends_with("Müller\nJosé\n") && encoding == Encoding::Utf8);
    // Most lines are Windows-1252, and one is UTF-8.
    let (text, encoding, _) = decoded(&[b"J\xf6rg M\xfcller\nK\xf6ln\n", "naïve\n".as_bytes()].concat());
    assert_eq!((text.as_str(), encoding), ("Jörg Müller\nKöln\nnaïve\n", Encoding::Legacy(WINDOWS_1252)));
}

#[test]
fn lines_of_utf8_do_not_tell_the_encoding_of_others() {
    let names = "имя;почта\r\nИван Петров;ivan@example.com\r\nМария Смирнова;maria@example.com\r\n";
    let utf8 = "Jörg Müller, Köln;joerg@example.com\r\nRenée François;renee@example.com\r\n".repeat(20);
    let mixed = [utf8.as_bytes(), &WINDOWS_1251.encode(names).0].concat();
    assert_eq!(decoded(&mixed).0, format!("{utf8}{names}"));
}

#[test]
fn foreign_lines_are_counted_where_they_are() {
    let (mut transcoder, mut out) = (Transcoder::default(), Vec::new());
    transcoder.push(b"a\r\nb\rJ\xf6rg\n\nK\xf6ln", true, &mut out);
    assert_eq!(transcoder.foreign(), Oddity { count: 2, line: 3 });
    assert_eq!(
        (transcoder.pass(2), transcoder.pass(4), transcoder.pass(4), transcoder.pass(5)),
        (false, true, false, true)
    );
}

#[test]
fn memory_does_not_grow_with_a_line() {
    let (mut transcoder, mut out) = (Transcoder::default(), Vec::new());
    for piece in [b"x".as_slice(), b"\xf6"] {
        let piece = piece.repeat(SAMPLE_BYTES);
        for _ in 0..64 {
            out.clear();
            transcoder.push(&piece, false, &mut out);
        }
        assert!(out.len() < 8 << 20);
        transcoder = Transcoder::default();
    }
}

#[test]
fn a_chosen_encoding_is_no_guess() {
    let bytes = b"email\nj@x.org\xe6\nb\xc3\xbc@x.org\n";
    let read = |word: &str, bytes: &[u8]| {
        let mut transcoder = Transcoder::reading(chosen(word));
        let mut out = Vec::new();
        transcoder.push(bytes, true, &mut out);
        (String::from_utf8(out).unwrap(), transcoder.is_guessed(), transcoder.encoding().word().into_owned())
    };
    let text = |letter: &str| format!("email\nj@x.org{letter}\nbü@x.org\n");
    for (word, letter) in [("windows-1252", "\u{e6}"), ("windows-1250", "\u{107}"), ("Windows-1251", "\u{436}")] {
        assert_eq!(read(word, bytes), (text(letter), false, word.to_lowercase()));
    }
    assert_eq!(read("shift_jis", b"\x83\x7c@x.org\n").0, "ポ@x.org\n");
    // A line that could be UTF-8 is in the chosen encoding if its letters are customary there; otherwise it is UTF-8.
    assert_eq!(read("shift_jis", b"\xc3\xa4,\xc3\xbc\n").0, "ﾃ､,ﾃｼ\n");
    assert_eq!(read("gbk", b"\xc4\xa3,\xc4\xaa\n").0, "模,莫\n");
    assert_eq!(read("shift_jis", "É,x\n".as_bytes()).0, "É,x\n");
    for (encoding, text) in [(SHIFT_JIS, "会社名@x.org\n"), (EUC_JP, "東京@x.org\n"), (BIG5, "王小明@x.org\n")]
    {
        let mixed = [&*encoding.encode(text).0, text.as_bytes()].concat();
        assert_eq!(read(encoding.name(), &mixed).0, text.repeat(2));
    }
    // A mark is worth more.
    let marked = [b"\xef\xbb\xbf", &bytes[..]].concat();
    assert_eq!(read("windows-1250", &marked), (text("\u{107}"), false, "utf-8-bom".to_owned()));
    assert_eq!(read("windows-1250", b"\xff\xfea\0\xe6\0").0, "aæ");
    assert_eq!(chosen("utf-8"), None);
}
