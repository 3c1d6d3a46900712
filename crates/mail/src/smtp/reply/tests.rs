//! Replies as servers send them, in whatever pieces they arrive: what is read, what is sloppy, what is refused, and the limits.
use proptest::prelude::*;

use super::*;

/// Everything that a stream yields, fed in pieces of the given sizes (the last size again and again).
fn read(stream: &[u8], pieces: &[usize]) -> Vec<Result<Reply, ReplyError>> {
    let mut parser = ReplyParser::new();
    let mut out = Vec::new();
    let (mut stream, mut number) = (stream, 0);
    while !stream.is_empty() {
        let size = pieces.get(number).or(pieces.last()).copied().unwrap_or(usize::MAX).clamp(1, stream.len());
        number += 1;
        let (mut piece, rest) = stream.split_at(size);
        stream = rest;
        while let Some(result) = parser.next(&mut piece) {
            out.push(result);
        }
        assert!(piece.is_empty());
        assert!(parser.line.len() < LINE_MAX_BYTES);
    }
    out
}

fn one(line: &[u8]) -> Reply {
    let mut replies = read(line, &[]);
    assert_eq!(replies.len(), 1, "{replies:?}");
    replies.remove(0).unwrap()
}

fn error(stream: &[u8]) -> ReplyError {
    read(stream, &[]).pop().unwrap().unwrap_err()
}

/// Line, code, enhanced code, text, nonconforming.
const ONE_LINE: [(&[u8], u16, &str, &str, bool); 35] = [
    (b"250 ok\r\n", 250, "", "ok", false),
    (b"250\r\n", 250, "", "", false),
    (b"250 \r\n", 250, "", "", false),
    (b"250 ok\n", 250, "", "ok", true),
    (b"250\tok\r\n", 250, "", "ok", true),
    (b"250ok\r\n", 250, "", "ok", true),
    (b"599 x\r\n", 599, "", "x", false),
    (b"354 go\r\n", 354, "", "go", false),
    (b"550 5.1.1 no such user\r\n", 550, "5.1.1", "no such user", false),
    (b"550 5.1.1: no such user\r\n", 550, "5.1.1", "no such user", false),
    (b"550 5.1.1 <a@b>: unknown\r\n", 550, "5.1.1", "<a@b>: unknown", false),
    (b"550 5.1.1\r\n", 550, "5.1.1", "", false),
    (b"550 #5.1.0 Address rejected.\r\n", 550, "5.1.0", "Address rejected.", false),
    (b"550 4.2.2 full\r\n", 550, "4.2.2", "full", false),
    (b"450 5.1.1 class differs\r\n", 450, "", "5.1.1 class differs", false),
    (b"250 4.1.1 class differs\r\n", 250, "", "4.1.1 class differs", false),
    (b"250 2.1.5 fine\r\n", 250, "2.1.5", "fine", false),
    (b"354 3.0.0 no such class\r\n", 354, "", "3.0.0 no such class", false),
    (b"550 5.1.2.3 is an address\r\n", 550, "", "5.1.2.3 is an address", false),
    (b"550 5.1.1234 too long\r\n", 550, "", "5.1.1234 too long", false),
    (b"550 5.1.1a\r\n", 550, "", "5.1.1a", false),
    (b"550 5.7.606 x\r\n", 550, "5.7.606", "x", false),
    (b"550 a\0b\x1b[31mc\x7f\r\n", 550, "", "a?b?[31mc?", true),
    (b"550 a\rb\r\n", 550, "", "a?b", true),
    (b"550 gr\xfc\xdfe\r\n", 550, "", "grüße", true),
    (b"550 l'exp\xe9diteur n'existe pas\r\n", 550, "", "l'expéditeur n'existe pas", true),
    (
        b"550 odes\xedlatele neexistuje, schr\xe1nka u\xbeivatele\r\n",
        550,
        "",
        "odesílatele neexistuje, schránka uživatele",
        true,
    ),
    (b"550 \xd3\xc3\xbb\xa7\xb2\xbb\xb4\xe6\xd4\xda\r\n", 550, "", "用户不存在", true),
    (b"550 \xb5o\xa5\xf3\xa4H\xa6a\xa7}\xb3Q\xa9\xda\xb5\xb4\r\n", 550, "", "發件人地址被拒絕", true),
    (
        b"550 \x91\x97\x90M\x8e\xd2\x82\xaa\x8b\x91\x94\xdb\x82\xb3\x82\xea\x82\xdc\x82\xb5\x82\xbd\r\n",
        550,
        "",
        "送信者が拒否されました",
        true,
    ),
    (
        b"550 \xbb\xe7\xbf\xeb\xc0\xda\xb8\xa6 \xc3\xa3\xc0\xbb \xbc\xf6 \xbe\xf8\xbd\xc0\xb4\xcf\xb4\xd9\r\n",
        550,
        "",
        "사용자를 찾을 수 없습니다",
        true,
    ),
    (
        b"550 \xd0\xcf\xcc\xd8\xda\xcf\xd7\xc1\xd4\xc5\xcc\xd8 \xce\xc5 \xce\xc1\xca\xc4\xc5\xce\r\n",
        550,
        "",
        "пользователь не найден",
        true,
    ),
    (
        b"550 \xa0\xa4\xe0\xa5\xe1 \xae\xe2\xaf\xe0\xa0\xa2\xa8\xe2\xa5\xab\xef \xae\xe2\xaa\xab\xae\xad\xf1\xad\r\n",
        550,
        "",
        "адрес отправителя отклонён",
        true,
    ),
    (b"550 \xd0\xbf\xd0\xbe\xd1\r\n", 550, "", "по\u{fffd}", true),
    (b"550 a\tb\r\n", 550, "", "a b", false),
];

#[test]
fn one_line_replies() {
    for (line, code, enhanced, text, nonconforming) in ONE_LINE {
        let reply = one(line);
        let found = reply.enhanced.map(|enhanced| enhanced.to_string()).unwrap_or_default();
        let shown = String::from_utf8_lossy(line);
        assert_eq!((reply.code, found.as_str()), (code, enhanced), "{shown:?}");
        assert_eq!((reply.text.as_str(), reply.nonconforming), (text, nonconforming), "{shown:?}");
    }
}

#[test]
fn valid_utf8_is_kept_and_marked_but_nothing_that_reorders_text() {
    let reply = one("550 Benutzer unbekannt: jürgen\u{202e}moc.\u{85}\r\n".as_bytes());
    assert_eq!(reply.text, "Benutzer unbekannt: jürgen?moc.?");
    assert!(reply.nonconforming);
}

#[test]
fn lines_are_joined_and_a_repeated_enhanced_code_is_kept_once() {
    let reply = one(b"550-5.1.1 The account\r\n550-5.1.1 does not exist.\r\n550-\r\n550 5.1.10 is another\r\n");
    assert_eq!(reply.enhanced, Some(Enhanced { class: 5, subject: 1, detail: 1 }));
    assert_eq!(reply.text, "The account  does not exist.  5.1.10 is another");
    assert!(!reply.nonconforming);
}

#[test]
fn only_the_first_line_gives_an_enhanced_code() {
    let reply = one(b"550-no\r\n550 5.1.1 user\r\n");
    assert_eq!((reply.enhanced, reply.text.as_str()), (None, "no  5.1.1 user"));
}

#[test]
fn lines_are_read_as_one_text() {
    use crate::classify::{DialogStage, Meaning, Rules};
    let read = |line| Rules::embedded().read(&one(line), DialogStage::Rcpt, None).meaning;
    assert_eq!(read(b"550-<joe@example.net>: unknown\r\n550 Goodbye\r\n"), Meaning::NoSuchUser);
    assert_eq!(read(b"550-The user does\r\n550 not exist\r\n"), Meaning::NoSuchUser);
    assert_ne!(read(b"550 <joe@example.net>: unknown  mailer\r\n"), Meaning::NoSuchUser);
}

#[test]
fn one_sloppy_line_marks_the_whole_reply() {
    assert!(one(b"250-a\n250 b\r\n").nonconforming);
    assert!(one(b"250-a\r\n250\tb\r\n").nonconforming);
}

#[test]
fn what_is_no_reply_is_an_error() {
    for line in [
        "\r\n",
        "25\r\n",
        "hello there\r\n",
        "000 x\r\n",
        "150 x\r\n",
        "600 x\r\n",
        "999 x\r\n",
        "2500 x\r\n",
        " 250 x\r\n",
        "25x x\r\n",
        "２５０ x\r\n",
    ] {
        assert_eq!(error(line.as_bytes()), ReplyError::BadCode, "{line:?}");
    }
    assert_eq!(error(b"250-a\r\nfree text\r\n250 b\r\n"), ReplyError::BadCode);
    assert_eq!(error(b"250-a\r\n550 b\r\n"), ReplyError::CodeChanged);
}

#[test]
fn an_error_comes_once_and_is_final() {
    let results = read(b"250 a\r\nnonsense\r\n250 b\r\n", &[]);
    assert_eq!(results.len(), 2);
    assert_eq!(results[1], Err(ReplyError::BadCode));
}

#[test]
fn a_line_may_have_2000_bytes_and_no_more() {
    let line = |len: usize| format!("250 {}\r\n", "x".repeat(len - 6)).into_bytes();
    assert_eq!(one(&line(LINE_MAX_BYTES)).text.len(), TEXT_MAX_BYTES);
    for pieces in [&[][..], &[1], &[LINE_MAX_BYTES - 1, 2], &[LINE_MAX_BYTES]] {
        assert_eq!(read(&line(LINE_MAX_BYTES + 1), pieces), [Err(ReplyError::LineTooLong)], "{pieces:?}");
    }
    // No line end at all: found when the limit is reached, not when the line ends.
    assert_eq!(error(&[b'2'; LINE_MAX_BYTES]), ReplyError::LineTooLong);
}

#[test]
fn a_reply_may_have_100_lines_and_16_kib() {
    let lines =
        |count: usize, text: &str| format!("{}250 end\r\n", format!("250-{text}\r\n").repeat(count - 1)).into_bytes();
    assert_eq!(one(&lines(100, "x")).code, 250);
    assert_eq!(error(&lines(101, "x")), ReplyError::TooManyLines);
    assert_eq!(error(&lines(20, &"x".repeat(1_000))), ReplyError::TooLong);
    assert_eq!(one(&lines(16, &"x".repeat(1_000))).text.len(), TEXT_MAX_BYTES);
}

#[test]
fn the_text_ends_at_a_character_and_is_a_prefix() {
    let reply = one(format!("250-{}ü\r\n250 tail\r\n", "x".repeat(TEXT_MAX_BYTES - 1)).as_bytes());
    let cut = "x".repeat(TEXT_MAX_BYTES - '…'.len_utf8()) + "…";
    assert_eq!(reply.text, cut);
    let reply = one(format!("250-{}\r\n250 tail\r\n", "x".repeat(TEXT_MAX_BYTES - 1)).as_bytes());
    assert_eq!(reply.text, cut, "the tail is behind the cut");
}

#[test]
fn each_line_is_shown_as_it_completes() {
    let mut parser = ReplyParser::new();
    let mut lines = Vec::new();
    for mut piece in [&b"250-mx.exa"[..], b"mple\r\n250-PIPE", b"LINING\r\n", b"250 SIZE 5\r\n"] {
        let _ = parser.next_with(&mut piece, |number, line| {
            lines.push((number, line.to_vec()));
        });
    }
    let expected: Vec<(u32, Vec<u8>)> =
        vec![(0, b"mx.example".to_vec()), (1, b"PIPELINING".to_vec()), (2, b"SIZE 5".to_vec())];
    assert_eq!(lines, expected);
}

/// Streams that look like replies, so that the interesting paths are reached.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[245][0-9]{2}[- \t][ -~]{0,40}\r\n".prop_map(String::into_bytes),
        2 => Just(b"250-5.1.1 x\r\n".to_vec()),
        2 => Just(b"250 2.1.5 x\n".to_vec()),
        1 => Just(vec![b'x'; 1990]),
        1 => proptest::collection::vec(any::<u8>(), 0..30),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_cut_of_the_stream_does_not_matter(stream in stream(), pieces in proptest::collection::vec(1_usize..80, 1..30)) {
        let whole = read(&stream, &[]);
        prop_assert_eq!(&read(&stream, &pieces), &whole);
        prop_assert_eq!(&read(&stream, &[1]), &whole);
    }

    #[test]
    fn a_reply_is_printable_and_bounded(stream in stream()) {
        for reply in read(&stream, &[]).into_iter().flatten() {
            prop_assert!((200..600).contains(&reply.code));
            prop_assert!(reply.text.len() <= TEXT_MAX_BYTES);
            prop_assert!(!reply.text.chars().any(char::is_control));
            prop_assert_eq!(reply.text.trim_end(), &reply.text);
            let class = reply.enhanced.map_or(reply.code / 100, |enhanced| u16::from(enhanced.class));
            prop_assert!(class == reply.code / 100 || (class == 4 && reply.code >= 500));
        }
    }
}
