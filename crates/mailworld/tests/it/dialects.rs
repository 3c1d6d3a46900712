//! The dialects against the rules that judge replies: what a simulated server means is what `probity-mail` reads.

use probity_mail::classify::{AboutUs, DialogParties, DialogStage, Meaning, Rules};
use probity_mail::smtp::reply::ReplyParser;
use probity_mailworld::{At, MailboxState, Mailboxes, Personality, ServerDialect, World};

use crate::dialogue::Client;

/// The id by which the rules know the provider that speaks a dialect; the general rules are for servers of anybody.
fn provider(dialect: &str) -> Option<&str> {
    match dialect {
        "default" | "postfix" | "postgrey" | "exim" | "qmail" | "sendmail" | "exchange" | "amazonses" => None,
        "outlook_com" => Some("outlook"),
        provider => Some(provider),
    }
}

fn meaning(text: &str, dialect: &str, recipient: &str) -> Meaning {
    let bytes = text.replace('\n', "\r\n") + "\r\n";
    let reply = ReplyParser::new().next(&mut bytes.as_bytes()).unwrap().unwrap();
    let parties = DialogParties { recipient, ..DialogParties::default() };
    Rules::embedded().read_between(&reply, DialogStage::Rcpt, provider(dialect), &parties).meaning
}

/// Whether a reading fits what the mailbox is.
fn fits(local: &str, dialect: &str, read: Meaning) -> bool {
    match local {
        "anna" => read == Meaning::Accepted,
        // Microsoft 365 has one text for recipients that are not there and for domains that it does not know.
        "nobody" if dialect == "microsoft365" => read == Meaning::AccessDenied,
        // Postal has one for them and for clients that must log in.
        "nobody" if dialect == "postal" => read == Meaning::AboutUs(AboutUs::AuthRequired),
        // These two make no difference between closed and never opened.
        "gone7" if matches!(dialect, "outlook_com" | "microsoft365") => read == Meaning::NoSuchUser,
        "nobody" => read == Meaning::NoSuchUser,
        "gone7" => read == Meaning::Deactivated,
        "filled" => read == Meaning::InboxFull,
        "fuller" => read == Meaning::QuotaTemporary,
        "list" => read == Meaning::Restricted,
        "busy" => read == Meaning::Exists,
        "broken" => read == Meaning::ServerTemporary,
        "shy" => matches!(read, Meaning::AboutUs(_)),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn states_of_mailboxes_are_read_as_what_they_are() {
    let mut wrong = Vec::new();
    for dialect in ServerDialect::names() {
        let mailboxes = Mailboxes::only(&["anna"])
            .with("gone7", MailboxState::Disabled)
            .with("filled", MailboxState::Full)
            .with("fuller", MailboxState::FullForNow)
            .with("list", MailboxState::Restricted)
            .with("busy", MailboxState::OverRate)
            .with("broken", MailboxState::Unavailable)
            .with("shy", MailboxState::Blocked);
        let world = World::builder().site("a.test", mailboxes, Personality::speaking(dialect)).build().unwrap();
        let net = world.net(1);
        let mut client = Client::open(&net, "mx.a.test").await;
        client.greet().await;
        for local in ["anna", "nobody", "gone7", "filled", "fuller", "list", "busy", "broken", "shy"] {
            let recipient = format!("{local}@a.test");
            let text = client.rcpt(&recipient).await;
            let read = meaning(&text, dialect, &recipient);
            if !fits(local, dialect, read) {
                wrong.push(format!("{dialect} {local}: {read:?}: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn other_phrases_are_read_as_what_they_are() {
    for dialect in ServerDialect::names() {
        for (phrase, expected) in [
            ("greylisted", Meaning::Greylisted),
            ("greylisted_hint", Meaning::Greylisted),
            ("in_progress", Meaning::InProgress),
            ("relay_denied", Meaning::NotResponsible),
            ("cannot_verify", Meaning::CannotVerify),
            ("too_many_recipients", Meaning::SessionLimit),
        ] {
            let personality = Personality::speaking(dialect).refusing(At::Rcpt, phrase);
            let world = World::builder().site("a.test", Mailboxes::default(), personality).build().unwrap();
            let mut client = Client::open(&world.net(1), "mx.a.test").await;
            client.greet().await;
            let text = client.rcpt("anna@a.test").await;
            // Yandex does not call its greylisting by its name.
            let vague = (dialect, phrase) == ("yandex", "greylisted");
            let expected = if vague { Meaning::ServerTemporary } else { expected };
            assert_eq!(meaning(&text, dialect, ""), expected, "{dialect} {phrase}: {text}");
        }
    }
}
