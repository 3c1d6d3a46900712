//! The servers' replies, without Probity: the basis of the table of verdicts.
//!
//! Texts are compared completely. If a new release words a reply differently, this fails first, and shows which reply the rules
//! must cover.

use std::time::Duration;

use crate::poll;
use crate::smtp::{self, Client};
use crate::world::{GREY_SECONDS, Host, World};

/// Time limit for greylisting to pass and for an address verification to complete.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

#[test]
#[ignore = "thorough"]
fn real_servers_say_what_the_verdicts_assume() {
    let Some(world) = World::start() else { return };
    recipients(&world);
    answers_that_change(&world);
    extensions(&world);
    tls_on_demand(&world);
    flights(&world);
    too_many_errors(&world);
}

fn recipients(world: &World) {
    for (host, recipient, expected) in RECIPIENTS {
        assert_eq!(smtp::ask(world.exchanger(*host), recipient), *expected, "{recipient}\n{}", world.logs());
    }
}

/// A host, an address, and its reply to RCPT.
const RECIPIENTS: &[(Host, &str, &str)] = &[
    (Host::Postfix, "ann@postfix.test", "250 2.1.5 Ok"),
    (
        Host::Postfix,
        "nobody@postfix.test",
        "550 5.1.1 <nobody@postfix.test>: Recipient address rejected: User unknown in virtual mailbox table",
    ),
    (Host::Postfix, "full@postfix.test", "552 5.2.2 <full@postfix.test>: Recipient address rejected: Mailbox is full"),
    (
        Host::Postfix,
        "fulltoday@postfix.test",
        "452 4.2.2 <fulltoday@postfix.test>: Recipient address rejected: Mailbox is full",
    ),
    (
        Host::Postfix,
        "closed@postfix.test",
        "550 5.2.1 <closed@postfix.test>: Recipient address rejected: Mailbox disabled, not accepting messages",
    ),
    (Host::Postfix, "jörg@postfix.test", "250 2.1.5 Ok"),
    (
        Host::Postfix,
        "jürgen@postfix.test",
        "550 5.1.1 <jürgen@postfix.test>: Recipient address rejected: User unknown in virtual mailbox table",
    ),
    (Host::Postfix, "jörg@bücher.test", "250 2.1.5 Ok"),
    (Host::Postfix, "ann@xn--bcher-kva.test", "250 2.1.5 Ok"),
    (Host::Postfix, "any@catchall.postfix.test", "250 2.1.5 Ok"),
    (Host::Postfix, "ann@misdirected.test", "554 5.7.1 <ann@misdirected.test>: Relay access denied"),
    (Host::PostfixTlsOnly, "ann@tlsonly.postfix.test", "530 5.7.0 Must issue a STARTTLS command first"),
    (Host::PostfixLockstep, "ann@lockstep.postfix.test", "250 2.1.5 Ok"),
    (
        Host::PostfixBlocked,
        "ann@blocked.postfix.test",
        "554 5.7.1 Service unavailable; Client host [127.0.0.1] blocked using bl.test; \
         Listed for the test, see http://bl.test/127.0.0.1",
    ),
    (Host::Exim, "ann@exim.test", "250 Accepted"),
    (Host::Exim, "nobody@exim.test", "550 Unrouteable address"),
    (Host::Exim, "full@exim.test", "552 5.2.2 full: mailbox is full"),
    (Host::Exim, "closed@exim.test", "550 5.2.1 This mailbox has been disabled"),
    (Host::Exim, "busy@exim.test", "451 lookup of the mailbox failed"),
    (Host::Exim, "a%b@exim.test", "550 Restricted characters in address"),
    (Host::Exim, "any@catchall.exim.test", "250 Accepted"),
    (Host::Exim, "ann@misdirected.exim.test", "550 relay not permitted"),
    (Host::OpenSmtpd, "ann@opensmtpd.test", "250 2.1.5 Destination address valid: Recipient ok"),
    (Host::OpenSmtpd, "nobody@opensmtpd.test", "524 5.2.4 Mailing list expansion problem: <nobody@opensmtpd.test>"),
    (Host::OpenSmtpd, "full@opensmtpd.test", "552 5.2.2 Mailbox is over quota"),
    (Host::OpenSmtpd, "closed@opensmtpd.test", "550 5.2.1 Mailbox disabled"),
    (Host::OpenSmtpd, "ann@listed.opensmtpd.test", "250 2.1.5 Destination address valid: Recipient ok"),
    (Host::OpenSmtpd, "bob@listed.opensmtpd.test", "550 Invalid recipient: <bob@listed.opensmtpd.test>"),
    (Host::OpenSmtpd, "any@catchall.opensmtpd.test", "250 2.1.5 Destination address valid: Recipient ok"),
    (Host::OpenSmtpd, "ann@misdirected.opensmtpd.test", "550 Invalid recipient: <ann@misdirected.opensmtpd.test>"),
];

/// Checks greylisting and Postfix's own address verification: deferred first, then answered.
fn answers_that_change(world: &World) {
    let grey = |name: &str| {
        format!(
            "450 4.2.0 <{name}@grey.postfix.test>: Recipient address rejected: \
             Greylisted for {GREY_SECONDS} seconds (see http://postgrey.schweikert.ch/help/grey.postfix.test.html)"
        )
    };
    let unverified = |name: &str| {
        format!(
            "450 4.1.1 <{name}@verifying.postfix.test>: Recipient address rejected: \
             unverified address: Address verification in progress"
        )
    };
    let exim = world.address(Host::Exim);
    let cases = [
        (Host::PostfixGrey, "ann@grey.postfix.test", grey("ann"), "250 2.1.5 Ok".to_owned()),
        (
            Host::PostfixGrey,
            "nobody@grey.postfix.test",
            grey("nobody"),
            "550 5.1.1 <nobody@grey.postfix.test>: Recipient address rejected: User unknown in virtual mailbox table"
                .to_owned(),
        ),
        (Host::PostfixVerifying, "ann@verifying.postfix.test", unverified("ann"), "250 2.1.5 Ok".to_owned()),
        (
            Host::PostfixVerifying,
            "nobody@verifying.postfix.test",
            unverified("nobody"),
            format!(
                "550 5.1.1 <nobody@verifying.postfix.test>: Recipient address rejected: undeliverable address: \
                 host {exim}[{exim}] said: 550 Unrouteable address (in reply to RCPT TO command)"
            ),
        ),
    ];
    for (host, recipient, first, _) in &cases {
        assert_eq!(smtp::ask(world.exchanger(*host), recipient), *first, "{recipient}\n{}", world.logs());
    }
    for (host, recipient, _, last) in &cases {
        let changed = poll::until(ANSWER_LIMIT, || {
            let reply = smtp::ask(world.exchanger(*host), recipient);
            (!reply.starts_with("450")).then_some(reply)
        });
        assert_eq!(changed.as_deref(), Some(last.as_str()), "{recipient}\n{}", world.logs());
    }
}

/// Checks the EHLO extensions of each host, among those that probing uses.
fn extensions(world: &World) {
    let offered = [
        (Host::Postfix, "ENHANCEDSTATUSCODES PIPELINING SMTPUTF8"),
        (Host::PostfixStartTls, "ENHANCEDSTATUSCODES PIPELINING SMTPUTF8 STARTTLS"),
        (Host::PostfixTlsOnly, "ENHANCEDSTATUSCODES PIPELINING SMTPUTF8 STARTTLS"),
        (Host::PostfixLockstep, "ENHANCEDSTATUSCODES SMTPUTF8"),
        (Host::Exim, "PIPELINING SMTPUTF8 STARTTLS"),
        (Host::OpenSmtpd, "ENHANCEDSTATUSCODES STARTTLS"),
    ];
    for (host, expected) in offered {
        let reply = Client::open(world.exchanger(host)).say("EHLO probe.sender.test");
        let mut keywords: Vec<_> = reply.lines().filter_map(|line| line.get(4..)).collect();
        keywords.retain(|keyword| ["ENHANCEDSTATUSCODES", "PIPELINING", "SMTPUTF8", "STARTTLS"].contains(keyword));
        keywords.sort_unstable();
        assert_eq!(keywords.join(" "), expected, "{host:?}: {reply}");
    }
}

/// Checks STARTTLS (RFC 3207): 220, both from the host that requires it and from those that offer it; an offer may also lead to a
/// 454.
fn tls_on_demand(world: &World) {
    let hosts = [
        (Host::PostfixStartTls, "220 2.0.0 Ready to start TLS"),
        (Host::PostfixTlsOnly, "220 2.0.0 Ready to start TLS"),
        (Host::Exim, "220 TLS go ahead"),
        (Host::EximBrokenTls, "454 TLS currently unavailable"),
        (Host::OpenSmtpd, "220 2.0.0 Ready to start TLS"),
    ];
    for (host, expected) in hosts {
        let mut client = Client::open(world.exchanger(host));
        client.say("EHLO probe.sender.test");
        assert_eq!(client.say("STARTTLS"), expected, "{host:?}");
    }
}

/// Checks pipelining (RFC 2920): each command of a flight gets one reply, in order.
fn flights(world: &World) {
    for (host, domain, codes) in
        [(Host::Postfix, "postfix.test", "250 250 550 250"), (Host::Exim, "exim.test", "250 250 550 250")]
    {
        let mut client = Client::open(world.exchanger(host));
        client.say("EHLO probe.sender.test");
        client.send(&format!(
            "MAIL FROM:<probe@sender.test>\r\nRCPT TO:<ann@{domain}>\r\nRCPT TO:<nobody@{domain}>\r\nRSET\r\n"
        ));
        let replies: Vec<_> = (0..4).map(|_| client.reply()).collect();
        let first: Vec<_> = replies.iter().map(|reply| &reply[..3]).collect();
        assert_eq!(first.join(" "), codes, "{host:?}: {replies:?}");
    }
}

/// Checks that Postfix ends a session with too many errors instead of replying.
fn too_many_errors(world: &World) {
    let mut client = Client::open(world.exchanger(Host::PostfixStrict));
    client.say("EHLO probe.sender.test");
    client.say("MAIL FROM:<probe@sender.test>");
    let replies: Vec<_> = (0..4).map(|n| client.say(&format!("RCPT TO:<nobody{n}@strict.postfix.test>"))).collect();
    assert!(replies[..2].iter().all(|reply| reply.starts_with("550 5.1.1 ")), "{replies:?}");
    let last = replies.iter().find(|reply| reply.starts_with("421"));
    assert_eq!(last.map(String::as_str), Some("421 4.7.0 mx-postfix.test Error: too many errors"), "{replies:?}");
}
