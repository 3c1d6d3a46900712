//! What single answers mean for the fate of a recipient.

use super::*;
use crate::classify::AboutUs;
use crate::smtp::session::Recipient;

#[test]
fn a_refusal_of_us_defers_everybody_and_never_moves_to_the_next_host() {
    let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 3, KnownDomain::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    let blocked = "554 5.7.1 Service unavailable; Client host [203.0.113.5] blocked using zen.spamhaus.org";
    let heard = tell(&mut plan, &flight, &[blocked, blocked, blocked, blocked], None);
    assert_eq!((heard.about_us.is_some(), heard.refusals), (true, 4), "the random recipient counts too");
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["later:blocked", "later:blocked", "later:blocked"]);
}

#[test]
fn greylisting_comes_back_at_the_hint_from_the_same_source() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &["450 4.2.0 Greylisted, try again in 60 seconds", NO], None);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    let fates = plan.take_fates();
    let Some((0, RecipientFate::Later { after_ms, why, same_source, .. })) = fates.first() else { panic!("{fates:?}") };
    assert_eq!((*after_ms, *why, *same_source), (60_000, "greylisted", true));
}

#[test]
fn access_denied_is_settled_by_what_else_the_domain_accepts() {
    for (other, wanted) in [(YES, ["nonexistent", "valid"]), (NO, ["failed_exchange", "nonexistent"])] {
        let mut plan = plan_with(&[mx(10, "x.mail.protection.outlook.com")], 2, KnownDomain::default());
        link(&mut plan);
        loop {
            match plan.next(Some(10)) {
                ProbeAction::Ask { recipients, random } => {
                    let denied = "550 5.4.1 Recipient address rejected: Access denied.";
                    let mut answers: Vec<&str> =
                        recipients.iter().map(|r| if *r == 0 { denied } else { other }).collect();
                    if random {
                        answers.push(denied);
                    }
                    tell(&mut plan, &(recipients, random), &answers, None);
                }
                ProbeAction::Done => break,
                other => panic!("{other:?}"),
            }
        }
        expect(&mut plan, &wanted);
    }
}

#[test]
fn denied_recipients_count_as_missing_for_our_limits() {
    let mut plan = plan_with(&[mx(10, "x.mail.protection.outlook.com")], 2, KnownDomain::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    let denied = "550 5.4.1 Recipient address rejected: Access denied.";
    let heard = tell(&mut plan, &flight, &[denied, denied, denied], None);
    assert_eq!((heard.missing, heard.random_missing), (2, true));
}

#[test]
fn each_answer_is_read_with_its_own_recipient() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let path = |text: &str| Recipient::new(text.as_bytes(), false).expect("a path");
    let asked = [path("ann@example.net"), path("joe@example.net"), path("random@example.net")];
    let us = DialogParties { sender: "ask@probe.example", ..DialogParties::default() };
    let reader = FlightReader { rules: Rules::embedded(), us, recipients: &asked };
    let answers = [
        "550 5.1.1 <ask@probe.example>: user unknown",
        "550 5.1.1 <joe@example.net>: user unknown (from <ask@probe.example>)",
        "550 5.1.1 <random@example.net>: user unknown (from <ask@probe.example>)",
    ];
    let heard = plan.answered(&flight.0, answers.map(reply).to_vec(), flight.1, None, &reader);
    assert_eq!((heard.missing, heard.random_missing), (1, true));
    assert_eq!(heard.about_us.map(|(why, _)| why), Some(AboutUs::Sender));
}

#[test]
fn dead_addresses_at_a_server_that_prints_our_address_do_not_make_it_one_that_refuses_us() {
    let ours = "203.0.113.5".parse().expect("an address");
    let us = DialogParties { addresses: &[ours], ..DialogParties::default() };
    let reader = FlightReader { rules: Rules::embedded(), us, recipients: &[] };
    let dead = "550 5.1.1 User unknown [203.0.113.5]";
    // A bare policy beside them counts for itself: three signs are a refusal of us.
    for (policies, refused) in [(0, false), (1, false), (2, true)] {
        let mut plan = plan(6);
        link(&mut plan);
        let flight = ask(&mut plan);
        let answers = (0..6).map(|n| reply(if n < policies { "550 5.7.1 policy" } else { dead }));
        let heard = plan.answered(&flight.0, answers.chain([reply(dead)]).collect(), flight.1, None, &reader);
        assert_eq!((flight.0.len(), heard.missing, heard.about_us.is_some()), (6, 0, refused), "{policies}");
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        expect(&mut plan, &["later:blocked"; 6]);
    }
}
