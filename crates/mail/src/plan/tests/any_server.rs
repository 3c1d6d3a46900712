//! Whatever the servers do, a plan ends, each recipient has one fate, and a domain whose host was found is not called unroutable.

use proptest::prelude::*;

use super::*;
use crate::rng::Rng;

const ANSWERS: [&str; 12] = [
    YES,
    NO,
    "-",
    "450 4.2.0 Greylisted",
    "452 4.5.3 Too many recipients",
    "554 5.7.1 Relay access denied",
    "554 5.7.1 blocked using zen.spamhaus.org",
    "550 5.7.1 policy",
    "451 4.3.0 Temporary failure",
    "252 maybe",
    "550 5.4.1 Recipient address rejected: Access denied.",
    "421 4.3.2 shutting down",
];

proptest! {
    #[test]
    fn one_fate_for_each(
        hosts in 0usize..8, recipients in 1u32..40, seed: u64, deaths in 1usize..4,
        choices in prop::collection::vec(0usize..12, 1..60),
    ) {
        let hosts: Vec<MxHost> = (0..hosts).map(|n| mx(10, &format!("h{n}.example.com"))).collect();
        let mut plan = plan_with(&hosts, recipients, KnownDomain::default());
        let mut rng = Rng::new(seed);
        let (mut linked, mut found, mut steps, mut fates) = (false, false, 0, Vec::new());
        loop {
            steps += 1;
            prop_assert!(steps < 2_000, "a plan without an end");
            let room = linked.then(|| u32::try_from(rng.below(5)).unwrap_or(0));
            match plan.next(room) {
                ProbeAction::Resolve { exchanger } => plan.resolved(exchanger, match rng.below(4) {
                    0 => ResolvedHost::Failed,
                    1 => ResolvedHost::Nothing,
                    _ => ResolvedHost::Addresses((0..3).map(ip).collect()),
                }),
                ProbeAction::Dial { .. } => {
                    found = true;
                    match rng.below(4) {
                        0 => plan.dial_failed(DialFault::Silent(Silence::TimedOut, None)),
                        1 => plan.dial_failed(DialFault::Tls),
                        _ => { linked = true; plan.linked(); }
                    }
                }
                ProbeAction::Leave => { linked = false; plan.left(); }
                ProbeAction::Ask { recipients, random } => {
                    let count = recipients.len() + usize::from(random);
                    let answers: Vec<&str> =
                        (0..count).map(|_| ANSWERS[choices[rng.below(choices.len())]]).collect();
                    let end = End::Closed { stage: DialogStage::Rcpt };
                    let dies = rng.below(deaths) == 0;
                    linked &= !dies;
                    tell(&mut plan, &(recipients, random), &answers, dies.then_some(&end));
                }
                ProbeAction::Done => break,
            }
            fates.extend(plan.take_fates());
        }
        fates.extend(plan.take_fates());
        let unroutable = fates.iter().any(|(_, fate)| {
            matches!(fate, RecipientFate::Settled(told) if matches!(told.mailbox, Mailbox::Unroutable(_)))
        });
        prop_assert!(!(found && unroutable), "a host was found");
        let mut fates: Vec<u32> = fates.into_iter().map(|(recipient, _)| recipient).collect();
        fates.sort_unstable();
        prop_assert_eq!(fates, (0..recipients).collect::<Vec<_>>());
    }
}
