//! Servers that offer PIPELINING and cannot do it: a group that fails is repeated one command at a time.

use std::sync::Arc;

use probity_engine::verifier::Verifier as _;
use probity_mail::policy::PaceProfile;
use probity_mailworld::{Mailboxes, Personality, World};

use crate::evil::{Say, Wrong, lab};
use crate::world::{brief, fresh_call};

/// What a server makes of a group of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Says nothing.
    Silence,
    /// Loses MAIL, so that RCPT comes out of turn and one reply is missing.
    LosesMail,
    /// Knows no command but the first.
    Unknown,
    /// Takes us for a client that talks out of turn, and closes.
    Synchronization,
    /// Answers as it does to single commands.
    Right,
}

fn reply(line: &str) -> &'static str {
    match line.split(' ').next().unwrap_or_default() {
        "" => "220 mx.one.example.com ESMTP\r\n",
        "EHLO" => "250-mx.one.example.com\r\n250 PIPELINING\r\n",
        "RCPT" if !line.contains("<ann@") => "550 5.1.1 no such user\r\n",
        "QUIT" => "221 bye\r\n",
        _ => "250 ok\r\n",
    }
}

fn replies(group: Group, lines: &[String], rset: &'static str) -> Vec<Say> {
    let text = |text: &str| vec![Say::Text(text.to_owned())];
    if lines.len() > 1 {
        match group {
            Group::Silence => return Vec::new(),
            Group::LosesMail => {
                return text("503 5.5.1 need MAIL before RCPT\r\n503 5.5.1 need MAIL before RCPT\r\n250 ok\r\n");
            }
            Group::Unknown => {
                let rest = "502 5.5.2 command not recognized\r\n".repeat(lines.len() - 2);
                return text(&format!("250 ok\r\n{rest}250 ok\r\n"));
            }
            Group::Synchronization => {
                return vec![Say::Text("554 SMTP synchronization error\r\n".into()), Say::Close];
            }
            Group::Right => {}
        }
    }
    lines.iter().map(|line| Say::Text(if line == "RSET" { rset } else { reply(line) }.into())).collect()
}

fn world() -> Arc<World> {
    World::builder()
        .site("one.example.com", Mailboxes::only(&["ann"]), Personality::default())
        .build()
        .expect("a world")
}

fn wrong(group: Group, rset: &'static str) -> Wrong {
    Wrong { script: Some(Arc::new(move |lines: &[String]| replies(group, lines, rset))), ..Wrong::default() }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_fails_is_repeated_in_lock_step_and_the_host_is_remembered() {
    for group in [Group::Silence, Group::LosesMail, Group::Unknown, Group::Synchronization] {
        for (local, expected) in [("ann", "passed/valid/"), ("nobody", "undeliverable/nonexistent/")] {
            let (lab, seen) = lab(&world(), wrong(group, "250 ok\r\n"), |config| config.profile = PaceProfile::Polite);
            let email = format!("{local}@one.example.com");
            let said = lab.batch(std::slice::from_ref(&email)).await;
            assert!(brief(&said[0]).starts_with(expected), "{group:?}: {:?}", said[0].verdict);
            assert_eq!(seen.dials(), 2, "{group:?}: one session in groups, one in lock step");
            let other = lab.engine.verify("somebody@one.example.com", fresh_call()).await;
            assert!(brief(&other).starts_with("undeliverable/nonexistent/"), "{group:?}: {:?}", other.verdict);
            assert_eq!(seen.dials(), 3, "{group:?}: the host is asked in lock step at once");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_rset_takes_no_reply_back() {
    for group in [Group::Right, Group::Silence] {
        for (local, expected) in [("ann", "passed/valid/"), ("nobody", "undeliverable/nonexistent/")] {
            let rset = "502 5.5.1 command not implemented\r\n";
            let (lab, _) = lab(&world(), wrong(group, rset), |config| config.profile = PaceProfile::Polite);
            let said = lab.batch(&[format!("{local}@one.example.com")]).await;
            assert!(brief(&said[0]).starts_with(expected), "{group:?}: {:?}", said[0].verdict);
        }
    }
}
