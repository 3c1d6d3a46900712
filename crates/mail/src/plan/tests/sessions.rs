//! Sessions that end early or can't be trusted.

use super::*;

#[test]
fn what_a_dying_session_did_not_answer_is_asked_again_and_then_silent() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let closed = End::Closed { stage: DialogStage::Rcpt };
    tell(&mut plan, &flight, &["-", "-", "-"], Some(&closed));
    link(&mut plan);
    let flight = ask(&mut plan);
    assert_eq!(flight.0, [0, 1]);
    tell(&mut plan, &flight, &["-", "-", "-"], Some(&closed));
    assert_eq!(plan.next(None), ProbeAction::Done);
    expect(&mut plan, &["later:closed", "later:closed"]);
}

#[test]
fn a_host_that_ends_every_session_leaves_the_rest_unanswered() {
    const RECIPIENTS: u32 = 100;
    let mut plan = plan(RECIPIENTS);
    let closed = End::Closed { stage: DialogStage::Rcpt };
    let mut sessions = 0;
    let mut reasons = Vec::new();
    // Sessions without an answer alternate with such that answer about one recipient.
    loop {
        match plan.next(None) {
            ProbeAction::Resolve { exchanger } => plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1)])),
            ProbeAction::Dial { .. } => {
                plan.linked();
                let ProbeAction::Ask { recipients, random } = plan.next(Some(1)) else { panic!("a flight") };
                let answer = if sessions % 2 == 0 { "-" } else { NO };
                tell(&mut plan, &(recipients, random), &[answer], Some(&closed));
                sessions += 1;
                reasons.extend(self::reasons(&mut plan));
            }
            _ => break,
        }
    }
    reasons.extend(self::reasons(&mut plan));
    assert!(sessions > DIALS_MAX, "{sessions} sessions");
    assert_eq!(reasons.len(), RECIPIENTS as usize);
    let is_known = |(_, reason): &(u32, String)| matches!(&**reason, "nonexistent" | "later:closed");
    assert!(reasons.iter().all(is_known), "{reasons:?}");
}

#[test]
fn a_flight_that_breaks_off_is_asked_again_one_by_one_and_a_421_is_believed() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let closed = End::Closed { stage: DialogStage::Rcpt };
    tell(&mut plan, &flight, &[NO, "-", "-"], Some(&closed));
    expect(&mut plan, &[]);
    link(&mut plan);
    for recipient in [0, 1] {
        let flight = ask(&mut plan);
        assert_eq!(flight, (vec![recipient], false));
        tell(&mut plan, &flight, &[NO], None);
        expect(&mut plan, &["nonexistent"]);
    }
    assert_eq!(plan.next(Some(10)), ProbeAction::Done);

    let mut plan = self::plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    let RcptAnswer::Reply(reply) = reply("421 4.7.0 too many errors") else { panic!("a reply") };
    let sent_away = End::Refused { stage: DialogStage::Rcpt, reply };
    tell(&mut plan, &flight, &[NO, "-", "-"], Some(&sent_away));
    expect(&mut plan, &["nonexistent"]);
}

#[test]
fn a_session_that_cannot_be_trusted_is_forgotten() {
    let mut plan = plan(2);
    link(&mut plan);
    let flight = ask(&mut plan);
    tell(&mut plan, &flight, &[YES, NO, NO], None);
    assert_eq!((plan.catch_all(), plan.next(Some(10))), (CatchAll::No, ProbeAction::Done));
    plan.distrust();
    assert_eq!(plan.catch_all(), CatchAll::Unknown);
    expect(&mut plan, &["valid", "nonexistent"]);
    plan.ask_again_alone(&[0, 1]);
    link(&mut plan);
    assert_eq!(ask(&mut plan), (vec![0], false));
    assert!(matches!(plan.withdrawn(), RecipientFate::Later { why: "protocol", .. }));
}
