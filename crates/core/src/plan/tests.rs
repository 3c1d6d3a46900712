//! Plans driven by hand: each test is a short story of what a domain's exchangers do.

mod any_server;

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::classify::Rules;
use crate::policy::{Policies, Profile};
use crate::smtp::reply::Enhanced;
use crate::smtp::session::{End, RcptAnswer};
use crate::verdict::{Reason, judge};

fn mx(preference: u16, host: &str) -> MxHost {
    MxHost { preference, host: Arc::from(host) }
}

fn plan_with(hosts: &[MxHost], recipients: u32, known: Known) -> Plan {
    let policies =
        hosts.iter().map(|mx| Policies::embedded().for_exchanger(&mx.host, Profile::Polite).clone()).collect();
    Plan::new(hosts, policies, recipients, known, &mut Rng::new(1))
}

fn plan(recipients: u32) -> Plan {
    plan_with(&[mx(10, "mx.one.example.com")], recipients, Known::default())
}

fn ip(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, n))
}

fn reply(text: &str) -> RcptAnswer {
    let (code, rest) = text.split_once(' ').expect("a code and a text");
    let digits: Vec<u16> = rest.split(' ').next().unwrap_or("").split('.').filter_map(|d| d.parse().ok()).collect();
    let (enhanced, text) = match digits[..] {
        [class, subject, detail] => {
            let class = u8::try_from(class).expect("one digit");
            (Some(Enhanced { class, subject, detail }), rest.split_once(' ').map_or("", |(_, text)| text))
        }
        _ => (None, rest),
    };
    RcptAnswer::Reply(Reply { code: code.parse().expect("digits"), enhanced, text: text.into(), nonconforming: false })
}

const YES: &str = "250 2.1.5 Ok";
const NO: &str = "550 5.1.1 User unknown";

/// Resolves and dials up to the first question.
fn link(plan: &mut Plan) {
    loop {
        match plan.next(None) {
            Action::Resolve { exchanger } => plan.resolved(exchanger, Found::Addresses(vec![ip(1), ip(2)])),
            Action::Dial { .. } => return plan.linked(),
            other => panic!("{other:?}"),
        }
    }
}

fn ask(plan: &mut Plan) -> (Vec<u32>, bool) {
    match plan.next(Some(100)) {
        Action::Ask { recipients, random } => (recipients, random),
        other => panic!("{other:?}"),
    }
}

fn tell(plan: &mut Plan, flight: &(Vec<u32>, bool), answers: &[&str], end: Option<&End>) -> Heard {
    let answers = answers.iter().map(|text| if *text == "-" { RcptAnswer::Unanswered } else { reply(text) }).collect();
    plan.answered(&flight.0, answers, flight.1, end, Rules::embedded())
}

fn reasons(plan: &mut Plan) -> Vec<(u32, String)> {
    let mut fates: Vec<_> = plan
        .take_fates()
        .into_iter()
        .map(|(recipient, fate)| match fate {
            Fate::Settled(told) => {
                let reason = judge(&told.mailbox).map_or(Reason::Valid, |finding| finding.reason);
                (recipient, reason.to_string())
            }
            Fate::Later { why, .. } => (recipient, format!("later:{why}")),
        })
        .collect();
    fates.sort();
    fates
}

fn expect(plan: &mut Plan, wanted: &[&str]) {
    let got: Vec<String> = reasons(plan).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(got, wanted);
}

#[test]
fn a_random_recipient_rides_behind_the_real_ones_and_decides_what_acceptance_means() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    assert_eq!(flight, (vec![0, 1], true));
    let heard = tell(&mut plan, &flight, &[YES, NO, NO], None);
    assert!(heard.random_missing && heard.missing == 1 && heard.refused == 2);
    assert_eq!(plan.next(Some(10)), Action::Done);
    assert_eq!(plan.catch_all(), CatchAll::No);
    expect(&mut plan, &["valid", "nonexistent"]);
}

#[test]
fn catch_all_needs_two_random_acceptances() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, YES], None);
    expect(&mut plan, &[]);
    let second = ask(&mut plan);
    assert_eq!(second, (vec![], true));
    tell(&mut plan, &second, &[YES], None);
    assert_eq!(plan.next(Some(10)), Action::Done);
    assert_eq!(plan.catch_all(), CatchAll::Yes);
    expect(&mut plan, &["accept_all"]);
}

#[test]
fn a_random_probe_that_fails_otherwise_leaves_the_fact_unknown() {
    for answer in ["451 4.3.0 Temporary failure", "554 5.7.1 blocked using zen.spamhaus.org", "550 weather is bad"] {
        let mut plan = plan(1);
        link(&mut plan);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, &[YES, answer], None);
        assert_eq!(plan.next(Some(10)), Action::Done);
        assert_eq!(plan.catch_all(), CatchAll::Unknown, "{answer}");
        expect(&mut plan, &["unverified"]);
    }
}

#[test]
fn an_acceptance_waits_for_a_random_recipient_that_was_greylisted() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, "450 4.2.0 Greylisted"], None);
    assert_eq!(plan.next(Some(10)), Action::Done);
    expect(&mut plan, &["later:greylisted"]);
}

#[test]
fn no_second_random_is_asked_where_nobody_was_accepted() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[NO, YES], None);
    assert_eq!(plan.next(Some(10)), Action::Done);
    expect(&mut plan, &["nonexistent"]);
}

#[test]
fn a_domain_that_refuses_some_and_accepts_the_random_ones_is_suspect() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[NO, YES, YES], None);
    let second = ask(&mut plan);
    tell(&mut plan, &second, &[YES], None);
    assert_eq!(plan.next(Some(10)), Action::Done);
    assert_eq!(plan.catch_all(), CatchAll::Suspect);
    expect(&mut plan, &["nonexistent", "unverified"]);
}

#[test]
fn misses_at_other_domains_of_a_host_do_not_hide_a_catch_all() {
    let mut plan = plan(1);
    link(&mut plan);
    plan.note_misses(50);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, YES], None);
    let second = ask(&mut plan);
    tell(&mut plan, &second, &[YES], None);
    assert_eq!(plan.next(Some(10)), Action::Done);
    expect(&mut plan, &["accept_all"]);
}

#[test]
fn after_many_misses_acceptances_wait_for_a_random_refusal() {
    let known = Known { catch_all: CatchAll::No, accepts_others: false };
    let mut plan = plan_with(&[mx(10, "mx.one.example.com")], 12, known);
    link(&mut plan);
    let mut settled = Vec::new();
    let mut checked = false;
    loop {
        match plan.next(Some(4)) {
            Action::Ask { recipients, random } => {
                // The last recipient is accepted, like the random one: the server has begun to lie.
                let mut answers: Vec<&str> = recipients.iter().map(|r| if *r == 11 { YES } else { NO }).collect();
                if random {
                    checked = true;
                    answers.push(YES);
                }
                tell(&mut plan, &(recipients, random), &answers, None);
            }
            Action::Done => break,
            other => panic!("{other:?}"),
        }
    }
    settled.extend(reasons(&mut plan));
    assert!(checked);
    assert_eq!(settled.iter().filter(|(_, reason)| reason == "nonexistent").count(), 11);
    assert!(settled.contains(&(11, "unverified".into())), "{settled:?}");
}

#[test]
fn a_dead_host_is_followed_by_its_next_address_and_then_by_the_next_host() {
    let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 1, Known::default());
    assert_eq!(plan.next(None), Action::Resolve { exchanger: 0 });
    plan.resolved(0, Found::Addresses(vec![ip(1), ip(2), ip(3)]));
    for n in [1, 2] {
        assert_eq!(plan.next(None), Action::Dial { exchanger: 0, address: ip(n), clear: false });
        plan.dial_failed(DialFault::Silent(Silence::Refused, None));
    }
    assert_eq!(plan.next(None), Action::Resolve { exchanger: 1 });
    plan.resolved(1, Found::Addresses(vec![ip(9)]));
    assert_eq!(plan.next(None), Action::Dial { exchanger: 1, address: ip(9), clear: false });
    plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
    assert_eq!(plan.next(None), Action::Done);
    expect(&mut plan, &["later:timeout"]);
}

#[test]
fn broken_tls_is_tried_once_in_the_clear() {
    let mut plan = plan(1);
    assert_eq!(plan.next(None), Action::Resolve { exchanger: 0 });
    plan.resolved(0, Found::Addresses(vec![ip(1)]));
    assert_eq!(plan.next(None), Action::Dial { exchanger: 0, address: ip(1), clear: false });
    plan.dial_failed(DialFault::Tls);
    assert_eq!(plan.next(None), Action::Dial { exchanger: 0, address: ip(1), clear: true });
    plan.dial_failed(DialFault::Tls);
    assert_eq!(plan.next(None), Action::Done);
    expect(&mut plan, &["later:tls_failed"]);
}

#[test]
fn hosts_without_addresses_make_the_domain_unroutable_only_by_authority() {
    for (found, wanted) in [(Found::Nothing, "illegitimate"), (Found::Failed, "later:dns_temporary")] {
        let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 1, Known::default());
        assert_eq!(plan.next(None), Action::Resolve { exchanger: 0 });
        plan.resolved(0, Found::Nothing);
        assert_eq!(plan.next(None), Action::Resolve { exchanger: 1 });
        plan.resolved(1, found);
        assert_eq!(plan.next(None), Action::Done);
        expect(&mut plan, &[wanted]);
    }
}

#[test]
fn an_exchanger_that_was_never_looked_up_may_take_mail() {
    let meta = |hosts: u16| {
        let hosts: Vec<MxHost> = (0..hosts).map(|n| mx(n, &format!("h{n}.example.com"))).collect();
        let mut plan = plan_with(&hosts, 1, Known::default());
        while let Action::Resolve { exchanger } = plan.next(None) {
            plan.resolved(exchanger, Found::Nothing);
        }
        let fates = plan.take_fates();
        let told = match &fates[..] {
            [(0, Fate::Settled(told) | Fate::Later { told, .. })] => told,
            other => panic!("{other:?}"),
        };
        judge(&told.mailbox).expect("a finding").meta.into_owned()
    };
    assert_eq!(meta(5), "mx_unroutable");
    assert_eq!(meta(6), "dns_temporary");
}

#[test]
fn a_refusal_of_us_defers_everybody_and_never_moves_to_the_next_host() {
    let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 3, Known::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    let blocked = "554 5.7.1 Service unavailable; Client host [203.0.113.5] blocked using zen.spamhaus.org";
    let heard = tell(&mut plan, &flight, &[blocked, blocked, blocked, blocked], None);
    assert!(heard.about_us.is_some());
    assert_eq!(plan.next(Some(10)), Action::Done);
    expect(&mut plan, &["later:blocked", "later:blocked", "later:blocked"]);
}

#[test]
fn a_host_that_is_not_responsible_is_followed_by_the_next() {
    let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 1, Known::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &["554 5.7.1 Relay access denied", "554 5.7.1 Relay access denied"], None);
    expect(&mut plan, &[]);
    assert_eq!(plan.next(Some(100)), Action::Leave, "the session is with the wrong host");
    plan.left();
    assert_eq!(plan.next(None), Action::Resolve { exchanger: 1 });
}

#[test]
fn what_a_dying_session_did_not_answer_is_asked_again_and_then_silent() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let closed = End::Closed { stage: Stage::Rcpt };
    tell(&mut plan, &flight, &["-", "-", "-"], Some(&closed));
    link(&mut plan);
    let flight = ask(&mut plan);
    assert_eq!(flight.0, [0, 1]);
    tell(&mut plan, &flight, &["-", "-", "-"], Some(&closed));
    assert_eq!(plan.next(None), Action::Done);
    expect(&mut plan, &["later:closed", "later:closed"]);
}

#[test]
fn a_flight_that_breaks_off_is_asked_again_one_by_one_and_a_421_is_believed() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let closed = End::Closed { stage: Stage::Rcpt };
    tell(&mut plan, &flight, &[NO, "-", "-"], Some(&closed));
    expect(&mut plan, &[]);
    link(&mut plan);
    for recipient in [0, 1] {
        let flight = ask(&mut plan);
        assert_eq!(flight, (vec![recipient], false));
        tell(&mut plan, &flight, &[NO], None);
        expect(&mut plan, &["nonexistent"]);
    }
    assert_eq!(plan.next(Some(10)), Action::Done);

    let mut plan = self::plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let RcptAnswer::Reply(reply) = reply("421 4.7.0 too many errors") else { panic!("a reply") };
    let sent_away = End::Refused { stage: Stage::Rcpt, reply };
    tell(&mut plan, &flight, &[NO, "-", "-"], Some(&sent_away));
    expect(&mut plan, &["nonexistent"]);
}

#[test]
fn a_session_that_cannot_be_trusted_is_forgotten() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, NO, NO], None);
    assert_eq!((plan.catch_all(), plan.next(Some(10))), (CatchAll::No, Action::Done));
    plan.distrust();
    assert_eq!(plan.catch_all(), CatchAll::Unknown);
    expect(&mut plan, &["valid", "nonexistent"]);
    plan.ask_alone(&[0, 1]);
    link(&mut plan);
    assert_eq!(ask(&mut plan), (vec![0], false));
    assert!(matches!(plan.withdrawn(), Fate::Later { why: "protocol", .. }));
}

#[test]
fn greylisting_comes_back_at_the_hint_from_the_same_source() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &["450 4.2.0 Greylisted, try again in 60 seconds", NO], None);
    assert_eq!(plan.next(Some(10)), Action::Done);
    let fates = plan.take_fates();
    let Some((0, Fate::Later { after_ms, why, same_source, .. })) = fates.first() else { panic!("{fates:?}") };
    assert_eq!((*after_ms, *why, *same_source), (60_000, "greylisted", true));
}

#[test]
fn access_denied_is_settled_by_what_else_the_domain_accepts() {
    for (other, wanted) in [(YES, ["nonexistent", "valid"]), (NO, ["failed_exchange", "nonexistent"])] {
        let mut plan = plan_with(&[mx(10, "x.mail.protection.outlook.com")], 2, Known::default());
        link(&mut plan);
        loop {
            match plan.next(Some(10)) {
                Action::Ask { recipients, random } => {
                    let denied = "550 5.4.1 Recipient address rejected: Access denied.";
                    let mut answers: Vec<&str> =
                        recipients.iter().map(|r| if *r == 0 { denied } else { other }).collect();
                    if random {
                        answers.push(denied);
                    }
                    tell(&mut plan, &(recipients, random), &answers, None);
                }
                Action::Done => break,
                other => panic!("{other:?}"),
            }
        }
        expect(&mut plan, &wanted);
    }
}
