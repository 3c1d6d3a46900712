//! The mode for measurements: a large account costs little memory, and nobody is limited.

use probity_connectors::{ContactsGoal, ReadGoal};
use probity_espworld::{EspOptions, EspVendor, judge};

use crate::driver::read;
use crate::rig::{Rig, for_each_of};

#[test]
fn a_large_account_is_read_without_limits() {
    for_each_of(&EspVendor::listing(), &[1], |vendor, seed| async move {
        let options = EspOptions { contacts: 4_000, latency_ms: 0, ..EspOptions::throughput(seed) };
        let mut rig = Rig::with(vendor, options).await;
        rig.file.rate.limits.clear();
        let harvest = read(&mut rig, ReadGoal::Contacts(ContactsGoal::default())).await;
        // Customer.io is not asked for those who have unsubscribed.
        let expected = if vendor == EspVendor::CustomerIo { 3_000..=4_000 } else { 4_000..=4_000 };
        assert!(harvest.contacts.len() >= *expected.start());
        assert_eq!(judge::excesses(&rig.world), 0);
        let emails: std::collections::BTreeSet<_> =
            harvest.contacts.iter().map(|contact| contact.email.to_lowercase()).collect();
        assert!(expected.contains(&emails.len()), "{}", emails.len());
        let domains: std::collections::BTreeSet<_> =
            emails.iter().filter_map(|email| email.rsplit_once('@')).map(|(_, domain)| domain.to_owned()).collect();
        assert!(domains.len() >= 4, "{domains:?}");
    });
}
