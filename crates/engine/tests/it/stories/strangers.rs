//! Domains whose MX records name hosts of strangers, or no host.

use probity_mailworld::{DnsFault, Mailboxes, Mx, Personality, Recipients, World, Zone};

use crate::world::{Lab, brief};

fn world(mx: &[(u16, &str)], strangers: &Personality) -> std::sync::Arc<World> {
    let mx = mx.iter().map(|(preference, host)| Mx { preference: *preference, host: (*host).to_owned() }).collect();
    let dead = || Zone { addresses: vec!["203.0.114.9".parse().expect("ip")], ..Zone::default() };
    World::builder()
        .zone("one.example.com", Zone { mx, ..Zone::default() }.with_mailboxes(Mailboxes::only(&["ann"])))
        .host("mx.one.example.com", Personality::default())
        .zone("dead.one.example.com", dead())
        .zone("aspmx.l.google.com", dead())
        .zone("broken.example.org", Zone::failing(DnsFault::Servfail))
        .host("alt1.aspmx.l.google.com.com", strangers.clone())
        .host("alt2.aspmx.l.google.com.com", strangers.clone())
        .host("mx.stranger.net", strangers.clone())
        .build()
        .expect("a world")
}

#[tokio::test(start_paused = true)]
async fn the_host_of_strangers_decides_nothing_alone() {
    let refuses = Personality { recipients: Recipients::RefuseAll, ..Personality::default() };
    let two = [(1, "aspmx.l.google.com"), (5, "alt1.aspmx.l.google.com.com"), (5, "alt2.aspmx.l.google.com.com")];
    for (mx, wanted) in [
        (&two[..], "unknown/unverified/timeout"),
        (&[(10, "dead.one.example.com"), (10, "mx.stranger.net")], "unknown/unverified/timeout"),
        (&[(10, "mx.one.example.com"), (10, "mx.stranger.net")], "passed/valid/"),
        (&[(10, "dead.one.example.com"), (20, "mx.one.example.com")], "passed/valid/"),
    ] {
        for seed in 0..6 {
            let lab = Lab::new(&world(mx, &refuses), seed, |_| {});
            assert_eq!(brief(&lab.live("ann@one.example.com").await), wanted, "{mx:?} {seed}");
            let said = lab.batch(&["ann@one.example.com".to_owned(), "bob@one.example.com".to_owned()]).await;
            assert_eq!(brief(&said[0]), wanted, "{mx:?} {seed}");
            let wanted = if wanted == "passed/valid/" { "undeliverable/nonexistent/smtp_550_5.1.1" } else { wanted };
            assert_eq!(brief(&said[1]), wanted, "{mx:?} {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_mx_record_that_names_no_host_is_a_fault_of_the_domain() {
    for host in ["192.0.2.1", "[192.0.2.1]", "mx.one.example.com:25", "ann@mx.one.example.com"] {
        for (mx, wanted) in [
            (&[(10, host)][..], "undeliverable/illegitimate/mx_unroutable"),
            (&[(10, host), (20, "mx.one.example.com")], "passed/valid/"),
            (&[(10, host), (20, "broken.example.org")], "unknown/unverified/dns_temporary"),
        ] {
            let lab = Lab::open(&world(mx, &Personality::default()));
            assert_eq!(brief(&lab.live("ann@one.example.com").await), wanted, "{mx:?}");
        }
    }
}
