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

#[test]
fn a_421_in_every_session_ends_the_plan_after_a_few() {
    let mut plan = plan(100);
    let mut sessions = 0;
    loop {
        match plan.next(None) {
            ProbeAction::Resolve { exchanger } => plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1), ip(2)])),
            ProbeAction::Dial { .. } => {
                plan.linked();
                sessions += 1;
                let flight = ask(&mut plan);
                let mut answers = vec!["-"; flight.0.len() + usize::from(flight.1)];
                answers[0] = "421 4.3.2 Try again later";
                let heard =
                    tell(&mut plan, &flight, &answers, Some(&End::Refused { stage: DialogStage::Rcpt, reply: busy() }));
                assert!(!heard.told_something, "it is no answer about anybody");
            }
            other => break assert_eq!(other, ProbeAction::Done),
        }
    }
    assert_eq!(sessions, 4, "two at each address");
    assert!(reasons(&mut plan).iter().all(|(_, reason)| reason.starts_with("later:")));
}

#[test]
fn an_acceptance_that_waits_for_a_check_is_asked_about_again_after_a_refused_mail() {
    let mut plan = plan(20);
    link(&mut plan);
    let (recipients, random) = ask(&mut plan);
    assert!(random);
    tell(&mut plan, &(recipients.clone(), random), &vec![YES; recipients.len() + 1], None);
    let (rest, random) = ask(&mut plan);
    let heard = refuse_mail(&mut plan, (&rest, random), "451 4.3.0 Temporary failure");
    assert!(!heard.told_something);
    assert_eq!(plan.next(Some(100)), ProbeAction::Done);
    let reasons = reasons(&mut plan);
    assert_eq!(reasons.len(), 20);
    assert!(reasons.iter().all(|(_, reason)| reason == "later:temporary"), "{reasons:?}");
}

#[test]
fn a_421_to_mail_ends_its_session_only() {
    let mut plan = plan(20);
    link(&mut plan);
    let (recipients, random) = ask(&mut plan);
    let heard = refuse_mail(&mut plan, (&recipients, random), "421 closing");
    assert!(!heard.told_something);
    assert!(matches!(plan.next(Some(100)), ProbeAction::Ask { .. }), "the others are asked about in another session");
}

fn refuse_mail(plan: &mut ProbePlan, (recipients, random): (&[u32], bool), text: &str) -> FlightFindings {
    let RcptAnswer::Reply(refused) = reply(text) else { panic!("a reply") };
    let refused = Arc::new(refused);
    let count = recipients.len() + usize::from(random);
    let answers = (0..count).map(|_| RcptAnswer::MailRefused { reply: refused.clone(), taken: 0 }).collect();
    let reader = FlightReader { rules: Rules::embedded(), us: DialogParties::default(), recipients: &[] };
    plan.answered(recipients, answers, random, None, &reader)
}

#[test]
fn a_refused_mail_is_not_repeated_for_the_others() {
    for text in ["550 Rejected", "451 4.3.0 Temporary failure"] {
        let mut plan = plan(100);
        link(&mut plan);
        let (recipients, random) = ask(&mut plan);
        let heard = refuse_mail(&mut plan, (&recipients, random), text);
        assert!(!heard.told_something, "{text}: it is no answer about anybody");
        assert_eq!(plan.next(Some(100)), ProbeAction::Done, "{text}");
        assert_eq!(reasons(&mut plan).len(), 100, "{text}");
    }
}
