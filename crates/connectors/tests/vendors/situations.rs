//! Requests that the machines make in situations beyond the golden cases: each way to read, each action, full batches.

use std::collections::BTreeMap;

use probity_connectors::{
    ActStep, Acting, ActionKind, ActionOrder, ActionTarget, ConnectorFile, ContactScope, ContactsGoal, HookEndpoint,
    HookRegistration, HookStep, ReadGoal, ReadSince, ReadStep, Reading, Registering, Request, Response, SinceKind,
    Testing, VerdictFacts, removal,
};
use probity_mail::time::Millis;
use serde_json::{Value, json};

use super::description::VendorDescription;
use super::judge::{operation_name, written};
use crate::cases::Golden;

/// Maximum requests of one run; answers of golden files can repeat without end.
const REQUESTS_MAX: usize = 40;

/// Answers of a golden file by operation, given in turn.
struct AnswerBook<'a> {
    description: &'a VendorDescription,
    answers: BTreeMap<String, Vec<Value>>,
    given: BTreeMap<String, usize>,
    requests: Vec<Value>,
    now: Millis,
}

impl<'a> AnswerBook<'a> {
    fn of(description: &'a VendorDescription, golden: &Value, now: Millis) -> Self {
        let mut answers: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for exchange in super::exchanges(golden) {
            let is_good = exchange["answer"]["status"].as_u64().is_some_and(|status| status < 300);
            if let Some(name) = operation_name(description, &exchange["request"])
                && is_good
            {
                answers.entry(name).or_default().push(exchange["answer"].clone());
            }
        }
        Self { description, answers, given: BTreeMap::new(), requests: Vec::new(), now }
    }

    fn exchange(&mut self, request: &Request) -> Response {
        let shown = written(request);
        let name = operation_name(self.description, &shown).unwrap_or_default();
        self.requests.push(shown);
        let count = self.given.entry(name.clone()).or_default();
        let known = self.answers.get(&name);
        let answer = known.map_or_else(|| json!({"status": 200, "json": {}}), |all| all[*count % all.len()].clone());
        *count += 1;
        let body = if answer["json"].is_null() { String::new() } else { answer["json"].to_string() };
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let status = u16::try_from(answer["status"].as_u64().unwrap_or(200)).expect("a status");
        Response { status, headers, body: body.into_bytes(), is_cut: false, at: self.now }
    }

    fn is_full(&self) -> bool {
        self.requests.len() >= REQUESTS_MAX
    }
}

/// Returns the requests of all situations.
pub(crate) fn requests(file: &ConnectorFile, golden: &Value, description: &VendorDescription) -> Vec<Value> {
    let platform = Golden::of(file, golden);
    let mut all = Vec::new();
    let mut run = |work: &dyn Fn(&mut AnswerBook<'_>)| {
        let mut book = AnswerBook::of(description, golden, platform.now);
        work(&mut book);
        all.append(&mut book.requests);
    };
    run(&|book| {
        book.exchange(&Testing::new(file, &platform.credentials).request(book.now).expect("a request"));
    });
    for goal in goals(file, golden, platform.now) {
        run(&|book| read(&platform, goal.clone(), book));
    }
    for (kind, width) in file.capabilities().actions {
        for count in [1, 2, width + 1] {
            run(&|book| act(&platform, order(file, golden, kind, count), book));
        }
    }
    if file.hook.is_some() {
        run(&|book| register(&platform, list(golden), book));
    }
    all
}

/// Returns each thing to read: the lists, and contacts with each filter.
fn goals(file: &ConnectorFile, golden: &Value, now: Millis) -> Vec<ReadGoal> {
    let can = file.capabilities();
    let mut goals = Vec::new();
    goals.extend(can.lists.then_some(ReadGoal::Lists));
    if !can.contacts {
        return goals;
    }
    let lists: Vec<String> = list(golden).filter(|_| file.can_choose_lists()).into_iter().collect();
    let since = |kind| Some(ReadSince { kind, at: now.0 - 86_400_000 });
    let filters =
        [(true, None), (can.since_created, since(SinceKind::Created)), (can.since_updated, since(SinceKind::Updated))];
    for (_, since) in filters.into_iter().filter(|(can, _)| *can) {
        for only_subscribed in [false, true] {
            goals.push(ReadGoal::Contacts(ContactsGoal { lists: lists.clone(), since, only_subscribed }));
        }
    }
    goals
}

/// Returns the list that golden cases use.
fn list(golden: &Value) -> Option<String> {
    let cases = golden["cases"].as_array().expect("cases").iter();
    let named = cases.flat_map(|case| [&case["act"]["list"], &case["register"]["list"], &case["read"]["lists"][0]]);
    named.into_iter().find_map(|list| list.as_str().map(str::to_owned))
}

fn read(platform: &Golden<'_>, goal: ReadGoal, book: &mut AnswerBook<'_>) {
    let mut reading = Reading::new(platform.file, &platform.credentials, goal).expect("a reading");
    while let Ok(ReadStep::Send(request)) = reading.next(book.now) {
        if book.is_full() || reading.answer(&book.exchange(&request)).is_err() {
            return;
        }
    }
}

/// Returns an order for contacts whose names need escapes.
fn order(file: &ConnectorFile, golden: &Value, kind: ActionKind, count: usize) -> ActionOrder {
    let cases = golden["cases"].as_array().expect("cases");
    let ids: Vec<&str> = cases.iter().filter_map(|case| case["act"]["contacts"][0]["id"].as_str()).collect();
    let targets = (0..count).map(|number| ActionTarget {
        id: if ids[0].contains('@') { format!("o'n{number}+x@example.org") } else { numbered(ids[0], number) },
        email: format!("o'n{number}+x@example.org"),
        lists: Vec::new(),
        verdict: VerdictFacts {
            status: "undeliverable".into(),
            reason: "nonexistent".into(),
            suggestion: Some(format!("o'n{number}+y@example.org")),
            at: Millis(1_795_000_000_000),
        },
        value: Some(json!("undeliverable")).filter(|_| kind == ActionKind::Fields),
    });
    let scope = file.actions.rule(kind).map(|rule| rule.scope);
    ActionOrder {
        kind,
        list: list(golden).filter(|_| scope == Some(ContactScope::List)),
        tag: (kind == ActionKind::Tag).then(|| "Not \"valid\" & old".to_owned()),
        field: (kind == ActionKind::Fields)
            .then(|| if count == 1 { file.field.usual.clone() } else { other_field(file) }),
        targets: targets.collect(),
    }
}

/// Returns a field name that golden answers do not contain, so that the field is made.
fn other_field(file: &ConnectorFile) -> String {
    file.field.usual.replace('b', "bb").replace('B', "BB")
}

/// Returns an ID of the same form as a known one: letters keep their places, as in a UUID.
fn numbered(id: &str, number: usize) -> String {
    let stem = id.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let width = if stem.is_empty() { 0 } else { id.len() - stem.len() };
    format!("{stem}{:0>width$}", number + 1)
}

fn act(platform: &Golden<'_>, order: ActionOrder, book: &mut AnswerBook<'_>) {
    let mut acting = Acting::new(platform.file, &platform.credentials, order, BTreeMap::new()).expect("an order");
    while let Ok(ActStep::Send(request)) = acting.next(book.now) {
        if book.is_full() || acting.answer(&book.exchange(&request)).is_err() {
            return;
        }
    }
}

fn register(platform: &Golden<'_>, list: Option<String>, book: &mut AnswerBook<'_>) {
    let url = "https://probity.example/hooks/c1/s3cretpath".to_owned();
    let endpoint = HookEndpoint { url, secret: "hook-secret".into(), list };
    let mut registering = Registering::new(platform.file, &platform.credentials, endpoint.clone()).expect("a hook");
    let registration: HookRegistration = loop {
        match registering.next(book.now).expect("a step") {
            HookStep::Send(request) => registering.answer(&book.exchange(&request)).expect("an answer"),
            HookStep::Done(registration) => break registration,
        }
    };
    let request = removal(platform.file, &platform.credentials, (&endpoint, &registration), book.now);
    book.exchange(&request.expect("a removal"));
}
