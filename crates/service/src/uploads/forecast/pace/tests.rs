//! A list of known composition, with the manners that ship with the program.

use probity_engine::snapshot::{Held, HeldSite};
use probity_mail::policy::{Policies, Profile};
use probity_store::facts::Fact;

use super::*;
use crate::uploads::count::Domains;
use crate::uploads::forecast::unknown::Unknowns;

const NOW: Millis = Millis(1_800_000_000_000);

fn polite(host: &str) -> Manners {
    let policy = Policies::embedded().for_exchanger(host, Profile::Polite);
    let (per_minute, missing_per_hour) = (policy.rcpt_per_minute, policy.missing_per_hour);
    Manners { mode: policy.mode, per_minute, missing_per_hour, sources: 2 }
}

fn list() -> Domains {
    let named = [("gmail.com", 12_000), ("yahoo.com", 500), ("shop.example", 300), ("firm.example", 200)];
    Domains { named: named.map(|(name, count)| (name.to_owned(), count)).to_vec(), others: 100 }
}

fn facts() -> Vec<Fact> {
    let host = "firm-example.mail.protection.outlook.com".to_owned();
    vec![Fact { domain: "firm.example".into(), host, catch_all: Some((true, NOW + 1)), accepted_until: None }]
}

fn day(verified: i64, unknown: i64, undeliverable: i64) -> Day {
    Day { verified, unknown, free: unknown / 2, undeliverable }
}

#[test]
fn who_takes_the_mail_is_known_by_name_and_by_what_probes_have_learned() {
    let mix = Mix::of(&list(), &facts(), &[], NOW, &|host| Some(polite(host)));
    let shares: Vec<_> =
        mix.shares.iter().map(|share| (share.id.as_str(), share.addresses, share.never_tells)).collect();
    assert_eq!(
        shares,
        [("google", 12_000, false), ("yahoo", 500, true), ("", 400, false), ("microsoft365", 200, false)]
    );
    assert_eq!((mix.asked, mix.accept_all), (12_600, 200));
    let few = mix.shares(2);
    assert_eq!((few[1].id.as_str(), few[1].addresses), ("others", 1_100));
}

#[test]
fn time_is_that_of_the_slowest_provider() {
    let mix = Mix::of(&list(), &facts(), &[], NOW, &|host| Some(polite(host)));
    // 200 a minute from each of two sources.
    let open = Expected::of(&mix, &[], 3_600_000, NOW);
    assert_eq!((open.low_s, open.high_s, open.slowest.as_deref(), open.per_minute), (1_800, None, Some("google"), 400));
    // One in ten does not exist. Of 12,000 at Google that is 1,200, of which 2,000 an hour are allowed; but a small domain allows
    // 40 an hour, and 30 of 300 take longer. And an hour for what is put off.
    let days = vec![day(1_000, 10, 100); 5];
    assert_eq!(Expected::of(&mix, &days, 3_600_000, NOW).high_s, Some(2_700 + 3_600));
    let nobody = Mix::of(&list(), &[], &[], NOW, &|_| None);
    let sandbox = Expected::of(&nobody, &[], 0, NOW);
    assert_eq!((sandbox.low_s, sandbox.high_s, sandbox.slowest), (0, Some(0), None));
}

#[test]
fn who_is_left_alone_takes_longer_and_may_stay_unknown() {
    let until = NOW + 600_000;
    let held = HeldSite { site: "google".into(), is_provider: true, source: 0, why: Held::Blocked, until };
    let mix = Mix::of(&list(), &facts(), &[held], NOW, &|host| Some(polite(host)));
    assert_eq!(Expected::of(&mix, &[], 0, NOW).low_s, 1_800 + 600);
    let unknown = Unknowns::of(&mix, &[day(1_000, 10, 0); 5]);
    // Yahoo never tells; a domain accepts everything, which is more than 1 % of the others; Google's may all stay open.
    assert_eq!((unknown.low, unknown.high), (500 + 200, Some(500 + 12_000 + 200)));
    assert_eq!(unknown.free_at_most, 500 + 12_000);
    let open = Unknowns::of(&mix, &[]);
    assert_eq!((open.low, open.high), (500 + 200, None));
    assert_eq!(open.free_at_most, 500 + 12_600 - 200);
}

#[test]
fn what_is_not_charged_is_less_than_what_stays_unknown() {
    let mix = Mix::of(&list(), &facts(), &[], NOW, &|host| Some(polite(host)));
    // One in ten stays unknown, half of that because somebody said that he takes everything.
    let unknown = Unknowns::of(&mix, &[day(1_000, 100, 0); 5]);
    assert_eq!((unknown.low, unknown.high, unknown.free_at_most), (500 + 1_260, Some(500 + 1_260), 500 + 630));
}
