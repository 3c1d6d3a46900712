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
    for (backup, answers, wanted) in [
        ("alt2.example.com.stranger.net", [NO, NO], "later:timeout"),
        ("alt2.example.com.stranger.net", [YES, NO], "valid"),
        // The domain's own backup knows its recipients.
        ("alt2.example.com", [NO, NO], "nonexistent"),
    ] {
        let mut plan = plan_with(&[mx(1, first), mx(5, second), mx(9, backup)], 1, KnownDomain::default());
        for exchanger in [0, 1] {
            assert_eq!(plan.next(None), ProbeAction::Resolve { exchanger });
            plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1)]));
            assert!(matches!(plan.next(None), ProbeAction::Dial { .. }));
            plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
        }
        link(&mut plan);
        let flight = ask(&mut plan);
        tell(&mut plan, &flight, &answers, None);
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        expect(&mut plan, &[wanted]);
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
