//! The order of hosts and addresses, and what each failure to reach one means.

use super::*;

#[test]
fn a_dead_host_is_followed_by_its_next_address_and_then_by_the_next_host() {
    let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 1, KnownDomain::default());
    assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger: 0 });
    plan.resolved(0, ResolvedHost::Addresses(vec![ip(1), ip(2), ip(3)]));
    for n in [1, 2] {
        assert_eq!(plan.next(None), ProbeAction::Dial { exchanger: 0, address: ip(n), clear: false });
        plan.dial_failed(DialFault::Silent(Silence::Refused, None));
    }
    assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger: 1 });
    plan.resolved(1, ResolvedHost::Addresses(vec![ip(9)]));
    assert_eq!(plan.next(None), ProbeAction::Dial { exchanger: 1, address: ip(9), clear: false });
    plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
    assert_eq!(plan.next(None), ProbeAction::Done);
    expect(&mut plan, &["later:timeout"]);
}

#[test]
fn broken_tls_is_tried_once_in_the_clear() {
    let mut plan = plan(1);
    assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger: 0 });
    plan.resolved(0, ResolvedHost::Addresses(vec![ip(1)]));
    assert_eq!(plan.next(None), ProbeAction::Dial { exchanger: 0, address: ip(1), clear: false });
    plan.dial_failed(DialFault::Tls);
    assert_eq!(plan.next(None), ProbeAction::Dial { exchanger: 0, address: ip(1), clear: true });
    plan.dial_failed(DialFault::Tls);
    assert_eq!(plan.next(None), ProbeAction::Done);
    expect(&mut plan, &["later:tls_failed"]);
}

#[test]
fn hosts_without_addresses_make_the_domain_unroutable_only_by_authority() {
    for (found, wanted) in [(ResolvedHost::Nothing, "illegitimate"), (ResolvedHost::Failed, "later:dns_temporary")] {
        let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 1, KnownDomain::default());
        assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger: 0 });
        plan.resolved(0, ResolvedHost::Nothing);
        assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger: 1 });
        plan.resolved(1, found);
        assert_eq!(plan.next(None), ProbeAction::Done);
        expect(&mut plan, &[wanted]);
    }
}

#[test]
fn an_exchanger_that_was_never_looked_up_may_take_mail() {
    let meta = |hosts: u16| {
        let hosts: Vec<MxHost> = (0..hosts).map(|n| mx(n, &format!("h{n}.example.com"))).collect();
        let mut plan = plan_with(&hosts, 1, KnownDomain::default());
        while let ProbeAction::Resolve { exchanger } = plan.next(None) {
            plan.resolved(exchanger, ResolvedHost::Nothing);
        }
        let fates = plan.take_fates();
        let told = match &fates[..] {
            [(0, RecipientFate::Settled(told) | RecipientFate::Later { told, .. })] => told,
            other => panic!("{other:?}"),
        };
        judge(&told.mailbox).expect("a finding").meta.into_owned()
    };
    assert_eq!(meta(5), "mx_unroutable");
    assert_eq!(meta(6), "dns_temporary");
}

#[test]
fn a_host_that_is_not_responsible_is_followed_by_the_next() {
    let mut plan = plan_with(&[mx(10, "a.example.com"), mx(20, "b.example.com")], 1, KnownDomain::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &["554 5.7.1 Relay access denied", "554 5.7.1 Relay access denied"], None);
    expect(&mut plan, &[]);
    assert_eq!(plan.next(Some(100)), ProbeAction::Leave, "the session is with the wrong host");
    plan.left();
    assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger: 1 });
}

#[test]
fn a_strangers_backup_decides_nothing_alone_while_the_domains_own_hosts_are_silent() {
    let (first, second) = ("aspmx.example.com", "alt1.example.com");
    let accepts = KnownDomain { accepts_others: true, ..KnownDomain::default() };
    for (backup, known, answers, wanted) in [
        ("alt2.example.com.stranger.net", KnownDomain::default(), [NO, NO], "later:timeout"),
        ("alt2.example.com.stranger.net", KnownDomain::default(), [YES, NO], "valid"),
        // It takes mail for the domain, as it has shown before.
        ("alt2.example.com.stranger.net", accepts, [NO, NO], "nonexistent"),
        // The domain's own backup knows its recipients.
        ("alt2.example.com", KnownDomain::default(), [NO, NO], "nonexistent"),
    ] {
        let mut plan = plan_with(&[mx(1, first), mx(5, second), mx(9, backup)], 1, KnownDomain::default());
        for exchanger in [0, 1] {
            assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger });
            plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1)]));
            assert!(matches!(plan.next(None), ProbeAction::Dial { .. }));
            plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
        }
        link(&mut plan);
        plan.meet(known);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, &answers, None);
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        expect(&mut plan, &[wanted]);
    }
}

#[test]
fn neither_what_another_host_accepts_nor_what_it_answered_makes_a_strangers_backup_count() {
    let accepts = KnownDomain { accepts_others: true, ..KnownDomain::default() };
    for verdict in [NO, "550 5.2.1 The account is disabled", "552 5.2.2 Mailbox full"] {
        let mut plan = plan_with(&[mx(1, "mx.example.com"), mx(5, "mx.stranger.net")], 3, accepts);
        link(&mut plan);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, &[YES, "-", "-", NO], Some(&End::Refused { stage: DialogStage::Rcpt, reply: busy() }));
        expect(&mut plan, &["valid"]);
        for _ in 0..2 {
            assert!(matches!(plan.next(None), ProbeAction::Dial { exchanger: 0, .. }));
            plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
        }
        link(&mut plan);
        plan.meet(KnownDomain::default());
        let (recipients, _) = ask(&mut plan);
        assert_eq!(recipients, [1, 2]);
        tell(&mut plan, &(recipients, true), &[verdict, verdict, NO], None);
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        expect(&mut plan, &["later:timeout", "later:timeout"]);
    }
}

#[test]
fn what_one_host_showed_does_not_vouch_for_what_another_accepts() {
    let checks = KnownDomain { catch_all: CatchAll::No, accepts_others: true };
    let hosts = [mx(10, "mx.example.com"), mx(20, "backup.example.com")];
    let mut plan = plan_with(&hosts, 1, checks);
    for _ in 0..2 {
        while let ProbeAction::Resolve { exchanger } = plan.next(None) {
            plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1), ip(2)]));
        }
        plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
    }
    link(&mut plan);
    plan.meet(KnownDomain::default());
    // The backup accepts everything.
    for _ in 0..2 {
        let (recipients, random) = ask(&mut plan);
        assert!(random, "the backup is asked about a random recipient of its own");
        let answers = vec![YES; recipients.len() + 1];
        tell(&mut plan, &(recipients, random), &answers, None);
    }
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["accept_all"]);
}

#[test]
fn whom_a_host_accepted_unchecked_no_backup_calls_missing() {
    let mut plan = plan_with(&[mx(10, "mx.example.com"), mx(20, "mx2.example.com")], 2, KnownDomain::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, "-", "-"], Some(&End::Refused { stage: DialogStage::Rcpt, reply: busy() }));
    for _ in 0..2 {
        assert!(matches!(plan.next(None), ProbeAction::Dial { exchanger: 0, .. }));
        plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
    }
    link(&mut plan);
    plan.meet(KnownDomain::default());
    let flight = ask(&mut plan);
    assert_eq!(flight, (vec![1], true));
    tell(&mut plan, &flight, &[NO, NO], None);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["later:closed", "nonexistent"]);
}

#[test]
fn a_host_that_is_not_to_be_probed_is_not_dialled_behind_another() {
    for order in [
        [mx(10, "mx.example.com"), mx(20, "mta5.am0.yahoodns.net")],
        [mx(10, "mta5.am0.yahoodns.net"), mx(10, "mx.example.com")],
    ] {
        for (found, wanted) in [
            (ResolvedHost::Addresses(vec![ip(1)]), "later:timeout"),
            // Mail goes to the other one, who never tells.
            (ResolvedHost::Nothing, "unverified"),
        ] {
            let mut plan = plan_with(&order, 1, KnownDomain::default());
            let ProbeAction::Resolve { exchanger } = plan.next(None) else { panic!("a host to look up") };
            assert_eq!(&*plan.exchanger(exchanger).0.host, "mx.example.com");
            plan.resolved(exchanger, found);
            if let ProbeAction::Dial { .. } = plan.next(None) {
                plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
            }
            assert_eq!(plan.next(None), ProbeAction::Done);
            expect(&mut plan, &[wanted]);
        }
    }
}

#[test]
fn a_strangers_backup_counts_once_a_preferred_host_has_sent_us_there() {
    let mut plan = plan_with(&[mx(1, "mx.example.com"), mx(5, "mx.backup.net")], 1, KnownDomain::default());
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &["550 5.7.1 relaying denied", "550 5.7.1 relaying denied"], None);
    assert_eq!(plan.next(Some(10)), ProbeAction::Leave);
    plan.left();
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[NO, NO], None);
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);
    expect(&mut plan, &["nonexistent"]);
}
