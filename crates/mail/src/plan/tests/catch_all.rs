//! Random recipients: when a domain counts as a catch-all, and which acceptances wait for that.

use super::*;

#[test]
fn a_random_recipient_rides_behind_the_real_ones_and_decides_what_acceptance_means() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    assert_eq!(flight, (vec![0, 1], true));
    let heard = tell(&mut plan, &flight, &[YES, NO, NO], None);
    assert!(heard.random_missing && heard.missing == 1 && heard.refused == 2);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
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
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    assert_eq!(plan.catch_all(), CatchAll::Yes);
    expect(&mut plan, &["accept_all"]);
}

#[test]
fn what_another_plan_found_out_is_not_asked_again() {
    let known = KnownDomain { catch_all: CatchAll::No, accepts_others: true };
    let mut waiting = plan(1);
    waiting.catch_up(known);
    link(&mut waiting);
    assert_eq!(ask(&mut waiting), (vec![0], false));
    // Its own random recipient was accepted meanwhile: the second one decides.
    let mut contradicting = plan(1);
    link(&mut contradicting);
    let flight = ask(&mut contradicting);
    tell(&mut contradicting, &flight, &[YES, YES], None);
    contradicting.catch_up(known);
    assert_eq!(ask(&mut contradicting), (vec![], true));
}

#[test]
fn a_random_probe_that_fails_otherwise_leaves_the_fact_unknown() {
    for answer in [
        "451 4.3.0 Temporary failure",
        "554 5.7.1 blocked using zen.spamhaus.org",
        "550 5.7.1 policy",
        "552 5.2.2 Mailbox size limit exceeded",
        "550 system error",
        "252 maybe",
    ] {
        let mut plan = plan(1);
        link(&mut plan);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, &[YES, answer], None);
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        assert_eq!(plan.catch_all(), CatchAll::Unknown, "{answer}");
        expect(&mut plan, &["unverified"]);
    }
}

#[test]
fn a_permanent_refusal_of_the_random_recipient_alone_proves_that_the_domain_checks() {
    for words in ["550 Requested action not taken", "554 5.7.1 Relay access denied", "550 5.2.1 account disabled"] {
        let mut plan = plan(2);
        link(&mut plan);
        let flight = ask(&mut plan);
        let heard = tell(&mut plan, &flight, &[YES, YES, words], None);
        assert!(heard.random_missing, "{words}");
        assert_eq!((plan.next(Some(10)), plan.catch_all()), (ProbeAction::Done, CatchAll::No), "{words}");
        expect(&mut plan, &["valid", "valid"]);
    }
}

#[test]
fn words_of_a_server_that_may_have_begun_to_refuse_us_prove_nothing() {
    for words in ["550 sorry", "554 5.7.1 Relay access denied"] {
        // Whom it accepted, it accepted in an earlier flight, in this session or in one before.
        for sent_away in [false, true] {
            let mut plan = self::plan(1);
            link(&mut plan);
            let flight = ask(&mut plan);
            if sent_away {
                let RcptAnswer::Reply(reply) = reply("421 4.3.2 shutting down") else { panic!("a reply") };
                let end = End::Refused { stage: DialogStage::Rcpt, reply };
                tell(&mut plan, &flight, &[YES, "-"], Some(&end));
                link(&mut plan);
            } else {
                tell(&mut plan, &flight, &[YES, "452 4.5.3 Too many recipients"], None);
            }
            let flight = ask(&mut plan);
            assert_eq!(flight, (vec![], true));
            tell(&mut plan, &flight, &[words], None);
            assert_eq!((plan.next(Some(10)), plan.catch_all()), (ProbeAction::Done, CatchAll::Unknown), "{words}");
            expect(&mut plan, &["unverified"]);
        }
        // It has other words for those who are missing.
        let mut plan = plan(2);
        link(&mut plan);
        let flight = ask(&mut plan);
        let heard = tell(&mut plan, &flight, &[NO, YES, words], None);
        assert_eq!((heard.random_missing, plan.catch_all()), (false, CatchAll::Unknown), "{words}");
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        expect(&mut plan, &["nonexistent", "unverified"]);
    }
}

#[test]
fn words_that_refuse_real_recipients_as_well_prove_nothing() {
    for real in ["550 Requested action not taken", "554 5.7.1 Relay access denied", "550 5.7.1 policy"] {
        let mut plan = plan(2);
        link(&mut plan);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, &[YES, real, "550 Requested action not taken"], None);
        assert_eq!(plan.catch_all(), CatchAll::Unknown, "{real}");
    }
    // Nor does a refusal where nobody was accepted.
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[NO, "550 Requested action not taken"], None);
    assert_eq!(plan.catch_all(), CatchAll::Unknown);
}

#[test]
fn an_acceptance_waits_for_what_our_own_limits_keep_from_being_asked() {
    // The second random recipient, and a check after many misses.
    for (catch_all, first) in [(CatchAll::Unknown, &[YES, YES][..]), (CatchAll::No, &[YES, "-"][..])] {
        let known = KnownDomain { catch_all, accepts_others: false };
        let mut plan = plan_with(&[mx(10, "mx.one.example.com")], 1, known);
        plan.note_misses(MISSES_TRUSTED_MAX);
        link(&mut plan);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, first, None);
        expect(&mut plan, &[]);
        plan.defer(NotAsked::Budget, 180_000);
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        let fates = plan.take_fates();
        let [(0, RecipientFate::Later { told, after_ms: 180_000, why: "budget", .. })] = &fates[..] else {
            panic!("{fates:?}")
        };
        assert_eq!(told.mailbox, Mailbox::NotAsked(NotAsked::Budget), "it is no attempt");
    }
    // Where no random recipient is asked, nothing is waited for.
    let mut plan = plan_with(&[mx(10, "shop-com.olc.protection.outlook.com")], 2, KnownDomain::default());
    link(&mut plan);
    assert_eq!(ask(&mut plan), (vec![0], false));
    tell(&mut plan, &(vec![0], false), &[YES], None);
    plan.defer(NotAsked::Budget, 180_000);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["unverified", "later:budget"]);
}

#[test]
fn a_check_that_was_greylisted_is_waited_for_and_asks_about_nobody_new() {
    let known = KnownDomain { catch_all: CatchAll::No, accepts_others: false };
    let mut plan = plan_with(&[mx(10, "mx.one.example.com")], 2, known);
    plan.note_misses(MISSES_TRUSTED_MAX);
    link(&mut plan);
    let number = plan.random_number();
    for (answers, wanted) in [([YES, NO], "valid"), ([YES, "450 4.2.0 Greylisted"], "")] {
        let ProbeAction::Ask { recipients, random } = plan.next(Some(2)) else { panic!("a flight") };
        assert_eq!((recipients.len(), random, plan.random_number()), (1, true, number));
        tell(&mut plan, &(recipients, random), &answers, None);
        expect(&mut plan, [wanted].iter().filter(|wanted| !wanted.is_empty()).copied().collect::<Vec<_>>().as_slice());
    }
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["later:greylisted"]);
}

#[test]
fn an_acceptance_waits_for_a_random_recipient_that_was_greylisted() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, "450 4.2.0 Greylisted"], None);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["later:greylisted"]);
}

#[test]
fn no_second_random_is_asked_where_nobody_was_accepted() {
    let mut plan = plan(1);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[NO, YES], None);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
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
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
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
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["accept_all"]);
}

#[test]
fn after_many_misses_acceptances_wait_for_a_random_refusal() {
    let known = KnownDomain { catch_all: CatchAll::No, accepts_others: false };
    let mut plan = plan_with(&[mx(10, "mx.one.example.com")], 12, known);
    link(&mut plan);
    let mut settled = Vec::new();
    let mut checked = false;
    loop {
        match plan.next(Some(4)) {
            ProbeAction::Ask { recipients, random } => {
                // The last recipient is accepted, like the random one: the server has begun to lie.
                let mut answers: Vec<&str> = recipients.iter().map(|r| if *r == 11 { YES } else { NO }).collect();
                if random {
                    checked = true;
                    answers.push(YES);
                }
                tell(&mut plan, &(recipients, random), &answers, None);
            }
            ProbeAction::Done => break,
            other => panic!("{other:?}"),
        }
    }
    settled.extend(reasons(&mut plan));
    assert!(checked);
    assert_eq!(settled.iter().filter(|(_, reason)| reason == "nonexistent").count(), 11);
    assert!(settled.contains(&(11, "unverified".into())), "{settled:?}");
}

#[test]
fn a_check_vouches_only_for_acceptances_of_its_own_session() {
    let known = KnownDomain { catch_all: CatchAll::No, accepts_others: false };
    for (second_answers, wanted) in [([NO, NO], "nonexistent"), ([YES, NO], "valid")] {
        let mut plan = plan_with(&[mx(10, "mx.one.example.com")], 1, known);
        link(&mut plan);
        plan.note_misses(MISSES_TRUSTED_MAX);
        let flight = ask(&mut plan);
        assert_eq!(flight, (vec![0], true));
        // The server ends the session before it answers the random recipient: the acceptance stays unchecked.
        let RcptAnswer::Reply(reply) = reply("421 4.3.2 shutting down") else { panic!("a reply") };
        tell(&mut plan, &flight, &[YES, "-"], Some(&End::Refused { stage: DialogStage::Rcpt, reply }));
        expect(&mut plan, &[]);
        link(&mut plan);
        let flight = ask(&mut plan);
        assert_eq!(flight.0, [0], "the next session asks the recipient again");
        let answers = &second_answers[..=usize::from(flight.1)];
        tell(&mut plan, &flight, answers, None);
        if !flight.1 {
            let check = ask(&mut plan);
            assert_eq!(check, (vec![], true));
            tell(&mut plan, &check, &[NO], None);
        }
        expect(&mut plan, &[wanted]);
    }
}
