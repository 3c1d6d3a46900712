//! Greylisting at the scale of lists.

use probity_engine::verifier::Verifier as _;
use probity_mail::policy::PaceProfile;
use probity_mailworld::{Greylist, Mailboxes, Personality, Tls, World, verify_list};

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

/// Six hundred addresses that exist come back one by one, each as a probe of its own. They wait for the rate of their host, and not
/// for its budget of missing recipients: what one probe has learned of the domain, the next one knows.
#[tokio::test(start_paused = true)]
async fn greylisted_addresses_that_come_back_one_by_one_share_a_made_up_recipient() {
    let greylist = Some(Greylist { delay_s: 300, hint: true });
    let strange = Personality { greylist, tls: Tls::None, ..Personality::default() };
    let people = Mailboxes::percent_of("user", 100);
    let world = World::builder().site("one.example.com", people, strange).build().expect("a world");
    let lab = Lab::polite(&world);
    let started = lab.engine.now();
    let emails: Vec<String> = (0..600).map(|n| format!("user{n}@one.example.com")).collect();
    for said in verify_list(&lab.engine, &emails).await {
        assert_eq!(brief(&said), "passed/valid/", "{}", said.email);
    }
    // Each is asked about twice at 60 a minute.
    let minutes = lab.engine.now().since(started) / 60_000;
    assert!(minutes <= 22, "{minutes} minutes");
    // One made-up recipient that was greylisted, in each session until it was refused.
    let counters = lab.engine.counters();
    assert!(counters.random_rcpts <= 3, "{counters:?}");
}
