use super::{Groups, PhraseBookBuilder};
use crate::classify::DialogParties;
use crate::classify::words::marked_between;

fn found(phrase: &str, text: &str) -> bool {
    let mut builder = PhraseBookBuilder::default();
    assert!(builder.add(phrase, 200));
    let mut wanted = Groups::default();
    wanted.insert(200);
    let classes = [
        ("who", &["user", "mail box*", "*用户*"][..]),
        ("gone", &["unknown", "not found"]),
        ("other", &["server*", "sender"]),
        ("lacking", &["*없는*", "*아닌*"]),
        ("host", &["*계정*", "*메일*"]),
        ("lost", &["lost*$", "gone$"]),
        ("behind", &["at", "in"]),
        ("link", &["to", "this", "*的*"]),
    ];
    let classes = classes.map(|(name, words)| (name.to_owned(), words.iter().map(|word| (*word).to_owned()).collect()));
    let (marked, _) = marked_between(text, &DialogParties::default());
    builder.build(&classes.into()).expect("a small book").find(&marked).contains_all(&wanted)
}

#[test]
fn phrases_are_whole_words_unless_starred() {
    assert!(found("spam", "This is SPAM!"));
    assert!(!found("spam", "antispam gateway") && !found("spam", "spamhaus"));
    assert!(found("spam*", "listed by Spamhaus") && found("*spam", "antispam"));
    assert!(found("user unknown", "<a@b>: User  unknown."));
}

#[test]
fn classes_stand_for_any_of_their_words() {
    assert!(found("<who> <gone>", "User not found") && found("<who> <gone>", "mail box unknown"));
    assert!(!found("<who> <gone>", "user x unknown") && found("<who> * <gone>", "user x unknown"));
    assert!(found("<lacking> <host>", "없는 메일 계정") && !found("<lacking> <host>", "없는 이 새 계정"));
    assert!(found("no such <who>", "no such user") && !found("no such <who>", "no such domain user"));
}

#[test]
fn a_closing_word_ends_its_clause_or_goes_on_with_the_recipient() {
    for text in [
        "<a@b>... unknown",
        "<a@b>: unknown. Mailer error",
        "<a@b>: unknown (in reply to RCPT)",
        "<a@b>: unknown user",
        "<a@b>: unknown to this user",
        "<a@b>: unknown 5.1.1",
        "<a@b>: unknown <c@d>",
        "<a@b>: unknown at servers",
    ] {
        assert!(found("{addr} unknown$", text), "{text}");
    }
    for text in
        ["<a@b>... unknown mailer error", "<a@b> unknown to clients", "<a@b>: unknown to this to this to this user"]
    {
        assert!(!found("{addr} unknown$", text) && found("{addr} unknown", text), "{text}");
    }
    assert!(found("<who> <lost>", "user lost.") && !found("<who> <lost>", "user losttes packet"));
    assert!(found("<lost> packet", "lost packet"), "only the last step closes a clause");
    for (text, is_closed) in
        [("未知", true), ("未知用户", true), ("未知的用户", true), ("未知错误", false), ("用户未知。", true)]
    {
        assert_eq!(found("*未知*$", text), is_closed, "{text}");
    }
    assert!(found("lost$", "lost, sorry") && !found("lost$", "lost packet"));
}

#[test]
fn stars_stand_for_a_short_stretch() {
    assert!(found("user * not found", "User john.doe not found"));
    assert!(found("user * not found", "user not found"));
    assert!(!found("user * not found", &format!("user {} not found", "x ".repeat(40))));
    assert!(!found("user * not found", "not found: user"));
    assert!(found("<who> ~ <gone>", "user joe unknown") && found("<who> ~ <gone>", "sender: user unknown"));
    for text in ["user: server not found", "user on servers not found", "user knows no sender: unknown"] {
        assert!(found("<who> * <gone>", text) && !found("<who> ~ <gone>", text), "{text}");
    }
    assert!(found("<who> ~ <gone>", "user, on our server: user unknown"), "the nearest noun counts");
    assert!(!found("<who> ~ <gone>", &format!("user {} unknown", "x ".repeat(20))));
    assert!(found("<who> ~ not in user table", "user not in user table"), "the next step has the noun again");
    assert!(found("a * b * c", "a x b y c") && !found("a * b * c", "a c b"));
}
