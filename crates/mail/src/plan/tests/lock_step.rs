//! Groups of commands that a server could not follow.

use super::*;

const OUT_OF_TURN: &str = "503 5.5.1 need MAIL before RCPT";

fn answers(texts: &[&str]) -> Vec<RcptAnswer> {
    texts.iter().map(|text| if *text == "-" { RcptAnswer::Unanswered } else { reply(text) }).collect()
}

#[test]
fn a_group_out_of_place_counts_for_nothing_and_is_repeated_in_a_new_session() {
    for lost in [OUT_OF_TURN, "502 command not recognized", "500 unknown command", "554 SMTP synchronization error"] {
        let mut plan = plan(1);
        link(&mut plan);
        let (recipients, random) = ask(&mut plan);
        let checked = plan.check_group(answers(&[YES, lost]), None);
        assert_eq!(checked, answers(&["-", "-"]), "{lost}");
        let reader = FlightReader { rules: Rules::embedded(), us: DialogParties::default(), recipients: &[] };
        let heard = plan.answered(&recipients, checked, random, None, &reader);
        assert_eq!((heard.answered, heard.about_us), (0, None));
        assert!(plan.asks_in_lock_step());
        assert_eq!(plan.next(Some(10)), ProbeAction::Leave);
        plan.left();
        link(&mut plan);
        let flight = ask(&mut plan);
        assert_eq!(flight.0, [0]);
        assert_eq!(plan.check_group(answers(&[OUT_OF_TURN]), None), answers(&[OUT_OF_TURN]), "it is repeated once");
        tell(&mut plan, &flight, &[YES, NO], None);
        assert_eq!(plan.next(Some(10)), ProbeAction::Done);
        expect(&mut plan, &["valid"]);
    }
}

#[test]
fn replies_about_recipients_are_in_place() {
    for fine in [YES, NO, "503 5.1.1 no such user", "500 5.1.1 unknown user", "554 5.7.1 no", "-"] {
        let mut plan = plan(1);
        assert_eq!(plan.check_group(answers(&[fine, NO]), None), answers(&[fine, NO]), "{fine}");
        assert!(!plan.asks_in_lock_step());
    }
}

#[test]
fn after_silence_the_next_session_is_asked_in_lock_step() {
    let mut plan = plan(1);
    let end = End::TimedOut { stage: DialogStage::Mail };
    assert_eq!(plan.check_group(answers(&["-", "-"]), Some(&end)), answers(&["-", "-"]));
    assert!(plan.asks_in_lock_step());
}
