//! Each setting of a personality, by what it does to a dialogue.

use std::sync::Arc;
use std::time::Duration;

use probity_mailworld::{MailboxState, Mailboxes, MemoryNet, Personality, World};

use crate::dialogue::{Client, dial, now, source};

/// One domain `a.test` with the mailboxes anna and bert and one of each other state.
pub(crate) fn world(personality: Personality) -> Arc<World> {
    let mailboxes = Mailboxes::only(&["anna", "bert"])
        .with("gone", MailboxState::Disabled)
        .with("full", MailboxState::Full)
        .with("fuller", MailboxState::FullForNow)
        .with("list", MailboxState::Restricted)
        .with("busy", MailboxState::OverRate)
        .with("broken", MailboxState::Unavailable)
        .with("shy", MailboxState::Blocked);
    World::builder()
        .site("a.test", mailboxes.clone(), personality)
        .zone("b.test", probity_mailworld::Zone::served_by(&["mx.a.test"]).with_mailboxes(mailboxes))
        .build()
        .unwrap()
}

fn net(preset: &str) -> Arc<MemoryNet> {
    world(Personality::preset(preset).unwrap()).net(1)
}

/// Connects, greets and asks for anna.
async fn asked(preset: &str, rcpt: &str) -> String {
    let mut client = Client::open(&net(preset), "mx.a.test").await;
    client.greet().await;
    client.rcpt(rcpt).await
}

#[tokio::test(start_paused = true)]
async fn an_honest_server_tells_each_state_of_a_mailbox() {
    let net = net("honest");
    let mut client = Client::open(&net, "mx.a.test").await;
    let hello = client.greet().await;
    for extension in ["PIPELINING", "STARTTLS", "SMTPUTF8", "SIZE"] {
        assert!(hello.contains(extension), "{hello}");
    }
    for (local, start) in [
        ("anna", "250 2.1.5"),
        ("ANNA", "250 2.1.5"),
        ("nobody", "550 5.1.1"),
        ("gone", "550 5.2.1"),
        ("full", "552 5.2.2"),
        ("fuller", "452 4.2.2"),
        ("list", "550 5.7.1"),
        ("busy", "450 4.2.1"),
        ("broken", "451 4.3.0"),
        ("shy", "554 5.7.1"),
    ] {
        let reply = client.rcpt(&format!("{local}@a.test")).await;
        assert!(reply.starts_with(start), "{local}: {reply}");
    }
    assert!(client.rcpt("anna@elsewhere.test").await.starts_with("554 5.7.1 <anna@elsewhere.test>: Relay"));
    assert!(client.say("QUIT").await.starts_with("221"));
    assert_eq!(client.reply().await, "<closed>");
    assert_eq!(net.host("mx.a.test").rcpt, 11);
    assert_eq!(net.host("mx.a.test").errors, 0);
}

#[tokio::test(start_paused = true)]
async fn a_pipelined_flight_is_answered_in_order() {
    let net = net("honest");
    let mut client = Client::open(&net, "mx.a.test").await;
    client.reply().await;
    client.say("EHLO probe.test").await;
    client.send("MAIL FROM:<>\r\nRCPT TO:<anna@a.test>\r\nRCPT TO:<x@a.test>\r\nRSET\r\nQUIT\r\n").await;
    for start in ["250 2.1.0", "250 2.1.5", "550 5.1.1", "250 2.0.0", "221"] {
        assert!(client.reply().await.starts_with(start));
    }
}

#[tokio::test(start_paused = true)]
async fn the_order_of_commands_and_their_syntax_matter() {
    let mut client = Client::open(&net("honest"), "mx.a.test").await;
    client.reply().await;
    for (command, code) in [
        ("MAIL FROM:<a@b>", "503"),
        ("EHLO", "501"),
        ("EHLO probe.test", "250"),
        ("RCPT TO:<anna@a.test>", "503"),
        ("MAIL FROM:a@b", "501"),
        ("MAIL FROM:<a@b> NONSENSE", "555"),
        ("MAIL FROM:<a@b> BODY=8BITMIME", "250"),
        ("MAIL FROM:<a@b>", "503"),
        ("RCPT TO:anna@a.test", "501"),
        ("RCPT TO:<anna@a.test> X=1", "555"),
        ("RCPT TO:<änna@a.test>", "553"),
        ("RCPT TO:<anna@a.test>", "250"),
        ("RSET", "250"),
        ("DATA", "503"),
        ("FLY", "500"),
        ("NOOP", "250"),
        ("VRFY anna", "252"),
    ] {
        let reply = client.say(command).await;
        assert!(reply.starts_with(code), "{command}: {reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_to_rcpt_by_kind() {
    for (preset, rcpt, start) in [
        ("catch_all", "nobody@a.test", "250"),
        ("cannot_verify", "anna@a.test", "252"),
        ("relay_denied", "anna@a.test", "554"),
        ("blocks_rcpt", "anna@a.test", "554 5.7.1 Service"),
        ("blocks_rcpt_for_now", "anna@a.test", "450 4.7.1"),
        ("callout", "anna@a.test", "450 4.1.1"),
        ("google", "nobody@a.test", "550-5.1.1"),
        ("microsoft365", "nobody@a.test", "550 5.4.1"),
        ("outlook_com", "nobody@a.test", "550 5.5.0"),
        ("yahoo", "nobody@a.test", "250"),
        ("orange", "full@a.test", "552 5.1.1"),
        ("yandex", "nobody@a.test", "550 5.7.1 No such user"),
        ("proofpoint", "nobody@a.test", "421 4.1.1"),
        ("silent_at_rcpt", "anna@a.test", "<silent>"),
        ("closes_at_rcpt", "anna@a.test", "<closed>"),
        ("no_line_end", "anna@a.test", "<silent>"),
        ("code_mismatch", "anna@a.test", "550-first\n250 2.1.5"),
        ("bad_code", "anna@a.test", "999"),
        ("nul", "anna@a.test", "250 2.1.5 Ok \0 nul"),
        ("eight_bit", "anna@a.test", "250 2.1.5 Ok Empf\u{fffd}nger"),
    ] {
        let reply = asked(preset, rcpt).await;
        assert!(reply.starts_with(start), "{preset}: {reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn greylisting_remembers_client_sender_and_recipient() {
    let net = net("greylister");
    let from = |address: &'static str| {
        let net = Arc::clone(&net);
        async move {
            let mut client = dial(&net, "mx.a.test", source(address)).await.unwrap();
            client.greet().await;
            client.rcpt("anna@a.test").await
        }
    };
    assert!(from("203.0.113.7").await.contains("(in 300 seconds)"));
    tokio::time::advance(Duration::from_secs(200)).await;
    assert!(from("203.0.113.7").await.starts_with("450"), "an early retry is refused again");
    tokio::time::advance(Duration::from_secs(101)).await;
    assert!(from("203.0.113.8").await.starts_with("450"), "another client starts from the beginning");
    assert!(from("203.0.113.7").await.starts_with("250"), "the early retry has not restarted the wait");
}

#[tokio::test(start_paused = true)]
async fn a_callout_becomes_the_truth() {
    let net = net("callout");
    for (wait_s, anna, nobody) in [(0, "450 4.1.1", "450 4.1.1"), (6, "250", "550 5.1.1")] {
        tokio::time::advance(Duration::from_secs(wait_s)).await;
        let mut client = Client::open(&net, "mx.a.test").await;
        client.greet().await;
        assert!(client.rcpt("anna@a.test").await.starts_with(anna));
        assert!(client.rcpt("nobody@a.test").await.starts_with(nobody));
    }
}

#[tokio::test(start_paused = true)]
async fn harvesters_are_blocked_dropped_or_lied_to() {
    for (preset, then) in [("blocks_after_misses", "554"), ("drops_after_misses", "421"), ("lies_after_misses", "250")]
    {
        let net = net(preset);
        let mut client = Client::open(&net, "mx.a.test").await;
        client.greet().await;
        for i in 0..10 {
            let reply = client.rcpt(&format!("nobody{i}@a.test")).await;
            assert!(reply.starts_with("550"), "{preset} {i}: {reply}");
        }
        let reply = client.rcpt("nobody@a.test").await;
        assert!(reply.starts_with(then), "{preset}: {reply}");
        let mut again = Client::open(&net, "mx.a.test").await;
        again.greet().await;
        assert!(again.rcpt("anna@a.test").await.starts_with(then), "{preset}: the client is remembered");
        let mut other = dial(&net, "mx.a.test", source("203.0.113.9")).await.unwrap();
        other.greet().await;
        assert!(other.rcpt("nobody@a.test").await.starts_with("550"), "{preset}: others are not meant");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_come_where_they_are_told_to() {
    for (preset, at) in [("blocks_banner", 0), ("blocks_ehlo", 1), ("blocks_mail", 2), ("blocks_rcpt", 3)] {
        let mut client = Client::open(&net(preset), "mx.a.test").await;
        let mut replies = vec![client.reply().await];
        for command in ["EHLO probe.test", "MAIL FROM:<me@probe.test>", "RCPT TO:<anna@a.test>"].iter().take(at) {
            replies.push(client.say(command).await);
        }
        for (i, reply) in replies.iter().enumerate() {
            assert_eq!(reply.starts_with("554"), i == at, "{preset}: {replies:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn limits_of_sessions_and_transactions() {
    let net_421 = net("says_421");
    let mut client = Client::open(&net_421, "mx.a.test").await;
    client.greet().await;
    for _ in 0..5 {
        assert!(client.rcpt("anna@a.test").await.starts_with("250"));
    }
    assert!(client.rcpt("anna@a.test").await.starts_with("421"));
    assert_eq!(net_421.host("mx.a.test").rcpt_after_421, 0);
    client.send("RCPT TO:<anna@a.test>\r\n").await;
    assert_eq!(client.reply().await, "<closed>");
    assert_eq!(net_421.host("mx.a.test").rcpt_after_421, 1, "going on after 421 is noticed");

    let mut client = Client::open(&net("few_recipients"), "mx.a.test").await;
    client.greet().await;
    for start in ["250", "250", "452 4.5.3"] {
        assert!(client.rcpt("anna@a.test").await.starts_with(start));
    }

    let mut client = Client::open(&net("google"), "mx.a.test").await;
    client.greet().await;
    assert!(client.rcpt("anna@a.test").await.starts_with("250"));
    assert!(client.rcpt("anna@b.test").await.starts_with("451 4.3.0"));

    let mut client = Client::open(&net("closes_early"), "mx.a.test").await;
    client.greet().await;
    client.rcpt("anna@a.test").await;
    client.rcpt("anna@a.test").await;
    assert_eq!(client.rcpt("anna@a.test").await, "<closed>");

    let hello = Client::open(&net("announced_limits"), "mx.a.test").await.greet().await;
    assert!(hello.contains("LIMITS RCPTMAX=10"), "{hello}");
}

#[tokio::test(start_paused = true)]
async fn errors_slow_the_server_down_and_then_end_it() {
    let mut client = Client::open(&net("error_limits"), "mx.a.test").await;
    client.greet().await;
    let mut took_s = Vec::new();
    for _ in 0..20 {
        let start = now();
        assert!(client.rcpt("nobody@a.test").await.starts_with("550"));
        took_s.push(start.elapsed().as_secs());
    }
    assert_eq!(took_s[..10], [0; 10]);
    assert_eq!(took_s[10..], [1; 10]);
    assert!(client.rcpt("nobody@a.test").await.starts_with("421 4.7.0"));
}

#[tokio::test(start_paused = true)]
async fn connections_of_one_client_are_counted_and_capped() {
    let net = net("few_connections");
    let mut first = Client::open(&net, "mx.a.test").await;
    let mut second = Client::open(&net, "mx.a.test").await;
    let mut third = Client::open(&net, "mx.a.test").await;
    assert!(first.reply().await.starts_with("220"));
    assert!(second.reply().await.starts_with("220"));
    assert!(third.reply().await.starts_with("421"));
    assert_eq!((net.host("mx.a.test").open, net.host("mx.a.test").most_from_one_source), (3, 3));
    drop((first, second, third));
    assert_eq!(net.host("mx.a.test").open, 0);
}

#[tokio::test(start_paused = true)]
async fn tarpits_and_drips_take_their_time() {
    let start = now();
    let mut client = Client::open(&net("tarpit"), "mx.a.test").await;
    client.greet().await;
    assert_eq!(start.elapsed().as_secs(), 60);

    let start = now();
    let banner = Client::open(&net("drip"), "mx.a.test").await.reply().await;
    let bytes = u64::try_from(banner.len()).unwrap() + 2;
    assert!(start.elapsed().as_secs().abs_diff(bytes) <= 1, "{banner}: {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn broken_streams() {
    let mut client = Client::open(&net("resets"), "mx.a.test").await;
    client.reply().await;
    client.say("EHLO probe.test").await;
    assert_eq!(client.say("MAIL FROM:<>").await, "<reset>");

    let mut client = Client::open(&net("resets_mid_reply"), "mx.a.test").await;
    client.greet().await;
    for _ in 0..20 {
        let reply = client.rcpt("nobody@a.test").await;
        if reply == "<reset>" {
            break;
        }
        assert!(reply.starts_with("550"));
    }
    assert!(!client.rest().is_empty(), "half a reply came before the reset");

    let banner = Client::open(&net("huge_banner"), "mx.a.test").await.reply().await;
    assert!(banner.len() > 60_000);

    let mut client = Client::open(&net("bare_lf"), "mx.a.test").await;
    client.send("EHLO probe.test\r\n").await;
    assert_eq!(client.reply().await, "220 mx.a.test ESMTP Postfix");
    client.reply().await;
    client.send("MAIL FROM:<>\r\nRCPT TO:<anna@a.test>\r\n").await;
    client.reply().await;
    assert_eq!(client.rest(), b"250 2.1.5 Ok\n");

    let mut client = Client::open(&net("twice"), "mx.a.test").await;
    client.greet().await;
    client.rcpt("anna@a.test").await;
    assert_eq!(client.reply().await, "250 2.1.5 Ok");

    let mut client = Client::open(&net("premature"), "mx.a.test").await;
    client.reply().await;
    client.say("EHLO probe.test").await;
    assert_eq!(client.rest(), b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n");
}

#[tokio::test(start_paused = true)]
async fn an_endless_reply_ends_when_the_client_goes() {
    let net = net("endless_reply");
    let mut client = Client::open(&net, "mx.a.test").await;
    client.reply().await;
    client.send("EHLO probe.test\r\n").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    drop(client);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let ended = net.trace().events().iter().any(|e| e.what == probity_mailworld::Happening::End);
    assert!(ended);
}

#[tokio::test(start_paused = true)]
async fn pipelining_that_does_not_work_loses_the_commands() {
    for (preset, offered, second) in [
        ("drops_early_input", false, "<silent>"),
        ("offers_and_drops_early_input", true, "<silent>"),
        ("no_pipelining", false, "250 2.1.5 Ok"),
    ] {
        let mut client = Client::open(&net(preset), "mx.a.test").await;
        client.reply().await;
        assert_eq!(client.say("EHLO probe.test").await.contains("PIPELINING"), offered, "{preset}");
        client.send("MAIL FROM:<>\r\nRCPT TO:<anna@a.test>\r\n").await;
        assert_eq!(client.reply().await, "250 2.1.0 Ok");
        assert_eq!(client.reply().await, second, "{preset}");
    }
}

#[tokio::test(start_paused = true)]
async fn old_servers() {
    let mut client = Client::open(&net("helo_only"), "mx.a.test").await;
    client.reply().await;
    assert!(client.say("EHLO probe.test").await.starts_with("502"));
    assert!(client.say("HELO probe.test").await.starts_with("250"));
    assert!(client.say("MAIL FROM:<>").await.starts_with("250"));

    let mut client = Client::open(&net("no_smtputf8"), "mx.a.test").await;
    client.reply().await;
    assert!(!client.say("EHLO probe.test").await.contains("SMTPUTF8"));
    assert!(client.say("MAIL FROM:<> SMTPUTF8").await.starts_with("555"));
}

#[tokio::test(start_paused = true)]
async fn a_flip_flop_contradicts_itself_the_same_way_for_the_same_seed() {
    let ask = |seed| async move {
        let net = world(Personality::preset("flip_flop").unwrap()).net(seed);
        let mut client = Client::open(&net, "mx.a.test").await;
        client.greet().await;
        let mut replies = Vec::new();
        for _ in 0..20 {
            replies.push(client.rcpt("anna@a.test").await);
        }
        (replies, net.trace().hash())
    };
    let (first, hash) = ask(7).await;
    assert!(first.iter().any(|r| r.starts_with("250")) && first.iter().any(|r| r.starts_with("550")));
    assert_eq!((first, hash), ask(7).await);
    assert_ne!(hash, ask(8).await.1);
}

#[tokio::test(start_paused = true)]
async fn latency_is_paid_once_for_each_flight() {
    let text = r#"
        [zones."a.test"]
        mx = ["10 mx.a.test"]
        mailboxes = { exists_percent = 100 }
        [hosts."mx.a.test"]
        latency_ms = 50
    "#;
    let net = World::builder().file(text).unwrap().build().unwrap().net(1);
    let start = now();
    let mut client = Client::open(&net, "mx.a.test").await;
    client.greet().await;
    client.send(&"RCPT TO:<anna@a.test>\r\n".repeat(50)).await;
    for _ in 0..50 {
        assert!(client.reply().await.starts_with("250"));
    }
    assert_eq!(start.elapsed().as_millis(), 4 * 50, "connection, EHLO, MAIL, one flight");
}
