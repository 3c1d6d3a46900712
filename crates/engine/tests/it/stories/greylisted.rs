//! Greylisting at the scale of lists.

use probity_mail::policy::PaceProfile;
use probity_mailworld::{Greylist, Mailboxes, Personality, Tls, World};

use crate::world::{Lab, brief};

/// Ten domains of a hundred addresses each, with few who exist and with many: whatever our limits put off meanwhile, no acceptance
/// stays in doubt.
#[tokio::test(start_paused = true)]
async fn of_a_thousand_greylisted_addresses_each_gets_its_verdict() {
    for (seed, profile) in
        [(1, PaceProfile::Open), (2, PaceProfile::Open), (3, PaceProfile::Polite), (4, PaceProfile::Polite)]
    {
        let greylist = Some(Greylist { delay_s: 300, hint: seed % 2 == 0 });
        let strange = Personality { greylist, tls: Tls::None, ..Personality::default() };
        let people = |n: u8| Mailboxes::percent_of("user", 30 + 6 * n);
        let domain = |n: u8| format!("g{n}-{seed}.example.com");
        let world = (0..10)
            .fold(World::builder(), |world, n| world.site(&domain(n), people(n), strange.clone()))
            .build()
            .expect("a world");
        let lab = Lab::new(&world, seed, |config| config.profile = profile);
        let emails: Vec<(u8, String)> =
            (0..1_000_u16).map(|n| (u8::try_from(n % 10).expect("a digit"), format!("user{}", n / 10))).collect();
        let asked: Vec<String> = emails.iter().map(|(n, local)| format!("{local}@{}", domain(*n))).collect();
        for ((n, local), said) in emails.iter().zip(lab.batch(&asked).await) {
            let exists = people(*n).state(local, &domain(*n)) == probity_mailworld::MailboxState::Exists;
            let right = if exists { "passed/valid/" } else { "undeliverable/nonexistent/smtp_550_5.1.1" };
            assert_eq!(brief(&said), right, "seed {seed} {profile:?} {}", said.email);
        }
    }
}
