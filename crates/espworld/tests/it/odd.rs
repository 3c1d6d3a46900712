//! Answers that no platform should give: success without a body, an error under the status of a success, web pages, 10 GB. What is
//! read stays whole, what is done is done once, and neither takes more than the file allows.

use probity_espworld::{EspFault, EspFaults, EspVendor, judge};

use crate::driver::read_contacts;
use crate::reading::{assert_states, missed};
use crate::rig::{Rig, for_each, for_each_of, seeds};

/// Shares of faults, one kind at a time.
fn odd(seed: u64) -> EspFaults {
    let most = EspFaults { max: 10, ..EspFaults::none() };
    match seed % 4 {
        0 => EspFaults { floods: 300, ..most },
        1 => EspFaults { empties: 300, ..most },
        2 => EspFaults { errors_inside: 300, ..most },
        _ => EspFaults { web_pages: 300, ..most },
    }
}

/// The fault that these shares cause.
fn kind(seed: u64) -> EspFault {
    [EspFault::Flood, EspFault::Empty, EspFault::ErrorInside, EspFault::WebPage][usize::try_from(seed % 4).unwrap()]
}

#[test]
fn nobody_is_missed_behind_odd_answers() {
    for_each_of(&EspVendor::listing(), &seeds(), |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, odd(seed)).await;
        rig.shrink(15);
        let before = rig.world.snapshot();
        let harvest = read_contacts(&mut rig).await;
        assert_eq!(missed(&rig, &before, &harvest), []);
        assert_states(&rig, &harvest);
        let ledger = rig.world.ledger();
        assert!(ledger.calls().iter().filter_map(|call| call.fault).all(|fault| fault == kind(seed)));
        assert_eq!(judge::excesses(&rig.world), 0);
    });
}

#[test]
fn nothing_is_done_twice_behind_odd_answers() {
    for_each(|vendor, seed| async move {
        Box::pin(crate::acting::every_action(vendor, seed, odd(seed))).await;
    });
}
