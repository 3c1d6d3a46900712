//! Tests of credentials: right ones, wrong ones, and none that are blamed for something else.

use probity_connectors::TestOutcome;
use probity_espworld::EspFaults;

use crate::rig::{Rig, credentials, for_each};

#[test]
fn right_credentials_are_valid_and_wrong_ones_name_their_fields() {
    for_each(|vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        let right = rig.credentials.clone();
        let outcome = rig.test(&right).await.unwrap();
        assert!(matches!(outcome, TestOutcome::Valid { .. }), "{outcome:?}");
        let wrong = credentials(&rig.file, &rig.world, &rig.world.wrong_credentials());
        let outcome = rig.test(&wrong).await.unwrap();
        let TestOutcome::Wrong { fields, message } = outcome else { panic!("{outcome:?}") };
        let secrets = rig.file.credentials.iter().filter(|field| {
            field.name.contains("key") || field.name.contains("token") || field.name.contains("password")
        });
        assert!(secrets.clone().count() > 0);
        for secret in secrets {
            assert!(fields.contains(&secret.name), "{} is not among {fields:?}: {message}", secret.name);
        }
        rig.assert_welcome();
    });
}

#[test]
fn faults_on_the_way_are_never_wrong_credentials() {
    for_each(|vendor, seed| async move {
        let faults = EspFaults { errors: 300, web_pages: 300, cuts: 300, max: usize::MAX, ..EspFaults::none() };
        let mut rig = Rig::new(vendor, seed, faults).await;
        for _ in 0..12 {
            let right = rig.credentials.clone();
            let is_url = rig.file.credentials.iter().any(|field| field.name.contains("url"));
            match rig.test(&right).await.unwrap() {
                TestOutcome::Valid { .. } => {}
                TestOutcome::Failed(fault) => rig.rest(&fault),
                // A page of HTML under 200 means that the address is another's, if the customer gave one.
                TestOutcome::Wrong { fields, message } => {
                    assert!(is_url && fields.iter().all(|field| field.contains("url")), "{fields:?}: {message}");
                }
            }
        }
    });
}
