//! The embedded lists as they are shipped: each is read whole, they do not contradict each other, and what must never be called
//! disposable or a role is not.

mod disposable;
mod disposable_names;
mod exchangers;
mod roles;

use super::*;

fn lists() -> &'static Lists {
    Lists::embedded()
}

fn changed(files: &[(&str, &str)]) -> Result<Lists, ListError> {
    Lists::with_files(&files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

#[test]
fn every_embedded_list_is_read_sorted_and_not_empty() {
    for (name, count) in lists().counts() {
        assert!(count > 20, "{name} {count}");
    }
    for name in FILES.iter().filter(|name| **name != "gibberish") {
        let keys: Vec<&str> = files::embedded_keys(name).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{name}: {:?}", keys.windows(2).find(|w| w[0] >= w[1]));
    }
}

#[test]
fn sites_without_a_providers_entry_are_not_free() {
    for site in
        ["about.com", "angelfire.com", "berlin.de", "casino.com", "china.com", "icq.com", "medscape.com", "xoom.com"]
    {
        assert!(!lists().free(site) && lists().guarded(site), "{site}");
        let facts = lists().facts("ann", site);
        assert!(!facts.free && !facts.disposable && facts.suggestion.is_none(), "{site}");
    }
    // Hosters, universities and firms that only two lists of one ancestor name.
    for site in
        ["chez.com", "fortunecity.com", "unican.es", "violinmakers.co.uk", "bikemechanics.com", "naplesnews.net"]
    {
        assert!(!lists().free(site), "{site}");
    }
    for provider in ["gmail.com", "gmx.de", "fastmail.com", "vk.com", "terra.com.br", "tiscali.be", "mail2sweden.com"] {
        assert!(lists().free(provider), "{provider}");
    }
}

#[test]
fn relay_free_and_known_refusers() {
    for domain in [
        "duck.com",
        "alice.33mail.com",
        "privaterelay.appleid.com",
        "mozmail.com",
        "addy.io",
        "passmail.net",
        "hideaddress.net",
        "members.ebay.de",
        "marketplace.amazon.fr",
    ] {
        assert!(lists().relay(domain), "{domain}");
    }
    assert!(!lists().relay("gmail.com") && !lists().relay("appleid.com"));
    for domain in
        ["gmail.com", "gmx.de", "doglover.com", "fastmail.uk", "posteo.at", "netc.fr", "vip.126.com", "fromru.com"]
    {
        assert!(lists().free(domain), "{domain}");
    }
    for domain in ["acme.example", "facebook.com", "clerk.com"] {
        assert!(!lists().free(domain), "{domain}");
    }
    assert!(lists().known_not_catch_all("outlook.com") && !lists().known_not_catch_all("acme.example"));
}

#[test]
fn files_replace_add_and_remove_lines() {
    let lists = changed(&[
        ("role.txt", "# ours\nboss"),
        ("disposable.add.txt", "throwaway.example"),
        ("free.remove.txt", "gmail.com"),
    ])
    .unwrap();
    assert!(lists.role("boss") && !lists.role("info"));
    assert!(lists.disposable("throwaway.example") && lists.disposable("mailinator.com"));
    assert!(!lists.free("gmail.com") && lists.free("gmx.de"));
}

#[test]
fn a_broken_file_is_refused_by_name_and_line() {
    for (file, text, line) in [
        ("role.txt", "ok\nNot Ok", 2),
        ("disposable.add.txt", "ok.example\ntwo words", 2),
        ("providers.txt", "host.example", 0),
        ("popular.txt", "gmail.com\tnine", 0),
        ("gibberish.txt", "nonsense", 1),
        ("unknown.txt", "x", 0),
        ("role.csv", "x", 0),
    ] {
        let error = changed(&[(file, text)]).unwrap_err();
        assert_eq!((error.file.as_str(), error.line), (file, line), "{error}");
    }
}
