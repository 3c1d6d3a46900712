//! Hosts that a misspelled MX record names. The recipients are at one.example.com.

use super::*;

/// Runs a plan for one recipient.
fn run(hosts: &[MxHost], seed: u64, says: impl Fn(&str) -> Says) -> String {
    let policies =
        hosts.iter().map(|mx| Policies::embedded().for_exchanger(&mx.host, PaceProfile::Polite).clone()).collect();
    let mut plan = ProbePlan::new(hosts, policies, owners(hosts), 1, &mut Rng::new(seed));
    let mut room = None;
    let mut said = Vec::new();
    loop {
        let here = plan.current().map(|mx| mx.host.clone());
        match plan.next(room) {
            ProbeAction::Resolve { exchanger } => {
                let gone = plan.exchanger(exchanger).0.host.starts_with("gone.");
                let found = if gone { ResolvedHost::Nothing } else { ResolvedHost::Addresses(vec![ip(1)]) };
                plan.resolved(exchanger, found);
            }
            ProbeAction::Dial { exchanger, .. } => {
                if says(&plan.exchanger(exchanger).0.host).is_some() {
                    plan.linked();
                    plan.meet(KnownDomain::default());
                    room = Some(20);
                } else {
                    plan.dial_failed(DialFault::Silent(Silence::TimedOut, None));
                }
            }
            ProbeAction::Ask { recipients, random } => {
                let answers = says(&here.expect("a host")).expect("a session");
                let answers = &answers[usize::from(recipients.is_empty())..][..recipients.len() + usize::from(random)];
                tell(&mut plan, &(recipients, random), answers, None);
            }
            ProbeAction::Leave => {
                plan.left();
                room = None;
            }
            ProbeAction::Done => break,
        }
    }
    said.extend(reasons(&mut plan));
    assert_eq!(said.len(), 1);
    said.remove(0).1
}

/// The replies of a host to the recipient and a random one.
type Says = Option<[&'static str; 2]>;
/// Replies of a host by name, or of all others.
type Host = (&'static str, Says);

const SILENT: Says = None;
const MISSING: Says = Some([NO, NO]);
const EXISTS: Says = Some([YES, NO]);
const RELAY: Says = Some(["554 5.7.1 Relay access denied", "554 5.7.1 Relay access denied"]);

#[test]
fn strangers_decide_nothing_alone_and_the_others_do() {
    let google =
        [mx(1, "aspmx.l.google.com"), mx(5, "alt1.aspmx.l.google.com.com"), mx(5, "alt2.aspmx.l.google.com.com")];
    let beside = [mx(10, "mx.one.example.com"), mx(10, "mx.stranger.net")];
    let two_beside = [mx(10, "mx.one.example.com"), mx(10, "a.stranger.net"), mx(10, "b.stranger.net")];
    let known_beside = [mx(1, "aspmx.l.google.com"), mx(1, "alt1.aspmx.l.google.com.com")];
    let backups = [mx(1, "mx.hoster.net"), mx(5, "a.backup.org"), mx(9, "b.backup.org")];
    let tie = [mx(10, "mx.hoster.net"), mx(10, "mx.hosterr.net")];
    let most = [mx(10, "mx1.hoster.net"), mx(10, "mx2.hoster.net"), mx(10, "mx.hosterr.net")];
    let own = [mx(1, "mx.hoster.net"), mx(5, "mx2.one.example.com")];
    let provider = [mx(1, "aspmx.l.google.com"), mx(5, "alt1.aspmx.l.google.com"), mx(10, "aspmx2.googlemail.com")];
    let filter = [mx(10, "mx.spamexperts.com"), mx(20, "fallbackmx.spamexperts.eu"), mx(30, "lastmx.spamexperts.net")];
    let hoster = [mx(10, "mx1.hoster.net"), mx(20, "mx2.hoster.net")];
    let gone = [mx(10, "mx.hoster.net"), mx(10, "gone.hosterr.net")];
    let cases: &[(&[MxHost], &[Host], &str)] = &[
        (&google, &[("aspmx.l.google.com", SILENT), ("", MISSING)], "later:timeout"),
        (&google, &[("aspmx.l.google.com", MISSING), ("", EXISTS)], "nonexistent"),
        (&google, &[("aspmx.l.google.com", RELAY), ("", MISSING)], "nonexistent"),
        (&google, &[("aspmx.l.google.com", SILENT), ("", EXISTS)], "valid"),
        (&beside, &[("mx.one.example.com", SILENT), ("", MISSING)], "later:timeout"),
        (&beside, &[("mx.one.example.com", EXISTS), ("", MISSING)], "valid"),
        (&beside, &[("mx.one.example.com", MISSING), ("", EXISTS)], "nonexistent"),
        (&beside, &[("mx.one.example.com", MISSING), ("", SILENT)], "nonexistent"),
        (&two_beside, &[("mx.one.example.com", SILENT), ("", MISSING)], "later:timeout"),
        (&two_beside, &[("mx.one.example.com", EXISTS), ("", MISSING)], "valid"),
        (&known_beside, &[("aspmx.l.google.com", SILENT), ("", MISSING)], "later:timeout"),
        (&known_beside, &[("aspmx.l.google.com", EXISTS), ("", MISSING)], "valid"),
        (&known_beside, &[("aspmx.l.google.com", MISSING), ("", SILENT)], "nonexistent"),
        (&backups, &[("mx.hoster.net", SILENT), ("", MISSING)], "later:timeout"),
        // Two unknown ones of equal preference: each confirms the other.
        (&tie, &[("mx.hoster.net", SILENT), ("", MISSING)], "later:timeout"),
        (&tie, &[("mx.hoster.net", MISSING), ("", SILENT)], "later:timeout"),
        (&tie, &[("", MISSING)], "nonexistent"),
        (&tie, &[("mx.hoster.net", MISSING), ("", RELAY)], "nonexistent"),
        (&tie, &[("mx.hoster.net", RELAY), ("", MISSING)], "nonexistent"),
        (&tie, &[("mx.hoster.net", EXISTS), ("", MISSING)], "valid"),
        (&tie, &[("mx.hosterr.net", EXISTS), ("", MISSING)], "valid"),
        (&most, &[("mx.hosterr.net", SILENT), ("", MISSING)], "nonexistent"),
        (&most, &[("mx.hosterr.net", MISSING), ("", SILENT)], "later:timeout"),
        (&gone, &[("", MISSING)], "nonexistent"),
        (&own, &[("mx.hoster.net", SILENT), ("", MISSING)], "nonexistent"),
        (
            &provider,
            &[("aspmx.l.google.com", SILENT), ("alt1.aspmx.l.google.com", SILENT), ("", MISSING)],
            "nonexistent",
        ),
        (&filter, &[("mx.spamexperts.com", SILENT), ("", MISSING)], "nonexistent"),
        (&hoster, &[("mx1.hoster.net", SILENT), ("", MISSING)], "nonexistent"),
    ];
    for (hosts, says, wanted) in cases {
        for seed in 0..8 {
            let says = |host: &str| {
                says.iter().find(|(name, _)| name.is_empty() || *name == host).expect("a host of the case").1
            };
            assert_eq!(run(hosts, seed, says), *wanted, "{hosts:?} {seed}");
        }
    }
}
