//! Answers that no platform should give: success without a body, an error under the status of a success, web pages, 10 GB. What is
//! read stays whole, what is done is done once, and neither takes more than the file allows.

use std::collections::BTreeMap;

use probity_connectors::{ActStep, Acting, ActionKind, ErrorClass, Request, Response};
use probity_espworld::{EspFault, EspFaults, EspVendor, judge};
use probity_mail::rng::Rng;

use crate::acting::deed;
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

/// Platforms that say the same about a missing contact and a path that does not exist.
const ALIKE: [EspVendor; 6] = [
    EspVendor::Convertkit,
    EspVendor::CustomerIo,
    EspVendor::Drip,
    EspVendor::Gist,
    EspVendor::Mailchimp,
    EspVendor::Mailman,
];

/// Answers from which nothing follows about what was asked, in place of a true one.
async fn broken(rig: &mut Rig, request: &Request, answer: &Response) -> Vec<Response> {
    let with = |body: &[u8]| Response { status: 200, body: body.to_vec(), ..answer.clone() };
    let mut broken = vec![with(b"{}")];
    // A text that is cut looks like a whole one.
    if answer.status == 200 && matches!(answer.body.first(), Some(b'{' | b'[')) {
        broken.push(with(&answer.body[..answer.body.len() / 2]));
    }
    if !ALIKE.contains(&rig.world.vendor()) {
        let (path, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
        let nowhere = Request { url: format!("{path}/no/such/path?{query}"), ..request.clone() };
        broken.push(rig.send(&nowhere).await.unwrap());
    }
    broken
}

#[test]
fn a_broken_answer_settles_no_action() {
    for_each_of(&EspVendor::ALL, &[1], |vendor, seed| async move {
        let mut rig = Rig::new(vendor, seed, EspFaults::none()).await;
        Box::pin(rig.authorize()).await;
        for kind in ActionKind::ALL {
            let Some(mut deed) = deed(&rig, kind, &mut Rng::new(seed)) else { continue };
            deed.order.targets.truncate(1);
            let (file, credentials) = (rig.file.clone(), rig.credentials.clone());
            let is_bare = file.actions.rule(kind).unwrap().bare;
            let mut acting = Acting::new(&file, &credentials, deed.order, BTreeMap::new()).unwrap();
            while let ActStep::Send(request) = acting.next(rig.now()).unwrap() {
                let answer = rig.send(&request).await.unwrap();
                for broken in broken(&mut rig, &request, &answer).await {
                    let is_silent = broken.status == 200 && broken.body == b"{}";
                    match acting.clone().answer(&broken) {
                        Ok(settled) => {
                            assert!(is_bare && is_silent && settled.len() == 1, "{kind:?}: {request:?}: {broken:?}");
                        }
                        Err(fault) => {
                            let is_known = matches!(fault.class, ErrorClass::Unreadable | ErrorClass::Invalid);
                            assert!(is_known, "{kind:?}: {fault:?}");
                        }
                    }
                }
                // What was made may be found only by a search.
                if acting.answer(&answer).is_err() {
                    assert_eq!(vendor, EspVendor::Sendlane, "{kind:?}: {request:?}");
                }
            }
        }
    });
}
