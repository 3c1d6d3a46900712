//! The shipped policies: whose they are, that the polite ones keep to the manners they promise, and that a mistake in a file is
//! refused with its place.
use std::time::Duration;

use super::{Mode, PaceProfile, Policies, TlsPolicy};

fn id(host: &str) -> String {
    Policies::embedded().for_exchanger(host, PaceProfile::Polite).id.to_string()
}

#[test]
fn the_longest_suffix_of_whole_labels_wins() {
    let cases = [
        ("gmail-smtp-in.l.google.com", "google"),
        ("ASPMX.L.GOOGLE.COM.", "google"),
        ("aspmx2.googlemail.com", "google"),
        ("outlook-com.olc.protection.outlook.com", "outlook"),
        ("contoso-com.mail.protection.outlook.com", "microsoft365"),
        ("contoso-com.a-v1.mx.microsoft", "microsoft365"),
        ("mta5.am0.yahoodns.net", "yahoo"),
        ("mx01.mail.icloud.com", "icloud"),
        ("mxa-00123.gslb.pphosted.com", "proofpoint"),
        ("mx1.hc123-45.iphmx.com", "cisco"),
        ("mx00.gmx.net", "gmx"),
        ("smtp-in.orange.fr", "orange"),
        ("mail.example.org", "unlisted"),
        ("notgoogle.com", "unlisted"),
        ("google.com.example.org", "unlisted"),
        ("com", "unlisted"),
        ("", "unlisted"),
        (".", "unlisted"),
    ];
    for (host, wanted) in cases {
        assert_eq!(id(host), wanted, "{host}");
    }
    assert_eq!(id(&"a.".repeat(200)), "unlisted", "a name that is too long");
}

#[test]
fn polite_policies_stay_within_the_manners_of_the_design() {
    let polite = |host| Policies::embedded().for_exchanger(host, PaceProfile::Polite);
    let unlisted = polite("mx.example.org");
    assert_eq!((unlisted.connections, unlisted.session_rcpt, unlisted.refused_per_session), (2, 20, 5));
    assert_eq!((unlisted.missing_per_hour, unlisted.session_ms), (20, 300_000));
    assert!(unlisted.random_counts_as_missing && unlisted.provider.is_none());
    let governor = unlisted.governor.expect("a governor");
    assert_eq!((governor.window, governor.slow_percent, governor.pause_percent), (200, 35, 60));
    assert_eq!((unlisted.breaker_ms_min, unlisted.breaker_ms_max), (900_000, 7_200_000));

    let google = polite("aspmx.l.google.com");
    assert_eq!((google.missing_per_hour, google.refused_per_session), (1000, 10));
    assert_eq!(google.tls, TlsPolicy::Required);
    assert_eq!(polite("x.mail.protection.outlook.com").missing_per_hour, 500);
    assert_eq!(polite("x.olc.protection.outlook.com").mode, Mode::Cautious);
    assert_eq!(polite("mta6.am0.yahoodns.net").mode, Mode::Never);
    assert_eq!(polite("mxs.mail.ru").mode, Mode::Never);
    assert_eq!(polite("mx01.mail.icloud.com").refused_per_session, 5);
    assert!(polite("mx1.x.iphmx.com").suspect_after_misses.is_some_and(|misses| misses <= 25));
}

#[test]
fn every_polite_policy_has_bounds_and_every_open_one_has_room() {
    let policies = Policies::embedded();
    for entry in &policies.entries {
        let (polite, open) = (&entry.polite, &entry.open);
        assert!(polite.connections <= 2, "{}", polite.id);
        assert!(polite.rcpt_per_minute > 0 && polite.missing_per_hour > 0, "{}", polite.id);
        assert!(polite.governor.is_some(), "{}", polite.id);
        assert!(open.flight_rcpt >= 100 && open.session_rcpt >= 1000, "{}", open.id);
        assert_eq!((open.mode, open.rcpt_per_minute, open.missing_per_hour), (Mode::Probe, 0, 0), "{}", open.id);
        assert_eq!(polite.id, open.id);
    }
    assert_eq!(policies.ids().count(), policies.entries.len());
}

#[test]
fn an_operators_file_goes_over_the_shipped_one() {
    let own = r#"
        format = 1
        [polite]
        connections = 1
        [[policy]]
        id = "lab"
        mx = ["lab.example", "googlemail.com"]
        source = "our own"
        missing_per_hour = 7
        [[policy]]
        id = "yahoo"
        provider = "yahoo"
        mx = ["yahoodns.net"]
        source = "our contract"
        mode = "probe"
    "#;
    let policies = Policies::embedded_with(own).expect("a valid file");
    let polite = |host| policies.for_exchanger(host, PaceProfile::Polite);
    assert_eq!((&*polite("mx.lab.example").id, polite("mx.lab.example").missing_per_hour), ("lab", 7));
    assert_eq!(&*polite("aspmx2.googlemail.com").id, "lab");
    assert_eq!(&*polite("aspmx.l.google.com").id, "google");
    assert_eq!(polite("mta5.am0.yahoodns.net").mode, Mode::Probe);
    assert_eq!(polite("mx.example.org").connections, 1);
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let base = "format = 1\n[[policy]]\nid = \"a\"\nsource = \"s\"\n";
    let error = |text: &str| Policies::embedded_with(text).map(|_| ()).expect_err("a mistake").to_string();
    assert!(error("format = 2").contains("format 2"));
    assert!(error("format = 1\nfoo = 3").starts_with("line 2"));
    assert!(error(&format!("{base}mx = [\"a.example\"]\nconections = 3")).contains("conections"));
    assert!(error(&format!("{base}mx = [\".a.example\"]")).contains("policy a"));
    assert!(error(&format!("{base}mx = [\"a.example\"]\nmode = \"rude\"")).contains("rude"));
    assert!(error(&format!("{base}mx = [\"a.example\"]\nmode = \"cautious\"")).contains("cautious"));
    assert!(error(&format!("{base}mx = [\"a.example\"]\nconnections = 0")).contains("connections"));
    assert!(error(base).contains("another entry without suffixes"));
    assert!(Policies::parse("format = 1").map(|_| ()).expect_err("nothing").to_string().contains("without suffixes"));
}

#[test]
fn sessions_of_all_policies_end() {
    let day = i64::try_from(Duration::from_hours(24).as_millis()).expect("a day is short");
    for entry in &Policies::embedded().entries {
        assert!((1..day).contains(&entry.polite.session_ms) && (1..day).contains(&entry.open.session_ms));
    }
}
