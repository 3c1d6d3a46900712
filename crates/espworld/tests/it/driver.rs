//! Drives the machines of the connectors through calls that fail.

use std::collections::{BTreeMap, BTreeSet};

use probity_connectors::{
    ActStep, Acting, ActionOrder, ActionOutcome, ContactRecord, ContactsGoal, ErrorClass, Fault, ListRecord, ReadGoal,
    ReadStep, Reading,
};

use crate::rig::Rig;

/// What was read.
#[derive(Default)]
pub(crate) struct Harvest {
    pub lists: Vec<ListRecord>,
    pub contacts: Vec<ContactRecord>,
    pub pages: usize,
}

impl Harvest {
    /// Returns the IDs of contacts, with the list that each was read from.
    pub(crate) fn ids(&self) -> BTreeSet<(String, Option<String>)> {
        self.contacts.iter().map(|contact| (contact.id.clone(), contact.list.clone())).collect()
    }
}

/// Reads everything that a goal names. After every page the machine is made again from its stored position.
pub(crate) async fn read(rig: &mut Rig, goal: ReadGoal) -> Harvest {
    let file = rig.file.clone();
    let mut position = Reading::new(&file, &rig.credentials, goal).unwrap().position().clone();
    let mut harvest = Harvest::default();
    loop {
        if rig.credentials.lacks_token(&file) {
            Box::pin(rig.authorize()).await;
        }
        let credentials = rig.credentials.clone();
        let mut reading = Reading::resume(&file, &credentials, position.clone());
        let request = match reading.next(rig.now()).unwrap() {
            ReadStep::Done => return harvest,
            ReadStep::Send(request) => request,
        };
        let Ok(response) = rig.send_described(&request).await else { continue };
        match reading.answer(&response) {
            Ok(page) => {
                harvest.pages += 1;
                harvest.lists.extend(page.lists);
                harvest.contacts.extend(page.contacts);
                let stored = serde_json::to_string(reading.position()).unwrap();
                position = serde_json::from_str(&stored).unwrap();
            }
            Err(fault) => Box::pin(rig.rest_or_authorize(&fault)).await,
        }
    }
}

/// Reads all contacts of the account.
pub(crate) async fn read_contacts(rig: &mut Rig) -> Harvest {
    read(rig, ReadGoal::Contacts(ContactsGoal::default())).await
}

/// Acts until every contact has an outcome.
pub(crate) async fn act(
    rig: &mut Rig,
    order: ActionOrder,
    memory: &mut BTreeMap<String, String>,
) -> Vec<ActionOutcome> {
    let file = rig.file.clone();
    let mut outcomes = vec![None; order.targets.len()];
    loop {
        if rig.credentials.lacks_token(&file) {
            Box::pin(rig.authorize()).await;
        }
        let credentials = rig.credentials.clone();
        let open: Vec<_> = (0..outcomes.len()).filter(|place| outcomes[*place].is_none()).collect();
        let targets = open.iter().map(|place| order.targets[*place].clone()).collect();
        let order = ActionOrder { targets, ..order.clone() };
        let mut acting = Acting::new(&file, &credentials, order, memory.clone()).unwrap();
        let refused = Box::pin(run(rig, &mut acting)).await;
        memory.clone_from(acting.memory());
        for (place, outcome) in open.into_iter().zip(acting.outcomes()) {
            outcomes[place].clone_from(outcome);
        }
        match refused {
            Some(fault) => Box::pin(rig.rest_or_authorize(&fault)).await,
            None => return outcomes.into_iter().map(Option::unwrap).collect(),
        }
    }
}

/// Runs a machine. Returns the fault for which it needs another token.
async fn run(rig: &mut Rig, acting: &mut Acting<'_>) -> Option<Fault> {
    while let ActStep::Send(request) = acting.next(rig.now()).unwrap() {
        let Ok(response) = rig.send_described(&request).await else { continue };
        match acting.answer(&response) {
            Err(fault) if fault.class == ErrorClass::Credential && rig.file.token.is_some() => return Some(fault),
            Err(fault) => rig.rest(&fault),
            Ok(_) => {}
        }
    }
    None
}
