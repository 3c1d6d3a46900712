//! Plans driven by hand: each test tells what a domain's exchangers do, step by step.

mod answers;
mod any_server;
mod catch_all;
mod hosts;
mod limits;
mod lock_step;
mod sessions;
mod strangers;

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::classify::{DialogParties, Rules};
use crate::facts::lists::Lists;
use crate::policy::{PaceProfile, Policies};
use crate::smtp::reply::Enhanced;
use crate::smtp::session::{End, RcptAnswer};
use crate::verdict::{Mailbox, Reason, judge};

fn mx(preference: u16, host: &str) -> MxHost {
    MxHost { preference, host: Arc::from(host) }
}

fn plan_with(hosts: &[MxHost], recipients: u32, known: KnownDomain) -> ProbePlan {
    let policies =
        hosts.iter().map(|mx| Policies::embedded().for_exchanger(&mx.host, PaceProfile::Polite).clone()).collect();
    let owners = owners(hosts);
    let mut plan = ProbePlan::new(hosts, policies, owners, recipients, &mut Rng::new(1));
    plan.meet(known);
    plan
}

fn owners(hosts: &[MxHost]) -> Vec<HostOwner> {
    let owner = |mx: &MxHost| {
        HostOwner::of(&mx.host, "one.example.com", Lists::embedded().provider(&mx.host).map(|it| &*it.id))
    };
    hosts.iter().map(owner).collect()
}

fn plan(recipients: u32) -> ProbePlan {
    plan_with(&[mx(10, "mx.one.example.com")], recipients, KnownDomain::default())
}

fn ip(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, n))
}

fn reply(text: &str) -> RcptAnswer {
    let (code, rest) = text.split_once(' ').expect("a code and a text");
    let digits: Vec<u16> = rest.split(' ').next().unwrap_or("").split('.').filter_map(|d| d.parse().ok()).collect();
    let (enhanced, text) = match digits[..] {
        [class, subject, detail] => {
            let class = u8::try_from(class).expect("one digit");
            (Some(Enhanced { class, subject, detail }), rest.split_once(' ').map_or("", |(_, text)| text))
        }
        _ => (None, rest),
    };
    RcptAnswer::Reply(Reply { code: code.parse().expect("digits"), enhanced, text: text.into(), nonconforming: false })
}

const YES: &str = "250 2.1.5 Ok";
const NO: &str = "550 5.1.1 User unknown";

/// What a server says that closes the session.
fn busy() -> Reply {
    Reply { code: 421, enhanced: None, text: "closing".into(), nonconforming: false }
}

/// Resolves and dials up to the first question.
fn link(plan: &mut ProbePlan) {
    loop {
        match plan.next(None) {
            ProbeAction::Resolve { exchanger } => plan.resolved(exchanger, ResolvedHost::Addresses(vec![ip(1), ip(2)])),
            ProbeAction::Dial { .. } => return plan.linked(),
            other => panic!("{other:?}"),
        }
    }
}

fn ask(plan: &mut ProbePlan) -> (Vec<u32>, bool) {
    match plan.next(Some(100)) {
        ProbeAction::Ask { recipients, random } => (recipients, random),
        other => panic!("{other:?}"),
    }
}

fn tell(plan: &mut ProbePlan, flight: &(Vec<u32>, bool), answers: &[&str], end: Option<&End>) -> FlightFindings {
    let answers = answers.iter().map(|text| if *text == "-" { RcptAnswer::Unanswered } else { reply(text) }).collect();
    let reader = FlightReader { rules: Rules::embedded(), us: DialogParties::default(), recipients: &[] };
    plan.answered(&flight.0, answers, flight.1, end, &reader)
}

fn reasons(plan: &mut ProbePlan) -> Vec<(u32, String)> {
    let mut fates: Vec<_> = plan
        .take_fates()
        .into_iter()
        .map(|(recipient, fate)| match fate {
            RecipientFate::Settled(told) => {
                let reason = judge(&told.mailbox).map_or(Reason::Valid, |finding| finding.reason);
                (recipient, reason.to_string())
            }
            RecipientFate::Later { why, .. } => (recipient, format!("later:{why}")),
        })
        .collect();
    fates.sort();
    fates
}

fn expect(plan: &mut ProbePlan, wanted: &[&str]) {
    let got: Vec<String> = reasons(plan).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(got, wanted);
}
