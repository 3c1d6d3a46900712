//! The conversation with a server, as a live question keeps it.

use std::sync::Arc;

use probity_engine::verifier::Verifier as _;
use probity_mail::classify::DialogStage;
use probity_mail::verdict::{EvidenceSource, ProbeStep, Verification};
use probity_mailworld::{At, FaultKind, Mailboxes, Personality, Tls, World};

use crate::world::Lab;

fn world(personality: Personality) -> Arc<World> {
    let personality = Personality { tls: Tls::None, ..personality };
    World::builder().site("one.example.com", Mailboxes::only(&["ann", "bob"]), personality).build().expect("a world")
}

fn steps(said: &Verification) -> &[ProbeStep] {
    &said.evidence.probe.as_ref().expect("somebody was asked").steps
}

/// Stage, code, whether somebody made up was asked about.
fn brief(said: &Verification) -> Vec<(DialogStage, Option<u16>, bool)> {
    steps(said).iter().map(|step| (step.stage, step.code, step.random)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_live_question_keeps_its_conversation_and_nobody_elses() {
    let lab = Lab::open(&world(Personality::default()));
    let first = lab.live("nobody@one.example.com").await;
    let asked = |code| [(DialogStage::Mail, Some(250), false), (DialogStage::Rcpt, Some(code), false)];
    let mut wanted = vec![(DialogStage::Connect, Some(220), false), (DialogStage::Ehlo, Some(250), false)];
    wanted.extend(asked(550));
    wanted.push((DialogStage::Rcpt, Some(550), true));
    assert_eq!(brief(&first), wanted);
    let probe = first.evidence.probe.as_ref().expect("a probe");
    assert!(probe.steps.is_sorted_by_key(|step| step.at_ms), "{:#?}", probe.steps);
    assert!(probe.steps.iter().all(|step| step.host == probe.host));
    assert_eq!((probe.steps[3].enhanced, &probe.steps[3].text), (probe.enhanced, &probe.text));
    // The session is warm: this question has its own part of it alone.
    assert_eq!(brief(&lab.live("ann@one.example.com").await), asked(250));
    // What is kept for the next one who asks has none.
    let again = lab.live("ann@one.example.com").await;
    assert_eq!((again.evidence.source, brief(&again)), (EvidenceSource::Cache, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn neither_our_name_nor_an_address_is_in_a_conversation() {
    let lab = Lab::open(&world(Personality::default()));
    let said = lab.live("nobody@one.example.com").await;
    for step in steps(&said) {
        let text = step.text.to_lowercase();
        for ours in ["probe.example.org", "198.51.100.7", "@", "nobody"] {
            assert!(!text.contains(ours), "{ours} in {step:?}");
        }
        assert_eq!(text.is_empty(), step.stage == DialogStage::Ehlo, "a greeting repeats our name: {step:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_keeps_no_conversation_even_in_the_session_of_a_live_question() {
    let lab = Lab::open(&world(Personality::default()));
    lab.live("ann@one.example.com").await;
    let said = lab.batch(&["bob@one.example.com".to_owned()]).await;
    assert_eq!(lab.engine.counters().connections, 1);
    assert_eq!(brief(&said[0]), Vec::new());
}

#[tokio::test(start_paused = true)]
async fn that_nobody_answers_is_a_step_too() {
    for (at, stage) in
        [(At::Banner, DialogStage::Connect), (At::Ehlo, DialogStage::Ehlo), (At::Rcpt, DialogStage::Rcpt)]
    {
        let lab = Lab::open(&world(Personality::default().with_fault(at, FaultKind::Close)));
        let said = lab.live("ann@one.example.com").await;
        let last = steps(&said).last().expect("a step");
        assert_eq!((last.stage, last.code, last.text.as_str()), (stage, None, ""), "{:#?}", steps(&said));
    }
}
